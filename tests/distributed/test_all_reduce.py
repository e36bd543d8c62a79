"""Sums, gathers and broadcasts over tasks, ours and TensorFlow's."""

from __future__ import annotations

import json
import subprocess
import threading

import numpy as np
import pytest

import headrace as tf
from headrace.functions.control import collective as c
from tests.distributed.clusters import addresses, cluster, elsewhere
from tests.distributed.test_interop import OURS, THEIRS, start
from tests.tensorflow_peer import needs_tensorflow
from tests.timing import PATIENCE

pytest.importorskip("grpc")
pytestmark = pytest.mark.process
N = 3
VALUES = [np.random.RandomState(i).randn(100, 7).astype("f") for i in range(N)]
LONG = tf.RunOptions(timeout_in_ms=int(PATIENCE * 1000))


def member(i: int) -> list[tf.Tensor]:
    """What the i-th of N tasks does."""
    with tf.device(f"/job:worker/task:{i}"):
        x = tf.constant(VALUES[i])
        total = c.all_reduce(x, N, 1, 1, "Add", "Div")
        everything = c.all_gather(x, N, 1, 2)
        if i == 1:
            given = c.broadcast_send(x, x.shape, x.dtype, N, 1, 3)
        else:
            given = c.broadcast_recv(x.shape, x.dtype, N, 1, 3)
    return [total, everything, given]


def check(found) -> None:
    total, everything, given = found
    np.testing.assert_allclose(total, sum(VALUES) / N, rtol=1e-3, atol=1e-5)
    np.testing.assert_array_equal(everything, np.concatenate(VALUES))
    np.testing.assert_array_equal(given, VALUES[1])


@pytest.mark.parametrize("transports", ["", "grpc"])
def test_in_one_graph(monkeypatch, transports):
    if transports:
        monkeypatch.setenv("HEADRACE_TRANSPORTS", transports)
    with cluster(worker=N) as servers, tf.Graph().as_default():
        members = [member(i) for i in range(N)]
        first = servers["worker"][0]
        with elsewhere(first), tf.Session(first.target) as session:
            for _ in range(3):
                for found in session.run(members, options=LONG):
                    check(found)
        assert [len(s.worker.collectives.buffers) for s in servers["worker"]] == [0] * N


def test_between_graphs():
    """Each task has a master, and a graph, of its own."""
    failures: list[BaseException] = []

    def train(i, server):
        try:
            with tf.Graph().as_default():
                mine = member(i)
                with tf.Session(server.target) as session:
                    for _ in range(10):
                        check(session.run(mine, options=LONG))
        except BaseException as error:
            failures.append(error)

    with cluster(worker=N) as servers:
        threads = [threading.Thread(target=train, args=pair) for pair in enumerate(servers["worker"])]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(PATIENCE)
        assert not failures, failures


def test_a_member_that_fails_ends_the_others():
    with cluster(worker=2) as servers, tf.Graph().as_default():
        with tf.device("/job:worker/task:0"):
            here = c.all_reduce(tf.constant([1.0]), 2, 1, 1, "Add", "Id")
        with tf.device("/job:worker/task:1"):
            bad = tf.gather([1.0, 2.0], [tf.constant(7)], name="bad")
            there = c.all_reduce(tf.identity(bad), 2, 1, 1, "Add", "Id")
        with tf.Session(servers["worker"][0].target) as session:
            with pytest.raises(tf.errors.InvalidArgumentError, match="not in"):
                session.run([here, there], options=LONG)
            with tf.device("/job:worker/task:1"):
                well = c.all_reduce(tf.constant([2.0]), 2, 1, 1, "Add", "Id")
            assert session.run([here, well], options=LONG) == [[3.0], [3.0]]


