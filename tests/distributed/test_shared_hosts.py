"""Tasks in processes of one host, over links: leftovers, large values, forks, what is compiled."""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

import headrace as tf
from headrace.distributed.transport import local, segments
from headrace.plan.units import SEGMENT, segment_of
from tests.distributed.clusters import addresses
from tests.timing import PATIENCE, wait_until

pytestmark = [
    pytest.mark.process,
    pytest.mark.skipif(not local.is_supported(), reason="no such sockets here"),
]
ROOT = Path(__file__).resolve().parents[2]
PROGRAM = "import headrace as tf\ntf.train.Server({cluster}, job_name='ps', task_index=0).join()"
PS = "/job:ps/replica:0/task:0"


@pytest.fixture(scope="module")
def tasks():
    """A worker of this process, and the process of a parameter server."""
    at = addresses(ps=1, worker=1)
    command = [sys.executable, "-c", PROGRAM.format(cluster=at)]
    ps = subprocess.Popen(command, env=os.environ | {"PYTHONPATH": str(ROOT)})
    worker = tf.train.Server(at, job_name="worker", task_index=0)
    try:
        yield ps, worker
    finally:
        worker.stop()
        ps.kill()
        ps.wait()


@pytest.fixture
def graph():
    with tf.Graph().as_default() as made:
        yield made


def descriptors(process: int) -> int:
    return len(os.listdir(f"/proc/{process}/fd"))


def mappings(process: int) -> int:
    return Path(f"/proc/{process}/maps").read_text().count("memfd:headrace")


def test_a_thousand_steps_leave_nothing(tasks, graph):
    ps, worker = tasks
    with tf.device("/job:ps/task:0"):
        v = tf.get_variable("large", [50_000], initializer=tf.zeros_initializer())
    with tf.device("/job:worker/task:0"):
        one = v * 0.0 + 1.0
    add = v.assign_add(one)
    with tf.Session(worker.target) as session:
        session.run(v.initializer)
        for _ in range(20):
            session.run(add.op)
        assert worker.links.way_to(PS) == "local"
        before = [descriptors(p) for p in (os.getpid(), ps.pid)]
        for _ in range(1000):
            session.run(add.op)
        after = [descriptors(p) for p in (os.getpid(), ps.pid)]
        assert session.run(v)[-1] == 1020.0
        assert all(a <= b + 2 for a, b in zip(after, before)), (before, after)
        assert mappings(ps.pid) < 20 and len(worker.worker._steps) == 0
    assert not [name for name in os.listdir("/dev/shm") if "headrace" in name]


@pytest.mark.parametrize("shape", [(1, 0), (3, 5, 1, 7), (16_383,), (16_384,), (1000, 1000), (17, 100_003)])
@pytest.mark.parametrize("dtype", [tf.float32, tf.int8, tf.bool, tf.complex64])
def test_odd_tensors_there_and_back(tasks, graph, shape, dtype):
    ps, worker = tasks
    value = (np.random.RandomState(0).randn(*shape) * 50).astype(dtype.as_numpy_dtype)
    with tf.device("/job:ps/task:0"):
        there = tf.identity(tf.placeholder_with_default(value, shape))
    with tf.device("/job:worker/task:0"):
        here = tf.identity(there)
    with tf.device("/job:ps/task:0"):
        back = tf.identity(here)
    with tf.Session(worker.target) as session:
        for found in session.run([there, here, back]):
            np.testing.assert_array_equal(found, value)


def test_text_and_dead_values(tasks, graph):
    _, worker = tasks
    flag = tf.placeholder(tf.bool)
    with tf.device("/job:ps/task:0"):
        text = tf.strings.join([["a", "b"], ["c" * 100_000, "d"]])
    with tf.device("/job:worker/task:0"):
        chosen = tf.cond(flag, lambda: tf.identity(text), lambda: tf.constant(["x", "y"]))
    with tf.Session(worker.target) as session:
        assert session.run(chosen, {flag: True}).tolist() == [b"a" + b"c" * 100_000, b"bd"]
        assert session.run(chosen, {flag: False}).tolist() == [b"x", b"y"]


def test_a_fetched_value_is_the_user_s_own(tasks, graph):
    """A value that came by shared memory does not change when the memory is used again."""
    _, worker = tasks
    with tf.device("/job:ps/task:0"):
        v = tf.get_variable("changing", [40_000], initializer=tf.zeros_initializer())
        add = v.assign_add(tf.ones([40_000])).op
    with tf.device("/job:worker/task:0"):
        here = tf.identity(v)
    with tf.Session(worker.target) as session:
        session.run(v.initializer)
        kept = []
        for _ in range(20):
            kept.append(session.run(here))
            session.run(add)
        assert all(found.min() == found.max() for found in kept)
        assert [int(found[0]) for found in kept] == list(range(20))
        kept[0][:] = -1.0  # writeable, as every fetched value


