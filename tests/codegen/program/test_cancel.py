"""Deadlines, close, failures elsewhere and Ctrl-C end a running program within a second."""

from __future__ import annotations

import os
import signal
import threading
import time
import weakref
from contextlib import suppress

import numpy as np
import pytest

import headrace as tf
from headrace.codegen.program.program import NativeProgram
from headrace.session.fetches import Fetches
from tests.timing import PATIENCE, ctrl_c, may_lose_ctrl_c, once, soon, wait_until

pytestmark = pytest.mark.native

COUNT, PRODUCT = 1200, 0.016  # products of so many seconds each


def side():
    """Of matrices whose product takes so long here; 1,024 at least, as load makes the measure too long."""
    x, times = np.ones((512, 512), np.float32), []
    for _ in range(5):
        start = time.perf_counter()
        x @ x
        times.append(time.perf_counter() - start)
    return int(min(max(512 * (PRODUCT / min(times)) ** (1 / 3), 1024), 2048)) // 64 * 64


SIDE = side()


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
        # A deadline ends compilation too, however long that takes here.
        for seconds in (2, 4, 8, 16, 32, 64, 128):
            with suppress(tf.errors.DeadlineExceededError):
                self.run(timeout_in_ms=1000 * seconds)
            if self.is_compiled:
                break
        assert self.is_compiled
        self.check()

    def run(self, **options):
        self.sess.run(self.step, {self.count: 1.0}, options=tf.RunOptions(**options))

    @property
    def is_compiled(self):
        signature = self.sess._prepare([self.count], Fetches(self.sess.graph, self.step))
        return all(unit.machine.programs for unit in signature.prepared.only.units)

    def check(self):
        assert self.sess.run(self.small) == SIDE / 2


@pytest.fixture(scope="module")
def long():
    with tf.Graph().as_default(), tf.Session() as sess:
        yield Long(sess)


def test_a_deadline(long):
    for _ in range(2):
        with soon(1.3), pytest.raises(tf.errors.DeadlineExceededError):
            long.run(timeout_in_ms=300)
        long.check()


@may_lose_ctrl_c
def test_ctrl_c(long):
    with soon(1.3), ctrl_c():
        long.run()
    long.check()
    with soon(1.3), ctrl_c():
        long.sess.run(long.step, {long.count: 1.0})
    long.check()


@may_lose_ctrl_c
@pytest.mark.parametrize("options", [None, tf.RunOptions()], ids=["quick", "general"])
def test_ctrl_c_in_the_code_of_a_dying_object(long, options, monkeypatch):
    """There Python prints the exception and forgets it."""

    class Thing:
        pass

    def press(_):
        os.kill(os.getpid(), signal.SIGINT)
        for _ in range(100):  # the handler is called between two of these
            pass

    def go(self, *args, go=NativeProgram.go):
        calls.append(args)
        if len(calls) == 2:  # after the first pause
            thing = Thing()
            calls.append(weakref.ref(thing, press))
            del thing
        return go(self, *args)

    calls = []
    if options is None:
        long.run()  # a step that has run once knows a quicker way
    monkeypatch.setattr(NativeProgram, "go", go)
    with soon(1.3), pytest.raises(KeyboardInterrupt):
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
    wait_until(lambda: long.sess._steps)
    with soon(1.3), pytest.raises(tf.errors.DeadlineExceededError):
        long.run(timeout_in_ms=300)
    thread.join(PATIENCE)
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
            with soon(2.5), pytest.raises(tf.errors.InvalidArgumentError):
                sess.run([total, bad])
        assert sess.run(tf.reduce_sum(w)) == SIDE


def test_a_first_step_that_is_interpreted():
    """Node by node, many seconds of them."""
    with tf.Graph().as_default(), tf.Session() as sess:
        x = tf.placeholder(tf.float32, [1 << 16])
        total = tf.add_n([tf.lgamma(x + float(k)) for k in range(500)])
        feed = {x: np.full(1 << 16, 0.3, np.float32)}
        with soon(2), pytest.raises(tf.errors.DeadlineExceededError):
            sess.run(total, feed, options=tf.RunOptions(timeout_in_ms=300))


def test_close_ends_a_step():
    with tf.Graph().as_default():
        sess = tf.Session()
        long = Long(sess)
        with soon(1.3), pytest.raises(tf.errors.CancelledError):
            with once(lambda: sess._steps, sess.close):
                long.run()
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
        wait_until(lambda: long.sess._steps)
        done = 0
        while long.sess._steps:
            sess.run(y, feed)
            done += 1
        thread.join(PATIENCE)
        assert done >= 3
