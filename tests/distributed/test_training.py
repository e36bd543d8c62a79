"""Training on a cluster: the nodes that loops and hooks add to a model, spread over tasks."""

from __future__ import annotations

import numpy as np
import pytest

import headrace as tf
from headrace.train.schedules.step_count import global_step_read
from tests.distributed.clusters import cluster

pytest.importorskip("grpc")


@pytest.mark.parametrize("reader", ["/job:ps/task:0", "/job:worker/task:0"])
def test_a_step_reads_the_global_step_in_a_branch_and_adds_to_it(reader):
    """The addition waits for the branch, whose end may be on another task than the read and the addition."""
    with tf.Graph().as_default(), cluster(ps=2, worker=1) as servers:
        at = servers["ps"][0].server_def.cluster
        with tf.device(tf.train.replica_device_setter(worker_device="/job:worker/task:0", cluster=at)):
            x = tf.placeholder(tf.float32, [None, 3])
            w = tf.get_variable("w", [3, 1], initializer=tf.zeros_initializer())
            b = tf.get_variable("b", [1], initializer=tf.zeros_initializer())
            step = tf.train.get_or_create_global_step()
            loss = tf.reduce_mean(tf.square(tf.matmul(x, w) + b - 1))
            train = tf.train.GradientDescentOptimizer(0.1).minimize(loss, global_step=step)
        with tf.device(reader):
            read = step.initialized_value() + 0
        init, shared = tf.global_variables_initializer(), global_step_read()
        options = tf.RunOptions(timeout_in_ms=60000)
        with tf.Session(servers["worker"][0].target) as sess:
            sess.run(init)
            for expected in range(3):
                found = sess.run([train, read, shared], {x: np.ones([2, 3])}, options=options)
                assert found[1] in (expected, expected + 1) and found[2] in (expected, expected + 1)
            assert sess.run(step) == 3


def test_a_step_that_fails_leaves_nobody_in_a_queue():
    """What waits beside the node that fails must not take the next element, or gradient, from others."""
    with tf.Graph().as_default(), cluster(ps=1, worker=1) as servers:
        with tf.device("/job:ps/task:0"):
            queue = tf.FIFOQueue(3, tf.int32, shapes=())
            take, put, size = queue.dequeue(), queue.enqueue(7), queue.size()
            accumulator = tf.ConditionalAccumulator(tf.float32, shape=())
            grad, mean, count = (
                accumulator.apply_grad(1.0),
                accumulator.take_grad(1),
                accumulator.num_accumulated(),
            )
            x = tf.placeholder(tf.float32, [])
            fails = tf.check_numerics(x, "not a number")
        with tf.Session(servers["worker"][0].target) as sess:
            for waiting in (take, mean):
                with pytest.raises(tf.errors.InvalidArgumentError):
                    sess.run([waiting, fails], {x: np.nan})
            sess.run([put, grad])
            assert sess.run([size, count]) == [1, 1]
