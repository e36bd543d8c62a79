"""Whole models as people train them: Inception v3, a language model with full and sampled softmax, wide and
deep columns, a generator against a discriminator, a U-Net."""

from __future__ import annotations

from typing import Any

import numpy as np

from bench.workloads import values
from bench.workloads.changing import SCALE, adopted
from bench.workloads.program import Program, Step
from bench.workloads.sizes import Sizes


def normed(tf: Any, x: Any, channels: int, kernel: Any, stride: int = 1, padding: str = "same") -> Any:
    x = tf.layers.conv2d(x, channels, kernel, stride, padding, use_bias=False)
    return tf.nn.relu(tf.layers.batch_normalization(x, training=True, scale=False))


# -- Inception v3 ------------------------------------------------------------------------------------
def inception_v3(tf: Any, size: Sizes) -> Step:
    """One step of gradient descent; no second classifier, no dropout."""
    s, program = size.models, Program(tf)
    random = values.generator("inception")
    shape = (s.pictures, s.side, s.side, 3)
    with program.building():
        x = program.resident("pictures", random.random(shape, dtype=np.float32))
        classes = program.resident("classes", random.integers(0, 1000, s.pictures).astype(np.int32))
        features = tf.reduce_mean(inception(tf, x, s.narrower), [1, 2])
        logits = tf.layers.dense(features, 1000)
        losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=classes, logits=logits)
        loss = tf.reduce_mean(losses)
        train = tf.train.GradientDescentOptimizer(1e-3).minimize(loss)
        adopted(program, SCALE)
    return program.training(loss, train)


