"""Pieces of one step that take turns: the order that edges leave open is the same every time."""

from __future__ import annotations

import numpy as np
import pytest

import headrace as tf
from headrace.session import run_cache

THREE = tf.ConfigProto(device_count={"CPU": 3})


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default():
        yield


def over_devices(parallel=10):
    """Turns of a loop read a variable on one device or write it from another; nothing orders them."""
    with tf.device("/cpu:2"):
        v = tf.get_variable("v", initializer=np.ones(4, np.float32), use_resource=False)

    def read(x):
        with tf.device("/cpu:1"):
            return x + v

    def write(x):
        with tf.control_dependencies([v.assign_add(x)]), tf.device("/cpu:0"):
            return tf.identity(x) * 0.5

    def body(i, x):
        return i + 1, tf.cond(tf.equal(i % 2, 0), lambda: read(x), lambda: write(x))

    start = [0, tf.fill([4], 3.0)]
    return v, tf.while_loop(lambda i, x: i < 7, body, start, parallel_iterations=parallel)[1]


def session():
    found = tf.Session(config=THREE)
    found.run(tf.global_variables_initializer())
    return found


@pytest.mark.parametrize("compile", ["0", "1", "always"])
def test_the_order_is_the_same_every_time(compile, monkeypatch):
    monkeypatch.setenv("HEADRACE_COMPILE", compile)
    v, out = over_devices()
    found = []
    for _ in range(12):
        with session() as s:
            found.append([s.run([out, v]) for _ in range(2)])
    for other in found[1:]:
        np.testing.assert_array_equal(other, found[0])


def test_a_loop_without_state_needs_no_turns(monkeypatch):
    monkeypatch.setattr(run_cache, "InTurns", None)
    with tf.device("/cpu:1"):
        w = tf.get_variable("w", initializer=2.0)
        read = tf.identity(w)
    out = tf.while_loop(lambda i, x: i < 3, lambda i, x: (i + 1, x * read), [0, 1.0])[1]
    with tf.control_dependencies([out]):
        step = w.assign_add(1.0)
    with session() as s:
        assert s.run([out, step]) == [8.0, 3.0]


def test_an_error_in_one_piece_ends_the_step():
    v, out = over_devices()
    with tf.device("/cpu:1"):
        bad = tf.gather(tf.constant([1.0, 2.0]), tf.cast(out[0], tf.int32) + 99)
    with session() as s:
        for _ in range(2):
            with pytest.raises(tf.errors.InvalidArgumentError, match="not in"):
                s.run([bad, v])


def test_a_step_can_be_cancelled():
    v, _ = over_devices()

    def forever(i):
        with tf.control_dependencies([v.assign_add(tf.ones(4))]), tf.device("/cpu:1"):
            return i + 1

    endless = tf.while_loop(lambda i: i >= 0, forever, [0])
    with session() as s, pytest.raises(tf.errors.DeadlineExceededError):
        s.run(endless, options=tf.RunOptions(timeout_in_ms=300))
