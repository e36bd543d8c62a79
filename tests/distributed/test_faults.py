"""Tasks that die, freeze and come back, in processes of their own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

import headrace as tf
from tests.distributed.clusters import addresses
from tests.timing import PATIENCE, soon

pytestmark = pytest.mark.process
ROOT = Path(__file__).resolve().parents[2]
PROGRAM = "import headrace as tf\ntf.train.Server({cluster}, job_name='ps', task_index=0).join()"


class Ps:
    """A parameter server that can be started again."""

    def __init__(self, cluster: dict[str, list[str]]) -> None:
        self.command = [sys.executable, "-c", PROGRAM.format(cluster=cluster)]
        self.start()

    def start(self) -> None:
        self.process = subprocess.Popen(self.command, env=os.environ | {"PYTHONPATH": str(ROOT)})

    def send(self, number: signal.Signals) -> None:
        self.process.send_signal(number)

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()


@pytest.fixture
def tasks():
    """A worker of this process, and a parameter server of its own."""
    at = addresses(ps=1, worker=1)
    ps, worker = Ps(at), tf.train.Server(at, job_name="worker", task_index=0)
    try:
        yield ps, worker
    finally:
        worker.stop()
        ps.kill()


def model():
    with tf.device("/job:ps/task:0"):
        total = tf.get_variable("total", [], initializer=tf.zeros_initializer())
        queue = tf.FIFOQueue(1, [tf.float32], shapes=[[]])
    with tf.device("/job:worker/task:0"):
        one = tf.constant(1.0) * tf.placeholder_with_default(1.0, [])
    return total, total.assign_add(one), queue.dequeue()


def failing(session, fetch, kind, after=0.0):
    """The error of a step, and how long it took."""
    began = time.monotonic()
    with soon(20), pytest.raises(kind) as raised:
        session.run(fetch)
    return raised.value, time.monotonic() - began - after


def test_a_frozen_task_ends_the_step(tasks):
    ps, worker = tasks
    with tf.Graph().as_default():
        total, add, blocked = model()
        with tf.Session(worker.target) as session:
            session.run(total.initializer)
            assert session.run(add) == 1.0
            threading.Timer(0.5, ps.send, [signal.SIGSTOP]).start()
            error, took = failing(session, blocked, tf.errors.UnavailableError, after=0.5)
            assert took < 5.0  # 2 on a machine that has nothing else to do
            for part in ("/job:ps/replica:0/task:0 at 127.0.0.1:", "no sign of life since", "last error"):
                assert part in error.message
            failing(session, add, tf.errors.UnavailableError)
            ps.send(signal.SIGCONT)
            value = session.run(total)  # it comes back: what was given up is applied once at most
            assert value in (1.0, 2.0)
            assert session.run(add) == value + 1.0


def test_a_dead_task_ends_the_step_and_the_session(tasks):
    ps, worker = tasks
    with tf.Graph().as_default():
        total, add, blocked = model()
        session = tf.Session(worker.target)
        session.run(total.initializer)
        threading.Timer(0.5, ps.kill).start()
        error, took = failing(session, blocked, tf.errors.UnavailableError, after=0.5)
        assert took < 5.0 and "/job:ps/replica:0/task:0 at " in error.message
        with soon(5):
            session.close()


def test_a_task_that_was_started_again_has_lost_the_session(tasks):
    ps, worker = tasks
    with tf.Graph().as_default():
        total, add, _ = model()
        twice = total * 2.0
        with tf.Session(worker.target) as session:
            session.run(total.initializer)
            session.run(add)
            ps.kill()
            failing(session, add, (tf.errors.UnavailableError, tf.errors.AbortedError))
            ps.start()
            deadline = time.monotonic() + PATIENCE
            error: tf.errors.OpError = tf.errors.UnavailableError(None, None, "")
            while isinstance(error, tf.errors.UnavailableError) and time.monotonic() < deadline:
                error, _ = failing(session, twice, tf.errors.OpError)  # a signature that it never had
                time.sleep(0.1)
            assert isinstance(error, tf.errors.AbortedError) and "started again" in error.message
            failing(session, add, tf.errors.AbortedError)  # one that it had
        with tf.Session(worker.target) as session:  # a session made anew works
            session.run(total.initializer)
            assert session.run([add, twice])[0] == 1.0
