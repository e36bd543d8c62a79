"""MNIST, trained asynchronously: every worker reads the parameters and applies its own gradients.

    headrace launch --ps 1 --workers 2 examples/clusters/mnist_async.py --data MNIST_data --steps 2000

The flags ps_hosts, worker_hosts, job_name and task_index are those of TensorFlow's own examples; the launcher
gives them, since the program defines them.  A worker that is killed, started again with --restarts, goes on.
"""

import numpy as np
import tensorflow as tf
from tensorflow.examples.tutorials.mnist import input_data

flags = tf.app.flags
flags.DEFINE_string("ps_hosts", "", "addresses of the parameter servers, with commas between")
flags.DEFINE_string("worker_hosts", "", "addresses of the workers")
flags.DEFINE_string("job_name", "", "ps or worker")
flags.DEFINE_integer("task_index", 0, "which of its job this task is")
flags.DEFINE_string("data", "MNIST_data/", "folder with the idx files of MNIST")
flags.DEFINE_integer("steps", 2000, "of all workers together")
flags.DEFINE_integer("batch", 100, "images of each step")
FLAGS = flags.FLAGS


def main(_):
    cluster = tf.train.ClusterSpec({"ps": FLAGS.ps_hosts.split(","), "worker": FLAGS.worker_hosts.split(",")})
    server = tf.train.Server(cluster, job_name=FLAGS.job_name, task_index=FLAGS.task_index)
    if FLAGS.job_name == "ps":
        server.join()

    # Variables go to the parameter servers in turn, the rest stays with this worker.
    with tf.device(
        tf.train.replica_device_setter(
            worker_device="/job:worker/task:%d" % FLAGS.task_index, cluster=cluster
        )
    ):
        x = tf.placeholder(tf.float32, [None, 784])
        labels = tf.placeholder(tf.int64, [None])
        hidden = tf.layers.dense(x, 128, tf.nn.relu)
        logits = tf.layers.dense(hidden, 10)
        loss = tf.losses.sparse_softmax_cross_entropy(labels, logits)
        right = tf.reduce_mean(tf.cast(tf.equal(tf.argmax(logits, 1), labels), tf.float32))
        step = tf.train.get_or_create_global_step()
        train = tf.train.GradientDescentOptimizer(0.2).minimize(loss, global_step=step)

    np.random.seed(FLAGS.task_index)  # every worker sees the images in another order
    mnist = input_data.read_data_sets(FLAGS.data)
    hooks = [tf.train.StopAtStepHook(last_step=FLAGS.steps)]
    # A worker needs the parameter servers, not the other workers, which may be done before it.
    config = tf.ConfigProto(device_filters=["/job:ps", "/job:worker/task:%d" % FLAGS.task_index])
    first = last = None
    with tf.train.MonitoredTrainingSession(
        server.target, is_chief=FLAGS.task_index == 0, hooks=hooks, config=config
    ) as session:
        while not session.should_stop():
            images, numbers = mnist.train.next_batch(FLAGS.batch)
            _, at, last, part = session.run([train, step, loss, right], {x: images, labels: numbers})
            first = last if first is None else first
            if at % 100 < 2:
                print("step %d, loss %.3f, %.0f %% right" % (at, last, 100 * part))
    print("loss %.3f at first, %.3f at last" % (first, last))


if __name__ == "__main__":
    tf.app.run()
