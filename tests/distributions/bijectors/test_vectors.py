"""Bijectors of vectors, and conditional ones, beside NumPy."""

from __future__ import annotations

import numpy as np
import pytest

import headrace as tf

b = tf.contrib.distributions.bijectors


def values(*tensors, feed_dict=None):
    with tf.Session() as sess:
        return sess.run(list(tensors), feed_dict)


def test_permuted():
    x = np.random.default_rng(0).normal(size=[4, 2, 3])
    with tf.Graph().as_default():
        order = tf.placeholder(tf.int32)
        made = b.Permute(order, validate_args=True)
        y, back, ildj = made.forward(x), made.inverse(x), made.inverse_log_det_jacobian(x, event_ndims=1)
        y, back, ildj = values(y, back, ildj, feed_dict={order: [2, 0, 1]})
        with pytest.raises(tf.errors.InvalidArgumentError, match="exactly one of each"):
            values(made.forward([1.0, 2.0]), feed_dict={order: [1, 2]})
        with pytest.raises(ValueError, match="exactly one of each"):
            b.Permute([0, 0])
        with pytest.raises(TypeError, match="int"):
            b.Permute([0.0, 1.0])
    np.testing.assert_array_equal(y, x[..., [2, 0, 1]])
    np.testing.assert_array_equal(back[..., [2, 0, 1]], x)
    np.testing.assert_array_equal(ildj, 0.0)


def test_onto_the_simplex():
    x = np.random.default_rng(1).normal(size=[5, 3])

    def function(x):
        e = np.exp(np.append(x, 0.0))
        return e / e.sum()

    slopes = []
    for row in x:
        steps = 1e-6 * np.eye(3)
        matrix = np.array([function(row + s) - function(row - s) for s in steps])[:, :-1] / 2e-6
        slopes.append(np.log(np.linalg.det(matrix)))
    with tf.Graph().as_default():
        made, other = b.SoftmaxCentered(), b.SoftmaxCentered(validate_args=True)
        expected = np.array([function(row) for row in x])
        y, back, fldj, ildj, shape = values(
            made.forward(x),
            other.inverse(expected),
            made.forward_log_det_jacobian(x, event_ndims=1),
            other.inverse_log_det_jacobian(expected, event_ndims=1),
            other.inverse_event_shape_tensor([4]),
        )
        assert made.forward_event_shape([3]) == [4] and made.inverse_event_shape([4]) == [3]
        assert shape.tolist() == [3]
    np.testing.assert_allclose(y, expected, rtol=1e-10)
    np.testing.assert_allclose(back, x, rtol=1e-9)
    np.testing.assert_allclose(fldj, slopes, rtol=1e-6)
    np.testing.assert_allclose(ildj, -fldj, rtol=1e-10)


class Times(b.ConditionalBijector):
    def __init__(self):
        super().__init__(forward_min_event_ndims=0)

    def _forward(self, x, by):
        return x * by

    def _inverse(self, y, by):
        return y / by

    def _forward_log_det_jacobian(self, x, by):
        return tf.log(by) + tf.zeros_like(x)


def test_arguments_go_through():
    with tf.Graph().as_default():
        made = Times()
        x = tf.constant([1.0, 2.0])
        found = values(
            made.forward(x, by=2.0),
            made.forward(x, by=3.0),
            made.inverse(x, by=2.0),
            made.inverse_log_det_jacobian(x, event_ndims=1, by=2.0),
        )
    expected = [[2.0, 4.0], [3.0, 6.0], [0.5, 1.0], -2 * np.log(2.0)]
    for one, other in zip(found, expected):
        np.testing.assert_allclose(one, other, rtol=1e-6)
