"""A block of a tensor: Slice.  (Steps, masks and Python's [] are in ops.array.slices.strided_slice.)"""

from __future__ import annotations

import numpy as np

from headrace.core.dtypes import INDEX
from headrace.core.errors import require
from headrace.core.modules import late
from headrace.core.shapes import UNKNOWN, make_shape
from headrace.core.sizes import is_whole, vector, whole
from headrace.ops.array import constant, reshape
from headrace.ops.declaration.declare import op
from headrace.ops.declaration.emit import Decline
from headrace.ops.declaration.samples import ErrorSample, Sample
from headrace.ops.declaration.shape_checks import merge, with_rank, with_size
from headrace.ops.declaration.signature import Type

concat = late("headrace.ops.array.concat")
pad = late("headrace.ops.array.pad")

_OUTSIDE = "Expected begin in [0, {extent}), but got {value}"


def slice_shape(input, begin, size):
    counts = merge(with_rank(begin, 1), with_rank(size, 1))
    rank = with_size(input.rank, counts.sizes[0])
    if rank is None:
        return UNKNOWN
    input = with_rank(input, rank)
    begins, sizes = begin.value, size.value
    if begins is not None and sizes is not None:
        return make_shape(
            _extent(i, s, whole(b), whole(n)) for i, (s, b, n) in enumerate(zip(input.sizes, begins, sizes))
        )
    if sizes is not None and begins is None:
        return make_shape(None if n < 0 else int(n) for n in sizes)
    known = size.as_sizes
    return make_shape((None,) * rank if known is None else known)


def _extent(axis, whole, begin, count):
    if count == -1:
        require(whole is None or begin <= whole, f"Expected begin[{axis}] in [0, {whole}], but got {begin}")
        return None if whole is None else whole - begin
    require(count >= -1, f"Expected size[{axis}] >= -1, but got {count}")
    if whole is not None:
        require(begin + count <= whole, f"Expected size[{axis}] in [0, {whole - begin}], but got {count}")
    return count


def bounds(shape, begin, size):
    """The Python slices of a block, each inside its dimension."""
    out = []
    for i, (most, b, n) in enumerate(zip(shape, begin.tolist(), size.tolist())):
        n = most - b if n == -1 else n
        if most == 0:
            require(
                b == 0 and n == 0,
                f"Expected begin[{i}] == 0 (got {b}) and size[{i}] == 0 (got {n}) when "
                f"input.dim_size({i}) == 0",
            )
        require(0 <= b <= most, f"Expected begin[{i}] in [0, {most}], but got {b}")
        require(0 <= n and b + n <= most, f"Expected size[{i}] in [0, {most - b}], but got {n}")
        out.append(np.s_[b : b + n])
    return tuple(out)


@op("Slice", "input: T, begin: Index, size: Index -> output: T", T=Type(), Index=INDEX, shape=slice_shape)
def slice_(input, begin, size):
    """The block that starts at `begin` and extends by `size`; a size -1 reaches to the end."""
    require(
        begin.shape == size.shape == (input.ndim,),
        f"Expected begin and size arguments to be 1-D tensors of size {input.ndim}, but got shapes "
        f"{list(begin.shape)} and {list(size.shape)} instead.",
    )
    return np.asarray(input[bounds(input.shape, begin, size)], order="C")


@slice_.gradient
def _(node, dy):
    x, begin, _ = node.inputs
    kind = begin.dtype.base
    column = constant.pack([reshape.rank_of(x), 1])
    end = reshape.shape_of(x, kind) - reshape.shape_of(node.outputs[0], kind) - begin
    paddings = concat.concat_v2([reshape.reshape(begin, column), reshape.reshape(end, column)], 1)
    return pad.pad(dy, paddings), None, None


def taken(e, x, axis, start, size):
    """The part of an operand from `start` on along an axis, as a stage."""
    shape = [size if i == axis else n for i, n in enumerate(x.shape)]
    return e.compute(shape, lambda *i: x[tuple(k + start if j == axis else k for j, k in enumerate(i))])


@slice_.lower
def _(e, x, begin, size):
    if size.value is None:
        raise Decline("the block is not known")
    starts, sizes = e.numbers(begin), [whole(n) for n in size.value]
    known = vector([b if is_whole(b) else 0 for b in starts], np.int64)
    block = bounds(x.shape, known, size.value)
    for axis, (start, n) in enumerate(zip(starts, sizes)):
        if is_whole(start):
            starts[axis] = block[axis].start
        elif n < 0:
            raise Decline("the block is not known")
        else:
            starts[axis] = e.checked(start, x.shape[axis] - n + 1, _OUTSIDE)
    shape = [b.stop - b.start for b in block]
    return e.compute(shape, lambda *i: x[tuple(k + start for k, start in zip(i, starts))])


@slice_.samples
def _(rng):
    yield Sample(rng.normal(size=(4, 3)), np.array([1, 0], np.int32), np.array([2, -1], np.int32))
    yield Sample(rng.normal(size=(4, 3)), np.array([4, 0]), np.array([0, 2]), note="empty")
    yield Sample(np.array(1.0), np.array([], np.int32), np.array([], np.int32), note="scalar")
    yield ErrorSample(np.ones((4, 3)), np.array([1, 0]), np.array([4, 1]), raises=r"size\[0\] in")
    yield ErrorSample(np.ones((4, 3)), np.array([-1, 0]), np.array([1, 1]), raises="begin")
    yield ErrorSample(np.ones((4, 3)), np.array([1]), np.array([1]), raises="of size 2|must be")
