"""Updates of parts of variables: integers, bools and strings, interpreted and compiled."""

from __future__ import annotations

import numpy as np
import pytest

import headrace as tf

pytestmark = pytest.mark.native


@pytest.fixture(params=["0", "always"], autouse=True)
def mode(request, monkeypatch):
    monkeypatch.setenv("HEADRACE_COMPILE", request.param)


def after(change, start, updates, by_handle, times=2):
    """The variable after some steps that feed the updates."""
    with tf.Graph().as_default(), tf.Session() as sess:
        v = tf.Variable(start, use_resource=by_handle)
        fed = tf.placeholder(v.dtype.base_dtype, np.shape(updates))
        step = change(v.handle if by_handle else v._ref(), fed)
        sess.run(v.initializer)
        for _ in range(times):
            sess.run(step if isinstance(step, tf.Operation) else step.op, {fed: updates})
        return sess.run(v).tolist()


RAW = tf.raw_ops


def test_integers_are_divided_exactly_and_towards_zero():
    start = np.array([[-7, 9], [(1 << 60) + 2, 5]])
    found = after(
        lambda ref, x: RAW.ScatterDiv(ref=ref, indices=[0, 1, 1], updates=x),
        start,
        np.array([[2, -2], [2, 1], [-1, 3]]),
        False,
        times=1,
    )
    assert found == [[-3, -4], [-((1 << 59) + 1), 1]]


@pytest.mark.parametrize("by_handle", [False, True])
def test_an_integer_is_not_divided_by_zero(by_handle):
    with tf.Graph().as_default(), tf.Session() as sess:
        v = tf.Variable([4, 6], use_resource=by_handle)
        fed = tf.placeholder(tf.int32, [2])
        if by_handle:
            step = RAW.ResourceScatterDiv(resource=v.handle, indices=[0, 1], updates=fed)
        else:
            step = RAW.ScatterDiv(ref=v._ref(), indices=[0, 1], updates=fed).op
        sess.run(v.initializer)
        for _ in range(3):
            with pytest.raises(tf.errors.InvalidArgumentError, match="must not contain 0"):
                sess.run(step, {fed: [2, 0]})
        assert sess.run(v).tolist() == [4, 6]
        sess.run(step, {fed: [2, -4]})
        assert sess.run(v).tolist() == [2, -1]


def test_a_sum_of_trues_is_true():
    found = after(
        lambda ref, x: RAW.AssignAddVariableOp(resource=ref, value=x),
        np.array([True, True, False]),
        np.array([True, False, False]),
        True,
    )
    assert found == [True, True, False]
    with tf.Graph().as_default(), tf.Session() as sess:
        x = tf.placeholder(tf.bool, [2])
        y = RAW.ScatterNdNonAliasingAdd(input=x, indices=[[0], [0]], updates=[True, True])
        for _ in range(2):
            assert sess.run(y, {x: [True, False]}).tolist() == [True, False]


# The compiler has no strings: a variable of them must not draw it in by its constant indices.
@pytest.mark.parametrize(
    "by_handle, change",
    [
        (True, lambda ref, x: RAW.ResourceScatterUpdate(resource=ref, indices=[1], updates=x)),
        (True, lambda ref, x: RAW.ResourceScatterNdUpdate(ref=ref, indices=[[1]], updates=x)),
        (False, lambda ref, x: RAW.ScatterUpdate(ref=ref, indices=[1], updates=x)),
        (False, lambda ref, x: RAW.ScatterNdUpdate(ref=ref, indices=[[1]], updates=x)),
        (
            True,
            lambda ref, x: RAW.ResourceStridedSliceAssign(ref=ref, begin=[1], end=[2], strides=[1], value=x),
        ),
    ],
)
def test_strings_are_updated(by_handle, change):
    assert after(change, [b"a", b"b", b"c"], np.array([b"X"], object), by_handle) == [b"a", b"X", b"c"]
