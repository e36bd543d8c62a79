"""The cluster of TF_CONFIG."""

from __future__ import annotations

import json

import pytest

import headrace as tf
from tests.distributed.clusters import free_port

CLUSTER = {"ps": ["a:1"], "worker": ["b:2", "c:3"]}


@pytest.fixture
def config(monkeypatch):
    def set_(value):
        monkeypatch.setenv("TF_CONFIG", value if isinstance(value, str) else json.dumps(value))
        return tf.distribute.cluster_resolver.TFConfigClusterResolver()

    return set_


def test_a_task(config):
    resolver = config({"cluster": CLUSTER, "task": {"type": "worker", "index": "1"}, "rpc_layer": "grpc"})
    assert resolver.cluster_spec().as_dict() == CLUSTER
    assert (resolver.task_type, resolver.task_id, resolver.rpc_layer) == ("worker", 1, "grpc")
    assert resolver.master() == "grpc://c:3"
    assert resolver.master("ps", 0) == "grpc://a:1"
    resolver.task_type, resolver.task_id, resolver.rpc_layer = "ps", 0, "http"
    assert resolver.master() == "http://a:1"
    assert resolver.environment is None


def test_given_things_count_before_the_environment(config):
    config({"cluster": CLUSTER, "task": {"type": "worker", "index": 1}})
    resolver = tf.contrib.cluster_resolver.TFConfigClusterResolver("ps", 0, "grpc", "cloud")
    assert (resolver.task_type, resolver.task_id, resolver.environment) == ("ps", 0, "cloud")
    assert resolver.master() == "grpc://a:1"


def test_masters_that_need_no_task(config):
    assert config({"session_master": "grpc://m:1"}).master() == "grpc://m:1"
    assert config({}).master() == config({"cluster": {"worker": ["a:1"]}}).master() == ""
    assert (config({}).task_type, config({}).task_id, config({}).rpc_layer) == (None, None, None)
    with pytest.raises(RuntimeError, match="does not say which task"):
        config({"cluster": CLUSTER}).master()


@pytest.mark.parametrize("text", ["", "{", "[]", '"a"', '{"cluster": []}', '{"task": 3}', "[" * 100_000])
def test_what_is_no_configuration(config, text):
    with pytest.raises(ValueError, match="TF_CONFIG"):
        config(text).master()


def test_a_server(config):
    port = free_port()
    config({"cluster": {"worker": [f"127.0.0.1:{port}"]}, "task": {"type": "worker", "index": 0}})
    server = tf.train.Server.from_tf_config()
    try:
        assert server.target == f"grpc://127.0.0.1:{port}"
    finally:
        server.stop()


@pytest.mark.parametrize("value", [{}, {"cluster": CLUSTER}, {"task": {"type": "ps", "index": 0}}])
def test_no_server(config, value):
    config(value)
    with pytest.raises(ValueError, match="TF_CONFIG needs a cluster and a task"):
        tf.train.Server.from_tf_config()


def test_an_evaluator_has_no_server(config):
    config({"cluster": CLUSTER, "task": {"type": "evaluator", "index": 0}})
    with pytest.raises(tf.errors.InvalidArgumentError, match='Job "evaluator" was not defined in cluster'):
        tf.train.Server.from_tf_config()
