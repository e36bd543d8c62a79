"""Gradients in eager mode: what is recorded, how often, and when it is let go."""

from __future__ import annotations

import weakref

import pytest

import headrace as tf


def test_gradients_of_what_is_watched():
    x, y = tf.constant(3.0), tf.constant(4.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        z = x * x * y
    assert [g if g is None else float(g) for g in tape.gradient(z, [x, y])] == [24.0, None]
    with pytest.raises(RuntimeError, match="only be called once"):
        tape.gradient(z, x)


def test_a_tensor_is_its_own_gradient():
    x = tf.constant(3.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
    assert float(tape.gradient(x, x)) == 1.0


def test_trainable_variables_are_watched():
    v, w = tf.Variable(2.0), tf.Variable(3.0, trainable=False)
    with tf.GradientTape() as tape:
        z = v * v * w
    assert tape.watched_variables() == (v,)
    found = tape.gradient(z, [v, w])
    assert float(found[0]) == 12.0 and found[1] is None


def test_higher_order():
    x = tf.constant(2.0)
    with tf.GradientTape() as outer:
        outer.watch(x)
        with tf.GradientTape() as inner:
            inner.watch(x)
            y = x**4
        dy = inner.gradient(y, x)
    assert (float(dy), float(outer.gradient(dy, x))) == (32.0, 48.0)


def test_a_persistent_tape_gives_several():
    x = tf.constant(2.0)
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = x * x
        z = y * y
    assert (float(tape.gradient(z, x)), float(tape.gradient(y, x)), float(tape.gradient(z, y))) == (32, 4, 8)


def test_what_is_not_recorded():
    x = tf.constant(2.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        with tape.stop_recording():
            y = x * x
        z = y + x
    assert float(tape.gradient(z, x)) == 1.0


def test_gradients_through_a_function():
    v = tf.Variable(2.0)

    @tf.function
    def f(x):
        return tf.exp(x) * v

    x = tf.constant(0.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = f(x) * 3.0
    assert [float(g) for g in tape.gradient(y, [x, v])] == [6.0, 3.0]


def test_rows_of_a_table():
    table = tf.Variable(tf.ones([5, 2]))
    with tf.GradientTape() as tape:
        y = tf.reduce_sum(tf.gather(table, [1, 1, 3]))
    found = tape.gradient(y, table)
    assert isinstance(found, tf.IndexedSlices)
    assert tf.convert_to_tensor(found).numpy()[:, 0].tolist() == [0, 2, 0, 1, 0]


@pytest.mark.parametrize("is_persistent", [False, True])
def test_nothing_is_kept_when_the_tape_is_done(is_persistent):
    x = tf.ones([1000])
    with tf.GradientTape(is_persistent) as tape:
        tape.watch(x)
        between = tf.exp(x)
        y = tf.reduce_sum(between * 2)
    array = weakref.ref(between._constant)
    del between
    assert array() is not None
    tape.gradient(y, x)
    del tape
    assert array() is None  # without the collector, though y lives


def test_a_value_that_is_carried_along_keeps_no_history():
    state, arrays = tf.zeros([1000]), []
    v = tf.Variable(1.0)
    for _ in range(3):
        with tf.GradientTape() as tape:
            state = state + v
            loss = tf.reduce_sum(state)
        tape.gradient(loss, v)
        arrays.append(weakref.ref(state._constant))
    assert [a() is None for a in arrays] == [True, True, False]
