"""A loop that proves long is compiled while it runs for the first time, and goes on from where it stands."""

from __future__ import annotations

import cProfile

import numpy as np
import pytest

import headrace as tf
from headrace.devices import loop_rest

pytestmark = pytest.mark.native


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as graph:
        yield graph


@pytest.fixture
def made(monkeypatch):
    """The programs of loops that ran already."""
    found, before = [], loop_rest.rest_of

    def rest_of(node):
        found.append(before(node))
        return found[-1]

    monkeypatch.setattr(loop_rest, "rest_of", rest_of)
    return found


def first_run(fetch, feeds=None):
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        return session.run(fetch, feeds)


def test_it_goes_on_from_its_state(made):
    turns = tf.placeholder(tf.int32, [])
    loop = tf.while_loop(lambda i, v: i < turns, lambda i, v: (i + 1, (v * 5 + i) % 1009), [0, 3])
    for count in (0, 1, 31, 32, 33, 1000):
        value = 3
        for i in range(count):
            value = (value * 5 + i) % 1009
        assert first_run(loop, {turns: count}) == (count, value)
    assert [program.is_native for program in made] == [True] * 3


def test_a_first_run_does_not_walk_through_every_turn():
    turns = tf.placeholder(tf.int32, [])
    loop = tf.while_loop(lambda i, v: i < turns, lambda i, v: (i + 1, v * 0.5 + 1), [0, 1.0])
    calls = []
    for count in (2000, 2000, 20000):
        profile = cProfile.Profile()
        assert profile.runcall(first_run, loop, {turns: count}) == (count, 2.0)
        calls.append(sum(entry.callcount for entry in profile.getstats()))
    assert calls[2] < 1.2 * calls[1]


def test_a_loop_inside_of_a_loop_that_is_short(made):
    def outer(i, v):
        return i + 1, tf.while_loop(lambda k, w: k < 200, lambda k, w: (k + 1, w + k), [0, v])[1]

    assert first_run(tf.while_loop(lambda i, v: i < 3, outer, [0, 0])) == (3, 3 * sum(range(200)))
    assert len(made) == 1


def test_variables_and_random_numbers_in_the_body(made):
    total = tf.get_variable("total", [], initializer=tf.zeros_initializer(), use_resource=False)

    def body(i, low):
        with tf.control_dependencies([total.assign_add(tf.cast(i, tf.float32))]):
            return i + 1, tf.minimum(low, tf.random.uniform([]))

    loop = tf.while_loop(lambda i, low: i < 300, body, [0, 1.0], parallel_iterations=1)
    with tf.Session() as session:
        session.run(total.initializer)
        count, low = session.run(loop)
        assert count == 300 and 0 <= low < 0.2
        assert session.run(total) == sum(range(300))


def test_what_does_not_compile_goes_on_as_before(made):
    seen = []

    def look(i):
        seen.append(int(i))
        return np.int32(i + 1)

    def body(i):
        after = tf.py_func(look, [i], tf.int32)
        after.set_shape([])
        return after

    assert first_run(tf.while_loop(lambda i: i < 100, body, [0])) == 100
    assert seen == list(range(100))
    assert not any(made)


def test_arrays_and_gradients(made):
    xs = tf.constant(np.arange(1.0, 81.0).reshape(80, 1), tf.float32)
    w = tf.constant([[1.01]])
    scan = tf.scan(lambda a, x: a * w[0] + x, xs)
    gradient = tf.gradients(scan[-1], w)[0]
    found = first_run([scan[-1], gradient])
    value, slope = 1.0, 0.0
    for x in range(2, 81):
        slope = slope * 1.01 + value
        value = value * 1.01 + x
    np.testing.assert_allclose(found[0], [value], rtol=1e-4)
    np.testing.assert_allclose(found[1], [[slope]], rtol=1e-4)


def test_an_error_in_a_late_turn_names_the_node():
    def body(i, v):
        return i + 1, v + 100 // (60 - i)

    with pytest.raises(tf.errors.InvalidArgumentError, match="Integer division by zero"):
        first_run(tf.while_loop(lambda i, v: i < 100, body, [0, 0]))
