"""MNIST, trained synchronously: a step takes the mean of one gradient from every worker.

    headrace launch --ps 1 --workers 2 examples/clusters/mnist_sync.py MNIST_data 500

The launcher says in TF_CONFIG which task this is.  The workers' gradients meet in accumulators on the
parameter server (SyncReplicasOptimizer): gradients of an older step are dropped, and all workers wait for the
new parameters.  Two workers with 50 images each train as one with 100 does.
"""

import sys

import numpy as np
import tensorflow as tf
from tensorflow.examples.tutorials.mnist import input_data

folder = sys.argv[1] if len(sys.argv) > 1 else "MNIST_data/"
steps = int(sys.argv[2]) if len(sys.argv) > 2 else 500

resolver = tf.distribute.cluster_resolver.TFConfigClusterResolver()
cluster, job, index = resolver.cluster_spec(), resolver.task_type, resolver.task_id
server = tf.train.Server(cluster, job_name=job, task_index=index)
if job == "ps":
    server.join()
workers = cluster.num_tasks("worker")

with tf.device(tf.train.replica_device_setter(worker_device="/job:worker/task:%d" % index, cluster=cluster)):
    x = tf.placeholder(tf.float32, [None, 784])
    labels = tf.placeholder(tf.int64, [None])
    hidden = tf.layers.dense(x, 128, tf.nn.relu)
    logits = tf.layers.dense(hidden, 10)
    loss = tf.losses.sparse_softmax_cross_entropy(labels, logits)
    step = tf.train.get_or_create_global_step()
    optimizer = tf.train.SyncReplicasOptimizer(
        tf.train.GradientDescentOptimizer(0.2), replicas_to_aggregate=workers, total_num_replicas=workers
    )
    train = optimizer.minimize(loss, global_step=step)

np.random.seed(index)
mnist = input_data.read_data_sets(folder)
hooks = [optimizer.make_session_run_hook(index == 0), tf.train.StopAtStepHook(last_step=steps)]
config = tf.ConfigProto(device_filters=["/job:ps", "/job:worker/task:%d" % index])
first = last = None
with tf.train.MonitoredTrainingSession(
    server.target, is_chief=index == 0, hooks=hooks, config=config
) as session:
    while not session.should_stop():
        images, numbers = mnist.train.next_batch(50)
        _, at, last = session.run([train, step, loss], {x: images, labels: numbers})
        first = last if first is None else first
        if at % 100 == 0:
            print("step %d, loss %.3f" % (at, last))
print("loss %.3f at first, %.3f at last" % (first, last))
