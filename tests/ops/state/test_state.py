"""Variables by handle that have no value: reads and updates fail with TensorFlow's classes."""

from __future__ import annotations

import pytest

import headrace as tf

raw = tf.raw_ops
F = tf.float32
NO_VALUE = {
    "read": (lambda h: raw.ReadVariableOp(resource=h, dtype=F), "FailedPrecondition"),
    "shape": (lambda h: raw.VariableShape(input=h), "NotFound"),
    "add": (lambda h: raw.AssignAddVariableOp(resource=h, value=[1.0]), "NotFound"),
    "sub": (lambda h: raw.AssignSubVariableOp(resource=h, value=[1.0]), "NotFound"),
    "gather": (lambda h: raw.ResourceGather(resource=h, indices=[0], dtype=F), "NotFound"),
    "gather_nd": (lambda h: raw.ResourceGatherNd(resource=h, indices=[[0]], dtype=F), "NotFound"),
    "scatter": (lambda h: raw.ResourceScatterAdd(resource=h, indices=[0], updates=[1.0]), "NotFound"),
    "scatter_nd": (lambda h: raw.ResourceScatterNdUpdate(ref=h, indices=[[0]], updates=[1.0]), "NotFound"),
    "slice": (
        lambda h: raw.ResourceStridedSliceAssign(ref=h, begin=[0], end=[1], strides=[1], value=[1.0]),
        "NotFound",
    ),
    "descent": (lambda h: raw.ResourceApplyGradientDescent(var=h, alpha=1.0, delta=[1.0]), "Internal"),
    "rows": (
        lambda h: raw.ResourceSparseApplyAdagrad(var=h, accum=h, lr=1.0, grad=[1.0], indices=[0]),
        "Internal",
    ),
}


@pytest.mark.parametrize("compiled", ["0", "always"])
@pytest.mark.parametrize("use", NO_VALUE)
def test_a_variable_without_a_value(monkeypatch, compiled, use):
    monkeypatch.setenv("HEADRACE_COMPILE", compiled)
    function, name = NO_VALUE[use]
    with tf.Graph().as_default(), tf.Session() as session:
        handle = raw.VarHandleOp(dtype=F, shape=[1], shared_name="v")
        made = function(handle)
        for _ in range(2):
            with pytest.raises(tf.errors.OpError, match="v\\b") as caught:
                session.run(made)
            assert type(caught.value) is getattr(tf.errors, name + "Error")
        session.run(raw.AssignVariableOp(resource=handle, value=[1.0]))
        session.run(made)


@pytest.mark.parametrize("compiled", ["0", "always"])
def test_a_counter_without_a_value(monkeypatch, compiled):
    monkeypatch.setenv("HEADRACE_COMPILE", compiled)
    with tf.Graph().as_default(), tf.Session() as session:
        v = tf.get_variable("v", initializer=3, use_resource=True)
        with pytest.raises(tf.errors.NotFoundError):
            session.run(raw.ResourceCountUpTo(resource=v.handle, limit=9, T=tf.int32))
