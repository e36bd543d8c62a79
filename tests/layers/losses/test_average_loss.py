"""tf.nn.compute_average_loss: ranks of weights, known and unknown."""

import pytest

import headrace as tf


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default():
        yield


def value(tensor, feeds=None):
    with tf.Session() as session:
        return session.run(tensor, feeds)


@pytest.mark.parametrize(
    "losses, weights, expected",
    [
        ([2.0, 4.0, 6.0], None, 4.0),
        ([2.0, 4.0, 6.0], 2, 8.0),
        ([2.0, 4.0], [0.5, 0.25], 1.0),
        ([[2.0], [4.0]], [0.5, 0.25], 1.0),
        ([2.0, 4.0], [[0.5], [0.25]], 1.0),
    ],
)
def test_average(losses, weights, expected):
    assert value(tf.nn.compute_average_loss(losses, weights)) == expected
    x, w = tf.placeholder(tf.float32), tf.placeholder(tf.float32)
    average = tf.nn.compute_average_loss(x, None if weights is None else w)
    assert value(average, {x: losses, w: 1 if weights is None else weights}) == expected


def test_batch_size_and_type():
    losses = tf.constant([1, 2, 3, 4, 5], tf.float64)
    average = tf.nn.compute_average_loss(losses, global_batch_size=10)
    assert average.dtype == tf.float64
    assert value(average) == 1.5


def test_refuses():
    with pytest.raises(ValueError, match="can not be broadcast"):
        tf.nn.compute_average_loss([1.0, 2.0, 3.0], [0.5, 0.5])
    with pytest.raises(ValueError, match="at least rank 1, received"):
        tf.nn.compute_average_loss(2.0)
    x = tf.placeholder(tf.float32)
    with pytest.raises(tf.errors.InvalidArgumentError, match="at least rank 1"):
        value(tf.nn.compute_average_loss(x), {x: 2.0})


def test_regularization():
    assert value(tf.nn.scale_regularization_loss([1.0, 2.0, 3.0])) == 6.0
