"""A tensor in parts along an axis: Split, SplitV."""

from __future__ import annotations

import numpy as np

from headrace.core.errors import require
from headrace.core.modules import late
from headrace.core.shapes import UNKNOWN, make_shape
from headrace.core.sizes import whole
from headrace.ops.array.slices import slice
from headrace.ops.declaration.declare import op
from headrace.ops.declaration.emit import Decline
from headrace.ops.declaration.samples import ErrorSample, Sample
from headrace.ops.declaration.shape_checks import axis_in, divided, replaced, scalar_value
from headrace.ops.declaration.signature import INDEX64, Int, Type

concat = late("headrace.ops.array.concat")


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
    require(-rank <= axis < rank, f"-input rank(-{rank}) <= split_dim < input rank ({rank}), but got {axis}")
    return axis % rank


@op(
    "Split",
    "split_dim: int32, value: T -> output: num_split*T",
    num_split=Int(min=1),
    T=Type(),
    shape=split_shape,
)
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
    return concat.concat_v2(list(parts), axis) if len(parts) > 1 else parts[0]


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


@op(
    "SplitV",
    "value: T, size_splits: Tlen, split_dim: int32 -> output: num_split*T",
    num_split=Int(min=1),
    T=Type(),
    Tlen=INDEX64,
    shape=split_v_shape,
)
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
    for size in _piece_sizes([whole(s) for s in size_splits.value], value.shape[axis]):
        out.append(slice.taken(e, value, axis, start, size))
        start += size
    return out


@split_v.samples
def _(rng):
    zero = np.array(0, np.int32)
    yield Sample(rng.normal(size=(4, 3)), np.array([1, 3]), zero, num_split=2)
    yield Sample(rng.normal(size=(4, 3)), np.array([1, -1, 0], np.int32), zero, num_split=3)
    yield Sample(rng.normal(size=(4, 3)), np.array([3]), np.array(-1, np.int32), num_split=1)
    yield ErrorSample(
        np.ones((4, 3)), np.array([1, 2]), zero, num_split=2, raises="can't split|Determined shape"
    )
    yield ErrorSample(np.ones((4, 3)), np.array([-1, -1]), zero, num_split=2, raises="one -1")
