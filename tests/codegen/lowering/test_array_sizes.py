"""Tensor arrays of which not all cells are written, and such that grow."""

from __future__ import annotations

import numpy as np
import pytest

import headrace as tf
from tests.codegen.lowering.test_control import X, check

pytestmark = pytest.mark.native


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as graph:
        yield graph


@pytest.fixture
def x():
    return tf.placeholder(tf.float32, [3])


@pytest.mark.parametrize("lengths", [[2, 1, 2], [4, 0, 1], [0, 0, 0]])
@pytest.mark.parametrize("batch", [3, None])
def test_outputs_behind_the_longest_sequence_are_zeros(lengths, batch):
    rows = tf.placeholder(tf.float32, [batch, 4, 2])
    steps = tf.placeholder(tf.int32, [batch])
    weights = tf.constant([[0.3, -0.2], [0.5, 0.7]])

    def body(t, state, store):
        state = tf.tanh(tf.matmul(rows[:, t], weights) + state)
        return t + 1, state, store.write(t, tf.where(t < steps, state, tf.zeros_like(state)))

    longest = tf.minimum(4, tf.reduce_max(steps))
    store = tf.TensorArray(tf.float32, 4, element_shape=[batch, 2] if batch else None)
    start = tf.zeros([tf.shape(rows)[0], 2])
    y = tf.while_loop(lambda t, *_: t < longest, body, [0, start, store])[2].stack()
    feeds = {rows: np.arange(24, dtype=np.float32).reshape(3, 4, 2) / 9, steps: np.int32(lengths)}
    if any(lengths) or batch:
        check([y, tf.gradients(y, rows)[0]], feeds, is_whole=any(lengths))
        return
    with tf.Session() as session:  # nobody knows the shape of an element
        for _ in range(3):
            with pytest.raises(tf.errors.InvalidArgumentError, match="not fully defined"):
                session.run(y, feeds)


@pytest.mark.parametrize("clears", [True, False])
def test_a_whole_array_with_holes(x, clears):
    store = tf.TensorArray(tf.float32, 5, clear_after_read=clears)
    store = tf.while_loop(lambda i, _: i < 3, lambda i, s: (i + 1, s.write(2 * i, x[i])), [0, store])[1]
    wholes = [store.stack()] if clears else [store.stack(), store.stack() * 2]
    check([*wholes, tf.gradients(wholes[0] * [1.0, 2.0, 3.0, 4.0, 5.0], x)[0]], {x: X})


def squares(x, store, count):
    def body(i, store):
        return i + 1, store.write(i, x[i] * x[i])

    return tf.while_loop(lambda i, _: i < count, body, [0, store])[1]


def test_an_array_that_grows(x):
    y = squares(x, tf.TensorArray(tf.float32, 0, dynamic_size=True), 3)
    whole = y.stack()
    check([whole, y.size(), tf.gradients(whole * x, x)[0]], {x: X})


def test_an_array_that_grows_from_a_value(x):
    store = tf.TensorArray(tf.float32, 0, dynamic_size=True, clear_after_read=False).unstack(x * 2)
    y = tf.while_loop(lambda i, _: i < 3, lambda i, v: (i + 1, v + store.read(i)), [0, 0.0])[1]
    check([y, tf.gradients(y, x)[0]], {x: X})


def twice(x, store):
    def body(i, store):
        return i + 1, store.write(2 * i, x[i]).write(2 * i + 1, x[i] + 1)

    return tf.while_loop(lambda i, _: i < 3, body, [0, store])[1].stack()


def with_gaps(x, store):
    store = tf.while_loop(lambda i, _: i < 2, lambda i, s: (i + 1, s.write(3 - i, x[i])), [0, store])[1]
    return tf.stack([tf.cast(store.size(), tf.float32), store.read(2), store.read(3)])


def in_a_branch(x, store):
    def body(i, store):
        last = store.size()
        return i + 1, tf.cond(x[i] > 0.7, lambda: store.write(last, x[i]), lambda: store)

    store = tf.while_loop(lambda i, _: i < 3, body, [0, store])[1]
    return store.stack()


def until_it_is_large(x, store):
    def body(i, total, store):
        return i + 1, total + x[i], store.write(i, total)

    goes_on = lambda i, total, _: tf.logical_and(i < 3, total < 1.0)
    return tf.while_loop(goes_on, body, [0, 0.0, store])[2].stack()


def more_afterwards(x, store):
    return squares(x, store, 2).write(2, x[0]).stack()


@pytest.mark.parametrize("program", [twice, with_gaps, in_a_branch, until_it_is_large, more_afterwards])
def test_arrays_that_grow_in_other_ways(x, program):
    store = tf.TensorArray(tf.float32, 0, dynamic_size=True, element_shape=[])
    check(program(x, store), {x: X}, is_whole=False)
