"""Where a replica's variables go."""

from __future__ import annotations

import pytest

import headrace as tf

CLUSTER = {"ps": ["a:1", "b:1"], "worker": ["c:1"]}


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default():
        yield


def test_variables_go_round_and_the_rest_stays():
    with tf.device(tf.train.replica_device_setter(cluster=CLUSTER)):
        made = [tf.Variable(1.0, name=f"v{i}") for i in range(3)]
        by_handle = tf.get_variable("r", [2], use_resource=True)
        total = made[0] + 1.0
        with tf.device("/job:ps/task:1"):
            there = tf.Variable(1.0)
        with tf.device("/cpu:0"):
            both = tf.Variable(1.0)
    assert [v.device for v in made] == ["/job:ps/task:0", "/job:ps/task:1", "/job:ps/task:0"]
    assert by_handle.device == "/job:ps/task:1" and total.device == "/job:worker"
    assert there.device == "/job:ps/task:1"
    assert both.device == "/job:ps/task:1/device:CPU:0"
    assert made[1].initializer.device == "/job:ps/task:1"


def test_the_worker_may_be_named():
    setter = tf.train.replica_device_setter(ps_tasks=1, worker_device="/job:worker/task:7")
    with tf.device(setter):
        assert tf.constant(1.0).device == "/job:worker/task:7"
    assert tf.Variable(1.0).device == ""


def test_without_servers_there_is_nothing_to_do():
    assert tf.train.replica_device_setter() is None
    assert tf.train.replica_device_setter(cluster={"worker": ["a:1"]}) is None
    with pytest.raises(TypeError, match="must be callable"):
        tf.train.replica_device_setter(ps_tasks=1, ps_strategy=3)


def test_types_of_nodes_may_be_given():
    with tf.device(tf.train.replica_device_setter(ps_tasks=2, ps_ops=["Const"])):
        assert [tf.constant(1.0).device for _ in range(2)] == ["/job:ps/task:0", "/job:ps/task:1"]


def test_the_server_with_least_to_carry():
    training = tf.contrib.training
    strategy = training.GreedyLoadBalancingStrategy(2, training.byte_size_load_fn)
    with tf.device(tf.train.replica_device_setter(cluster=CLUSTER, ps_strategy=strategy)):
        sizes = [100, 10, 10, 70, 30]
        made = [tf.get_variable(f"v{i}", [n], use_resource=False) for i, n in enumerate(sizes)]
    assert [v.device[-1] for v in made] == ["0", "1", "1", "1", "1"]


def test_by_name_as_tensorflow_chooses():
    """MD5 of name and seed: replicas of both kinds must agree."""
    names = [tf.no_op(name=f"v{i}") for i in range(6)]
    choose = tf.contrib.training.RandomStrategy(3)
    assert [choose(op) for op in names] == [1, 2, 1, 2, 2, 1]
    assert {tf.contrib.training.RandomStrategy(3, seed=s)(names[0]) for s in range(50)} == {0, 1, 2}
