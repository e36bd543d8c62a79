"""Steps whose shapes change: sentences as they come, last batches, masks, sampled classes."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from bench.workloads import values
from bench.workloads.program import Program, Step
from bench.workloads.sizes import Changing, Sizes

SCALE = 0.05
RATE = 1e-3
BLOCKS = {"full": (3, 4, 23, 3), "tiny": (1, 1, 1, 1)}  # of ResNet-101, per stage
MANY = 1000  # draws of sizes that are made before the first step


def adopted(program: Program, scale: float = SCALE) -> None:
    """Give all variables that layers have made values that follow from their names."""
    given = {variable.name for variable, _ in program.given}
    for variable in program.tf.trainable_variables():
        if variable.name not in given and "gamma" not in variable.name:
            shape, name = variable.shape.as_list(), variable.name
            program.given.append((variable, lambda n=name, s=shape: values.uniform(n, s, scale)))


def drawn(name: str, low: int, high: int) -> Callable[[], int]:
    """Sizes from low to high, as they come."""
    sizes = values.generator(name).integers(low, high + 1, MANY).tolist()
    return values.forever(sizes)


def seq2seq(tf: Any, size: Sizes) -> Step:
    """Two recurrent networks of gated units, with attention of the second to the first."""
    s, program = size.changing, Program(tf)
    with program.building():
        source, target = (tf.placeholder(tf.int32, [None, None]) for _ in range(2))
        sources, targets = (tf.placeholder(tf.int32, [None]) for _ in range(2))
        words = tf.get_variable("words", [s.vocabulary, s.width])
        seen, state = tf.nn.dynamic_rnn(
            tf.nn.rnn_cell.GRUCell(s.width),
            tf.nn.embedding_lookup(words, source),
            sources,
            dtype=tf.float32,
            scope="encoder",
        )
        said, _ = tf.nn.dynamic_rnn(
            tf.nn.rnn_cell.GRUCell(s.width),
            tf.nn.embedding_lookup(words, target),
            targets,
            initial_state=state,
            scope="decoder",
        )
        weights = tf.nn.softmax(tf.matmul(said, seen, transpose_b=True))
        both = tf.concat([said, tf.matmul(weights, seen)], 2)
        logits = tf.tensordot(both, tf.get_variable("out", [2 * s.width, s.vocabulary]), 1)
        mask = tf.sequence_mask(targets, tf.shape(target)[1], tf.float32)
        losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=target, logits=logits)
        loss = tf.reduce_sum(losses * mask) / tf.reduce_sum(mask)
        variables = tf.trainable_variables()
        clipped, _ = tf.clip_by_global_norm(tf.gradients(loss, variables), 5.0)
        train = tf.train.AdamOptimizer(RATE).apply_gradients(zip(clipped, variables))
        adopted(program)
    random = values.generator("seq2seq")
    longest = drawn("seq2seq lengths", s.longest // 4, s.longest)

    def feeds() -> dict[Any, Any]:
        a, b = longest(), longest()
        return {
            source: random.integers(0, s.vocabulary, (s.batch, a)),
            target: random.integers(0, s.vocabulary, (s.batch, b)),
            sources: random.integers(1, a + 1, s.batch),
            targets: random.integers(1, b + 1, s.batch),
        }

    return program.training(loss, train, feeds)


# -- BERT ------------------------------------------------------------------------------------------
def encoder(tf: Any, s: Changing, ids: Any) -> Any:
    """Layers of attention and a wide one; sizes are read off the fed sentences."""
    batch, length = tf.shape(ids)[0], tf.shape(ids)[1]
    each = s.wide // s.heads
    x = tf.nn.embedding_lookup(tf.get_variable("tokens", [s.tokens, s.wide]), ids)
    x = norm(tf, "first", x + tf.get_variable("places", [512, s.wide])[:length])

    def heads(name: str, x: Any) -> Any:
        made = tf.reshape(tf.layers.dense(x, s.wide, name=name), [batch, length, s.heads, each])
        return tf.transpose(made, [0, 2, 1, 3])

    for layer in range(s.layers):
        with tf.variable_scope(f"layer{layer}"):
            q, k, v = (heads(n, x) for n in "qkv")
            weights = tf.nn.softmax(tf.matmul(q, k, transpose_b=True) / math.sqrt(each))
            mixed = tf.reshape(tf.transpose(tf.matmul(weights, v), [0, 2, 1, 3]), [batch, length, s.wide])
            x = norm(tf, "mixed", x + tf.layers.dense(mixed, s.wide, name="mix"))
            h = tf.layers.dense(x, 4 * s.wide, name="widen")
            h = 0.5 * h * (1.0 + tf.erf(h / math.sqrt(2.0)))
            x = norm(tf, "narrowed", x + tf.layers.dense(h, s.wide, name="narrow"))
    return x


def norm(tf: Any, name: str, x: Any) -> Any:
    with tf.variable_scope(name):
        scale = tf.get_variable("gamma", [x.shape[-1].value], initializer=tf.ones_initializer())
        offset = tf.get_variable("beta", [x.shape[-1].value])
    mean, variance = tf.nn.moments(x, [-1], keep_dims=True)
    return (x - mean) * tf.rsqrt(variance + 1e-6) * scale + offset


def bert(tf: Any, size: Sizes, name: str) -> Step:
    """BERT-base with a classifier, trained or not, on sentences of random lengths."""
    s, program = size.changing, Program(tf)
    with program.building():
        ids, kinds = tf.placeholder(tf.int32, [None, None]), tf.placeholder(tf.int32, [None])
        logits = tf.layers.dense(encoder(tf, s, ids)[:, 0], 2, name="classes")
        losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=kinds, logits=logits)
        loss = tf.reduce_mean(losses)
        train = tf.no_op() if "infer" in name else tf.train.AdamOptimizer(1e-4).minimize(loss)
        adopted(program, 0.03)
    random, length = values.generator("bert"), drawn("bert lengths", s.shortest, s.most)

    def feeds() -> dict[Any, Any]:
        return {
            ids: random.integers(0, s.tokens, (s.sentences, length())),
            kinds: random.integers(0, 2, s.sentences),
        }

    return program.training(loss, train, feeds)


# -- images ----------------------------------------------------------------------------------------
def resnet101(tf: Any, size: Sizes) -> Step:
    """ResNet-101 with its averages, on batches of random sizes."""
    s, program = size.changing, Program(tf)

    def conv(x: Any, channels: int, kernel: int, stride: int = 1, relu: bool = True) -> Any:
        x = tf.layers.conv2d(x, channels, kernel, stride, "same", use_bias=False)
        x = tf.layers.batch_normalization(x, training=False)
        return tf.nn.relu(x) if relu else x

    with program.building():
        x = tf.placeholder(tf.float32, [None, s.side, s.side, 3])
        h = tf.layers.max_pooling2d(conv(x, s.channels, 7, 2), 3, 2, "same")
        for stage, blocks in enumerate(BLOCKS["tiny" if s.side < 64 else "full"]):
            for block in range(blocks):
                channels, stride = s.channels << stage, 2 if stage and not block else 1
                past = h if block else conv(h, 4 * channels, 1, stride, relu=False)
                h = conv(conv(conv(h, channels, 1, stride), channels, 3), 4 * channels, 1, relu=False)
                h = tf.nn.relu(h + past)
        logits = tf.layers.dense(tf.reduce_mean(h, [1, 2]), 1000)
        mean = tf.reduce_mean(tf.square(logits))
        adopted(program)
    count = drawn("resnet101 batches", 2, s.pictures)
    random = values.generator("resnet101")
    feeds = lambda: {x: random.random((count(), s.side, s.side, 3), dtype=np.float32)}
    with program.building():
        nothing = tf.no_op()
    return program.training(mean, nothing, feeds)


# -- sizes that data decide --------------------------------------------------------------------------
def masked_loss(tf: Any, size: Sizes) -> Step:
    """A detector's loss: of places that hold something all, of the others the hardest."""
    s, program = size.changing, Program(tf)
    with program.building():
        places = tf.placeholder(tf.float32, [s.batch, 100, 6])
        is_thing = tf.placeholder(tf.bool, [s.batch, 100])
        found = tf.tensordot(places, tf.get_variable("w", [6, 6]), 1)
        things = tf.boolean_mask(found, is_thing)
        others = tf.boolean_mask(found, tf.logical_not(is_thing))
        hardest = tf.nn.top_k(tf.reduce_sum(others, 1), 10)[0]
        loss = tf.reduce_mean(tf.square(things)) + tf.reduce_mean(hardest)
        train = tf.train.AdamOptimizer(RATE).minimize(loss)
        adopted(program)
    random = values.generator("masks")

    def feeds() -> dict[Any, Any]:
        shape = (s.batch, 100)
        return {places: random.standard_normal((*shape, 6)), is_thing: random.random(shape) > 0.7}

    return program.training(loss, train, feeds)


