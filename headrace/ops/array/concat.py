"""Tensors joined along an axis: Concat, ConcatV2, ConcatOffset, ParallelConcat."""

from __future__ import annotations

import numpy as np

from headrace.core.dtypes import int32
from headrace.core.errors import require
from headrace.core.modules import late
from headrace.core.shapes import UNKNOWN, Dim, make_shape, show
from headrace.graph.tensor import Tensor
from headrace.ops.array import constant, reshape, split
from headrace.ops.array.slices import slice
from headrace.ops.declaration.constants import constant_value
from headrace.ops.declaration.declare import op
from headrace.ops.declaration.emit import Decline
from headrace.ops.declaration.indexed_slices import IndexedSlices
from headrace.ops.declaration.samples import ErrorSample, Sample
from headrace.ops.declaration.shape_checks import merge, replaced, scalar_value, with_rank, with_rank_at_least
from headrace.ops.declaration.signature import INDEX32, Int, ShapeAttr, Type
from headrace.ops.declaration.traits import STATIC

cast = late("headrace.ops.math.cast")
gather = late("headrace.ops.array.indexing.gather")
logical = late("headrace.ops.math.logical")
where = late("headrace.ops.array.indexing.where")


# -- Concat -------------------------------------------------------------------------------------
def concat_v2_shape(values, axis):
    at = scalar_value(axis)
    if at is None:
        return _concat_of_unknown_axis(values)
    least = -at if at < 0 else at + 1
    ranks = {with_rank_at_least(v, least).rank for v in values} - {None}
    if not ranks:
        return UNKNOWN
    rank = min(ranks)
    require(len(ranks) == 1, f"Shapes must be equal rank, but are {rank} and {max(ranks)}")
    at %= rank
    total: Dim = 0
    rest = make_shape((None,) * rank)
    for v in reversed(values):
        v = with_rank(v, rank)
        size = v.sizes[at]
        total = None if total is None or size is None else total + size
        rest = merge(replaced(v, at, None), rest)
    return replaced(rest, at, total)


def _concat_of_unknown_axis(values):
    ranks = [v.rank for v in values if v.rank is not None]
    if not ranks:
        return UNKNOWN
    require(ranks[0] > 0, "Can't concatenate scalars (use tf.stack instead)")
    for v in values:
        with_rank(v, ranks[0])
    return make_shape((None,) * ranks[0])


def _concatenated(values, axis):
    require(axis.ndim == 0, f"concat_dim tensor should be a scalar integer, but got shape {list(axis.shape)}")
    first, axis = values[0], int(axis)
    rank = first.ndim
    require(
        -rank <= axis < rank,
        f"ConcatOp : Expected concatenating dimensions in the range [{-rank}, {rank}), but got {axis}",
    )
    axis %= rank
    around = first.shape[:axis], first.shape[axis + 1 :]
    for i, v in enumerate(values):
        if v.ndim != rank or (v.shape[:axis], v.shape[axis + 1 :]) != around:
            against = f"shape[0] = {_text(first)} vs. shape[{i}] = {_text(v)}"
            what = "Ranks of all input tensors" if v.ndim != rank else "Dimensions of inputs"
            require(False, f"ConcatOp : {what} should match: {against}")
    return np.concatenate(values, axis=axis)


def _text(array):
    return show(make_shape(array.shape))


@op(
    "ConcatV2",
    "values: N*T, axis: Tidx -> output: T",
    N=Int(min=2),
    T=Type(),
    Tidx=INDEX32,
    traits={STATIC},
    shape=concat_v2_shape,
)
def concat_v2(values, axis):
    """The values one after the other along `axis`."""
    return _concatenated(values, axis)


@concat_v2.gradient
def _(node, dy):
    return [*_parts_of(dy, node.inputs[:-1], node.inputs[-1]), None]


@concat_v2.known
def _(node, known):
    return _joined([known(x) for x in node.inputs[:-1]])


def _joined(parts):
    return sum(parts, ()) if all(isinstance(p, tuple) for p in parts) else None


@concat_v2.lower
def _(e, values, axis):
    if axis.value is None:
        raise Decline("the axis is not known")
    return _assembled(e, values, int(axis.value))


def _assembled(e, values, axis):
    shape = list(values[0].shape)
    axis %= len(shape)
    parts, shape[axis] = [], 0
    for v in values:
        parts.append(([shape[axis] if i == axis else 0 for i in range(len(shape))], v))
        shape[axis] += v.shape[axis]
    return e.assemble(shape, parts)


@concat_v2.samples
def _(rng):
    for axis in (0, -2):
        values = [rng.normal(size=(2, 3)), rng.normal(size=(1, 3)), rng.normal(size=(0, 3))]
        yield Sample(values, np.array(axis, np.int32))
    yield Sample([rng.normal(size=(2, 3)), rng.normal(size=(2, 1))], np.array(1))
    yield Sample([np.array([b"a"], object), np.array([b"b"], object)], np.array(0), note="text")
    yield Sample([rng.normal(size=(1, 2)) for _ in range(20)], np.array(1, np.int32), note="many")
    yield ErrorSample(
        [np.ones((2, 3)), np.ones((2, 2))], np.array(0, np.int32), raises="must be equal|should match"
    )
    yield ErrorSample([np.ones(2), np.ones(2)], np.array(1, np.int32), raises="rank 2|in the range")


def concat_shape(concat_dim, values):
    return concat_v2_shape(values, concat_dim)


@op(
    "Concat",
    "concat_dim: int32, values: N*T -> output: T",
    N=Int(min=2),
    T=Type(),
    traits={STATIC},
    shape=concat_shape,
)
def concat(concat_dim, values):
    """The values one after the other along `concat_dim`."""
    return _concatenated(values, concat_dim)


