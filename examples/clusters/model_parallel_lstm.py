"""Two layers of an LSTM on two tasks: while the second works on a moment, the first is at the next.

    headrace launch --ps 2 --workers 1 examples/clusters/model_parallel_lstm.py 200

The worker only drives: each layer computes where its variables are, and what crosses is one vector a moment.
The network learns to say a short row of numbers again from its beginning.
"""

import sys

import numpy as np
import tensorflow as tf

LENGTH, SYMBOLS, UNITS, BATCH = 12, 8, 32, 16
steps = int(sys.argv[1]) if len(sys.argv) > 1 else 200

resolver = tf.distribute.cluster_resolver.TFConfigClusterResolver()
server = tf.train.Server.from_tf_config()
if resolver.task_type == "ps":
    server.join()

inputs = tf.placeholder(tf.int32, [BATCH, LENGTH])
targets = tf.placeholder(tf.int32, [BATCH, LENGTH])
moments = tf.unstack(tf.one_hot(inputs, SYMBOLS), axis=1)
for layer in range(2):
    with tf.device("/job:ps/task:%d" % layer), tf.variable_scope("layer_%d" % layer):
        cell = tf.nn.rnn_cell.BasicLSTMCell(UNITS)
        moments, _ = tf.nn.static_rnn(cell, moments, dtype=tf.float32)
with tf.device("/job:ps/task:1"):
    logits = tf.layers.dense(tf.stack(moments, axis=1), SYMBOLS)
    loss = tf.losses.sparse_softmax_cross_entropy(targets, logits)
with tf.device("/job:ps/task:0"):
    step = tf.train.get_or_create_global_step()
train = tf.train.AdamOptimizer(0.01).minimize(loss, global_step=step, colocate_gradients_with_ops=True)

rhyme = np.random.RandomState(0).randint(0, SYMBOLS, 40)
random = np.random.RandomState(1)
first = last = None
hooks = [tf.train.StopAtStepHook(last_step=steps)]
with tf.train.MonitoredTrainingSession(server.target, hooks=hooks) as session:
    while not session.should_stop():
        starts = random.randint(0, len(rhyme), BATCH)[:, None]
        rows = rhyme[(starts + np.arange(LENGTH + 1)) % len(rhyme)]
        _, at, last = session.run([train, step, loss], {inputs: rows[:, :-1], targets: rows[:, 1:]})
        first = last if first is None else first
        if at % 50 == 0:
            print("step %d, loss %.3f" % (at, last))
print("loss %.3f at first, %.3f at last" % (first, last))
