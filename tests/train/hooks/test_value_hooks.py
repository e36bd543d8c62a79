"""Hooks that look at values."""

from __future__ import annotations

import numpy as np
import pytest

import headrace as tf
from headrace.core import log


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as graph:
        yield graph


@pytest.fixture
def lines(monkeypatch):
    found = []
    monkeypatch.setattr(log, "info", lambda message, *args: found.append(message % args if args else message))
    return found


def logged(lines, hook, steps, fetch):
    with tf.train.MonitoredSession(hooks=[hook]) as sess:
        for _ in range(steps):
            sess.run(fetch)
    return [line for line in lines if " = " in line]


def test_values_every_some_steps(lines):
    x = tf.constant(42.0, name="foo")
    hook = tf.train.LoggingTensorHook([x.name], every_n_iter=3)
    found = logged(lines, hook, 7, x)
    assert found[0] == "foo:0 = 42.0"
    assert len(found) == 3 and all("sec)" in line for line in found[1:])


def test_values_at_the_end_alone(lines):
    v = tf.get_variable("v", [], initializer=tf.zeros_initializer())
    add = tf.assign_add(v, 1)
    hook = tf.train.LoggingTensorHook({"b": v, "a": "v:0"}, at_end=True)
    assert logged(lines, hook, 5, add) == ["a = 5.0, b = 5.0"]


def test_a_formatter_writes_the_line(lines):
    x = tf.constant(42.0)
    hook = tf.train.LoggingTensorHook({"x": x}, every_n_secs=1000, formatter=lambda v: f"it = {v['x']:g}")
    assert logged(lines, hook, 3, x) == ["it = 42"]


@pytest.mark.parametrize(
    "arguments", [{}, {"every_n_iter": 1, "every_n_secs": 1}, {"every_n_iter": 0}, {"every_n_iter": -1}]
)
def test_when_to_log_must_make_sense(arguments):
    with pytest.raises(ValueError, match="every_n_iter"):
        tf.train.LoggingTensorHook(["t"], **arguments)


def test_names_must_mean_one_tensor():
    tf.split(tf.zeros([4]), 2, name="two")
    hook = tf.train.LoggingTensorHook(["two"], every_n_iter=1)
    with pytest.raises(ValueError, match="ambiguous"):
        hook.begin()
    with tf.Graph().as_default():
        stranger = tf.constant(1)
    with pytest.raises(ValueError, match="current graph"):
        tf.train.LoggingTensorHook([stranger], every_n_iter=1).begin()


def test_nan_is_an_error_or_the_end():
    x = tf.placeholder(tf.float32, [])
    with pytest.raises(tf.train.NanLossDuringTrainingError, match="NaN loss during training"):
        with tf.train.MonitoredSession(hooks=[tf.train.NanTensorHook(x)]) as sess:
            sess.run(x, {x: 1.0})
            sess.run(x, {x: np.nan})
    with tf.train.MonitoredSession(hooks=[tf.train.NanTensorHook(x, fail_on_nan_loss=False)]) as sess:
        sess.run(x, {x: np.inf})
        assert not sess.should_stop()
        sess.run(x, {x: np.nan})
        assert sess.should_stop()


def test_what_is_run_at_the_end():
    v, x = tf.get_variable("v", [], initializer=tf.zeros_initializer()), tf.placeholder(tf.float32, [])
    add = tf.assign_add(v, 1)
    hook = tf.train.FinalOpsHook([v, x * 2], {x: 3.0})
    with tf.train.MonitoredSession(hooks=[hook]) as sess:
        assert hook.final_ops_values is None
        for _ in range(4):
            sess.run(add)
    assert hook.final_ops_values == [4.0, 6.0]


def test_the_end_of_the_input_at_the_end_is_explained(caplog):
    queue = tf.FIFOQueue(1, tf.int32)
    close, take = queue.close(), queue.dequeue()
    hook = tf.train.FinalOpsHook(take)
    with pytest.raises(tf.errors.OutOfRangeError), tf.train.MonitoredSession(hooks=[hook]) as sess:
        sess.run(close)