def test_threads_run_steps_at_once(tasks, graph):
    _, worker = tasks
    with tf.device("/job:ps/task:0"):
        v = tf.get_variable("counted", [], initializer=tf.zeros_initializer(), use_resource=True)
    with tf.device("/job:worker/task:0"):
        one = tf.constant(1.0) * tf.placeholder_with_default(1.0, [])
    add = v.assign_add(one, read_value=False)
    with tf.Session(worker.target) as session:
        session.run(v.initializer)
        threads = [threading.Thread(target=lambda: [session.run(add) for _ in range(50)]) for _ in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(PATIENCE)
        assert session.run(v) == 300.0


def test_a_child_of_a_fork_neither_disturbs_nor_works(tasks, graph):
    _, worker = tasks
    with tf.device("/job:ps/task:0"):
        v = tf.get_variable("forked", [], initializer=tf.ones_initializer())
    with tf.device("/job:worker/task:0"):
        here = v * 3.0
    with tf.Session(worker.target) as session:
        session.run(v.initializer)
        assert session.run(here) == 3.0
        child = os.fork()
        if child == 0:
            time.sleep(20)
            os._exit(0)
        try:
            for _ in range(50):
                assert session.run(here) == 3.0
            assert worker.links.way_to(PS) == "local"
        finally:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)


def test_what_is_large_is_measured_in_bytes(tasks, graph, monkeypatch):
    """The same without shared memory, as where the limit is never reached."""
    _, worker = tasks
    monkeypatch.setattr(segments, "LARGE", 1 << 60)
    value = np.random.RandomState(0).randn(300, 1000)
    fed = tf.placeholder(tf.float64, value.shape)
    with tf.device("/job:ps/task:0"):
        there = fed + 1.0
    with tf.Session(worker.target) as session:
        np.testing.assert_allclose(session.run(there, {fed: value}), value + 1.0)
    gc.collect()


def test_the_end_of_a_peer_frees_its_memory():
    """kill -9 of the side that lent, and of the side that borrowed: nothing is left of the segments."""
    for victim in ("ps", "worker"):
        gc.collect()
        before = mappings(os.getpid())  # of other tests
        at = addresses(ps=1, worker=1)
        command = [sys.executable, "-c", PROGRAM.format(cluster=at)]
        ps = subprocess.Popen(command, env=os.environ | {"PYTHONPATH": str(ROOT)})
        worker = tf.train.Server(at, job_name="worker", task_index=0)
        try:
            with tf.Graph().as_default(), tf.device("/job:ps/task:0"):
                v = tf.get_variable("large", [500_000], initializer=tf.ones_initializer())
                with tf.device("/job:worker/task:0"):
                    total = tf.reduce_sum(v)
                session = tf.Session(worker.target)
                session.run(v.initializer)
                assert session.run(total) == 500_000.0
                assert mappings(os.getpid()) > before and mappings(ps.pid)
                if victim == "ps":
                    ps.kill()
                    ps.wait()
                else:
                    worker.stop()
                    wait_until(lambda ps=ps: mappings(ps.pid) == 0)
                wait_until(lambda before=before: (gc.collect(), mappings(os.getpid()) <= before)[1])
                session.close()
        finally:
            worker.stop()
            ps.kill()
            ps.wait()


def compiled_nodes(part) -> list[set[str]]:
    """The nodes of each region that a registered part has."""
    found = []
    for program in part.prepared.programs:
        for node in program.plan.nodes.values():
            if node.op is SEGMENT:
                found.append(set(segment_of(node).plan.nodes))
    return found


def test_a_training_step_is_as_compiled_as_a_local_one(tasks, graph):
    """What a worker computes, from all of its variables to all gradients, is one program."""
    _, worker = tasks
    with tf.device("/job:ps/task:0"):
        weights = [tf.get_variable(f"layer{i}", [8, 8], initializer=tf.ones_initializer()) for i in range(4)]
    with tf.device("/job:worker/task:0"):
        x = tf.placeholder(tf.float32, [4, 8])
        h = x
        for w in weights:
            h = tf.nn.relu(tf.matmul(h, w))
        loss = tf.reduce_mean(h)
    train = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
    with tf.Session(worker.target) as session:
        session.run(tf.global_variables_initializer())
        session.run(train, {x: np.ones((4, 8))})
        (part,) = [
            graph
            for held in worker.worker.sessions._held.values()
            for graph in held.graphs.values()
            if any("MatMul" in name for name in graph.prepared.programs[0].plan.nodes)
            or compiled_nodes(graph)
        ]
        (region,) = compiled_nodes(part)
    products = [n.name for n in graph.get_operations() if n.type == "MatMul" and "grad" not in n.name]
    assert set(products) <= region
