"""Asking the tasks of running clusters, TensorFlow's too."""

from __future__ import annotations

import contextlib
import subprocess

import pytest

import headrace as tf
from headrace.distributed.launch.inquiry import Inquiry
from headrace.distributed.launch.progress import ServerProgress
from headrace.distributed.launch.tasks import Layout, Task
from tests.distributed.clusters import addresses, cluster
from tests.tensorflow_peer import TF_PYTHON, needs_tensorflow
from tests.timing import PATIENCE, wait_until

PS, WORKER = "/job:ps/replica:0/task:0", "/job:worker/replica:0/task:0"


@contextlib.contextmanager
def inquiry():
    asking = Inquiry()
    try:
        yield asking
    finally:
        asking.close()


def test_every_task_of_a_cluster():
    with cluster(ps=1, worker=1) as servers, inquiry() as asking, tf.Graph().as_default():
        with tf.device("/job:ps/task:0"):
            variable = tf.Variable(1.0)
        broken = tf.check_numerics(variable / 0.0, "broken")
        worker = servers["worker"][0]
        with tf.Session(worker.target) as session:
            session.run(variable.initializer)
            for _ in range(5):
                session.run(variable)
            with pytest.raises(tf.errors.InvalidArgumentError):
                session.run(broken)
            ps, mine = asking.all(servers["ps"][0].address)
        assert [ps.task, mine.task] == [PS, WORKER] and ps.state == mine.state == "ok"
        assert mine.address == worker.address
        assert mine.status.steps == 6 and mine.status.sessions == 1 and mine.status.failures >= 1
        assert "broken" in mine.status.last_error and mine.status.last_error_at > 0
        assert ps.status.steps == 0 and ps.status.parts >= 6 and ps.status.graphs >= 2
        assert ps.devices == (f"{PS}/device:CPU:0",)
        assert ps.status.memory > 1 << 20 and ps.status.seconds > 0
        wait_until(lambda: asking.all(worker.address)[1].status.sessions == 0)


def test_a_task_that_is_not_there():
    with cluster(ps=1, worker=1) as servers, inquiry() as asking:
        servers["ps"][0].stop()
        ps, mine = asking.all(servers["worker"][0].address)
        assert (ps.task, ps.status, mine.state) == (PS, None, "ok")
        assert "not there" in ps.state
        (alone,) = asking.all(servers["ps"][0].address)
        assert alone.status is None and "not there" in alone.state


def test_steps_of_a_launch():
    with cluster(worker=1) as servers, tf.Graph().as_default():
        (server,) = servers["worker"]
        task = Task("worker", 0)
        progress = ServerProgress(Layout({task: server.address}))
        try:
            assert progress.of(task) == (None, None)
            with tf.Session(server.target) as session:
                session.run(tf.constant(1) + 1)

                def ask():
                    progress.ask({task})
                    return progress.of(task)

                wait_until(lambda: ask()[1] is not None)
            assert progress.of(task)[0] == 1
            wait_until(lambda: progress.ask(()) or progress.of(task)[0] is None)
        finally:
            progress.close()


SERVER = """
import sys
import tensorflow.compat.v1 as tf
server = tf.train.Server({cluster}, job_name="ps", task_index=0)
print("ready", flush=True)
sys.stdin.read()
"""


@needs_tensorflow
@pytest.mark.process
def test_tasks_of_tensorflow():
    at = addresses(ps=1, worker=1)
    theirs = subprocess.Popen(
        [TF_PYTHON, "-c", SERVER.format(cluster=at)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    server = tf.train.Server(at, job_name="worker", task_index=0)
    try:
        assert theirs.stdout.readline() == "ready\n"
        with inquiry() as asking:
            ps, mine = asking.all(server.address, timeout=PATIENCE)
            assert (ps.task, ps.state, mine.state) == (PS, "tensorflow", "ok")
            assert f"{PS}/device:CPU:0" in ps.devices
            alone, listed = asking.all(at["ps"][0], timeout=PATIENCE)
            assert (alone.task, alone.state) == (PS, "tensorflow")
            assert (listed.task, listed.state, listed.address) == (WORKER, "listed", "")
    finally:
        theirs.kill()
        theirs.communicate()
        server.stop()