def test_one_whose_partner_does_not_come_has_a_deadline():
    with cluster(worker=2) as servers, tf.Graph().as_default():
        with tf.device("/job:worker/task:1"):
            alone = c.all_reduce(tf.constant([1.0]), 2, 1, 1, "Add", "Id")
        with tf.Session(servers["worker"][0].target) as session:
            with pytest.raises(tf.errors.DeadlineExceededError):
                session.run(alone, options=tf.RunOptions(timeout_in_ms=300))
            with tf.device("/job:worker/task:0"):
                other = c.all_reduce(tf.constant([1.0]), 2, 1, 1, "Add", "Id")
            assert session.run([alone, other], options=LONG) == [[2.0], [2.0]]


def test_partial_runs_have_none():
    with cluster(worker=2) as servers, tf.Graph().as_default():
        with tf.device("/job:worker/task:1"):
            x = tf.placeholder(tf.float32, [1])
            y = c.all_reduce(x, 2, 1, 1, "Add", "Id")
        with tf.Session(servers["worker"][0].target) as session:
            with pytest.raises(tf.errors.InvalidArgumentError, match="does not support Collective ops"):
                session.partial_run_setup([y], [x])


SERVER = """
import json
given = json.loads({given!r})
config = tf.ConfigProto()
config.experimental.collective_group_leader = "/job:worker/replica:0/task:0"
tf.train.Server(given["cluster"], job_name="worker", task_index=given["index"], config=config).join()
"""
MEMBERS = {
    OURS: "from headrace.ops.control import collective as g",
    THEIRS: "from tensorflow.python.ops import gen_collective_ops as g",
}
CLIENT = """
import threading
import numpy as np

targets = {targets}
values = [np.random.RandomState(i).randn(100, 7).astype("f") for i in range(2)]


def member(i):
    with tf.device("/job:worker/task:%d" % i):
        x = tf.constant(values[i])
        how = dict(group_size=2, group_key=1)
        a = g.collective_reduce(x, instance_key=1, merge_op="Add", final_op="Div", subdiv_offsets=[0], **how)
        b = g.collective_gather(x, instance_key=2, shape=[0], **how)
        if i == 1:
            c = g.collective_bcast_send(x, instance_key=3, shape=x.shape, **how)
        else:
            c = g.collective_bcast_recv(T=tf.float32, instance_key=3, shape=[100, 7], **how)
        large = tf.fill([3000000], float(i + 1))
        d = g.collective_reduce(
            large, instance_key=4, merge_op="Add", final_op="Id", subdiv_offsets=[0], **how
        )
    return a, b, c, d


def check(found):
    a, b, c, d = found
    np.testing.assert_allclose(a, sum(values) / 2, rtol=1e-3, atol=1e-5)
    np.testing.assert_array_equal(b, np.concatenate(values))
    np.testing.assert_array_equal(c, values[1])
    assert (d == 3.0).all()


options = tf.RunOptions(timeout_in_ms=100000)
members = [member(i) for i in range(2)]
with tf.Session(targets[0]) as session:
    for _ in range(2):
        for found in session.run(members, options=options):
            check(found)
failures = []


def train(i):
    try:
        with tf.Graph().as_default():
            mine = member(i)
            with tf.Session(targets[i]) as session:
                for _ in range(3):
                    check(session.run(mine, options=options))
    except BaseException as error:
        failures.append(error)


threads = [threading.Thread(target=train, args=(i,)) for i in range(2)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
assert not failures, failures
print("done")
"""


@needs_tensorflow
@pytest.mark.parametrize(
    ("client", "first", "second"), [(OURS, OURS, THEIRS), (THEIRS, THEIRS, OURS), (THEIRS, OURS, OURS)]
)
def test_members_may_be_tensorflows(client, first, second):
    """The first task leads the group."""
    at = addresses(worker=2)
    running = [
        start(kind, SERVER.format(given=json.dumps({"cluster": at, "index": i})))
        for i, kind in enumerate((first, second))
    ]
    try:
        program = f"{MEMBERS[client]}\n" + CLIENT.replace(
            "{targets}", str([f"grpc://{address}" for address in at["worker"]])
        )
        asking = start(client, program, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        running.append(asking)
        said = asking.communicate(timeout=2 * PATIENCE)[0]
        assert said.endswith("done\n"), said[-3000:]
    finally:
        for process in running:
            process.kill()
            process.wait()