def sampled_softmax(tf: Any, size: Sizes) -> Step:
    """Classes drawn in every step; each framework draws others, so its losses are not compared."""
    s, program = size.changing, Program(tf)
    with program.building():
        ids, labels = tf.placeholder(tf.int32, [64]), tf.placeholder(tf.int64, [64, 1])
        words, w = (tf.get_variable(n, [s.tokens, s.width]) for n in ("words", "w"))
        b = tf.get_variable("b", [s.tokens])
        x = tf.nn.embedding_lookup(words, ids)
        loss = tf.reduce_mean(tf.nn.sampled_softmax_loss(w, b, labels, x, 64, s.tokens))
        train = tf.train.AdagradOptimizer(0.1).minimize(loss)
        adopted(program)
    random = values.generator("sampled")
    feeds = lambda: {ids: random.integers(0, s.tokens, 64), labels: random.integers(0, s.tokens, (64, 1))}
    step = program.training(loss, train, feeds)

    def run() -> None:
        step.run()

    return Step(run, check=lambda: 0.0, close=step.close)


def ctc(tf: Any, size: Sizes) -> Step:
    """A recurrent network and CTC's loss, on recordings of random lengths."""
    s, program = size.changing, Program(tf)
    with program.building():
        x = tf.placeholder(tf.float32, [None, s.batch, 12])
        labels = [[i, j] for i in range(s.batch) for j in range(4)]
        words = values.generator("ctc words").integers(0, 9, 4 * s.batch).astype(np.int32)
        out, _ = tf.nn.dynamic_rnn(
            tf.nn.rnn_cell.LSTMCell(s.width), x, dtype=tf.float32, time_major=True, scope="listen"
        )
        logits = tf.layers.dense(out, 10, name="letters")
        lengths = tf.fill([s.batch], tf.shape(x)[0])
        losses = tf.nn.ctc_loss(tf.SparseTensor(labels, words, [s.batch, 4]), logits, lengths)
        loss = tf.reduce_mean(losses)
        train = tf.train.AdamOptimizer(RATE).minimize(loss)
        adopted(program)
    random, length = values.generator("ctc"), drawn("ctc lengths", s.longest // 2 + 4, s.longest + 4)
    feeds = lambda: {x: random.standard_normal((length(), s.batch, 12), dtype=np.float32)}
    return program.training(loss, train, feeds)
