"""A small GPT-2: blocks of attention and a wide layer, trained by Adam."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from bench.workloads import values
from bench.workloads.program import Program, Step
from bench.workloads.sizes import Sizes, Transformer

SCALE = 0.03
EPSILON = 1e-5
RATE = 3e-4


class Model:
    """Activations are [batch * length, width] between the blocks."""

    def __init__(self, program: Program, size: Transformer) -> None:
        self.tf, self.program, self.size = program.tf, program, size
        later = np.triu(np.full((size.length, size.length), -1e9, np.float32), 1)
        self.mask = self.tf.constant(later)

    def logits(self, tokens: Any) -> Any:
        tf, s = self.tf, self.size
        embedding = self.weights("tokens", s.vocabulary, s.width)
        places = self.weights("places", s.length, s.width)
        h = tf.nn.embedding_lookup(embedding, tokens) + places
        h = tf.reshape(h, [s.batch * s.length, s.width])
        for i in range(s.layers):
            with tf.variable_scope(f"block{i}"):
                h = h + self.attention(self.norm("norm1", h))
                h = h + self.wide(self.norm("norm2", h))
        return tf.matmul(self.norm("norm", h), embedding, transpose_b=True)

    def attention(self, x: Any) -> Any:
        tf, s = self.tf, self.size
        each = s.width // s.heads
        x = tf.reshape(self.dense("qkv", x, 3 * s.width), [s.batch, s.length, 3, s.heads, each])
        q, k, v = tf.unstack(tf.transpose(x, [2, 0, 3, 1, 4]))
        scores = tf.matmul(q, k, transpose_b=True) / math.sqrt(each) + self.mask
        mixed = tf.transpose(tf.matmul(tf.nn.softmax(scores), v), [0, 2, 1, 3])
        return self.dense("mix", tf.reshape(mixed, [s.batch * s.length, s.width]), s.width)

    def wide(self, x: Any) -> Any:
        h = self.gelu(self.dense("wide", x, 4 * self.size.width))
        return self.dense("narrow", h, self.size.width)

    def gelu(self, x: Any) -> Any:
        cubic = x + 0.044715 * x * x * x
        return 0.5 * x * (1.0 + self.tf.tanh(math.sqrt(2 / math.pi) * cubic))

    def norm(self, name: str, x: Any) -> Any:
        tf, width = self.tf, self.size.width
        with tf.variable_scope(name):
            scale = self.program.filled("scale", width, 1)
            offset = self.program.filled("offset", width, 0)
        centred = x - tf.reduce_mean(x, 1, keepdims=True)
        variance = tf.reduce_mean(tf.square(centred), 1, keepdims=True)
        return centred * tf.rsqrt(variance + EPSILON) * scale + offset

    def dense(self, name: str, x: Any, width: int) -> Any:
        with self.tf.variable_scope(name):
            w = self.weights("w", x.shape[1].value, width)
            return self.tf.matmul(x, w) + self.program.filled("b", width, 0)

    def weights(self, name: str, rows: int, columns: int) -> Any:
        full = "/".join(filter(None, [self.tf.get_variable_scope().name, name]))
        return self.program.variable(
            name, (rows, columns), lambda: values.uniform(full, (rows, columns), SCALE)
        )


def transformer(tf: Any, size: Sizes) -> Step:
    program, s = Program(tf), size.transformer
    with program.building():
        tokens = tf.placeholder(tf.int32, [s.batch, s.length])
        following = tf.placeholder(tf.int32, [s.batch, s.length])
        logits = Model(program, s).logits(tokens)
        losses = tf.nn.sparse_softmax_cross_entropy_with_logits(
            labels=tf.reshape(following, [-1]), logits=logits
        )
        loss = tf.reduce_mean(losses)
        train = tf.train.AdamOptimizer(RATE).minimize(loss)
    batch = values.forever(values.text(s))
    feeds = lambda: dict(zip((tokens, following), batch()))
    return program.training(loss, train, feeds, flops(s))


def flops(s: Transformer) -> float:
    per_token = s.layers * (12 * s.width**2 + 2 * s.length * s.width) + s.width * s.vocabulary
    return 3 * 2 * s.batch * s.length * per_token
