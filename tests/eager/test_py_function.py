"""tf.py_function: its function gets eager tensors, and has a gradient, in graphs and in eager mode."""

from __future__ import annotations

import numpy as np
import pytest

import headrace as tf
from headrace.eager.context import eager_mode


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default():
        yield


@pytest.fixture(params=["0", "always"], autouse=True)
def compiled_or_not(request, monkeypatch):
    monkeypatch.setenv("HEADRACE_COMPILE", request.param)


def run(fetches, feeds=None):
    with tf.Session() as session:
        session.run(fetches, feeds)
        return session.run(fetches, feeds)


def test_a_function_gets_eager_tensors():
    def function(x):
        assert x.numpy().tolist() == [1.0, 2.0]
        return tf.reduce_sum(x) if x[0] < x[1] else x[0]

    assert run(tf.py_function(function, [tf.constant([1.0, 2.0])], tf.float32)) == 3.0


def test_results_may_be_arrays_and_have_the_promised_types():
    x = tf.constant([1.0, 2.0])
    made = tf.py_function(lambda v: (np.square(v), 7, b"a"), [x], [tf.float32, tf.int64, tf.string])
    squares, seven, text = run(made)
    assert squares.tolist() == [1.0, 4.0]
    assert (seven, seven.dtype, text) == (7, np.int64, b"a")


def test_gradient():
    x, w = tf.placeholder(tf.float32, [2]), tf.Variable([3.0, 4.0])
    y = tf.py_function(lambda a, b: tf.sin(a) * b * b, [x, w], tf.float32)
    dx, dw = tf.gradients(y * 2.0, [x, w])
    assert dx.shape.as_list() == [2]
    with tf.Session() as session:
        session.run(w.initializer)
        for step in range(3):
            values = np.array([0.5, step], np.float32)
            of_x, of_w = session.run([dx, dw], {x: values})
            np.testing.assert_allclose(of_x, 2 * np.cos(values) * np.array([9, 16]), rtol=1e-5)
            np.testing.assert_allclose(of_w, 4 * np.sin(values) * np.array([3, 4]), rtol=1e-5)


def test_gradient_with_whole_numbers_between_and_results_without_one():
    def function(x, n):
        return x ** tf.cast(n, tf.float32), n + 1, x

    x, n = tf.constant(2.0), tf.constant(3)
    cube, more, _ = tf.py_function(function, [x, n], [tf.float32, tf.int32, tf.float32])
    assert tf.gradients(cube, [x, n])[1] is None
    assert run([tf.gradients(cube, x), more]) == [[12.0], 4]


def test_a_result_that_does_not_depend_on_the_input_has_zeros():
    x = tf.constant([1.0, 2.0])
    y = tf.py_function(lambda v: tf.constant(1.0), [x], tf.float32)
    assert run(tf.gradients(y, x))[0].tolist() == [0.0, 0.0]


def test_two_gradients_of_one_call():
    calls = []

    def function(v):
        calls.append(1)
        return v * v

    x = tf.constant(3.0)
    y = tf.py_function(function, [x], tf.float32)
    first, second = tf.gradients(y, x), tf.gradients(y * 10.0, x)
    assert run([first, second]) == [[6.0], [60.0]]
    assert len(calls) == 2  # steps


def test_gradient_of_a_loop_and_of_a_branch():
    def square(v):
        return tf.py_function(lambda a: a * a, [v], tf.float32)

    def shaped(v):
        v.set_shape([])
        return v

    x, n = tf.placeholder(tf.float32, []), tf.placeholder(tf.int32, [])
    powers = tf.while_loop(lambda i, v: i < n, lambda i, v: (i + 1, shaped(square(v))), [0, x])[1]
    branch = tf.cond(n > 1, lambda: shaped(square(x)), lambda: x * 3.0)
    grads = tf.gradients(powers, x), tf.gradients(branch, x)
    with tf.Session() as session:
        for turns in (2, 1, 0, 3):
            of_loop, of_branch = session.run(grads, {x: 1.5, n: turns})
            exponent = 2**turns
            np.testing.assert_allclose(of_loop[0], exponent * 1.5 ** (exponent - 1), rtol=1e-5)
            assert of_branch[0] == 3.0  # 2 x, and 3


def test_a_network_trains_through_it():
    w = tf.Variable(4.0)
    loss = tf.py_function(lambda v: (v - 1.0) ** 2, [w], tf.float32)
    train = tf.train.GradientDescentOptimizer(0.25).minimize(loss)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for _ in range(10):
            session.run(train)
        assert abs(session.run(w) - 1.0) < 1e-2


def test_there_is_no_second_gradient():
    x = tf.constant(3.0)
    y = tf.py_function(lambda v: v * v * v, [x], tf.float32)
    first = tf.gradients(y, x)[0]
    with pytest.raises(LookupError, match="py_function has no gradient of its own"):
        tf.gradients(first, x)


def test_in_eager_mode_a_tape_sees_through_it():
    with eager_mode():
        x = tf.constant(3.0)
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.py_function(lambda v: v * v, [x], tf.float32)
        assert float(tape.gradient(y, x)) == 6.0


def test_what_the_function_raises_is_the_error_of_the_node():
    def refuses(x):
        raise ValueError("not this")

    with pytest.raises(tf.errors.InvalidArgumentError, match="not this"):
        run(tf.py_function(refuses, [tf.constant(1.0)], tf.float32))
    with pytest.raises(tf.errors.InvalidArgumentError, match="returns 2 values"):
        run(tf.py_function(lambda x: (x, x, x)[:2], [tf.constant(1.0)], [tf.float32] * 3))
