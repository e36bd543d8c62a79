"""Tensors of one value: Fill, ZerosLike, OnesLike; and of no particular one: Empty."""

from __future__ import annotations

import math

import numpy as np

from headrace.core import dtypes
from headrace.core.dtypes import int32
from headrace.core.errors import require
from headrace.core.modules import late
from headrace.core.sizes import whole
from headrace.ops.array import reshape
from headrace.ops.declaration.declare import op
from headrace.ops.declaration.emit import Decline
from headrace.ops.declaration.samples import ErrorSample, Sample
from headrace.ops.declaration.shape_checks import described_by, with_rank
from headrace.ops.declaration.shape_rules import same
from headrace.ops.declaration.signature import INDEX32, Type
from headrace.ops.declaration.traits import DIFFERENT_EACH_TIME, ELEMENTWISE, STATEFUL, STATIC

reduce = late("headrace.ops.math.reduce")


def checked_sizes(sizes):
    """Sizes for NumPy, from a vector that an op was given."""
    require(
        sizes.ndim == 1 or (sizes.ndim == 0 and sizes.size == 1),
        f"dims must be a vector, got shape {list(sizes.shape)}",
    )
    out = tuple(int(s) for s in sizes.ravel())
    for i, s in enumerate(out):
        require(s >= 0, f"Dimension {s} must be >= 0: size {i} is negative")
    return counted(out)


def counted(sizes):
    """The sizes, whose product is a number of elements that can be counted."""
    text = list(sizes)
    require(math.prod(sizes) < 2**63, f"Shape {text} would have more than 2**63 - 1 elements")
    return sizes


def zeros_array(shape, dtype):
    """Zeros of a TF type: empty text for strings."""
    if dtype.kind == "s":
        return np.full(shape, b"", dtype=object)
    return np.zeros(shape, dtype=dtype.numpy)


def filled_shape(dims, value):
    with_rank(value, 0)
    known = dims.value
    require(known is None or (known >= 0).all(), "Fill dimensions must be >= 0")
    return described_by(dims)


@op(
    "Fill",
    "dims: index_type, value: T -> output: T",
    T=Type(),
    index_type=INDEX32,
    traits={STATIC},
    shape=filled_shape,
)
def fill(dims, value):
    """A tensor of shape `dims` whose elements are all `value`."""
    require(value.ndim == 0, f"value must be a scalar, got shape {list(value.shape)}")
    out = np.empty(checked_sizes(dims), dtype=value.dtype)
    out[...] = value
    return out


@fill.gradient
def _(node, dy):
    return None, reduce.sum_(reshape.reshape(dy, [-1]), [0])


@fill.lower
def _(e, dims, value):
    if dims.value is None:
        raise Decline("the shape is not known")
    return e.compute(tuple(map(whole, dims.value)), lambda *i: value[()])


@fill.samples
def _(rng):
    yield Sample(np.array([2, 3], np.int32), rng.normal(size=()))
    yield Sample(np.array([], np.int64), np.array(2.0), note="scalar")
    yield Sample(np.array([0, 3], np.int32), np.array(2.0), note="empty")
    yield Sample(np.array([2], np.int32), np.array(b"x", dtype=object), note="text")
    yield ErrorSample(np.array([2], np.int32), np.ones(2), raises="rank 0|must be a scalar")
    yield ErrorSample(np.array([-2], np.int32), np.array(1.0), raises=">= 0")


@op("ZerosLike", "x: T -> y: T", T=Type(), shape=same, traits={ELEMENTWISE})
def zeros_like(x):
    """Zeros of the shape and type of `x`."""
    if x.dtype != object:
        return np.zeros(x.shape, x.dtype)
    out = np.empty(x.shape, object)
    for place, value in np.ndenumerate(x):
        out[place] = _zero_of(value)
    return out


def _zero_of(value):
    """Empty text; a variant knows its own zero, or is a message, which is empty when new."""
    if isinstance(value, bytes):
        return b""
    own = getattr(value, "zeros_like", None)
    return type(value)() if own is None else own()


zeros_like.no_gradient()


@zeros_like.lower
def _(e, x):
    return e.const(0, x.dtype)


@zeros_like.samples
def _(rng):
    yield Sample(rng.normal(size=(2, 3)), grad=False)
    yield Sample(np.array([True, False]), grad=False)
    yield Sample(np.array([b"a", b"b"], dtype=object), grad=False)
    yield Sample(np.array([np.nan, np.inf]), note="edges", grad=False)


@op(
    "OnesLike",
    "x: T -> y: T",
    shape=same,
    traits={ELEMENTWISE},
    T=(
        dtypes.bfloat16,
        dtypes.float16,
        dtypes.float32,
        dtypes.float64,
        dtypes.int8,
        dtypes.uint8,
        dtypes.int16,
        dtypes.uint16,
        int32,
        dtypes.int64,
        dtypes.complex64,
        dtypes.complex128,
        dtypes.bool_,
    ),
)
def ones_like(x):
    """Ones of the shape and type of `x`."""
    return np.ones(x.shape, x.dtype)


ones_like.no_gradient()


@ones_like.lower
def _(e, x):
    return e.const(1, x.dtype)


@ones_like.samples
def _(rng):
    yield Sample(rng.normal(size=(2, 3)), grad=False)
    yield Sample(np.array([True, False]), grad=False)
    yield Sample(np.array([np.nan, np.inf]), note="edges", grad=False)


@op(
    "Empty",
    "shape: int32 -> output: dtype",
    traits={STATEFUL, DIFFERENT_EACH_TIME},
    attrs={"dtype": Type(), "init": False},
    shape=described_by,
)
def empty(shape, *, dtype, init):
    """A tensor of this shape; zeros if `init`, else of whatever values (ours are zeros too)."""
    return zeros_array(checked_sizes(shape), dtype)


@empty.samples
def _(rng):
    yield Sample(np.array([2, 3], np.int32), dtype=dtypes.float32, init=True)
    yield Sample(np.array([0], np.int32), dtype=dtypes.string)
