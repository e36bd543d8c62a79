"""Transfers of watched steps as spans."""

from __future__ import annotations

from concurrent.futures import Future

import numpy as np

import headrace as tf
from headrace.distributed.wire.grpc_channel import GrpcChannel
from headrace.distributed.worker import transfer_log
from headrace.distributed.worker.transfer_log import TransferLog
from headrace.formats import proto
from tests.distributed.clusters import cluster

KEY = "/job:ps/replica:0/task:0/device:CPU:0;00;/job:worker/replica:0/task:0/device:CPU:0;edge_3_x;0:0"


def coming(value) -> Future[object]:
    future: Future[object] = Future()
    future.set_result(value)
    return future


def test_only_watched_steps_are_noted():
    log = TransferLog()
    log.saw(1, KEY, coming(np.zeros(4, np.float32)))
    log.watch(2)
    log.saw(2, KEY, coming(np.zeros(4, np.float32)))
    assert not log.taken(1).dev_stats
    (device,) = log.taken(2).dev_stats
    assert device.device == "/job:worker/replica:0/task:0/device:CPU:0"
    (span,) = device.node_stats
    assert span.node_name == "RecvTensor" and span.timeline_label.startswith("[16B] edge_3_x from /job:ps/")
    log.saw(2, KEY, coming(0))
    assert not log.taken(2).dev_stats  # once


def test_a_value_that_does_not_come_is_no_transfer():
    log = TransferLog()
    log.watches_all = True
    lost: Future[object] = Future()
    lost.set_exception(tf.errors.AbortedError(None, None, "lost"))
    log.saw(1, KEY, lost)
    assert not log.taken(1).dev_stats


def test_what_is_kept_is_bounded(monkeypatch):
    monkeypatch.setattr(transfer_log, "MOST_STEPS", 3)
    log = TransferLog()
    log.watches_all = True
    for step in range(10):
        log.saw(step, KEY, coming(0))
    assert [bool(log.taken(step).dev_stats) for step in range(10)] == [False] * 7 + [True] * 3


def test_in_a_trace_and_by_logging():
    with cluster(ps=1, worker=1) as servers, tf.Graph().as_default():
        with tf.device("/job:ps/task:0"):
            fed = tf.placeholder(tf.float32, [256])
            v = fed * 2.0
        with tf.device("/job:worker/task:0"):
            total = tf.reduce_sum(v)
        with tf.Session(servers["worker"][0].target) as session:
            metadata = tf.RunMetadata()
            options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
            assert session.run(total, {fed: np.ones(256)}, options=options, run_metadata=metadata) == 512.0
            labels = [n.timeline_label for d in metadata.step_stats.dev_stats for n in d.node_stats]
            assert any(label.startswith("[1024B] ") and "from /job:ps/" in label for label in labels), labels
            channel = GrpcChannel(servers["worker"][0].address)
            try:
                channel.call("Logging", proto.LoggingRequest(enable_rpc_logging=True)).result(20)
                metadata.Clear()
                session.run(total, {fed: np.ones(256)}, options=options, run_metadata=metadata)
                channel.call("Logging", proto.LoggingRequest(disable_rpc_logging=True)).result(20)
                asked = channel.call("Logging", proto.LoggingRequest(fetch_step_id=[12345])).result(20)
                assert [s.step_id for s in asked.step] == [12345] and not asked.step[0].step_stats.dev_stats
            finally:
                channel.close()
