"""x[i] and tf.slice where the index is a number that the program computes: in loops, and as a feed."""

from __future__ import annotations

import numpy as np
import pytest

import headrace as tf
from tests.codegen.lowering.test_control import check

pytestmark = pytest.mark.native
X = np.arange(60, dtype=np.float32).reshape(4, 5, 3) / 7
TAKEN = {
    "first": lambda x, t: x[t],
    "second": lambda x, t: x[:, t],
    "last": lambda x, t: x[..., t % 3],
    "backwards": lambda x, t: x[-1 - t],
    "two": lambda x, t: x[t, t],
    "beside a range": lambda x, t: x[t, 1:4],
    "beside steps": lambda x, t: x[::2, t, ::-1],
    "a new axis": lambda x, t: x[t, tf.newaxis, 2],
    "an open range": lambda x, t: x[:, t, 1:],
    "a moving range": lambda x, t: x[t : t + 1],
    "moving ranges": lambda x, t: x[:, t % 3 : t % 3 + 2, t - t : t - t + 2],
    "long": lambda x, t: x[tf.cast(t, tf.int64)],
    "a block": lambda x, t: tf.slice(x, [t, 0, 1], [1, 2, 2]),
    "a block to the end": lambda x, t: tf.slice(x, [0, t, 1], [-1, 2, -1]),
}


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default():
        yield


@pytest.mark.parametrize("name", TAKEN)
def test_in_a_loop(name):
    x = tf.placeholder(tf.float32, X.shape)
    start = tf.zeros_like(TAKEN[name](x, tf.constant(0)))

    def body(t, total):
        taken = TAKEN[name](x, t)
        taken.set_shape(start.shape)
        return t + 1, total * 1.5 + tf.sin(taken)

    total = tf.while_loop(lambda t, _: t < 4, body, [0, start])[1]
    check(total, {x: X})
    check(tf.gradients(total, x)[0], {x: X})


@pytest.mark.parametrize("name", TAKEN)
def test_fed(name):
    x, t = tf.placeholder(tf.float32, X.shape), tf.placeholder(tf.int32, [])
    taken = TAKEN[name](x, t) * 2.0
    for value in (0, 2, 3):
        check(taken, {x: X, t: np.int32(value)})


@pytest.mark.parametrize("place", [-5, 4, 1 << 30])
@pytest.mark.parametrize("compiled", ["always", "0"])
def test_outside(place, compiled, monkeypatch):
    monkeypatch.setenv("HEADRACE_COMPILE", compiled)
    x, t = tf.placeholder(tf.float32, X.shape), tf.placeholder(tf.int32, [])
    y = tf.while_loop(lambda i, _: i < 3, lambda i, y: (i + 1, y + x[t]), [0, tf.zeros(X.shape[1:])])[1]
    with tf.Session() as session:
        for _ in range(3):
            message = f"slice index {place} of dimension 0 out of bounds"
            with pytest.raises(tf.errors.InvalidArgumentError, match=message):
                session.run(y, {x: X, t: place})
            np.testing.assert_allclose(session.run(y, {x: X, t: 1}), 3 * X[1], rtol=1e-6)


def test_a_block_that_reaches_outside():
    x, t = tf.placeholder(tf.float32, X.shape), tf.placeholder(tf.int32, [])
    taken = tf.slice(x, [t, 0, 0], [2, 5, 3]) + 1.0
    with tf.Session() as session:
        for place in (2, 3, -1, 2, 5):
            if place == 2:
                np.testing.assert_allclose(session.run(taken, {x: X, t: place}), X[2:] + 1)
                continue
            with pytest.raises(tf.errors.InvalidArgumentError, match="Expected"):
                session.run(taken, {x: X, t: place})


def test_a_range_that_is_cut_in_every_step():
    """The program is right for ranges inside, so it refuses; after a while nobody asks it again."""
    x, t = tf.placeholder(tf.float32, X.shape), tf.placeholder(tf.int32, [])
    taken = x[t : t + 3] * 2.0
    with tf.Session() as session:
        for place in (0, 1, 0, *[3] * 12, 0, -2, 1):
            np.testing.assert_allclose(session.run(taken, {x: X, t: place}), X[place : place + 3] * 2)
