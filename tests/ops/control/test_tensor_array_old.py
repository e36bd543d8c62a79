"""The first two generations of tensor arrays, in graphs made before TF 1.0: they run, and gradients go
through them."""

from __future__ import annotations

import numpy as np
import pytest

import headrace as tf

RAW = tf.raw_ops


class Ops:
    """The ops of one generation; `start` is the flow that orders them."""

    def __init__(self, version):
        self.version = version
        self.start = tf.constant(0.0)

    def __getattr__(self, name):
        return getattr(RAW, f"TensorArray{name}{self.version}")

    def make(self, size):
        return getattr(RAW, f"TensorArray{self.version}")(size=size, dtype=tf.float32, clear_after_read=False)


def by_cell(ops, x):
    array, flow = ops.make(3), ops.start
    for i in range(3):
        flow = ops.Write(handle=array, index=i, value=x[i] * float(i + 1), flow_in=flow)
    rows = [ops.Read(handle=array, index=i, flow_in=flow, dtype=tf.float32) for i in (2, 0, 2)]
    return tf.stack(rows)


def all_at_once(ops, x):
    array = ops.make(3)
    flow = ops.Scatter(handle=array, indices=[2, 0, 1], value=x * x, flow_in=ops.start)
    return ops.Gather(handle=array, indices=[0, 1, 0], flow_in=flow, dtype=tf.float32)


def in_pieces(ops, x):
    array = ops.make(2)
    lengths = tf.constant([1, 2], tf.int64)
    flow = ops.Split(handle=array, value=x * 3.0, lengths=lengths, flow_in=ops.start)
    return ops.Concat(handle=array, flow_in=flow, dtype=tf.float32)[0]


X = np.arange(6, dtype=np.float32).reshape(3, 2) + 1
WEIGHTS = np.array([[1, 2], [3, 4], [5, 6]], np.float32)


@pytest.mark.parametrize("version", ["", "V2"])
@pytest.mark.parametrize(
    "use, value, slope",
    [
        (by_cell, X[[2, 0, 2]] * [[3], [1], [3]], [[3, 4], [0, 0], [18, 24]]),
        (all_at_once, (X * X)[[1, 2, 1]], 2 * X * [[0, 0], [6, 8], [3, 4]]),
        (in_pieces, X * 3, WEIGHTS * 3),
    ],
)
def test_values_and_gradients(version, use, value, slope):
    with tf.Graph().as_default(), tf.Session() as sess:
        x = tf.placeholder(tf.float32, [3, 2])
        y = use(Ops(version), x)
        (dx,) = tf.gradients(y, x, grad_ys=[tf.constant(WEIGHTS)])
        for _ in range(3):
            found, gradient = sess.run([y, dx], {x: X})
            np.testing.assert_allclose(found, value)
            np.testing.assert_allclose(gradient, slope)
