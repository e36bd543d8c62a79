"""Repetition: Tile, BroadcastTo."""

from __future__ import annotations

import numpy as np

from headrace.core.errors import require
from headrace.core.modules import late
from headrace.core.shapes import UNKNOWN, make_shape, show
from headrace.core.sizes import whole
from headrace.ops.array import constant, reshape, transpose
from headrace.ops.array.fill import checked_sizes, counted
from headrace.ops.declaration.declare import op
from headrace.ops.declaration.emit import Decline
from headrace.ops.declaration.indexed_slices import IndexedSlices
from headrace.ops.declaration.samples import ErrorSample, Sample
from headrace.ops.declaration.shape_checks import described_by, merge_sizes, with_rank, with_rank_at_most
from headrace.ops.declaration.signature import INDEX32, Type

broadcast = late("headrace.ops.array.broadcast")
cast = late("headrace.ops.math.cast")
concat = late("headrace.ops.array.concat")
reduce = late("headrace.ops.math.reduce")
segment = late("headrace.ops.array.indexing.segment")
sequence = late("headrace.ops.math.sequence")
slice = late("headrace.ops.array.slices.slice")


def tiled_shape(input, multiples):
    times = described_by(multiples)
    rank = input.rank if input.rank is not None else times.rank
    if rank is None:
        return UNKNOWN
    input, times = with_rank(input, rank), with_rank(times, rank)
    return make_shape(
        0 if 0 in (s, m) else None if None in (s, m) else s * m for s, m in zip(input.sizes, times.sizes)
    )


def _checked(input, multiples, least):
    require(multiples.ndim == 1, f"Expected multiples to be 1-D, but got shape {list(multiples.shape)}")
    require(
        multiples.size == input.ndim,
        f"Expected multiples argument to be a vector of length {input.ndim} but got length {multiples.size}",
    )
    times = [int(m) for m in multiples]
    for i, m in enumerate(times):
        require(m >= least, f"Expected multiples[{i}] >= {least}, but got {m}")
    return times


@op("Tile", "input: T, multiples: Tmultiples -> output: T", T=Type(), Tmultiples=INDEX32, shape=tiled_shape)
def tile(input, multiples):
    """The input, repeated multiples[i] times along axis i."""
    times = _checked(input, multiples, 0)
    counted([n * m for n, m in zip(input.shape, times)])
    return np.tile(input, times)


@tile.gradient
def _(node, dy):
    x, multiples = node.inputs
    sizes = reshape.shape_of(x, multiples.dtype.base)
    if isinstance(dy, IndexedSlices):
        dy = _folded_rows(dy, multiples, sizes)
        ones = constant.constant([1], multiples.dtype.base)

        multiples = concat.concat_v2([ones, slice.slice_(multiples, [1], [-1])], 0)

    # [m0, n0, m1, n1, ...]: repetitions and sizes alternate, and the repetitions are summed.
    both = reshape.reshape(transpose.transpose(constant.pack([multiples, sizes]), [1, 0]), [-1])
    dx = reduce.sum_(reshape.reshape(dy, both), _even_axes(x))
    dx.set_shape(x.shape)
    return dx, None


def _even_axes(x):
    if x.shape.rank is not None:
        return constant.constant(np.arange(0, 2 * x.shape.rank, 2, dtype=np.int32))

    return sequence.range_(0, reshape.rank(x) * 2, 2)


def _folded_rows(dy, multiples, sizes):
    """Row i of a tiled gradient belongs to row i mod n of the input."""
    rows = cast.cast(sizes[0], DstT=dy.indices.dtype.base)
    return segment.unsorted_segment_sum(dy.values, dy.indices % rows, rows)


@tile.lower
def _(e, x, multiples):
    if multiples.value is None:
        raise Decline("the multiples are not known")
    if any(m < 0 for m in multiples.value):
        raise Decline("a negative multiple")
    shape = [n * whole(m) for n, m in zip(x.shape, multiples.value)]
    return e.compute(shape, lambda *i: x[tuple(k % n for k, n in zip(i, x.shape))])


