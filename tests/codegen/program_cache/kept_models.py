"""Programs for the tests of what is kept on disk: each builds a graph, and gives fetches and feeds."""

from __future__ import annotations

import numpy as np

import headrace as tf
from headrace.codegen.machine import cache
from tests.codegen.assembly import test_parallel_chains


def value(*shape, kind=np.float32):
    return np.random.default_rng(sum(shape)).normal(size=shape).astype(kind)


def trained(loss, *more):
    train = tf.train.MomentumOptimizer(0.01, 0.9).minimize(loss)
    with tf.control_dependencies([train]):
        return [tf.identity(loss), *more, *tf.trainable_variables()]


def mlp():
    x, labels = tf.placeholder(tf.float32, [32, 20]), tf.placeholder(tf.int32, [32])
    h = tf.nn.relu(tf.matmul(x, tf.Variable(value(20, 64))) + tf.Variable(tf.zeros([64])))
    logits = tf.matmul(h, tf.Variable(value(64, 10)))
    loss = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)
    return trained(tf.reduce_mean(loss)), {x: value(32, 20), labels: np.arange(32) % 10}


def convolutions():
    """The library's, and ours with the library's behind them; pools; normalisation."""
    x = tf.placeholder(tf.float32, [4, 16, 16, 3])
    h = tf.nn.relu(tf.nn.conv2d(x, tf.Variable(value(5, 5, 3, 16) * 0.1), [1, 1, 1, 1], "SAME"))
    h = tf.nn.max_pool(h, [1, 2, 2, 1], [1, 2, 2, 1], "SAME")
    h = tf.nn.conv2d(h, tf.Variable(value(3, 3, 16, 16) * 0.1), [1, 1, 1, 1], "SAME")
    h, _, _ = tf.nn.fused_batch_norm(h, tf.Variable(tf.ones([16])), tf.Variable(tf.zeros([16])))
    h = tf.nn.avg_pool(h, [1, 8, 8, 1], [1, 8, 8, 1], "VALID")
    return trained(tf.reduce_mean(tf.square(h - 1.0))), {x: value(4, 16, 16, 3)}


def inference():
    """With weights that are packed once."""
    x = tf.placeholder(tf.float32, [2, 12, 12, 8])
    h = tf.nn.conv2d(x, tf.Variable(value(5, 5, 8, 24)), [1, 1, 1, 1], "SAME")
    h = tf.nn.relu(tf.nn.bias_add(h, tf.Variable(value(24))))
    h = tf.nn.conv2d(h, tf.Variable(value(3, 3, 24, 16)), [1, 2, 2, 1], "SAME")
    return [tf.reduce_mean(h, [1, 2])], {x: value(2, 12, 12, 8)}


def recurrent():
    """A loop, and its gradient: arrays, stacks, products that end early."""
    x = tf.placeholder(tf.float32, [3, 6, 5])
    cell = tf.nn.rnn_cell.BasicLSTMCell(8)
    initializer = tf.random_uniform_initializer(-0.3, 0.3, seed=3)
    with tf.variable_scope("net", initializer=initializer):
        outputs, _ = tf.nn.dynamic_rnn(cell, x, dtype=tf.float32)
    return trained(tf.reduce_mean(tf.square(outputs))), {x: value(3, 6, 5)}


def blocks():
    """An op that is a graph of others."""
    x = tf.placeholder(tf.float32, [6, 3, 5])
    cell = tf.contrib.rnn.LSTMBlockFusedCell(8)
    initializer = tf.random_uniform_initializer(-0.3, 0.3, seed=3)
    with tf.variable_scope("net", initializer=initializer):
        outputs, _ = cell(x, dtype=tf.float32)
    return trained(tf.reduce_mean(tf.square(outputs))), {x: value(6, 3, 5)}


def growing():
    """A loop of unknown length: stacks without a limit."""
    x, n = tf.placeholder(tf.float32, [4]), tf.placeholder(tf.int32, [])
    w = tf.Variable(value(4))
    _, y = tf.while_loop(lambda i, y: i < n, lambda i, y: (i + 1, tf.tanh(y * w + x)), [0, x])
    return trained(tf.reduce_sum(y)), {x: value(4), n: np.int32(40)}


def branches():
    x, flag = tf.placeholder(tf.float32, [8, 8]), tf.placeholder(tf.bool, [])
    w = tf.Variable(value(8, 8))
    y = tf.cond(flag, lambda: tf.matmul(x, w), lambda: tf.sin(x) * w)
    return trained(tf.reduce_sum(y), y), {x: value(8, 8), flag: True}


def draws():
    tf.set_random_seed(7)
    x = tf.placeholder(tf.float32, [16, 30])
    w = tf.Variable(value(30, 12))
    h = tf.nn.dropout(tf.matmul(x, w), rate=0.5, seed=3) + tf.random_normal([16, 12], seed=5)
    return trained(tf.reduce_mean(tf.square(h)), h), {x: value(16, 30)}


def rows():
    """Parts of a variable change; the places are checked."""
    places = tf.placeholder(tf.int32, [5])
    table = tf.Variable(value(20, 6))
    loss = tf.reduce_sum(tf.square(tf.nn.embedding_lookup(table, places, name="looked_up")))
    return trained(loss), {places: np.array([3, 1, 4, 1, 5])}


def doubles():
    a = tf.placeholder(tf.float64, [33, 40])
    w = tf.Variable(value(40, 17, kind=np.float64))
    return trained(tf.reduce_mean(tf.square(tf.matmul(a, w)))), {a: value(33, 40, kind=np.float64)}


def towers():
    """Chains that run side by side, where there are several threads."""
    x, tops = test_parallel_chains.towers(np.random.default_rng(1))
    return [tf.concat(tops, 1)], {x: value(*x.shape.as_list())}


def complexes():
    x = tf.placeholder(tf.complex64, [6, 6])
    y = tf.matmul(x, x) * tf.conj(x) + tf.exp(x)
    numbers = (value(6, 6) + 1j * value(6, 6, kind=np.float64)).astype(np.complex64)
    return [y, tf.abs(y), tf.real(y), tf.constant([3, 4])], {x: numbers}


MODELS = [mlp, convolutions, inference, recurrent, blocks, growing, branches, draws, rows, doubles,
          towers, complexes]  # fmt: skip


# -- what happens to them --------------------------------------------------------------------------
class Seen:
    def __init__(self):
        self.planned, self.programs = 0, []

    @property
    def were_found(self):
        return [is_found for _, _, is_found in self.programs]

    def kinds(self):
        return {e.kind for _, made, _ in self.programs for e in made.program.entries}


def values_of(model, steps=3):
    """What a new graph computes; all programs are on disk afterwards."""
    with tf.Graph().as_default():
        fetches, feeds = model()
        with tf.Session() as sess:
            sess.run(tf.global_variables_initializer())
            found = [sess.run(fetches, feeds) for _ in range(steps)]
    written()
    return found


def written():
    cache.later(lambda: None).result(60)


def assert_equal(got, want):
    for a, b in zip(got, want, strict=True):
        for x, y in zip(a, b, strict=True):
            np.testing.assert_array_equal(x, y)
