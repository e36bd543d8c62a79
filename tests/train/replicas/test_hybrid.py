"""Asynchronous groups of synchronous replicas, as an example makes them; backup replicas."""

from __future__ import annotations

import importlib.util
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

import headrace as tf
from tests.distributed.clusters import addresses, cluster
from tests.timing import PATIENCE

pytest.importorskip("grpc")
EXAMPLE = Path(__file__).resolve().parents[3] / "examples" / "clusters" / "hybrid_replicas.py"


def load():
    spec = importlib.util.spec_from_file_location("hybrid_replicas", EXAMPLE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_two_groups_of_two_train_one_model(monkeypatch):
    monkeypatch.setitem(sys.modules, "tensorflow", tf)
    example, found, errors = load(), {}, []
    at = addresses(ps=1, worker=4)
    servers = [tf.train.Server(at, job_name="ps", task_index=0)]
    servers += [tf.train.Server(at, job_name="worker", task_index=i) for i in range(4)]

    def work(index):
        try:
            with tf.Graph().as_default():
                found[index] = example.replica(tf.train.ClusterSpec(at), servers[1 + index].target, index, 60)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(i,), daemon=True) for i in range(4)]
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(PATIENCE)
        assert not errors and len(found) == 4, (errors, found)
    finally:
        for server in servers:
            server.stop()
    last = max((made for _, made in found.values()), key=sum)
    assert 60 <= sum(last) + 2 and min(last) > 0  # both groups have updated
    assert min(losses[-1] for losses, _ in found.values()) < 0.05


def test_a_slow_replica_is_a_backup():
    """One gradient of two replicas is enough: the other one's comes too late, and is dropped."""

    def build(index, at):
        graph = tf.Graph()
        with graph.as_default():
            device = tf.train.replica_device_setter(worker_device=f"/job:worker/task:{index}", cluster=at)
            with tf.device(device):
                v = tf.get_variable("v", [], initializer=tf.zeros_initializer())
                step = tf.train.get_or_create_global_step()
                opt = tf.train.SyncReplicasOptimizer(tf.train.GradientDescentOptimizer(1.0), 1, 2)
                gradient = tf.constant(1.0 if index == 0 else 1000.0)
                train = opt.apply_gradients([(gradient, v)], global_step=step)
            return graph, [train, v, step], opt.make_session_run_hook(index == 0)

    with cluster(ps=1, worker=2) as servers:
        at = servers["ps"][0].server_def.cluster
        fast_graph, fast_run, fast_hook = build(0, at)
        slow_graph, slow_run, slow_hook = build(1, at)
        with fast_graph.as_default():
            target = servers["worker"][0].target
            fast = tf.train.MonitoredTrainingSession(target, hooks=[fast_hook])
        with slow_graph.as_default():
            target = servers["worker"][1].target
            slow = tf.train.MonitoredTrainingSession(target, is_chief=False, hooks=[slow_hook])
        with fast_graph.as_default():
            for _ in range(100):
                if fast.run(fast_run)[2] >= 4:
                    break
        with slow_graph.as_default():
            slow.run(slow_run)  # computed at step 0
            slow.close()
        with fast_graph.as_default():
            _, value, step = fast.run(fast_run)
            fast.close()
    assert step >= 4
    np.testing.assert_allclose(value, -step, atol=1.0)  # thousands, had it counted
