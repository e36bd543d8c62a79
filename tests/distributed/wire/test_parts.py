"""Large values in parts: asked for, put together, given up."""

from __future__ import annotations

import random
import re
from concurrent.futures import Future
from pathlib import Path

import numpy as np
import pytest

import headrace as tf
from headrace.core.errors import AbortedError, DataLossError, ResourceExhaustedError
from headrace.distributed.wire import parts, recv_response
from headrace.formats import proto
from tests.distributed.clusters import addresses, cluster
from tests.distributed.test_faults import Ps


@pytest.fixture(autouse=True)
def small(monkeypatch):
    monkeypatch.setattr(parts, "LARGE", 100)
    monkeypatch.setattr(parts, "PART", 64)


def told(held, value):
    return recv_response.decode(held.hold(value)).value


@pytest.mark.parametrize("size", [1, 63, 64, 65, 128, 129, 1000])
def test_whole_again_whatever_comes_first(size):
    value = np.random.RandomState(0).randint(0, 255, (size,), np.uint8)
    for seed in range(20):
        rng, held, asked = random.Random(seed), parts.Held(), []

        def ask(question, into, asked=asked):
            asked.append((question, into, Future()))
            return asked[-1][2]

        made = parts.assemble(told(held, value), ask)
        while asked:
            assert len(asked) <= parts.AT_ONCE
            question, into, future = asked.pop(rng.randrange(len(asked)))
            octets = held.part(question)
            if rng.random() < 0.5:  # over a connection of our own
                into[:] = np.frombuffer(octets, np.uint8)
                octets = into
            future.set_result(octets)
        assert made.result(0).tolist() == value.tolist() and not made.result(0).flags.writeable
        assert not held._values  # nothing is kept


def test_types_and_shapes():
    value = np.arange(60, dtype=np.complex64).reshape(3, 4, 5)
    held = parts.Held()

    def ask(question, into):
        future = Future()
        future.set_result(held.part(question))
        return future

    found = parts.assemble(told(held, value), ask).result(0)
    assert found.dtype == value.dtype and (found == value).all()


def test_what_goes_wrong():
    held, value = parts.Held(), np.zeros(500, np.uint8)

    def answering(answer):
        def ask(question, into):
            future = Future()
            answer(future, question)
            return future

        return ask

    lost = answering(lambda future, q: future.set_exception(AbortedError(None, None, "gone")))
    with pytest.raises(AbortedError):
        parts.assemble(told(held, value), lost).result(0)
    short = answering(lambda future, q: future.set_result(b"few"))
    with pytest.raises(DataLossError):
        parts.assemble(told(held, value), short).result(0)
    with pytest.raises(ResourceExhaustedError):
        parts.assemble(parts.Parts(1, 1 << 60, tf.uint8, (1 << 60,)), lost).result(0)
    for question in (b"", b"x" * 16, parts._NUMBERS.pack(1, 10**9)):
        with pytest.raises((ValueError, AbortedError)):
            held.part(question)
    for _ in range(200):  # fetches that nobody goes on with
        held.hold(value)
    assert len(held._values) == parts.KEPT


def test_sizes_that_lie():
    response = proto.RecvTensorResponse.FromString(parts.Held().hold(np.zeros(10)))
    response.transport_options.value = parts._NUMBERS.pack(1, 1 << 50)
    with pytest.raises(ValueError):
        recv_response.decode(response.SerializeToString())
    response.transport_options.value = b"short"
    with pytest.raises(ValueError):
        recv_response.decode(response.SerializeToString())


@pytest.mark.process
def test_between_tasks(monkeypatch):
    monkeypatch.setenv("HEADRACE_TRANSPORTS", "grpc")
    value = np.random.RandomState(0).randn(77, 33)
    with tf.Graph().as_default(), cluster(ps=1, worker=1) as servers:
        fed = tf.placeholder(tf.float64, value.shape)
        with tf.device("/job:ps/task:0"):
            there = tf.abs(fed)
        with tf.device("/job:worker/task:0"):
            here = tf.sqrt(there)
        with tf.Session(servers["worker"][0].target) as session:
            np.testing.assert_allclose(session.run(here, {fed: value}), np.sqrt(np.abs(value)))


# -- more than 2 GB, by every way ----------------------------------------------------------------
SHAPE = (3, 800_000_000)  # 2.4 GB
NEEDED = 14 << 30  # bytes of memory


def available() -> int:
    """Bytes of memory that programs could have."""
    found = re.search(r"^MemAvailable: +(\d+) kB", Path("/proc/meminfo").read_text(), re.MULTILINE)
    return int(found.group(1)) << 10 if found else 0


@pytest.mark.process
@pytest.mark.slow
@pytest.mark.parametrize("way", ["local", "grpc"])
def test_more_than_two_gigabytes(monkeypatch, way):
    if available() < NEEDED:
        pytest.skip(f"this takes {NEEDED >> 20} MB of memory; {available() >> 20} are available")
    monkeypatch.undo()  # parts are of their true size, as in the other process
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
