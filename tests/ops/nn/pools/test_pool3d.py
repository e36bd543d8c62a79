"""Volumes: who gets the gradient of a maximum."""

from __future__ import annotations

import numpy as np
import pytest

import headrace as tf


def gradient(values, weights, window, stride):
    """The gradient of MaxPool3D along one axis, by the reference and compiled."""
    x = np.reshape(np.array(values, np.float32), (1, 1, 1, -1, 1))
    with tf.Graph().as_default(), tf.Session() as sess:
        fed = tf.placeholder(tf.float32, x.shape)
        size, step = [1, 1, 1, window, 1], [1, 1, 1, stride, 1]
        pooled = tf.nn.max_pool3d(fed, size, step, "VALID")
        dy = np.reshape(np.array(weights, np.float32), pooled.shape.as_list())
        (dx,) = tf.gradients(pooled, fed, grad_ys=[tf.constant(dy)])
        found = [sess.run(dx, {fed: x}).ravel().tolist() for _ in range(3)]
    assert found[0] == found[1] == found[2]
    return found[0]


# What TensorFlow 1.15's kernel gives: everything within 1e-5 of the maximum takes part.
@pytest.mark.parametrize(
    "values, window, stride, want",
    [
        ([5, 5, 5, 1], 2, 1, [1, 3, 6, 0]),
        ([5, 5 - 5e-6, 5 - 2e-5, 1], 2, 1, [1, 3, 4, 0]),
        ([0, 0, 0, 0, 0, 0], 2, 2, [1, 1, 2, 2, 4, 4]),
        ([0, 0, 0, 0, 0, 0, 0], 3, 2, [1, 1, 3, 2, 6, 4, 4]),
        ([3, 9, 2, 7, 1, 8, 8, 0], 4, 2, [0, 1, 0, 0, 0, 6, 4, 0]),
    ],
)
def test_every_maximum_gets_the_gradient(values, window, stride, want):
    assert gradient(values, [1, 2, 4], window, stride) == want
