"""Sessions with clusters and state of their own; tasks that are not who they are taken for."""

from __future__ import annotations

import numpy as np
import pytest

import headrace as tf
from tests.distributed.clusters import addresses, cluster, elsewhere
from tests.timing import soon, wait_until

pytestmark = pytest.mark.process


@pytest.fixture(scope="module")
def servers():
    made = [tf.train.Server.create_local_server() for _ in range(3)]
    yield made
    for server in made:
        server.stop()


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as made:
        yield made


def brought(servers, job="crew", **more):
    """The servers as tasks of a job that none of them knows."""
    spec = tf.train.ClusterSpec({job: [s.address for s in servers]})
    return tf.ConfigProto(cluster_def=spec.as_cluster_def(), **more)


def counter(device):
    with tf.device(device):
        v = tf.get_variable("counter", [], initializer=tf.zeros_initializer(), use_resource=True)
        return v, v.assign_add(1.0)


@pytest.mark.parametrize("is_here", [True, False])
def test_a_client_brings_the_cluster(servers, is_here):
    v, add = counter("/job:crew/task:1")
    with tf.device("/job:crew/task:2"):
        product = tf.matmul(tf.ones([2, 2]), tf.fill([2, 2], v))
    with tf.device("/job:crew/task:0"):
        sums = tf.while_loop(lambda i, a: i < 3, lambda i, a: (i + 1, a + tf.reduce_sum(product)), [0, 0.0])
    target = servers[0].target
    with tf.Graph().as_default() if is_here else elsewhere(servers[0]):
        with tf.Session(target, graph=v.graph, config=brought(servers)) as session:
            names = [d.name for d in session.list_devices()]
            assert names[0] == "/job:crew/replica:0/task:0/device:CPU:0" and len(names) == 3
            session.run(v.initializer)
            assert session.run(add) == 1.0
            metadata = tf.RunMetadata()
            options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
            assert session.run(sums[1], options=options, run_metadata=metadata) == 24.0
            assert all("/job:crew/" in d.device for d in metadata.step_stats.dev_stats)
    wait_until(lambda: all(s.worker.sessions.handles() == [""] for s in servers))


def test_a_brought_cluster_has_state_of_its_own(servers):
    v, add = counter("/job:crew/task:1")
    with tf.Session(servers[0].target, config=brought(servers)) as first:
        first.run(v.initializer)
        assert [first.run(add) for _ in range(2)] == [1.0, 2.0]
        with tf.Session(servers[0].target, config=brought(servers)) as second:
            with pytest.raises(tf.errors.OpError):
                second.run(v)
    shared = brought(servers)
    shared.experimental.share_session_state_in_clusterspec_propagation = True
    for expected in (1.0, 2.0):
        with tf.Session(servers[0].target, config=shared) as session:
            if expected == 1.0:
                session.run(v.initializer)
            assert session.run(add) == expected


def test_sessions_of_which_each_has_its_state(servers):
    v, add = counter("/job:local/task:0")
    with tf.Session(servers[0].target) as usual:
        usual.run(v.initializer)
        usual.run(add)
    config = tf.ConfigProto(isolate_session_state=True)
    with tf.Session(servers[0].target, config=config) as first:
        with tf.Session(servers[0].target, config=config) as second:
            with pytest.raises(tf.errors.OpError):
                first.run(v)
            for session in (first, second):
                session.run(v.initializer)
            assert [first.run(add), first.run(add), second.run(add)] == [1.0, 2.0, 1.0]
    with tf.Session(servers[0].target) as usual:
        assert usual.run(v) == 1.0
    tf.Session.reset(servers[0].target)


def test_a_brought_cluster_without_the_master(servers):
    one = tf.constant(1.0)
    for members in (servers[1:], [servers[0], servers[0]]):
        with tf.Session(servers[0].target, config=brought(members)) as session:
            with pytest.raises(tf.errors.InvalidArgumentError, match="the address of the master"):
                session.run(one)


def test_names_that_servers_have_already(servers):
    """Each of them was started as task 0 of this job."""
    config, pieces = brought(servers, job="local"), []
    for i in range(3):
        with tf.device(f"/job:local/task:{i}"):
            pieces.append(tf.placeholder_with_default(1.0 + i, []) + sum(pieces))
    with tf.Session(servers[1].target, config=config) as session:
        assert session.run(pieces) == [1.0, 3.0, 7.0]


def test_filters_of_a_brought_cluster(servers):
    tf.constant(1.0)
    config = brought(servers, device_filters=["/job:crew/task:2"])
    with tf.Session(servers[0].target, config=config) as session:
        assert [d.name for d in session.list_devices()] == [
            f"/job:crew/replica:0/task:{i}/device:CPU:0" for i in (0, 2)
        ]


def test_a_task_that_is_somebody_else(caplog):
    """Both ends say so: the master at once, the task if a master does not notice."""
    with cluster(ps=1) as found:
        address = found["ps"][0].address
        at = addresses(worker=1) | {"chief": [address]}
        server = tf.train.Server(at, job_name="worker", task_index=0)
        try:
            one = tf.constant(1.0)
            with tf.Session(server.target) as session, soon(10):
                with pytest.raises(
                    tf.errors.InvalidArgumentError, match="is /job:ps/replica:0/task:0"
                ) as raised:
                    session.run(one)
                assert "/job:chief/replica:0/task:0" in raised.value.message
                assert address in raised.value.message and "ClusterSpec" in raised.value.message
        finally:
            server.stop()
        graph_def = tf.GraphDef()
        graph_def.node.add(name="x", op="NoOp", device="/job:chief/replica:0/task:0/device:CPU:0")
        with pytest.raises(tf.errors.InvalidArgumentError, match="This task is /job:ps/replica:0/task:0"):
            found["ps"][0].worker.register("", graph_def).result(10)
        assert "refuses a graph" in caplog.text


def test_thread_pools_of_sessions_are_refused(servers):
    one = tf.constant(1.0)
    with tf.Session(servers[0].target, config=tf.ConfigProto(use_per_session_threads=True)) as session:
        with pytest.raises(tf.errors.InvalidArgumentError, match="thread pool"):
            session.run(one)


def test_a_graph_of_a_later_version_is_refused(servers):
    """By masters and by workers."""
    graph_def = tf.GraphDef()
    graph_def.node.add(name="x", op="NoOp")
    graph_def.versions.producer = graph_def.versions.min_consumer = 100_000
    with pytest.raises(tf.errors.InvalidArgumentError, match="min.consumer"):
        servers[0].master.create_session(graph_def, tf.ConfigProto())
    graph_def.node[0].device = "/job:local/replica:0/task:0/device:CPU:0"
    with pytest.raises(tf.errors.InvalidArgumentError, match="min.consumer"):
        servers[0].worker.register("", graph_def).result(10)


def test_what_a_session_leaves_behind(servers):
    config = brought(servers)
    x = tf.placeholder(tf.float32, [2])
    with tf.device("/job:crew/task:2"):
        y = x * 2.0
    for _ in range(3):
        with tf.Session(servers[0].target, config=config) as session:
            np.testing.assert_array_equal(session.run(y, {x: [1.0, 2.0]}), [2.0, 4.0])
    wait_until(lambda: [s.worker.counts() for s in servers] == [(0, 0)] * 3)
