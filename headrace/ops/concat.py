"""Tensors joined along an axis, and taken apart again: Concat, ConcatV2, ConcatOffset,
ParallelConcat, Split, SplitV."""

from __future__ import annotations

import numpy as np

from headrace.core.dtypes import INDEX, int32, int64
from headrace.core.errors import require
from headrace.core.shapes import UNKNOWN, Dim, make_shape, show
from headrace.graph.tensor import Tensor
from headrace.ops import constant, reshape, slice
from headrace.ops.constants import constant_value
from headrace.ops.declare import op
from headrace.ops.emit import Decline
from headrace.ops.indexed_slices import IndexedSlices
from headrace.ops.samples import ErrorSample, Sample
from headrace.ops.shape_checks import (
    axis_in,
    divided,
    merge,
    replaced,
    scalar_value,
    with_rank,
    with_rank_at_least,
)
from headrace.ops.signature import Int, ShapeAttr, Type


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
    require(
        axis.ndim == 0,
        f"concat_dim tensor should be a scalar integer, but got shape {list(axis.shape)}",
    )
    first, axis = values[0], int(axis)
    rank = first.ndim
    require(
        -rank <= axis < rank,
        "ConcatOp : Expected concatenating dimensions in the range "
        f"[{-rank}, {rank}), but got {axis}",
    )
    axis %= rank
    for i, v in enumerate(values):
        against = f"shape[0] = {_text(first)} vs. shape[{i}] = {_text(v)}"
        require(v.ndim == rank, f"ConcatOp : Ranks of all input tensors should match: {against}")
        same = all(a == b for j, (a, b) in enumerate(zip(first.shape, v.shape)) if j != axis)
        require(same, f"ConcatOp : Dimensions of inputs should match: {against}")
    return np.concatenate(values, axis=axis)


def _text(array):
    return show(make_shape(array.shape))


@op("ConcatV2", "values: N*T, axis: Tidx -> output: T", N=Int(min=2), T=Type(),
    Tidx=Type(INDEX, default=int32), shape=concat_v2_shape)  # fmt: skip
def concat_v2(values, axis):
    """The values one after the other along `axis`."""
    return _concatenated(values, axis)


@concat_v2.gradient
def _(node, dy):
    return [*_parts_of(dy, node.inputs[:-1], node.inputs[-1]), None]


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
    yield ErrorSample([np.ones((2, 3)), np.ones((2, 2))], np.array(0, np.int32),
                      raises="must be equal|should match")  # fmt: skip
    yield ErrorSample([np.ones(2), np.ones(2)], np.array(1, np.int32), raises="rank 2|in the range")


def concat_shape(concat_dim, values):
    return concat_v2_shape(values, concat_dim)


@op("Concat", "concat_dim: int32, values: N*T -> output: T", N=Int(min=2), T=Type(),
    shape=concat_shape)  # fmt: skip
def concat(concat_dim, values):
    """The values one after the other along `concat_dim`."""
    return _concatenated(values, concat_dim)


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
        return _slices_of_rows(dy, values, axis)
    from headrace.ops.cast import cast

    if axis.dtype.base is not int32:
        axis = cast(axis, DstT=int32)
    at = axis % reshape.rank_of(values[0])
    sizes = _shapes_of(values)
    if len(sizes) > _MANY:
        whole = constant.pack(sizes, axis=1)
        along = reshape.squeeze(slice.slice_(whole, [at, 0], [1, -1]))
        return split_v(dy, along, at, num_split=len(values))
    return [slice.slice_(dy, o, s) for o, s in zip(concat_offset(at, sizes), sizes)]


def _shapes_of(values):
    if all(v.shape.is_full for v in values):
        return [reshape.shape_of(v) for v in values]
    return reshape.shape_n(list(values))


def _slices_of_rows(dy: IndexedSlices, values, axis):
    known = constant_value(axis)
    if known is None:
        raise ValueError("Can only compute IndexedSlices gradient with statically-known concat_dim")
    at = int(known)
    if at < 0:
        if values[0].shape.rank is None:
            raise ValueError(
                "Can only compute IndexedSlices gradient with negative concat_dim when first value "
                "rank is statically-known."
            )
        at %= values[0].shape.rank
    return _split_columns(dy, values, at) if at > 0 else _split_rows(dy, values)


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
    from headrace.ops import cast, gather, logical, where

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


