"""Tables of which a step touches a few rows: word2vec with NCE loss, and a large embedding."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from bench.workloads import values
from bench.workloads.program import Program, Step
from bench.workloads.sizes import Sizes

WORD2VEC_RATE = 0.1
TABLE_RATE = 1e-5


def word2vec(tf: Any, size: Sizes) -> Step:
    """Skip-gram with noise-contrastive loss; the noise is drawn outside, so that all draw the same."""
    program, s = Program(tf), size.word2vec
    with program.building():
        inputs = tf.placeholder(tf.int32, [s.batch])
        labels = tf.placeholder(tf.int32, [s.batch])
        negatives = tf.placeholder(tf.int32, [s.negatives])
        expected_labels = tf.placeholder(tf.float32, [s.batch])
        expected_negatives = tf.placeholder(tf.float32, [s.negatives])
        shape = (s.vocabulary, s.width)
        embedding = program.variable("embedding", shape, lambda: embedding_values(shape))
        w = program.variable("nce_w", shape, lambda: nce_values(shape))
        b = program.filled("nce_b", s.vocabulary, 0)

        embedded = tf.nn.embedding_lookup(embedding, inputs)
        ids = tf.concat([labels, negatives], 0)
        true_w, noise_w = tf.split(tf.nn.embedding_lookup(w, ids), [s.batch, s.negatives], 0)
        true_b, noise_b = tf.split(tf.nn.embedding_lookup(b, ids), [s.batch, s.negatives], 0)
        true = tf.reduce_sum(embedded * true_w, 1) + true_b - expected_labels
        noise = tf.matmul(embedded, noise_w, transpose_b=True) + noise_b - expected_negatives
        entropy = tf.nn.sigmoid_cross_entropy_with_logits
        right = entropy(labels=tf.ones_like(true), logits=true)
        wrong = entropy(labels=tf.zeros_like(noise), logits=noise)
        loss = (tf.reduce_sum(right) + tf.reduce_sum(wrong)) / s.batch
        train = tf.train.GradientDescentOptimizer(WORD2VEC_RATE).minimize(loss)
    fed = (inputs, labels, negatives, expected_labels, expected_negatives)
    batch = values.forever(values.skip_grams(s))
    return program.training(loss, train, lambda: dict(zip(fed, batch())))


def embedding_values(shape: tuple[int, int]) -> Any:
    return values.uniform("embedding", shape, 1.0)


def nce_values(shape: tuple[int, int]) -> Any:
    return values.uniform("nce_w", shape, 1 / math.sqrt(shape[1]))


def embedding_sparse(tf: Any, size: Sizes) -> Step:
    """Gather rows of a large table, push their sum towards one."""
    program, shape = Program(tf), (size.table_rows, size.table_width)
    with program.building():
        ids = tf.placeholder(tf.int32, [size.table_ids])
        table = program.variable("table", shape, lambda: values.uniform("table", shape, 0.1))
        total = tf.reduce_sum(tf.nn.embedding_lookup(table, ids), 0)
        loss = tf.reduce_sum(tf.square(total - 1.0))
        train = tf.train.GradientDescentOptimizer(TABLE_RATE).minimize(loss)
    batch = values.forever(values.table_ids(size))
    return program.training(loss, train, lambda: {ids: batch()})


def vocabulary(tf: Any, size: Sizes) -> Step:
    """The sum of the ids of many words, by a table of a million of them; the words are fed."""
    program, count = Program(tf), size.table_rows
    words = np.array([b"word%d" % n for n in range(count)], object)
    asked = words[np.random.RandomState(0).randint(0, count, max(count // 10, 1))]
    with program.building():
        keys, texts = tf.placeholder(tf.string, [None]), tf.placeholder(tf.string, [None])
        init = tf.lookup.KeyValueTensorInitializer(keys, tf.range(count, dtype=tf.int64))
        table = tf.lookup.StaticHashTable(init, -1)
        total = tf.reduce_sum(tf.cast(table.lookup(texts), tf.float32))
    session = program.start()
    session.run(table._init_op, {keys: words})
    return Step(lambda: session.run(total, {texts: asked}), close=session.close)
