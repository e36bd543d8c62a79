"""Bits of integers: and, or, exclusive or, inversion, shifts, counting."""

from __future__ import annotations

import numpy as np

from headrace.core.dtypes import INDEX, bool_, float16, float32, float64, int8, int16, named
from headrace.core.errors import require
from headrace.core.shapes import UNKNOWN, make_shape
from headrace.ops.declaration.declare import Op, op
from headrace.ops.declaration.families import binary, unary
from headrace.ops.declaration.samples import ErrorSample, Sample
from headrace.ops.declaration.shape_rules import require_rank
from headrace.ops.declaration.traits import COMMUTATIVE

INTEGERS = (*named("int8 int16"), *INDEX, *named("uint8 uint16 uint32 uint64"))
_X = np.array([0, 5, -1, 127, -128], np.int8)


def _pairs(rng):
    yield Sample(_X, np.array([3, 3, 3, -1, 8], np.int8))
    yield Sample(_X.astype(np.uint64).reshape(5, 1), np.array([1, 2], np.uint64))
    yield Sample(np.zeros((0, 2), np.int32), np.array(1, np.int32), note="empty")
    yield ErrorSample(_X, np.ones(4, np.int8), raises="must be equal|Incompatible shapes")


def _operator(name, meaning, doc, emit, traits=()) -> Op:
    declared = binary(name, meaning, T=INTEGERS, doc=doc, emit=emit, traits=traits, samples=_pairs)
    declared.no_gradient()
    return declared


bitwise_and = _operator("BitwiseAnd", np.bitwise_and, "x & y.", lambda e, x, y: x & y, {COMMUTATIVE})
bitwise_or = _operator("BitwiseOr", np.bitwise_or, "x | y.", lambda e, x, y: x | y, {COMMUTATIVE})
bitwise_xor = _operator("BitwiseXor", np.bitwise_xor, "x ^ y.", lambda e, x, y: x ^ y, {COMMUTATIVE})


def _shift(shift):
    def meaning(x, y):
        # As in TF: a count outside [0, bits) is brought to the nearer end.
        return shift(x, np.clip(y, 0, x.dtype.itemsize * 8 - 1))

    return meaning


def _lower_shift(shift):
    def rule(e, x, y):
        return shift(x, e.min(e.max(y, 0), x.dtype.size * 8 - 1))

    return rule


left_shift = _operator(
    "LeftShift",
    _shift(np.left_shift),
    "x with its bits moved y places up.",
    _lower_shift(lambda x, y: x << y),
)
right_shift = _operator(
    "RightShift",
    _shift(np.right_shift),
    "x with its bits moved y places down; a signed number keeps its sign.",
    _lower_shift(lambda x, y: x >> y),
)

invert = unary(
    "Invert",
    np.invert,
    T=INTEGERS,
    doc="Every bit of x turned.",
    emit=lambda e, x: ~x,
    samples=lambda rng: iter([Sample(_X), Sample(_X.astype(np.uint16))]),
)
invert.no_gradient()


def _count(x):
    """Pairs, then nibbles, then bytes, each in parallel."""
    bits = x.view(np.dtype(f"u{x.dtype.itemsize}")).astype(np.uint64)
    u = np.uint64
    bits = bits - ((bits >> u(1)) & u(0x5555555555555555))
    bits = (bits & u(0x3333333333333333)) + ((bits >> u(2)) & u(0x3333333333333333))
    bits = (bits + (bits >> u(4))) & u(0x0F0F0F0F0F0F0F0F)
    return ((bits * u(0x0101010101010101)) >> u(56)).astype(np.uint8)


population_count = unary(
    "PopulationCount",
    _count,
    T=INTEGERS,
    doc="How many bits of x are set.",
    signature="x: T -> y: uint8",
    samples=lambda rng: iter([Sample(_X), Sample(_X.astype(np.uint64)), Sample(_X[:0])]),
)
population_count.no_gradient()


def compare_and_bitpack_shape(input, threshold):
    require(input.rank != 0, "Shape must be at least rank 1 but is rank 0")
    require_rank(threshold, 0)
    if input.rank is None:
        return UNKNOWN
    *rest, last = input.sizes
    require(last is None or last % 8 == 0, f"Dimension size must be evenly divisible by 8 but is {last}")
    return make_shape((*rest, None if last is None else last // 8))


@op(
    "CompareAndBitpack",
    "input: T, threshold: T -> output: uint8",
    T=(bool_, float16, float32, float64, int8, int16, *INDEX),
    shape=compare_and_bitpack_shape,
)
def compare_and_bitpack(input, threshold):
    """Which elements are above the threshold, eight to a byte, the first in the highest bit."""
    require(threshold.ndim == 0, f"Compare must be a scalar, but saw shape: {list(threshold.shape)}")
    require(input.ndim, "Input should be at least a vector, but saw a scalar.")
    require(
        input.shape[-1] % 8 == 0,
        f"Inner dimension of input should be divisible by 8, but saw shape: {list(input.shape)}",
    )
    return np.packbits(input > threshold, axis=-1)


compare_and_bitpack.no_gradient()


@compare_and_bitpack.samples
def _(rng):
    yield Sample(rng.normal(size=(2, 16)), np.array(0.0), grad=False)
    yield Sample(rng.normal(size=8) > 0, np.array(False))
    yield Sample(np.zeros((0, 8), np.int32), np.array(0, np.int32), note="empty")
    yield ErrorSample(np.ones((2, 3)), np.array(0.0), raises="divisible by 8")
