"""Resolvers of given clusters, and several as one."""

from __future__ import annotations

import pytest

import headrace as tf
from tests.distributed.clusters import cluster

resolvers = tf.distribute.cluster_resolver
SPEC = tf.train.ClusterSpec({"ps": ["a:1"], "worker": ["b:2", "c:3"]})


def simple(jobs, **how):
    return resolvers.SimpleClusterResolver(tf.train.ClusterSpec(jobs), **how)


def test_simple():
    resolver = resolvers.SimpleClusterResolver(
        SPEC, "local", task_type="ps", task_id=0, environment="here", num_accelerators={"GPU": 2}
    )
    assert resolver.cluster_spec() is SPEC
    assert (resolver.master(), resolver.master("worker", 1)) == ("local", "c:3")
    assert resolver.master("worker", 1, rpc_layer="grpc") == "grpc://c:3"
    assert (resolver.task_type, resolver.task_id, resolver.environment) == ("ps", 0, "here")
    assert resolver.num_accelerators() == {"GPU": 2}
    resolver.task_type, resolver.task_id, resolver.rpc_layer = "worker", 1, "grpc"
    assert (resolver.task_type, resolver.task_id, resolver.master()) == ("worker", 1, "grpc://local")
    with pytest.raises(TypeError, match="must be a ClusterSpec"):
        resolvers.SimpleClusterResolver({"ps": []})
    with pytest.raises(TypeError, match="must be a string"):
        resolvers.SimpleClusterResolver(SPEC, 3)


def test_union():
    first = simple({"worker": ["a:1"]}, master="m", task_type="worker", task_id=1, rpc_layer="grpc")
    second = simple({"worker": ["b:2"], "ps": ["c:3"]})
    union = resolvers.UnionResolver(first, second)
    assert union.cluster_spec().as_dict() == {"worker": ["a:1", "b:2"], "ps": ["c:3"]}
    assert (union.task_type, union.task_id, union.rpc_layer) == ("worker", 1, "grpc")
    assert union.master() == "grpc://m"
    assert union.master("ps", 0, rpc_layer="grpc") == "grpc://c:3"
    union.task_type, union.task_id, union.rpc_layer = "ps", 5, "http"
    assert (union.task_type, union.task_id, union.rpc_layer) == ("ps", 5, "http")
    assert tf.contrib.cluster_resolver.UnionClusterResolver is resolvers.UnionResolver


def test_union_of_numbered_tasks():
    numbered = simple({"worker": {1: "b:2", 3: "d:4"}})
    assert resolvers.UnionResolver(simple({"worker": ["a:1"]}), numbered).cluster_spec().as_dict() == {
        "worker": {0: "a:1", 1: "b:2", 3: "d:4"}
    }
    with pytest.raises(KeyError, match="Duplicate keys detected"):
        resolvers.UnionResolver(numbered, numbered).cluster_spec()


@pytest.mark.parametrize(
    "call, error",
    [
        (lambda: resolvers.UnionResolver(), ValueError),
        (lambda: resolvers.UnionResolver("a"), TypeError),
        (lambda: resolvers.UnionResolver(simple({}), colour="red"), ValueError),
        (lambda: resolvers.ClusterResolver(), TypeError),
    ],
)
def test_what_is_no_union(call, error):
    with pytest.raises(error):
        call()


@pytest.mark.process
def test_devices_of_a_task():
    with cluster(ps=1, worker=2) as servers:
        addresses = {job: [server.address for server in made] for job, made in servers.items()}

        class Found(resolvers.ClusterResolver):
            task_type, task_id, rpc_layer = "worker", 0, "grpc"

            def cluster_spec(self):
                return tf.train.ClusterSpec(addresses)

            def master(self, task_type=None, task_id=None, rpc_layer=None):
                return self._address(task_type, task_id, rpc_layer)

        assert Found().num_accelerators() == {"CPU": 3}
        assert Found().num_accelerators("worker", 1) == {"CPU": 1}
        assert Found().environment == ""