@op("ConcatOffset", "concat_dim: int32, shape: N*int32 -> offset: N*int32", attrs={"N": Int(min=2)},
    shape=offset_shape)  # fmt: skip
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


# -- Split --------------------------------------------------------------------------------------
def split_shape(split_dim, value, *, num_split):
    at = scalar_value(split_dim)
    if value.rank is None:
        return [UNKNOWN] * num_split
    if at is None:
        return [make_shape((None,) * value.rank)] * num_split
    require(value.rank > 0, "Can't split scalars: Shape must be at least rank 1 but is rank 0")
    at = axis_in(at, value.rank)
    size = value.sizes[at]
    require(
        size is None or size % num_split == 0,
        f"Dimension size must be evenly divisible by {num_split} but is {size}\n\tNumber of ways "
        "to split should evenly divide the split dimension",
    )
    return [replaced(value, at, divided(size, num_split))] * num_split


def _checked_axis(split_dim, rank):
    axis = int(split_dim.item())
    require(
        -rank <= axis < rank,
        f"-input rank(-{rank}) <= split_dim < input rank ({rank}), but got {axis}",
    )
    return axis % rank


@op("Split", "split_dim: int32, value: T -> output: num_split*T", num_split=Int(min=1), T=Type(),
    shape=split_shape)  # fmt: skip
def split(split_dim, value, *, num_split):
    """`value` in `num_split` equal parts along an axis."""
    require(split_dim.ndim == 0, f"split_dim must be a scalar but has rank {split_dim.ndim}")
    axis = _checked_axis(split_dim, value.ndim)
    size = value.shape[axis]
    require(
        size % num_split == 0,
        "Number of ways to split should evenly divide the split dimension, but got split_dim "
        f"{axis} (size = {size}) and num_split {num_split}",
    )
    return [np.asarray(part, order="C") for part in np.split(value, num_split, axis)]


@split.gradient
def _(node, *dys):
    return None, joined(dys, node.inputs[0])


def joined(parts, axis):
    """The parts along `axis`; one part alone is itself."""
    return concat_v2(list(parts), axis) if len(parts) > 1 else parts[0]


@split.lower
def _(e, split_dim, value, *, num_split):
    if split_dim.value is None:
        raise Decline("the axis is not known")
    axis = int(split_dim.value) % len(value.shape)
    size = value.shape[axis] // num_split
    return [slice.taken(e, value, axis, n * size, size) for n in range(num_split)]


@split.samples
def _(rng):
    yield Sample(np.array(0, np.int32), rng.normal(size=(4, 3)), num_split=2)
    yield Sample(np.array(-1, np.int32), rng.normal(size=(4, 3)), num_split=3)
    yield Sample(np.array(0, np.int32), rng.normal(size=(4, 3)), num_split=1)
    yield Sample(np.array(0, np.int32), np.zeros((0, 3)), num_split=2, note="empty")
    yield ErrorSample(np.array(0, np.int32), np.ones((4, 3)), num_split=3, raises="evenly divi")
    yield ErrorSample(np.array(2, np.int32), np.ones((4, 3)), num_split=3, raises="rank|range")


def split_v_shape(value, size_splits, split_dim, *, num_split):
    at = scalar_value(split_dim)
    if value.rank is None:
        return [UNKNOWN] * num_split
    require(value.rank > 0, "Can't split scalars")
    if at is None:
        return [make_shape((None,) * value.rank)] * num_split
    at = axis_in(at, value.rank)
    sizes = size_splits.value
    if sizes is None:
        return [replaced(value, at, None)] * num_split
    require(sizes.size == num_split, "Length of size_splits should be equal to num_outputs")
    found = _piece_sizes([int(s) for s in sizes.ravel()], value.sizes[at])
    return [replaced(value, at, s) for s in found]


