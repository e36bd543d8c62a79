"""Handles of one kind where another is wanted, and what is no handle at all."""

from __future__ import annotations

import numpy as np
import pytest

import headrace as tf

raw = tf.raw_ops
USES = {
    "variable": [
        lambda h: raw.AssignAddVariableOp(resource=h, value=[1.0, 2.0]),
        lambda h: raw.ReadVariableOp(resource=h, dtype=tf.float32),
        lambda h: raw.VarIsInitializedOp(resource=h),
        lambda h: raw.ResourceApplyGradientDescent(var=h, alpha=1.0, delta=[1.0, 1.0]),
        lambda h: raw.ResourceScatterAdd(resource=h, indices=[0], updates=[1.0]),
    ],
    "queue": [lambda h: raw.QueueIsClosedV2(handle=h), lambda h: raw.QueueSizeV2(handle=h)],
    "reader": [lambda h: raw.ReaderNumRecordsProducedV2(reader_handle=h)],
    "stack": [lambda h: raw.StackPopV2(handle=h, elem_type=tf.float32)],
    "array": [lambda h: raw.TensorArraySizeV3(handle=h, flow_in=0.0)],
}


@pytest.mark.parametrize("compiled", ["0", "always"])
def test_each_takes_its_own_kind_alone(monkeypatch, compiled):
    monkeypatch.setenv("HEADRACE_COMPILE", compiled)
    with tf.Graph().as_default(), tf.Session() as session:
        variable = tf.get_variable("v", [2], use_resource=True)
        session.run(variable.initializer)
        handle = tf.placeholder(tf.resource, [])
        handles = {
            "variable": session.run(variable.handle),
            "queue": session.run(tf.FIFOQueue(2, tf.float32).queue_ref),
            "reader": session.run(tf.TextLineReader().reader_ref),
        }
        nonsense = [3, [1, 2], "a", None, np.zeros(2, np.float32), np.array([None])]
        for wanted, builds in USES.items():
            for use in (build(handle) for build in builds):
                if wanted in handles:
                    session.run(use, {handle: handles[wanted]})
                others = [h for kind, h in handles.items() if kind != wanted]
                for wrong in others + nonsense:
                    with pytest.raises(tf.errors.InvalidArgumentError, match="wrong type|handle"):
                        session.run(use, {handle: wrong})


@pytest.mark.parametrize("words", [["a"], [["a", "b"]], [], ["a", "b", "c"]])
def test_a_reference_is_two_words(words):
    with tf.Graph().as_default(), tf.Session() as session:
        names = tf.Variable(np.array(words, object).astype(bytes), dtype=tf.string)
        session.run(names.initializer)
        with pytest.raises(tf.errors.InvalidArgumentError, match="vector of 2 strings"):
            session.run(raw.QueueClose(handle=names._ref()))
