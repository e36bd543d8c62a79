"""Tensors of more than 2 GB from task to task, by every way that there is."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import headrace as tf
from tests.distributed.clusters import addresses
from tests.distributed.test_faults import Ps

pytest.importorskip("grpc")
pytestmark = [pytest.mark.process, pytest.mark.slow]
SHAPE = (3, 800_000_000)  # 2.4 GB
NEEDED = 14 << 30  # bytes of memory


def available() -> int:
    """Bytes of memory that programs could have."""
    found = re.search(r"^MemAvailable: +(\d+) kB", Path("/proc/meminfo").read_text(), re.MULTILINE)
    return int(found.group(1)) << 10 if found else 0


@pytest.mark.parametrize("way", ["local", "grpc"])
def test_more_than_two_gigabytes(monkeypatch, way):
    if available() < NEEDED:
        pytest.skip(f"this takes {NEEDED >> 20} MB of memory; {available() >> 20} are available")
    monkeypatch.setenv("HEADRACE_TRANSPORTS", way)
    at = addresses(ps=1, worker=1)
    ps, server = Ps(at), tf.train.Server(at, job_name="worker", task_index=0)
    try:
        with tf.Graph().as_default():
            with tf.device("/job:ps/task:0"):
                # Made of what is fed, so that it is not a constant that either task could make.
                large = tf.fill(tf.placeholder_with_default(SHAPE, [2]), tf.constant(7, tf.uint8))
            with tf.device("/job:worker/task:0"):
                size = tf.size(large, out_type=tf.int64)
                some = tf.reduce_sum(tf.cast(large[:, ::100_000_000], tf.int64)), large[-1, -1]
            with tf.Session(server.target) as session:
                for _ in range(2):
                    assert session.run([size, *some]) == [2_400_000_000, 3 * 8 * 7, 7]
    finally:
        server.stop()
        ps.kill()