def _piece_sizes(sizes, whole):
    """The sizes of the pieces; -1 is what remains (None where `whole` is unknown)."""
    require(sizes.count(-1) < 2, "size_splits can only have one -1")
    total = sum(s for s in sizes if s != -1)
    rest = None if whole is None else whole - total
    out = [rest if s == -1 else s for s in sizes]
    for i, s in enumerate(out):
        require(s is None or s >= 0, f"Split size at index {i} must be >= 0. Got: {s}")
    fits = whole is None or (total <= whole if -1 in sizes else total == whole)
    text = ",".join(map(str, sizes))
    require(fits, f"can't split axis of size {whole} into pieces of size [{text}]")
    return out


@op("SplitV", "value: T, size_splits: Tlen, split_dim: int32 -> output: num_split*T",
    num_split=Int(min=1), T=Type(), Tlen=Type(INDEX, default=int64),
    shape=split_v_shape)  # fmt: skip
def split_v(value, size_splits, split_dim, *, num_split):
    """`value` in parts of the given sizes along an axis; one size may be -1: what remains."""
    require(split_dim.size == 1, "split_dim_tensor must have exactly one element.")
    require(
        size_splits.shape == (num_split,),
        "size of the split_tensor must be 1-D and have the same elements as outputs got "
        f"{size_splits.ndim} -D and {size_splits.size} elements",
    )
    axis = _checked_axis(split_dim, value.ndim)
    sizes, whole = [int(s) for s in size_splits], value.shape[axis]
    if num_split == 1:
        require(
            sizes[0] in (-1, whole),
            "If there is only one output, it must have the same size as the input. Input size: "
            f"{whole} output size: {sizes[0]}",
        )
    require(sizes.count(-1) < 2, "There can only be one -1 in the input.")
    total = sum(s for s in sizes if s != -1)
    require(
        total <= whole if -1 in sizes else total == whole,
        "Determined shape must either match input shape along split_dim exactly if fully "
        "specified, or be less than the size of the input along split_dim if not fully specified.  "
        f"Got: {total}",
    )
    ends = np.cumsum(_piece_sizes(sizes, whole))[:-1]
    return [np.asarray(part, order="C") for part in np.split(value, ends, axis)]


@split_v.gradient
def _(node, *dys):
    return joined(dys, node.inputs[2]), None, None


@split_v.lower
def _(e, value, size_splits, split_dim):
    if size_splits.value is None or split_dim.value is None:
        raise Decline("the sizes are not known")
    axis = int(split_dim.value.item()) % len(value.shape)
    out, start = [], 0
    for size in _piece_sizes([int(s) for s in size_splits.value], value.shape[axis]):
        out.append(slice.taken(e, value, axis, start, size))
        start += size
    return out


@split_v.samples
def _(rng):
    zero = np.array(0, np.int32)
    yield Sample(rng.normal(size=(4, 3)), np.array([1, 3]), zero, num_split=2)
    yield Sample(rng.normal(size=(4, 3)), np.array([1, -1, 0], np.int32), zero, num_split=3)
    yield Sample(rng.normal(size=(4, 3)), np.array([3]), np.array(-1, np.int32), num_split=1)
    yield ErrorSample(np.ones((4, 3)), np.array([1, 2]), zero, num_split=2,
                      raises="can't split|Determined shape")  # fmt: skip
    yield ErrorSample(np.ones((4, 3)), np.array([-1, -1]), zero, num_split=2, raises="one -1")


# -- ParallelConcat -----------------------------------------------------------------------------
def parallel_shape(values, *, shape):
    require(shape.is_full, "shape attr must be fully defined.")
    row = replaced(shape, 0, 1)
    for v in values:
        require(v.rank is None or v.sizes[0] in (None, 1), "Size of first dimension must be 1.")
        row = merge(v, row)
    return shape


@op("ParallelConcat", "values: N*T -> output: T", shape=parallel_shape,
    attrs={"N": Int(min=1), "T": Type(), "shape": ShapeAttr()})  # fmt: skip
def parallel_concat(values, *, shape):
    """Rows of size 1 along the first axis, joined; the shape of the result is known before."""
    return np.concatenate(values, axis=0)


@parallel_concat.samples
def _(rng):
    yield Sample([rng.normal(size=(1, 3)), rng.normal(size=(1, 3))], shape=[2, 3], grad=False)
