"""Functions whose work for several steps is done together."""

from __future__ import annotations

import threading

import numpy as np
import pytest

import headrace as tf
from headrace.variables.functions.batching import batch_function, batch_function_v1


def together(work, count):
    """work(i) in a thread for each i, all at once."""
    threads = [threading.Thread(target=work, args=(i,)) for i in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)


def fetched(sess, fetch, feeds):
    found = [None] * len(feeds)

    def work(i):
        found[i] = sess.run(fetch, feeds[i])

    together(work, len(feeds))
    return found


@pytest.fixture
def sess():
    with tf.Graph().as_default(), tf.Session() as session:
        yield session


@pytest.mark.parametrize("decorator", [batch_function, batch_function_v1])
def test_each_step_gets_its_rows(sess, decorator):
    sizes = []

    def seen(a):
        sizes.append(len(a))
        return a * 2

    @decorator(1, 10, 60_000_000)
    def layer(a):
        return tf.py_func(seen, [a], tf.float32, stateful=True)

    x = tf.placeholder(tf.float32, [None, 2])
    y = layer(x)
    y = y[0] if isinstance(y, (list, tuple)) else y
    found = fetched(sess, y, [{x: np.full((n + 1, 2), n, np.float32)} for n in range(4)])
    for n, value in enumerate(found):
        assert value.tolist() == [[2 * n] * 2] * (n + 1)
    assert 10 in sizes


def test_captured_values_and_allowed_sizes(sess):
    scale = tf.get_variable("scale", initializer=3.0)
    sess.run(scale.initializer)

    @batch_function(2, 8, 1000, allowed_batch_sizes=[4, 8])
    def layer(a, b):
        return a * scale, tf.shape(a)[0] + 0 * b

    x, y = tf.placeholder(tf.float32, [None]), tf.placeholder(tf.int32, [None])
    scaled, size = layer(x, y)
    assert scaled.shape.as_list() == [None]
    found = sess.run([scaled, size], {x: [1, 2, 3], y: [0, 0, 0]})
    assert found[0].tolist() == [3, 6, 9] and found[1].tolist() == [4, 4, 4]


def test_gradients_of_the_older_form(sess):
    @batch_function_v1(1, 2, 60_000_000)
    def layer(a):
        return a * a

    x = tf.placeholder(tf.float32, [1])
    (dx,) = tf.gradients(layer(x), x)
    found = fetched(sess, dx, [{x: [3.0]}, {x: [4.0]}])
    assert [f.tolist() for f in found] == [[6.0], [8.0]]


def test_errors_reach_every_step(sess):
    y = batch_function(1, 3, 60_000_000)(tf.reduce_sum)(tf.placeholder_with_default([1.0], [None]))[0]
    errors = []

    def work(_):
        with pytest.raises(tf.errors.FailedPreconditionError, match="0 dimensions") as caught:
            sess.run(y)
        errors.append(caught.value)

    together(work, 3)
    assert len(errors) == 3


def test_what_is_refused(sess):
    with pytest.raises(ValueError, match="supposed to be Tensors"):
        batch_function(1, 2, 3)(lambda a: a)(1.0)
    x = tf.constant([1.0])
    for sizes, message in (([4, 2], "monotonically increasing"), ([1], "must equal max_batch_size")):
        y = batch_function(1, 4, 1000, allowed_batch_sizes=sizes)(lambda a: a)(x)[0]
        with pytest.raises(tf.errors.InvalidArgumentError, match=message):
            sess.run(y)
    y = batch_function(1, 4, 1000)(lambda a: a)(tf.zeros([5]))[0]
    with pytest.raises(tf.errors.InvalidArgumentError, match="larger than maximum batch size"):
        sess.run(y)


def test_who_waits_can_give_up(sess):
    y = batch_function(1, 4, 60_000_000)(lambda a: a + 1)(tf.constant([1.0]))[0]
    with pytest.raises(tf.errors.DeadlineExceededError):
        sess.run(y, options=tf.RunOptions(timeout_in_ms=100))
