"""The whole stack in a few seconds: build, differentiate, place, split, run; the errors a user sees."""

from __future__ import annotations

import os
import threading

import numpy as np
import pytest

import headrace as tf


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as fresh:
        yield fresh


def softmax_regression(use_resource):
    x = tf.placeholder(tf.float32, [None, 4])
    y = tf.placeholder(tf.float32, [None, 3])
    w = tf.get_variable("w", [4, 3], initializer=tf.zeros_initializer(), use_resource=use_resource)
    logits = tf.matmul(x, w)
    loss = tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits_v2(labels=y, logits=logits))
    return x, y, w, loss, tf.train.GradientDescentOptimizer(0.5).minimize(loss)


def by_hand(x, y, w):
    z = x @ w
    p = np.exp(z - z.max(1, keepdims=True))
    p /= p.sum(1, keepdims=True)
    return w - 0.5 * x.T @ (p - y) / len(x)


@pytest.mark.parametrize("use_resource", [False, True])
def test_softmax_regression_step(use_resource):
    x, y, w, loss, train = softmax_regression(use_resource)
    rng = np.random.default_rng(0)
    images = rng.normal(size=(8, 4)).astype(np.float32)
    labels = np.eye(3, dtype=np.float32)[rng.integers(3, size=8)]
    expected = np.zeros((4, 3), np.float32)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for _ in range(5):
            session.run(train, {x: images, y: labels})
            expected = by_hand(images, labels, expected)
        np.testing.assert_allclose(session.run(w), expected, rtol=1e-5, atol=1e-6)
        assert session.run(loss, {x: images, y: labels}) < np.log(3)


def test_two_devices_exchange_tensors():
    with tf.device("/cpu:0"):
        a = tf.constant([1.0, 2.0])
    with tf.device("/cpu:1"):
        b, c = a * 2, a * 3
    with tf.device("/cpu:0"):
        d = b + c
    with tf.Session(config=tf.ConfigProto(device_count={"CPU": 2})) as session:
        np.testing.assert_array_equal(session.run(d), [5, 10])
    with tf.Session() as session, pytest.raises(tf.errors.InvalidArgumentError, match="Cannot assign"):
        session.run(d)


def test_graph_survives_a_graph_def():
    tf.identity(tf.constant([1.0, 2.0], name="a") * 3.0, name="b")
    message = tf.get_default_graph().as_graph_def()
    with tf.Graph().as_default():
        (b,) = tf.import_graph_def(message, return_elements=["b:0"], name="")
        with tf.Session() as session:
            np.testing.assert_array_equal(session.run(b), [3, 6])


def test_error_names_the_line():
    a, b = tf.zeros([2, 784]), tf.zeros([100, 10])
    with pytest.raises(ValueError) as caught:
        tf.matmul(a, b)  # the line that the message must show
    text = str(caught.value)
    assert "784" in text and "100" in text
    assert "test_tiny.py" in text and "the line that the message must show" in text


def test_run_time_error_names_the_line():
    x = tf.placeholder(tf.int32, [None])
    y = tf.gather([1, 2, 3], x)  # out of range
    with tf.Session() as session:
        with pytest.raises(tf.errors.InvalidArgumentError, match="out of range"):
            session.run(y, {x: [7]})
        np.testing.assert_array_equal(session.run(y, {x: [2]}), [3])  # still usable


def test_only_what_is_needed_runs():
    ran = []
    tf.py_func(lambda: ran.append(1) or np.float32(0), [], tf.float32)
    with tf.Session() as session:
        session.run(tf.constant(1))
    assert ran == []


def test_unfed_and_uninitialised():
    x = tf.placeholder(tf.float32, [None], name="x")
    v = tf.Variable([1.0], name="v")
    with tf.Session() as session:
        with pytest.raises(tf.errors.InvalidArgumentError, match="You must feed.*'x'"):
            session.run(x + 1)
        with pytest.raises(tf.errors.FailedPreconditionError, match="uninitialized value v"):
            session.run(v + 1)


def test_values_never_change():
    v = tf.Variable(np.zeros(3, np.float32))
    x = tf.placeholder(tf.float32, [3])
    update, take = v.assign_add([1.0, 1.0, 1.0]), v.assign(x)
    with tf.Session() as session:
        session.run(v.initializer)
        first = session.run(v)
        session.run(update)
        np.testing.assert_array_equal(first, 0)
        first += 100  # the user's own array
        np.testing.assert_array_equal(session.run(v), 1)
        fed = np.full(3, 5, np.float32)
        session.run(take, {x: fed})
        fed[:] = 9
        np.testing.assert_array_equal(session.run(v), 5)


def test_many_threads_one_session():
    v = tf.Variable(0)
    add = v.assign_add(1, use_locking=True)
    with tf.Session() as session:
        session.run(v.initializer)
        threads = [
            threading.Thread(target=lambda: [session.run(add.op) for _ in range(100)]) for _ in range(8)
        ]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        assert session.run(v) == 800


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_a_forked_child_works():
    x, y, w, loss, train = softmax_regression(False)
    feeds = {x: np.ones((64, 4), np.float32), y: np.eye(3, dtype=np.float32)[[0] * 64]}
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(train, feeds)
        child = os.fork()
        if child == 0:
            code = 1
            try:
                session.run(train, feeds)
                code = 0
            finally:
                os._exit(code)
        assert os.waitpid(child, 0)[1] == 0
        session.run(train, feeds)
