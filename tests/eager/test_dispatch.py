"""Ops that run when they are called: values, errors, functions, state."""

from __future__ import annotations

import gc
import pickle
import weakref

import numpy as np
import pytest

import headrace as tf
from headrace.eager.context import context, graph_mode


def test_values_are_there_at_once():
    x = tf.constant([[1.0, 2.0], [3.0, 4.0]])
    assert tf.executing_eagerly()
    np.testing.assert_array_equal(tf.matmul(x, x + 1).numpy(), [[10, 13], [22, 29]])
    assert x.shape.as_list() == [2, 2] and x.dtype is tf.float32
    assert [float(v) for v in x[1]] == [3.0, 4.0] and len(x) == 2
    assert bool(x[0, 0] < x[0, 1]) and int(tf.constant(3)) == [0, 1, 2, 3][tf.constant(3)]
    assert repr(tf.constant(2)) == "<tf.Tensor: shape=(), dtype=int32, numpy=2>"
    assert pickle.loads(pickle.dumps(x)).numpy().tolist() == [[1, 2], [3, 4]]


def test_a_graph_stays_a_graph():
    with graph_mode():
        assert not tf.executing_eagerly()
    with tf.Graph().as_default(), tf.Session() as sess:
        y = tf.constant(2.0) * 3
        assert sess.run(y) == 6.0
        with pytest.raises(AttributeError):
            y.numpy()


def test_tensors_of_both_modes_do_not_mix():
    x = tf.constant(1.0)
    with tf.Graph().as_default():
        with pytest.raises(RuntimeError, match="without building a function"):
            tf.exp(x)
        y = tf.constant(2.0)
    with pytest.raises(TypeError, match="Graph"):
        tf.stack([x, y])


def test_a_value_is_the_users_own():
    source = np.ones(3, np.float32)
    x = tf.constant(source)
    source[0] = 5
    x.numpy()[1] = 5
    np.asarray(x)[2] = 5
    assert x.numpy().tolist() == [1, 1, 1]


def test_errors_are_those_of_a_graph_at_the_users_line():
    with pytest.raises(tf.errors.InvalidArgumentError) as caught:
        tf.matmul(tf.ones([2, 2]), tf.ones([3, 3]))
    assert "Dimensions must be equal, but are 2 and 3" in str(caught.value)
    assert "test_dispatch.py" in str(caught.value)
    with pytest.raises(tf.errors.InvalidArgumentError, match="out of|not in|bounds"):
        tf.gather(tf.range(3), 7)


def test_large_work_equals_small_work():
    rng = np.random.default_rng(1)
    x = rng.normal(size=(300, 200)).astype(np.float32)
    got = tf.nn.softmax(tf.constant(x)).numpy()
    rows = np.stack([tf.nn.softmax(tf.constant(row)).numpy() for row in x])
    np.testing.assert_allclose(got, rows, rtol=1e-6)


def test_variables_have_state_of_their_own():
    v, w = tf.Variable(1.0, name="v"), tf.Variable(2.0, name="v")
    assert v.name == w.name == "v:0"
    v.assign_add(2.0)
    assert (v.numpy(), w.numpy()) == (3.0, 2.0)
    assert float(v * w) == 6.0


def test_a_variable_ends_with_its_last_user():
    gc.collect()  # what tests before this one left
    before = len(context().containers._items)
    v = tf.Variable(np.zeros(1000))
    assert len(context().containers._items) == before + 1
    del v
    gc.collect()
    assert len(context().containers._items) == before


def test_a_value_ends_with_its_last_user():
    x = tf.ones([1000])
    array = weakref.ref(x._constant)
    y = x + 1
    del x
    assert array() is None  # without the collector
    assert y.numpy()[0] == 2


def test_seeds():
    def numbers():
        tf.set_random_seed(7)
        return [tf.random_normal([3]).numpy().tolist() for _ in range(2)]

    first, second = numbers(), numbers()
    assert first == second and first[0] != first[1]


def test_functions_are_traced_once_and_run():
    traces = []

    @tf.function
    def f(x):
        traces.append(x)
        return x * 2 + v

    v = tf.Variable(1.0)
    assert [float(f(tf.constant(a))) for a in (1.0, 2.0)] == [3.0, 5.0]
    v.assign(10.0)
    assert float(f(tf.constant(1.0))) == 12.0 and len(traces) == 1


def test_training():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(64, 3)).astype(np.float32)
    y = x @ np.array([[1.0], [-2.0], [0.5]], np.float32)
    w = tf.Variable(tf.zeros([3, 1]))
    optimizer = tf.train.GradientDescentOptimizer(0.1)
    for _ in range(100):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(tf.matmul(x, w) - y))
        optimizer.apply_gradients([(tape.gradient(loss, w), w)])
    np.testing.assert_allclose(w.numpy().ravel(), [1.0, -2.0, 0.5], atol=1e-2)
