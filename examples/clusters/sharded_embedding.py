"""An embedding of 200,000 words in pieces on several parameter servers: it may be larger than each of them.

    headrace launch --ps 2 --workers 2 examples/clusters/sharded_embedding.py 300

Only the rows of a batch's words travel, and only their gradients come back: a parameter server adds them to
its piece in place.  The words of a language made up here belong to eight kinds, which their vectors learn.
"""

import sys

import numpy as np
import tensorflow as tf

WORDS, SIZE, KINDS, BATCH = 200000, 16, 8, 256
steps = int(sys.argv[1]) if len(sys.argv) > 1 else 300

resolver = tf.distribute.cluster_resolver.TFConfigClusterResolver()
cluster, job, index = resolver.cluster_spec(), resolver.task_type, resolver.task_id
server = tf.train.Server(cluster, job_name=job, task_index=index)
if job == "ps":
    server.join()
pieces = cluster.num_tasks("ps")

with tf.device(tf.train.replica_device_setter(worker_device="/job:worker/task:%d" % index, cluster=cluster)):
    table = tf.get_variable(
        "table",
        [WORDS, SIZE],
        initializer=tf.random_uniform_initializer(-0.1, 0.1, seed=1),
        partitioner=tf.fixed_size_partitioner(pieces),
    )
    words = tf.placeholder(tf.int64, [None])
    kinds = tf.placeholder(tf.int64, [None])
    vectors = tf.nn.embedding_lookup(table, words, partition_strategy="div")
    logits = tf.layers.dense(vectors, KINDS)
    loss = tf.losses.sparse_softmax_cross_entropy(kinds, logits)
    step = tf.train.get_or_create_global_step()
    train = tf.train.AdagradOptimizer(1.0).minimize(loss, global_step=step)
print("pieces at", sorted({piece.device for piece in table}))

random = np.random.RandomState(index)
hooks = [tf.train.StopAtStepHook(last_step=steps)]
config = tf.ConfigProto(device_filters=["/job:ps", "/job:worker/task:%d" % index])
first = last = None
with tf.train.MonitoredTrainingSession(
    server.target, is_chief=index == 0, hooks=hooks, config=config
) as session:
    while not session.should_stop():
        batch = np.minimum(random.zipf(1.3, BATCH), WORDS) - 1  # some words are said more often than others
        _, at, last = session.run([train, step, loss], {words: batch, kinds: batch % KINDS})
        first = last if first is None else first
        if at % 100 < 2:
            print("step %d, loss %.3f" % (at, last))
print("loss %.3f at first, %.3f at last" % (first, last))
