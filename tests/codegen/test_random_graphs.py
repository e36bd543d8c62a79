"""Random graphs: compiled equals reference, whatever is fused with whatever."""

from __future__ import annotations

import numpy as np
import pytest

import headrace as tf
from tests.codegen.compare import Runner, assert_same, settled

pytestmark = pytest.mark.native

SHAPES = [(), (1,), (5,), (17,), (3, 4), (1, 7), (6, 1), (2, 3, 5), (4, 1, 3), (0, 3), (33, 20)]
EDGES = [np.nan, np.inf, -np.inf, 0.0, -0.0, 1e30, -1e30]


class Grower:
    """Builds a graph by applying ops to what is there."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        self.graph, self.feeds = tf.Graph(), {}
        self.dtype = [tf.float32, tf.float64, tf.int32][seed % 3]
        self.pool = []
        with self.graph.as_default():
            shape = SHAPES[self.rng.integers(len(SHAPES))]
            for _ in range(3):
                self.feed(shape)
            for _ in range(int(self.rng.integers(3, 18))):
                self.grow()

    def feed(self, shape):
        array = self.rng.normal(size=shape) * 3
        if self.dtype.is_floating and array.size > 3 and self.rng.random() < 0.3:
            flat = array.reshape(-1)
            flat[self.rng.integers(flat.size, size=2)] = self.rng.choice(EDGES, 2)
        array = array.astype(self.dtype.as_numpy_dtype)
        unknown = [None if self.rng.random() < 0.5 else n for n in shape]
        tensor = tf.placeholder(self.dtype, unknown)
        self.feeds[tensor] = array
        self.pool.append((tensor, shape))

    def pick(self):
        return self.pool[self.rng.integers(len(self.pool))]

    def grow(self):
        kinds = ["binary", "unary", "reduce", "reshape", "transpose", "select", "concat", "slice"]
        made = getattr(self, self.rng.choice(kinds))()
        if made is not None:
            self.pool.append(made)

    def binary(self):
        (x, a), (y, b) = self.pick(), self.pick()
        try:
            shape = np.broadcast_shapes(a, b)
        except ValueError:
            return None
        op = self.rng.choice([tf.add, tf.subtract, tf.multiply, tf.maximum, tf.minimum])
        return op(x, y), shape

    def unary(self):
        x, shape = self.pick()
        floats = [tf.tanh, tf.sigmoid, tf.abs, tf.negative, tf.square, tf.nn.relu, tf.sign]
        ops = floats if self.dtype.is_floating else floats[2:5]
        return self.rng.choice(ops)(x), shape

    def reduce(self):
        x, shape = self.pick()
        if not shape:
            return None
        axis = int(self.rng.integers(len(shape)))
        keep = bool(self.rng.random() < 0.5)
        if shape[axis] == 0:
            return None
        op = self.rng.choice([tf.reduce_sum, tf.reduce_max, tf.reduce_min])
        out = [n for i, n in enumerate(shape) if i != axis]
        if keep:
            out.insert(axis, 1)
        return op(x, axis=axis, keepdims=keep), tuple(out)

    def reshape(self):
        x, shape = self.pick()
        count = int(np.prod(shape))
        options = [(count,), (1, count), (count, 1), shape[::-1]]
        out = options[self.rng.integers(len(options))]
        return tf.reshape(x, out), tuple(out)

    def transpose(self):
        x, shape = self.pick()
        perm = [int(p) for p in self.rng.permutation(len(shape))]
        return tf.transpose(x, perm), tuple(shape[p] for p in perm)

    def select(self):
        (x, a), (y, b) = self.pick(), self.pick()
        return (tf.where(x > y, x, y), a) if a == b else None

    def concat(self):
        x, shape = self.pick()
        if not shape:
            return None
        out = list(shape)
        out[-1] *= 2
        return tf.concat([x, x + x], len(shape) - 1), tuple(out)

    def slice(self):
        x, shape = self.pick()
        if not shape or shape[0] < 2:
            return None
        return x[1:], (shape[0] - 1, *shape[1:])


@pytest.mark.parametrize("seed", range(80))
def test_random_graph(seed):
    made = Grower(seed)
    chosen = [t for t, _ in made.pool[-3:]] + [made.pool[len(made.pool) // 2][0]]
    runner = Runner(made.graph, list(made.feeds), chosen)
    arrays = list(made.feeds.values())
    from headrace.runtime.containers import Containers

    want = runner.expected(Containers(), arrays)
    got, _ = settled(runner, arrays)
    for g, w, t in zip(got, want, chosen):
        assert_same(g, w, 1e-4 if made.dtype is tf.float32 else None, t.name)
    assert not runner.program.declined