def inception(tf: Any, x: Any, narrower: int) -> Any:
    """The stem, eleven mixed blocks: each the branches of one picture side by side."""

    def chain(x: Any, *convs: tuple[Any, ...]) -> Any:
        for channels, *how in convs:
            x = normed(tf, x, max(channels // narrower, 2), *how)
        return x

    def mixed(x: Any, *branches: tuple[tuple[Any, ...], ...], pooled: int = 0) -> Any:
        """`pooled`: channels of the branch that averages first; 0: one that takes every other maximum."""
        found = [chain(x, *branch) for branch in branches]
        if pooled:
            found.append(chain(tf.layers.average_pooling2d(x, 3, 1, "same"), (pooled, 1)))
        else:
            found.append(tf.layers.max_pooling2d(x, 3, 2))
        return tf.concat(found, 3)

    x = chain(x, (32, 3, 2, "valid"), (32, 3, 1, "valid"), (64, 3))
    x = chain(tf.layers.max_pooling2d(x, 3, 2), (80, 1), (192, 3, 1, "valid"))
    x = tf.layers.max_pooling2d(x, 3, 2)
    for pooled in (32, 64, 64):
        x = mixed(x, ((64, 1),), ((48, 1), (64, 5)), ((64, 1), (96, 3), (96, 3)), pooled=pooled)
    x = mixed(x, ((384, 3, 2, "valid"),), ((64, 1), (96, 3), (96, 3, 2, "valid")))
    across, down = (1, 7), (7, 1)
    for c in (128, 160, 160, 192):
        long = ((c, 1), (c, down), (c, across), (c, down), (192, across))
        x = mixed(x, ((192, 1),), ((c, 1), (c, across), (192, down)), long, pooled=192)
    narrow = ((192, 1), (192, across), (192, down), (192, 3, 2, "valid"))
    x = mixed(x, ((192, 1), (320, 3, 2, "valid")), narrow)
    for _ in range(2):
        first, second = chain(x, (384, 1)), chain(x, (448, 1), (384, 3))
        split = [chain(y, (384, kernel)) for y in (first, second) for kernel in ((1, 3), (3, 1))]
        x = tf.concat([mixed(x, ((320, 1),), pooled=192), *split], 3)
    return x


# -- a language model --------------------------------------------------------------------------------
def language_model(tf: Any, size: Sizes, name: str) -> Step:
    """LSTM-512-512 of the paper: words and states of 512, a loss over all words or over some that are
    drawn (each framework draws others, so their losses are not compared)."""
    s, program = size.models, Program(tf)
    is_sampled = name.endswith("sampled")
    with program.building():
        ids = tf.placeholder(tf.int32, [s.sentences, s.length + 1])
        words, w = (tf.get_variable(n, [s.words, s.width]) for n in ("words", "w"))
        b = tf.get_variable("b", [s.words])
        x = tf.nn.embedding_lookup(words, ids[:, :-1])
        out, _ = tf.nn.dynamic_rnn(tf.nn.rnn_cell.LSTMCell(s.width), x, dtype=tf.float32)
        out, target = tf.reshape(out, [-1, s.width]), tf.reshape(ids[:, 1:], [-1])
        if is_sampled:
            target = tf.cast(target[:, None], tf.int64)
            losses = tf.nn.sampled_softmax_loss(w, b, target, out, s.sampled, s.words)
        else:
            logits = tf.matmul(out, w, transpose_b=True) + b
            losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=target, logits=logits)
        loss = tf.reduce_mean(losses)
        train = tf.train.AdagradOptimizer(0.1).minimize(loss)
        adopted(program)
    random = values.generator("language model")
    feeds = lambda: {ids: random.integers(0, s.words, (s.sentences, s.length + 1))}
    step = program.training(loss, train, feeds)
    if not is_sampled:
        return step

    def run() -> None:
        step.run()

    return Step(run, check=lambda: 0.0, close=step.close)


# -- columns -----------------------------------------------------------------------------------------
def wide_and_deep(tf: Any, size: Sizes) -> Step:
    """Columns of ids, each with a weight and a vector; numbers beside them; the two parts have optimizers
    of their own."""
    s, program = size.models, Program(tf)
    with program.building():
        ids = tf.placeholder(tf.int32, [s.rows, s.columns])
        numbers, clicked = tf.placeholder(tf.float32, [s.rows, 13]), tf.placeholder(tf.float32, [s.rows, 1])
        with tf.variable_scope("wide"):
            weights = [tf.get_variable(f"weight{i}", [s.buckets, 1]) for i in range(s.columns)]
            wide = tf.add_n([tf.nn.embedding_lookup(w, ids[:, i]) for i, w in enumerate(weights)])
        with tf.variable_scope("deep"):
            tables = [tf.get_variable(f"table{i}", [s.buckets, 8]) for i in range(s.columns)]
            deep = tf.concat([tf.nn.embedding_lookup(t, ids[:, i]) for i, t in enumerate(tables)], 1)
            deep = tf.concat([deep, numbers], 1)
            for width in (256, 128, 64):
                deep = tf.layers.dense(deep, width, tf.nn.relu)
            deep = tf.layers.dense(deep, 1)
        losses = tf.nn.sigmoid_cross_entropy_with_logits(labels=clicked, logits=wide + deep)
        loss = tf.reduce_mean(losses)
        parts = {part: tf.trainable_variables(part) for part in ("wide", "deep")}
        train = tf.group(
            tf.train.FtrlOptimizer(0.05).minimize(loss, var_list=parts["wide"]),
            tf.train.AdagradOptimizer(0.05).minimize(loss, var_list=parts["deep"]),
        )
        adopted(program)
    random = values.generator("columns")

    def feeds() -> dict[Any, Any]:
        return {
            ids: random.integers(0, s.buckets, (s.rows, s.columns)),
            numbers: random.standard_normal((s.rows, 13), dtype=np.float32),
            clicked: random.integers(0, 2, (s.rows, 1)),
        }

    return program.training(loss, train, feeds)


# -- pictures ----------------------------------------------------------------------------------------
def dcgan(tf: Any, size: Sizes) -> Step:
    """A generator and a discriminator of pictures of 32x32, both trained in one step."""
    s, program = size.models, Program(tf)

    def normal(x: Any) -> Any:
        return tf.layers.batch_normalization(x, training=True, scale=False)

    def generator(z: Any) -> Any:
        x = tf.nn.relu(
            normal(tf.reshape(tf.layers.dense(z, 16 * 4 * s.channels), [-1, 4, 4, 4 * s.channels]))
        )
        for channels in (2 * s.channels, s.channels):
            x = tf.nn.relu(normal(tf.layers.conv2d_transpose(x, channels, 5, 2, "same", use_bias=False)))
        return tf.tanh(tf.layers.conv2d_transpose(x, 3, 5, 2, "same"))

    def discriminator(x: Any) -> Any:
        x = tf.nn.leaky_relu(tf.layers.conv2d(x, s.channels, 5, 2, "same"))
        for channels in (2 * s.channels, 4 * s.channels):
            x = tf.nn.leaky_relu(normal(tf.layers.conv2d(x, channels, 5, 2, "same", use_bias=False)))
        return tf.layers.dense(tf.layers.flatten(x), 1)

    with program.building():
        noise = tf.placeholder(tf.float32, [s.batch, 100])
        real = tf.placeholder(tf.float32, [s.batch, 32, 32, 3])
        with tf.variable_scope("generator"):
            made = generator(noise)
        with tf.variable_scope("discriminator"):
            is_real = discriminator(real)
        with tf.variable_scope("discriminator", reuse=True):
            is_made = discriminator(made)
        judged = tf.nn.sigmoid_cross_entropy_with_logits
        caught = judged(labels=tf.ones_like(is_real), logits=is_real)
        caught += judged(labels=tf.zeros_like(is_made), logits=is_made)
        passed = tf.reduce_mean(judged(labels=tf.ones_like(is_made), logits=is_made))
        loss = tf.reduce_mean(caught)
        parts = {part: tf.trainable_variables(part) for part in ("generator", "discriminator")}
        rate = lambda: tf.train.AdamOptimizer(2e-4, 0.5)
        train = tf.group(
            rate().minimize(loss, var_list=parts["discriminator"]),
            rate().minimize(passed, var_list=parts["generator"]),
        )
        adopted(program)
    random = values.generator("dcgan")

    def feeds() -> dict[Any, Any]:
        pictures = random.random((s.batch, 32, 32, 3), dtype=np.float32) * 2 - 1
        return {noise: random.standard_normal((s.batch, 100), dtype=np.float32), real: pictures}

    return program.training(loss, train, feeds)


def unet(tf: Any, size: Sizes) -> Step:
    """Which pixels belong to a thing: four levels down, and up again beside what was seen on the way."""
    s, program = size.models, Program(tf)

    def twice(x: Any, channels: int) -> Any:
        for _ in range(2):
            x = tf.layers.conv2d(x, channels, 3, padding="same", activation=tf.nn.relu)
        return x

    shape = (s.masks, s.scene, s.scene)
    with program.building():
        scenes, things = tf.placeholder(tf.float32, [*shape, 3]), tf.placeholder(tf.float32, [*shape, 1])
        x, seen = scenes, []
        for level in range(3):
            seen.append(twice(x, s.channels << level))
            x = tf.layers.max_pooling2d(seen[-1], 2, 2)
        x = twice(x, s.channels << 3)
        for level in (2, 1, 0):
            x = tf.layers.conv2d_transpose(x, s.channels << level, 2, 2)
            x = twice(tf.concat([seen[level], x], 3), s.channels << level)
        logits = tf.layers.conv2d(x, 1, 1)
        loss = tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(labels=things, logits=logits))
        train = tf.train.AdamOptimizer(1e-4).minimize(loss)
        adopted(program)
    random = values.generator("unet")

    def feeds() -> dict[Any, Any]:
        return {
            scenes: random.random((*shape, 3), dtype=np.float32),
            things: random.integers(0, 2, (*shape, 1)),
        }

    return program.training(loss, train, feeds)


MODELS = {"inception_v3": inception_v3, "wide_and_deep": wide_and_deep, "dcgan": dcgan, "unet": unet}
LANGUAGE_MODELS = ("lstm_512_512_full", "lstm_512_512_sampled")
