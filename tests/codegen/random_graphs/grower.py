"""Random graphs: ops applied to what is there, with enough kept about each tensor to judge it.

A tensor is `exact` where the compiled and the reference value must be the same bits (moved, chosen or
integer values); only those go into ops that jump (floor, comparisons, arg-max, casts to integers).
A denormal counts as zero or as itself (the processor decides, instruction by instruction): where
one is fed, what an op makes of it by jumping is `vague` and not compared.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

import headrace as tf

SHAPES = [(), (1,), (5,), (17,), (3, 4), (1, 7), (6, 1), (2, 3, 5), (4, 1, 3), (0, 3), (33, 20),
          (2, 0), (70, 3), (1, 1, 1), (2, 1, 3, 2)]  # fmt: skip
EDGES = [np.nan, np.inf, -np.inf, 0.0, -0.0, 1e30, -1e30, 6e4, 1e-7]
DENORMALS = [1e-40, -1e-42]
FLOATS = [tf.float32, tf.float32, tf.float32, tf.float64, tf.float16, tf.bfloat16]
INTEGERS = [tf.int32, tf.int64, tf.int8, tf.int16, tf.uint8]
COMPLEX = [tf.complex64, tf.complex128]
LOOSE = {
    "float16": 2e-2,
    "bfloat16": 1e-1,
    "float32": 1e-4,
    "float64": 1e-10,
    "complex64": 1e-4,
    "complex128": 1e-10,
}


@dataclass(eq=False)
class Grown:
    tensor: Any
    shape: tuple[int, ...]
    exact: bool = True
    parents: tuple[Any, ...] = ()
    vague: bool = False

    @property
    def dtype(self):
        return self.tensor.dtype.base_dtype


class Grower:
    """`kinds` are the names of the methods that may be applied."""

    SIMPLE = ("binary", "unary", "reduce", "reshape", "transpose", "select", "concat", "slice",
              "compare", "cast", "pad", "gather", "stack", "tile", "reverse", "arg", "one_hot",
              "cumulative", "split", "clip", "broadcast", "strided", "segment")  # fmt: skip
    FLOATING = ("matmul", "softmax", "moments", "cross_entropy", "divide", "transcendental")

    def __init__(self, seed: int, types: Any = None, edges: float = 0.3) -> None:
        self.rng = np.random.default_rng(seed)
        self.graph, self.feeds, self.edges = tf.Graph(), {}, edges
        self.denormals = False
        families = types or [FLOATS, FLOATS, INTEGERS, [tf.bool]]
        family = families[seed % len(families)]
        self.dtype = family[self.rng.integers(len(family))]
        self.pool: list[Grown] = []
        with self.graph.as_default():
            shape = SHAPES[self.rng.integers(len(SHAPES))]
            for _ in range(3):
                self.feed(shape)
            for _ in range(int(self.rng.integers(3, 18))):
                self.grow()

    # -- what is fed -----------------------------------------------------------------------------
    def feed(self, shape: tuple[int, ...]) -> None:
        dtype, rng = self.dtype, self.rng
        array = rng.normal(size=shape) * 3
        if dtype.is_bool:
            array = array > 0
        elif dtype.is_complex:
            array = array + 1j * rng.normal(size=shape)
        elif dtype.is_floating and array.size > 3 and rng.random() < self.edges:
            flat = array.reshape(-1)
            flat[rng.integers(flat.size, size=3)] = rng.choice(EDGES, 3)
            if rng.random() < 0.3:
                flat[rng.integers(flat.size)] = self.choice(DENORMALS)
                self.denormals = True
        elif dtype.is_integer and array.size > 3 and rng.random() < self.edges:
            array.reshape(-1)[rng.integers(array.size, size=2)] = rng.choice([dtype.min, dtype.max])
        with np.errstate(all="ignore"):
            if dtype.is_unsigned:
                array = np.abs(array)
            array = array.astype(dtype.as_numpy_dtype)
        unknown = [None if rng.random() < 0.5 else n for n in shape]
        tensor = tf.placeholder(dtype, unknown)
        self.feeds[tensor] = array
        self.pool.append(Grown(tensor, shape))

    def pick(self, test: Any = None) -> Grown | None:
        found = [g for g in self.pool if test is None or test(g)]
        return found[self.rng.integers(len(found))] if found else None

    def floating(self) -> Grown | None:
        return self.pick(lambda g: g.dtype.is_floating)

    def choice(self, items: Any) -> Any:
        return items[self.rng.integers(len(items))]

    def grow(self) -> None:
        kinds = self.SIMPLE + (self.FLOATING if self.dtype.is_floating else ())
        made = getattr(self, self.choice(kinds))()
        for one in made if isinstance(made, list) else [made]:
            if one is not None and np.prod(one.shape) < 20_000:
                self.pool.append(one)

    def made(self, tensor: Any, shape: Any, *parents: Grown, exact=True, jumps=False) -> Grown:
        exact = exact and all(p.exact for p in parents)
        vague = (jumps and self.denormals) or any(p.vague for p in parents)
        return Grown(tensor, tuple(shape), exact, parents, vague)

    # -- element by element ----------------------------------------------------------------------
    def pair(self) -> Any:
        x = self.pick()
        y = self.pick(lambda g: g.dtype is x.dtype)
        try:
            return x, y, np.broadcast_shapes(x.shape, y.shape)
        except ValueError:
            return None

    def binary(self) -> Grown | None:
        found = self.pair()
        if found is None:
            return None
        x, y, shape = found
        if x.dtype.is_bool:
            op = self.choice([tf.logical_and, tf.logical_or, tf.logical_xor])
            return self.made(op(x.tensor, y.tensor), shape, x, y)
        op = self.choice([tf.add, tf.subtract, tf.multiply, tf.maximum, tf.minimum, tf.squared_difference])
        if x.dtype.is_complex or x.dtype.name in ("int8", "int16", "uint8"):
            op = self.choice([tf.add, tf.subtract, tf.multiply])
        exact = x.dtype.is_integer or op in (tf.maximum, tf.minimum)
        return self.made(op(x.tensor, y.tensor), shape, x, y, exact=exact)

    def unary(self) -> Grown | None:
        x = self.pick()
        t, dtype = x.tensor, x.dtype
        if dtype.is_bool:
            return self.made(tf.logical_not(t), x.shape, x)
        if dtype.is_complex:
            op = self.choice([tf.negative, tf.square, tf.conj, tf.real, tf.imag, tf.abs])
            return self.made(op(t), x.shape, x, exact=False)
        if not dtype.is_floating:
            if dtype.name not in ("int32", "int64"):
                return self.made(t + t, x.shape, x)
            return self.made(self.choice([tf.abs, tf.negative, tf.square, tf.sign])(t), x.shape, x)
        if x.exact and self.rng.random() < 0.5:
            op = self.choice([tf.abs, tf.negative, tf.nn.relu, tf.sign, tf.floor, tf.ceil, tf.rint,
                              tf.identity, tf.stop_gradient])  # fmt: skip
            return self.made(op(t), x.shape, x, jumps=True)
        op = self.choice([tf.abs, tf.negative, tf.square, tf.nn.relu, tf.identity, tf.nn.relu6])
        return self.made(op(t), x.shape, x, exact=False)

    def transcendental(self) -> Grown | None:
        """Where a small error of the argument stays small."""
        x = self.floating()
        t = x.tensor
        narrow = tf.minimum(tf.maximum(t, tf.cast(-4.0, x.dtype)), tf.cast(4.0, x.dtype))
        half = tf.cast(0.5, x.dtype)
        op = self.choice([
            lambda: tf.tanh(t), lambda: tf.sigmoid(t), lambda: tf.exp(narrow),
            lambda: tf.log(tf.abs(t) + half), lambda: tf.sqrt(tf.abs(t) + half),
            lambda: tf.rsqrt(tf.abs(t) + half), lambda: tf.sin(narrow), lambda: tf.cos(narrow),
            lambda: tf.nn.softplus(t), lambda: tf.nn.softsign(t), lambda: tf.nn.elu(t),
            lambda: tf.nn.selu(t), lambda: tf.log1p(tf.abs(t)), lambda: tf.expm1(narrow),
            lambda: tf.atan(t), lambda: tf.nn.leaky_relu(t), lambda: tf.pow(narrow * half, 3.0),
        ])  # fmt: skip
        return self.made(op(), x.shape, x, exact=False)

    def divide(self) -> Grown | None:
        found = self.pair()
        if found is None or not found[0].dtype.is_floating:
            return None
        x, y, shape = found
        below = tf.abs(y.tensor) + tf.cast(1.0, x.dtype)
        return self.made(x.tensor / below, shape, x, y, exact=False)

    def compare(self) -> Grown | None:
        found = self.pair()
        if found is None:
            return None
        x, y, shape = found
        if not (x.exact and y.exact) or x.dtype.is_bool or x.dtype.is_complex:
            return None
        op = self.choice([tf.less, tf.greater_equal, tf.equal, tf.not_equal, tf.less_equal])
        return self.made(op(x.tensor, y.tensor), shape, x, y, jumps=True)

    def select(self) -> Grown | None:
        x = self.pick()
        y = self.pick(lambda g: g.dtype is x.dtype and g.shape == x.shape)
        c = self.pick(lambda g: g.dtype.is_bool and g.shape == x.shape)
        if c is not None:
            return self.made(tf.where(c.tensor, x.tensor, y.tensor), x.shape, x, y, c)
        if x.exact and y.exact and (x.dtype.is_floating or x.dtype.name in ("int32", "int64")):
            larger = tf.where(x.tensor > y.tensor, x.tensor, y.tensor)
            return self.made(larger, x.shape, x, y, jumps=True)
        return None

    def cast(self) -> Grown | None:
        x = self.pick()
        if x.dtype.is_complex:
            return None
        to = self.choice([*FLOATS, *INTEGERS[:3], tf.bool])
        t = x.tensor
        if to.is_integer or to.is_bool:
            if not x.exact:
                return None
            if x.dtype.is_floating:  # what does not fit is not defined
                t = tf.where(tf.abs(t) < tf.cast(100.0, x.dtype), t, tf.zeros_like(t))
        if to.is_bool and x.dtype.is_floating:
            return None
        return self.made(tf.cast(t, to), x.shape, x, jumps=True)

    def clip(self) -> Grown | None:
        x = self.pick(lambda g: g.dtype.is_floating or g.dtype.name in ("int32", "int64"))
        if x is None:
            return None
        low, high = tf.cast(-1, x.dtype), tf.cast(2, x.dtype)
        return self.made(tf.clip_by_value(x.tensor, low, high), x.shape, x)

    # -- along axes ------------------------------------------------------------------------------
    def reduce(self) -> Grown | None:
        x = self.pick(lambda g: g.shape)
        if x is None:
            return None
        count = int(self.rng.integers(1, len(x.shape) + 1))
        axes = sorted(int(a) for a in self.rng.permutation(len(x.shape))[:count])
        keep = bool(self.rng.random() < 0.5)
        if x.dtype.is_bool:
            ops = [tf.reduce_any, tf.reduce_all]
        elif x.dtype.is_complex:
            ops = [tf.reduce_sum]
        else:
            ops = [tf.reduce_sum, tf.reduce_max, tf.reduce_min]
            if x.dtype.is_floating:
                ops += [tf.reduce_mean, tf.reduce_logsumexp]
        op = self.choice(ops)
        if 0 in x.shape and op is not tf.reduce_sum:
            return None
        exact = x.dtype.is_integer or x.dtype.is_bool or op in (tf.reduce_max, tf.reduce_min)
        out = [1 if i in axes else n for i, n in enumerate(x.shape) if keep or i not in axes]
        return self.made(op(x.tensor, axis=axes, keepdims=keep), out, x, exact=exact)

    def arg(self) -> Grown | None:
        x = self.pick(
            lambda g: (
                g.shape
                and 0 not in g.shape
                and g.exact
                and (g.dtype.is_floating or g.dtype.name in ("int32", "int64"))
            )
        )
        if x is None:
            return None
        axis = int(self.rng.integers(len(x.shape)))
        op = self.choice([tf.argmax, tf.argmin])
        clean = x.tensor
        if x.dtype.is_floating:  # which of several NaN is the largest is not defined
            clean = tf.where(tf.is_nan(clean), tf.zeros_like(clean), clean)
        out = [n for i, n in enumerate(x.shape) if i != axis]
        return self.made(op(clean, axis), out, x, jumps=True)

    def cumulative(self) -> Grown | None:
        x = self.pick(lambda g: g.shape and not g.dtype.is_bool)
        if x is None or x.dtype.name == "bfloat16":
            return None
        axis = int(self.rng.integers(len(x.shape)))
        exclusive, reverse = (bool(self.rng.random() < 0.3) for _ in range(2))
        return self.made(tf.cumsum(x.tensor, axis, exclusive, reverse), x.shape, x, exact=x.dtype.is_integer)

    def softmax(self) -> Grown | None:
        x = self.pick(lambda g: g.dtype.is_floating and g.shape and g.shape[-1])
        if x is None:
            return None
        return self.made(self.choice([tf.nn.softmax, tf.nn.log_softmax])(x.tensor), x.shape, x, exact=False)

    def moments(self) -> Grown | None:
        x = self.pick(lambda g: g.dtype.is_floating and g.shape and 0 not in g.shape)
        if x is None:
            return None
        mean, variance = tf.nn.moments(x.tensor, [len(x.shape) - 1], keep_dims=True)
        normal = (x.tensor - mean) * tf.rsqrt(variance + tf.cast(1.0, x.dtype))
        return self.made(normal, x.shape, x, exact=False)

    def cross_entropy(self) -> Grown | None:
        x = self.pick(
            lambda g: g.dtype in (tf.float32, tf.float64) and len(g.shape) == 2 and 0 not in g.shape
        )
        if x is None:
            return None
        labels = tf.constant(self.rng.integers(x.shape[1], size=x.shape[0]), tf.int32)
        loss = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=x.tensor)
        return self.made(loss, x.shape[:1], x, exact=False)

    def segment(self) -> Grown | None:
        x = self.pick(lambda g: g.shape and g.dtype.name in ("float32", "float64", "int32"))
        if x is None:
            return None
        ids = tf.constant(np.sort(self.rng.integers(4, size=x.shape[0])), tf.int32)
        made = tf.unsorted_segment_sum(x.tensor, ids, 5)
        return self.made(made, (5, *x.shape[1:]), x, exact=x.dtype.is_integer)

    def matmul(self) -> Grown | None:
        x = self.pick(lambda g: g.dtype.is_floating and len(g.shape) >= 2)
        if x is None:
            return None
        y = self.pick(
            lambda g: g.dtype is x.dtype and len(g.shape) == len(x.shape) and g.shape[:-2] == x.shape[:-2]
        )
        turn_x, turn_y = (bool(self.rng.random() < 0.5) for _ in range(2))
        a = x.shape[:-2] + (x.shape[-2:][::-1] if turn_x else x.shape[-2:])
        b = y.shape[:-2] + (y.shape[-2:][::-1] if turn_y else y.shape[-2:])
        if a[-1] != b[-2]:
            return None
        made = tf.matmul(x.tensor, y.tensor, transpose_a=turn_x, transpose_b=turn_y)
        return self.made(made, (*a[:-1], b[-1]), x, y, exact=False)

    # -- moved -----------------------------------------------------------------------------------
    def reshape(self) -> Grown | None:
        x = self.pick()
        count = int(np.prod(x.shape))
        out = self.choice([(count,), (1, count), (count, 1), x.shape[::-1], (*x.shape, 1)])
        return self.made(tf.reshape(x.tensor, out), out, x)

    def transpose(self) -> Grown | None:
        x = self.pick()
        perm = [int(p) for p in self.rng.permutation(len(x.shape))]
        return self.made(tf.transpose(x.tensor, perm), [x.shape[p] for p in perm], x)

    def concat(self) -> Grown | None:
        x = self.pick(lambda g: g.shape)
        if x is None:
            return None
        axis = int(self.rng.integers(len(x.shape)))
        y = self.pick(
            lambda g: (
                g.dtype is x.dtype
                and len(g.shape) == len(x.shape)
                and all(i == axis or a == b for i, (a, b) in enumerate(zip(g.shape, x.shape)))
            )
        )
        out = list(x.shape)
        out[axis] += y.shape[axis]
        return self.made(tf.concat([x.tensor, y.tensor], axis), out, x, y)

    def stack(self) -> Grown | None:
        x = self.pick()
        y = self.pick(lambda g: g.dtype is x.dtype and g.shape == x.shape)
        axis = int(self.rng.integers(len(x.shape) + 1))
        out = [*x.shape[:axis], 2, *x.shape[axis:]]
        return self.made(tf.stack([x.tensor, y.tensor], axis), out, x, y)

    def split(self) -> list[Grown] | None:
        x = self.pick(lambda g: g.shape and g.shape[-1] >= 2)
        if x is None:
            return None
        first = int(self.rng.integers(1, x.shape[-1]))
        sizes = [first, x.shape[-1] - first]
        parts = tf.split(x.tensor, sizes, len(x.shape) - 1)
        return [self.made(p, (*x.shape[:-1], n), x) for p, n in zip(parts, sizes)]

    def slice(self) -> Grown | None:
        x = self.pick(lambda g: g.shape and g.shape[0] >= 2)
        return x and self.made(x.tensor[1:], (x.shape[0] - 1, *x.shape[1:]), x)

    def strided(self) -> Grown | None:
        x = self.pick(lambda g: g.shape and g.shape[-1] >= 3)
        if x is None:
            return None
        key = self.choice([slice(None, None, -1), slice(1, None, 2), slice(-2, 0, -1), 1])
        whole = np.empty(x.shape, np.int8)[..., key]
        return self.made(x.tensor[..., key], whole.shape, x)

    def reverse(self) -> Grown | None:
        x = self.pick(lambda g: g.shape)
        return x and self.made(tf.reverse(x.tensor, [len(x.shape) - 1]), x.shape, x)

    def pad(self) -> Grown | None:
        x = self.pick(lambda g: g.shape and not g.dtype.is_complex)
        if x is None or x.dtype.name == "bfloat16":
            return None
        pads = self.rng.integers(0, 3, size=(len(x.shape), 2))
        out = [n + int(p.sum()) for n, p in zip(x.shape, pads)]
        return self.made(tf.pad(x.tensor, pads.tolist()), out, x)

    def tile(self) -> Grown | None:
        x = self.pick(lambda g: g.shape)
        if x is None:
            return None
        times = [int(n) for n in self.rng.integers(1, 3, size=len(x.shape))]
        return self.made(tf.tile(x.tensor, times), [a * b for a, b in zip(x.shape, times)], x)

    def broadcast(self) -> Grown | None:
        x = self.pick()
        return self.made(tf.broadcast_to(x.tensor, (2, *x.shape)), (2, *x.shape), x)

    def gather(self) -> Grown | None:
        x = self.pick(lambda g: g.shape and g.shape[0])
        if x is None:
            return None
        shape = self.choice([(), (4,), (2, 3), (0,)])
        kind = self.choice([tf.int32, tf.int64])
        at = tf.constant(self.rng.integers(x.shape[0], size=shape), kind)
        # GatherNd refuses to read from an empty array, even parts that are empty; Gather does not.
        if self.rng.random() < 0.3 and shape and (0 in shape or 0 not in x.shape):
            made = tf.gather_nd(x.tensor, tf.expand_dims(at, -1))
        else:
            made = tf.gather(x.tensor, at)
        return self.made(made, (*shape, *x.shape[1:]), x)

    def one_hot(self) -> Grown | None:
        x = self.pick(lambda g: g.dtype in (tf.int32, tf.int64, tf.uint8))
        if x is None:
            return None
        kind = self.dtype if self.dtype.is_floating else tf.float32
        return self.made(tf.one_hot(x.tensor, 3, dtype=kind), (*x.shape, 3), x)
