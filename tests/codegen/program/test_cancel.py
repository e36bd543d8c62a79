"""Deadlines, close, failures elsewhere and Ctrl-C end a running program within a second."""

from __future__ import annotations

import os
import signal
import threading
import time
import weakref
from contextlib import contextmanager

import numpy as np
import pytest

import headrace as tf
from headrace.codegen.program.program import Program

pytestmark = pytest.mark.native

SIDE, COUNT = 768, 1200  # several seconds of products


class Long:
    """A step of many products, compiled, and a small one on the same variable."""

    def __init__(self, sess):
        self.sess = sess
        self.count = tf.placeholder(tf.float32, [])
        w = tf.Variable(tf.eye(SIDE) * 0.5, use_resource=True)
        value = tf.identity(w)
        for _ in range(COUNT):
            value = tf.matmul(value, w)
        self.step = w.assign(value * 0.0 + tf.eye(SIDE) * 0.5 * self.count).op
        self.small = tf.reduce_sum(w.read_value())
        sess.run(w.initializer)
        with pytest.raises(tf.errors.DeadlineExceededError):  # prepares and compiles it
            self.run(timeout_in_ms=1500)
        self.check()

    def run(self, **options):
        self.sess.run(self.step, {self.count: 1.0}, options=tf.RunOptions(**options))

    def check(self):
        assert self.sess.run(self.small) == SIDE / 2


@contextmanager
def ends_soon(kind, after=1.5):
    """Within a second; on a crowded machine, a few."""
    grace = 1.0 if os.getloadavg()[0] < 2 * (os.cpu_count() or 1) else 5.0
    start = time.monotonic()
    with pytest.raises(kind):
        yield
    assert time.monotonic() - start < after + grace


@contextmanager
def later(seconds, action, *args):
    timer = threading.Timer(seconds, action, args)
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join(10)


@pytest.fixture(scope="module")
def long():
    with tf.Graph().as_default(), tf.Session() as sess:
        yield Long(sess)


def test_a_deadline(long):
    for _ in range(2):
        with ends_soon(tf.errors.DeadlineExceededError, 0.3):
            long.run(timeout_in_ms=300)
        long.check()


def test_ctrl_c(long):
    with later(0.3, os.kill, os.getpid(), signal.SIGINT), ends_soon(KeyboardInterrupt, 0.3):
        long.run()
    long.check()
    with later(0.3, os.kill, os.getpid(), signal.SIGINT), ends_soon(KeyboardInterrupt, 0.3):
        long.sess.run(long.step, {long.count: 1.0})
    long.check()


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("options", [None, tf.RunOptions()], ids=["quick", "general"])
def test_ctrl_c_in_the_code_of_a_dying_object(long, options, monkeypatch):
    """There Python prints the exception and forgets it."""

    class Thing:
        pass

    def press(_):
        os.kill(os.getpid(), signal.SIGINT)
        for _ in range(100):  # the handler is called between two of these
            pass

    def go(self, *args, go=Program.go):
        calls.append(args)
        if len(calls) == 2:  # after the first pause
            thing = Thing()
            calls.append(weakref.ref(thing, press))
            del thing
        return go(self, *args)

    calls = []
    long.run()
    monkeypatch.setattr(Program, "go", go)
    with ends_soon(KeyboardInterrupt, 0.3):
        long.sess.run(long.step, {long.count: 1.0}, options=options)
    assert len(calls) > 2
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    long.check()


def test_a_deadline_while_another_step_has_the_variable(long):
    """It waits for the lock, or for the cores; both end."""
    errors = []

    def other():
        try:
            long.run(timeout_in_ms=2000)
        except tf.errors.DeadlineExceededError as error:
            errors.append(error)

    thread = threading.Thread(target=other)
    thread.start()
    time.sleep(0.2)
    with ends_soon(tf.errors.DeadlineExceededError, 0.3):
        long.run(timeout_in_ms=300)
    thread.join(10)
    assert len(errors) == 1
    long.check()


def test_a_failure_in_another_piece():
    with tf.Graph().as_default():
        sess = tf.Session(config=tf.ConfigProto(device_count={"CPU": 2}))
        with tf.device("/cpu:0"):
            w = tf.Variable(tf.eye(SIDE), use_resource=True)
            value = w + 0.0
            for _ in range(COUNT):
                value = tf.matmul(value, w)
            total = tf.reduce_sum(value)
        with tf.device("/cpu:1"):

            def wait_and_fail():
                time.sleep(0.3)
                raise ValueError("on purpose")

            bad = tf.py_func(wait_and_fail, [], tf.float32)
        sess.run(w.initializer)
        for _ in range(2):
            with ends_soon(tf.errors.InvalidArgumentError):
                sess.run([total, bad])
        assert sess.run(tf.reduce_sum(w)) == SIDE


def test_close_ends_a_step():
    with tf.Graph().as_default():
        sess = tf.Session()
        long = Long(sess)
        with later(0.3, sess.close), ends_soon(tf.errors.CancelledError, 0.3):
            sess.run(long.step, {long.count: 1.0})
        with pytest.raises(RuntimeError, match="closed"):
            sess.run(long.small)


def test_short_steps_go_on_beside_a_long_one(long):
    """Cores are shared in turns: a step that needs them does not wait for the end of another."""
    with tf.Graph().as_default(), tf.Session() as sess:
        x = tf.placeholder(tf.float32, [512, 512])
        y = tf.reduce_sum(tf.exp(x) * 2 + tf.tanh(x))
        feed = {x: np.zeros((512, 512), np.float32)}
        for _ in range(3):
            sess.run(y, feed)

        def other():
            with pytest.raises(tf.errors.DeadlineExceededError):
                long.run(timeout_in_ms=2500)

        thread = threading.Thread(target=other)
        thread.start()
        time.sleep(0.2)
        start, done = time.monotonic(), 0
        while time.monotonic() < start + 1.8:
            sess.run(y, feed)
            done += 1
        thread.join(10)
        assert done >= 3
