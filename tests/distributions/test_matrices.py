"""Triangles, diagonals and logarithms beside NumPy."""

from __future__ import annotations

import numpy as np
import pytest

import headrace as tf

d = tf.contrib.distributions


def value(tensor):
    with tf.Session() as sess:
        return sess.run(tensor)


@pytest.mark.parametrize("upper", [False, True])
def test_triangles_and_back(upper):
    with tf.Graph().as_default():
        vector = np.arange(1, 13, dtype=np.float32).reshape(2, 6)
        matrix = d.fill_triangular(vector, upper)
        found, back = value([matrix, d.fill_triangular_inverse(matrix, upper)])
        with pytest.raises(ValueError, match="does not correspond to a triangular matrix"):
            d.fill_triangular(vector[:, :5])
    expected = [[1, 2, 3], [0, 5, 6], [0, 0, 4]] if upper else [[4, 0, 0], [6, 5, 0], [3, 2, 1]]
    np.testing.assert_array_equal(found[0], expected)
    np.testing.assert_array_equal(back, vector)


def test_diagonals():
    with tf.Graph().as_default():
        made = d.tridiag(below=[1.0, 2.0], diag=[3.0, 4.0, 5.0], above=[6.0, 7.0])
        found, doubled = value([made, d.matrix_diag_transform(made, lambda x: 2 * x)])
    expected = np.diag([3.0, 4.0, 5.0]) + np.diag([1.0, 2.0], -1) + np.diag([6.0, 7.0], 1)
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(doubled, expected + np.diag([3.0, 4.0, 5.0]))


def test_logarithms():
    with tf.Graph().as_default():
        x = np.float32([1e-6, 0.5, 30.0])
        logs, weights = np.float64([0.5, -1.0, 2.0]), np.float64([1.0, 2.0, -3.0])
        again, (total, sign) = value(
            [
                tf.nn.softplus(d.softplus_inverse(x)),
                d.reduce_weighted_logsumexp(logs, weights, return_sign=True),
            ]
        )
    np.testing.assert_allclose(again, x, rtol=1e-4)
    exact = (weights * np.exp(logs)).sum()
    assert sign == np.sign(exact) and total == pytest.approx(np.log(abs(exact)))