@concat.known
def _(node, known):
    return _joined([known(x) for x in node.inputs[1:]])


@concat.gradient
def _(node, dy):
    return [None, *_parts_of(dy, node.inputs[1:], node.inputs[0])]


@concat.lower
def _(e, axis, values):
    if axis.value is None:
        raise Decline("the axis is not known")
    return _assembled(e, values, int(axis.value))


@concat.samples
def _(rng):
    yield Sample(np.array(1, np.int32), [rng.normal(size=(2, 3)), rng.normal(size=(2, 1))])


# The gradient of a concatenation.  From 16 parts on a split is cheaper than so many slices.
_MANY = 16


def _parts_of(dy, values, axis):
    if isinstance(dy, IndexedSlices):
        known, rank = constant_value(axis), values[0].shape.rank
        if known is not None and (known >= 0 or rank is not None):
            at = int(known) if known >= 0 else int(known) % rank
            return _split_columns(dy, values, at) if at else _split_rows(dy, values)

    if axis.dtype.base is not int32:
        axis = cast.cast(axis, DstT=int32)
    at = axis % reshape.rank_of(values[0])
    sizes = _shapes_of(values)
    if len(sizes) > _MANY:
        whole = constant.pack(sizes, axis=1)
        along = reshape.squeeze(slice.slice_(whole, [at, 0], [1, -1]))
        return split.split_v(dy, along, at, num_split=len(values))
    return [slice.slice_(dy, o, s) for o, s in zip(concat_offset(at, sizes), sizes)]


def _shapes_of(values):
    if all(v.shape.is_full for v in values):
        return [reshape.shape_of(v) for v in values]
    return reshape.shape_n(list(values))


def _split_columns(dy: IndexedSlices, values: list[Tensor], axis: int) -> list[IndexedSlices]:
    """Each input gets all rows, and of each row its own part."""
    sizes = _shapes_of(values)
    out = []
    for offset, size in zip(concat_offset(axis, sizes), sizes):
        rest = slice.slice_(size, [1], [-1])
        part = slice.slice_(dy.values, offset, concat_v2([[-1], rest], 0))
        out.append(IndexedSlices(part, dy.indices, size))
    return out


def _split_rows(dy: IndexedSlices, values: list[Tensor]) -> list[IndexedSlices]:
    """Each input gets the rows whose indices fall into its range."""
    kind = dy.indices.dtype.base
    start = constant.constant(0, kind)
    out = []
    for size in _shapes_of(values):
        end = start + cast.cast(size[0], DstT=kind)
        inside = logical.logical_and(dy.indices >= start, dy.indices < end)
        chosen = reshape.squeeze(where.where(inside), [1])
        indices = gather.gather(dy.indices, chosen) - start
        out.append(IndexedSlices(gather.gather(dy.values, chosen), indices, size))
        start = end
    return out


# -- ConcatOffset -------------------------------------------------------------------------------
def offset_shape(concat_dim, shape):
    return [s.plain() for s in shape]


@op(
    "ConcatOffset",
    "concat_dim: int32, shape: N*int32 -> offset: N*int32",
    attrs={"N": Int(min=2)},
    shape=offset_shape,
)
def concat_offset(concat_dim, shape):
    """Where each of the inputs of a concatenation begins in the result, from their shapes."""
    require(
        concat_dim.ndim == 0,
        f"Concat dim tensor should be a scalar integer, but got shape {list(concat_dim.shape)}",
    )
    for i, s in enumerate(shape):
        require(s.ndim == 1, f"input {i} should be a vector, but got shape {list(s.shape)}")
    rank, at, first = shape[0].size, int(concat_dim), shape[0]
    require(-rank <= at < rank, f"Concat dim is out of range: {at} vs. {rank}")
    at %= rank
    out, start = [], 0
    for i, s in enumerate(shape):
        require(s.size == rank, f"input {i} should contain {rank} elements, but got {s.size}")
        same = all(a == b for j, (a, b) in enumerate(zip(first, s)) if j != at)
        require(
            same,
            f"All dimensions except {at} must match. Input {i} has shape "
            f"[{' '.join(map(str, s))}] and doesn't match input 0 with shape "
            f"[{' '.join(map(str, first))}].",
        )
        offset = np.zeros(rank, np.int32)
        offset[at] = start
        start += int(s[at])
        out.append(offset)
    return out


concat_offset.no_gradient()


@concat_offset.samples
def _(rng):
    shapes = [np.array([2, 3, 4], np.int32), np.array([2, 5, 4], np.int32)]
    yield Sample(np.array(1, np.int32), shapes, grad=False)
    yield Sample(np.array(-2, np.int32), shapes, grad=False)
    yield ErrorSample(np.array(0, np.int32), shapes, raises="All dimensions except 0 must match")
    yield ErrorSample(np.array(3, np.int32), shapes, raises="out of range: 3 vs. 3")


# -- ParallelConcat -----------------------------------------------------------------------------
def parallel_shape(values, *, shape):
    require(shape.is_full, "shape attr must be fully defined.")
    row = replaced(shape, 0, 1)
    for v in values:
        require(v.rank is None or v.sizes[0] in (None, 1), "Size of first dimension must be 1.")
        row = merge(v, row)
    return shape


@op(
    "ParallelConcat",
    "values: N*T -> output: T",
    shape=parallel_shape,
    attrs={"N": Int(min=1), "T": Type(), "shape": ShapeAttr()},
)
def parallel_concat(values, *, shape):
    """Rows of size 1 along the first axis, joined; the shape of the result is known before."""
    return np.concatenate(values, axis=0)


@parallel_concat.samples
def _(rng):
    yield Sample([rng.normal(size=(1, 3)), rng.normal(size=(1, 3))], shape=[2, 3], grad=False)
