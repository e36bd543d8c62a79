"""Training that loses its parameter server and goes on from the last checkpoint; each step counts once."""

from __future__ import annotations

import signal
import threading
from itertools import pairwise

import pytest

import headrace as tf
from tests.distributed.clusters import addresses
from tests.distributed.test_faults import Ps
from tests.timing import PATIENCE, wait_until

pytest.importorskip("grpc")
pytestmark = pytest.mark.process


def trainer(server, folder, seen, enough):
    """Count up two variables at the parameter server until it is enough; `seen` has what was read."""
    with tf.Graph().as_default():
        with tf.device("/job:ps/task:0"):
            step = tf.train.get_or_create_global_step()
            total = tf.get_variable(
                "total", [], tf.int64, initializer=tf.zeros_initializer(), trainable=False
            )
        with tf.device("/job:worker/task:0"):
            one = tf.constant(1, tf.int64) * tf.placeholder_with_default(tf.constant(1, tf.int64), [])
        both = [tf.assign_add(step, one), tf.assign_add(total, one)]
        with tf.train.MonitoredTrainingSession(
            server.target, checkpoint_dir=folder, save_checkpoint_steps=5, log_step_count_steps=None
        ) as sess:
            while not enough.is_set():
                seen.append(tuple(map(int, sess.run(both))))


@pytest.fixture
def training(tmp_path):
    at = addresses(ps=1, worker=1)
    ps, server = Ps(at), tf.train.Server(at, job_name="worker", task_index=0)
    seen, enough = [], threading.Event()
    thread = threading.Thread(target=trainer, args=(server, str(tmp_path), seen, enough))
    thread.start()
    try:
        wait_until(lambda: len(seen) > 20)
        yield ps, seen
        enough.set()
        thread.join(PATIENCE)
        assert not thread.is_alive()
    finally:
        enough.set()
        server.stop()
        ps.kill()


def jumps(seen):
    """Where a step is not the one after the step before: (before, after)."""
    return [(a, b) for (a, _), (b, _) in pairwise(seen) if b != a + 1]


@pytest.mark.parametrize("fault", ["dies", "freezes"])
def test_training_goes_on_and_no_step_counts_twice(training, fault):
    ps, seen = training
    if fault == "dies":
        ps.kill()
        ps.start()
    else:
        ps.send(signal.SIGSTOP)
        before = len(seen)
        threading.Event().wait(3.0)  # longer than a silent task is believed to live
        assert len(seen) <= before + 1
        ps.send(signal.SIGCONT)
    before = len(seen)
    wait_until(lambda: len(seen) > before + 20)
    assert all(step == total for step, total in seen)
    back = jumps(seen)
    assert len(back) <= 1, back  # to the last checkpoint; nowhere if that was made just before
    for last, first in back:
        assert first <= last and (first - 1) % 5 == 0  # checkpoints are at 0, 5, 10, ...
