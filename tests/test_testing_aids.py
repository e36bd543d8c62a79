"""What tf.test offers to tests of users' programs."""

from __future__ import annotations

import pytest

import headrace as tf

pytest.importorskip("grpc", reason="clusters need grpcio")


def test_a_local_cluster():
    config = tf.ConfigProto(device_count={"CPU": 2})
    workers, others = tf.test.create_local_cluster(num_workers=2, num_ps=1, worker_config=config)
    assert len(workers) == 2 and len(others) == 1
    with tf.Graph().as_default():
        with tf.device("/job:ps/task:0"):
            v = tf.get_variable("v", [], initializer=tf.zeros_initializer())
        with tf.device("/job:worker/task:1/cpu:1"):
            grown = v.assign_add(2.0)
        with tf.Session(workers[0].target) as session:
            session.run(v.initializer)
            assert session.run(grown) == 2.0
            listed = {d.name.split("/")[1] for d in session.list_devices()}
        with tf.Session(workers[1].target) as session:
            assert session.run(v) == 2.0
    assert listed == {"job:worker", "job:ps"}


def test_a_cluster_of_workers_alone():
    (worker,), others = tf.test.create_local_cluster(1, 0)
    assert others == []
    with tf.Graph().as_default(), tf.Session(worker.target) as session:
        assert session.run(tf.constant(3)) == 3
