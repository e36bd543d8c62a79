"""Steps of optimizers, beside their formulas in NumPy; by handle, in a graph."""

from __future__ import annotations

import numpy as np
import pytest

import headrace as tf

keras = tf.keras
G = np.array([0.5, -2.0, 0.1], np.float32)
START = np.array([1.0, 2.0, 3.0], np.float32)


def sgd(n):
    return START - 0.1 * n * G


def momentum(n):
    value, speed = START.copy(), np.zeros(3)
    for _ in range(n):
        speed = 0.9 * speed - 0.1 * G
        value = value + speed
    return value


def rmsprop(n):
    value, square = START.copy(), np.zeros(3)
    for _ in range(n):
        square = 0.9 * square + 0.1 * G**2
        value = value - 0.1 * G / (np.sqrt(square) + 1e-7)
    return value


def adam(n):
    value, m, v = START.copy(), np.zeros(3), np.zeros(3)
    for t in range(1, n + 1):
        m, v = 0.9 * m + 0.1 * G, 0.999 * v + 0.001 * G**2
        rate = 0.1 * np.sqrt(1 - 0.999**t) / (1 - 0.9**t)
        value = value - rate * m / (np.sqrt(v) + 1e-7)
    return value


@pytest.mark.parametrize(
    ("make", "reference"),
    [
        (lambda: keras.optimizers.SGD(0.1), sgd),
        (lambda: keras.optimizers.SGD(0.1, momentum=0.9), momentum),
        (lambda: keras.optimizers.RMSprop(0.1), rmsprop),
        (lambda: keras.optimizers.Adam(0.1), adam),
    ],
    ids=["sgd", "momentum", "rmsprop", "adam"],
)
def test_steps(make, reference):
    with tf.Graph().as_default(), tf.Session() as sess:
        v = tf.Variable(START, use_resource=True)
        optimizer = make()
        step = optimizer.apply_gradients([(tf.constant(G), v)])
        sess.run(tf.global_variables_initializer())
        for n in range(1, 4):
            sess.run(step)
            np.testing.assert_allclose(sess.run(v), reference(n), rtol=1e-4)
        assert sess.run(optimizer.iterations) == 3


def test_a_learning_rate_is_changed_between_steps():
    with tf.Graph().as_default():
        optimizer = keras.optimizers.SGD(0.1)
        _ = optimizer.iterations
        keras.backend.set_value(optimizer.lr, 0.5)
        assert keras.backend.get_value(optimizer.lr) == 0.5
        assert optimizer.get_config()["learning_rate"] == 0.5
