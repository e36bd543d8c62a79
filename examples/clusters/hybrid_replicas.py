"""Hybrid data parallelism: asynchronous groups of synchronous replicas.

    headrace launch --ps 1 --workers 4 examples/clusters/hybrid_replicas.py 400

The four workers are two groups of two.  Within a group an update is the mean of both replicas' gradients; the
groups update the same variables whenever they are ready.  A group has accumulators, tokens and a count of
steps of its own (these are in a container of the group); the global step is the sum of the counts.  A group
ends by its own count: its members wait for one another, so all of them must see the same end.
"""

import sys

import numpy as np
import tensorflow as tf

GROUPS, WIDTH = 2, 10
TRUE = np.linspace(-1, 1, WIDTH, dtype=np.float32).reshape(WIDTH, 1)


class StopAtCount(tf.train.SessionRunHook):
    """Ends the session when a variable has reached a number."""

    def __init__(self, count, last):
        self.count, self.last = count, last

    def after_run(self, run_context, run_values):
        if run_context.session.run(self.count) >= self.last:
            run_context.request_stop()


def replica(cluster, target, index, steps):
    """Train as one worker of many; returns all losses, and how many updates each group has made."""
    size = cluster.num_tasks("worker") // GROUPS  # replicas in a group
    group, member = divmod(index, size)
    with tf.device(
        tf.train.replica_device_setter(worker_device="/job:worker/task:%d" % index, cluster=cluster)
    ):
        x, y = tf.placeholder(tf.float32, [None, WIDTH]), tf.placeholder(tf.float32, [None, 1])
        w = tf.get_variable("w", [WIDTH, 1], initializer=tf.zeros_initializer())
        loss = tf.reduce_mean(tf.square(tf.matmul(x, w) - y))
        zero = tf.zeros_initializer()
        counts = [
            tf.get_variable("group%d/steps" % g, [], tf.int64, zero, trainable=False) for g in range(GROUPS)
        ]
        tf.add_to_collection(tf.GraphKeys.GLOBAL_STEP, tf.add_n(counts, name="global_step"))
        optimizer = tf.train.SyncReplicasOptimizer(tf.train.GradientDescentOptimizer(0.05), size, size)
        with tf.container("group%d" % group):
            train = optimizer.minimize(loss, global_step=counts[group])
            # The first member of a group is the chief of its updates; the first worker also initialises.
            hooks = [
                optimizer.make_session_run_hook(member == 0),
                StopAtCount(counts[group], steps // GROUPS),
            ]
    random, losses = np.random.RandomState(index), []
    with tf.train.MonitoredTrainingSession(target, is_chief=index == 0, hooks=hooks) as sess:
        while not sess.should_stop():
            rows = random.randn(32, WIDTH).astype(np.float32)
            _, value, made = sess.run([train, loss, counts], {x: rows, y: rows @ TRUE})
            losses.append(value)
    return losses, made


if __name__ == "__main__":
    resolver = tf.distribute.cluster_resolver.TFConfigClusterResolver()
    cluster, job, index = resolver.cluster_spec(), resolver.task_type, resolver.task_id
    server = tf.train.Server(cluster, job_name=job, task_index=index)
    if job == "ps":
        server.join()
    losses, made = replica(cluster, server.target, index, int(sys.argv[1]) if len(sys.argv) > 1 else 400)
    print(
        "loss %.5f at first, %.5f at last; updates by group: %s"
        % (losses[0], losses[-1], list(map(int, made)))
    )
