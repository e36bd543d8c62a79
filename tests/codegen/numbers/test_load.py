"""Results do not depend on what else the machine does: bit by bit the same alone and beside busy processes
and threads, with networks large enough that threads share their kernels."""

import hashlib
import subprocess
import sys
import threading
from contextlib import contextmanager

import numpy as np
import pytest

import headrace as tf

pytestmark = [pytest.mark.native, pytest.mark.process]
STEPS = 5
BUSY = "import sys\nprint(flush=True)\nwhile True: pass"


@contextmanager
def busy(processes, threads):
    """Others want the cores too."""
    ended = threading.Event()
    x = np.ones((300, 300))

    def work():
        while not ended.is_set():
            x @ x

    others = [
        subprocess.Popen([sys.executable, "-c", BUSY], stdout=subprocess.PIPE) for _ in range(processes)
    ]
    beside = [threading.Thread(target=work) for _ in range(threads)]
    try:
        for other in others:
            other.stdout.readline()  # it runs
        for thread in beside:
            thread.start()
        yield
    finally:
        ended.set()
        for other in others:
            other.kill()
            other.communicate()
        for thread in beside:
            thread.join()


def images(rng):
    """Convolutions, batch normalisation, pooling, products, long sums."""
    x = tf.constant(rng.normal(size=(16, 32, 32, 8)).astype("f"))
    y = tf.constant(rng.integers(10, size=16))
    h = tf.layers.conv2d(x, 32, 3, padding="same", activation=tf.nn.relu)
    h = tf.layers.max_pooling2d(tf.layers.batch_normalization(h, training=True), 3, 2)
    h = tf.layers.dense(tf.layers.flatten(tf.layers.conv2d(h, 32, 5, 2)), 256, tf.nn.tanh)
    return tf.losses.sparse_softmax_cross_entropy(y, tf.layers.dense(tf.layers.dropout(h, training=True), 10))


def words(rng):
    """A table whose rows are hit often, and a recurrent loop."""
    x = tf.constant(rng.integers(50, size=(64, 20)))
    table = tf.get_variable("table", [5000, 128])
    cell = tf.nn.rnn_cell.LSTMCell(128)
    states, _ = tf.nn.dynamic_rnn(cell, tf.nn.embedding_lookup(table, x), dtype=tf.float32)
    return tf.reduce_mean(tf.square(tf.reduce_sum(states, [1, 2]))) + tf.reduce_mean(tf.abs(table))


def trained(network):
    """Digests of all variables after each step, and the losses."""
    with tf.Graph().as_default():
        tf.set_random_seed(1)
        loss = network(np.random.default_rng(0))
        step = tf.train.AdamOptimizer(0.01).minimize(loss)
        every = tf.global_variables()
        found = []
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            for _ in range(STEPS):
                value, _ = session.run([loss, step])
                state = b"".join(v.tobytes() for v in session.run(every))
                found.append((float(value), hashlib.sha256(state).hexdigest()))
    return found


@pytest.mark.parametrize("network", [images, words])
def test_load_changes_nothing(network):
    alone = trained(network)
    assert all(np.isfinite(loss) for loss, _ in alone)
    for processes, threads in ((4, 0), (0, 3), (3, 2)):
        with busy(processes, threads):
            assert trained(network) == alone