@tile.samples
def _(rng):
    yield Sample(rng.normal(size=(2, 3)), np.array([2, 3], np.int32))
    yield Sample(rng.normal(size=(2, 3)), np.array([1, 0]), note="empty")
    yield Sample(np.array(1.0), np.array([], np.int32), note="scalar")
    yield Sample(np.array([b"a", b"b"], object), np.array([2]), note="text")
    yield ErrorSample(np.ones((2, 3)), np.array([1]), raises="length 2|rank")
    yield ErrorSample(np.ones(2), np.array([-1]), raises=r"multiples\[0\] >= 0")


@op(
    "TileGrad",
    "input: T, multiples: int32 -> output: T",
    T=Type(),
    deprecated=(3, "TileGrad has been replaced with reduce_sum"),
    shape=lambda input, multiples: make_shape(None if input.rank is None else (None,) * input.rank),
)
def tile_grad(input, multiples):
    """The sum over the repetitions that Tile made."""
    times = _checked(input, multiples, 1)
    for i, (n, m) in enumerate(zip(input.shape, times)):
        require(n % m == 0, f"Expected input_dim[{i}] to be divisible by multiples[{i}], but {n} % {m} != 0")
    split = [k for n, m in zip(input.shape, times) for k in (m, n // m)]
    return input.reshape(split).sum(axis=tuple(range(0, 2 * input.ndim, 2)), dtype=input.dtype)


@tile_grad.gradient
def _(node, dy):
    return tile(dy, node.inputs[1]), None


@tile_grad.samples
def _(rng):
    yield Sample(rng.normal(size=(4, 3)), np.array([2, 3], np.int32))


# -- BroadcastTo --------------------------------------------------------------------------------
def broadcast_to_shape(input, shape):
    out = described_by(shape)
    if out.rank is None or input.rank is None:
        return out
    with_rank_at_most(input, out.rank)
    sizes = list(out.sizes)
    for i, s in enumerate(reversed(input.sizes), 1):
        if s is not None and s > 1:
            sizes[-i] = merge_sizes(s, sizes[-i])
    return make_shape(sizes)


@op("BroadcastTo", "input: T, shape: Tidx -> output: T", T=Type(), Tidx=INDEX32, shape=broadcast_to_shape)
def broadcast_to(input, shape):
    """The input, repeated along its missing dimensions and those of size 1, as NumPy does."""
    sizes = checked_sizes(shape)
    have = make_shape(input.shape)
    fits = len(sizes) >= input.ndim and all(
        a in (1, b) for a, b in zip(reversed(input.shape), reversed(sizes))
    )
    require(
        fits,
        f"Incompatible shapes: {show(have)} vs. {show(make_shape(sizes))}"
        if len(sizes) >= input.ndim
        else f"Rank of input ({input.ndim}) must be no greater than rank of output shape ({len(sizes)}).",
    )
    return np.asarray(np.broadcast_to(input, sizes), order="C")


@broadcast_to.gradient
def _(node, dy):
    x, sizes = node.inputs
    have = reshape.shape_of(x, sizes.dtype.base)
    _, axes = broadcast.broadcast_gradient_args(sizes, have)
    return reshape.reshape(reduce.sum_(dy, axes, keep_dims=True), have), None


@broadcast_to.lower
def _(e, x, sizes):
    if sizes.value is None:
        raise Decline("the shape is not known")
    skip = sizes.value.size - len(x.shape)
    if skip < 0 or any(n not in (1, m) for n, m in zip(x.shape, sizes.value[skip:])):
        raise Decline("shapes that do not broadcast")

    def element(*i):
        return x[tuple(0 if n == 1 else k for k, n in zip(i[skip:], x.shape))]

    return e.compute([whole(s) for s in sizes.value], element)


@broadcast_to.samples
def _(rng):
    yield Sample(rng.normal(size=(2, 1)), np.array([4, 2, 3], np.int32))
    yield Sample(rng.normal(size=()), np.array([2, 3]), note="scalar")
    yield Sample(rng.normal(size=(1, 3)), np.array([0, 3]), note="empty")
    yield Sample(np.array([b"a"], object), np.array([2]), note="text")
    yield ErrorSample(np.ones((2, 3)), np.array([3]), raises="at most rank 1|no greater")
    yield ErrorSample(np.ones((2, 3)), np.array([3, 3]), raises="must be equal|Incompatible")
