"""Elements in another order along an axis: Reverse, ReverseV2, ReverseSequence, Roll."""

from __future__ import annotations

import numpy as np

from headrace.core import dtypes
from headrace.core.dtypes import INDEX, named
from headrace.core.errors import require
from headrace.core.shapes import UNKNOWN, make_shape, show
from headrace.ops.declaration.declare import op
from headrace.ops.declaration.emit import Decline
from headrace.ops.declaration.samples import ErrorSample, Sample
from headrace.ops.declaration.shape_checks import (
    merge,
    merge_sizes,
    replaced,
    with_rank,
    with_rank_at_least,
    with_rank_at_most,
    with_size,
)
from headrace.ops.declaration.signature import INDEX32, INDEX64, Int, Type

_BEFORE_BFLOAT = named("uint8 int8 uint16 int16 int32 int64 bool")
_AFTER_BFLOAT = named("float16 float32 float64 complex64 complex128 string")
_FEW = "reverse does not work on tensors with more than 8 dimensions"


def reverse_shape(tensor, dims):
    dims = with_rank(dims, 1)
    rank = with_size(tensor.rank, dims.sizes[0])
    require(rank is None or rank <= 8, _FEW)
    return UNKNOWN if rank is None else with_rank(tensor, rank)


@op("Reverse", "tensor: T, dims: bool -> output: T", T=(*_BEFORE_BFLOAT, *_AFTER_BFLOAT), shape=reverse_shape)
def reverse(tensor, dims):
    """The tensor, reversed along the axes whose entry in `dims` is true."""
    if not tensor.ndim:  # TF does not look at the axes of a scalar
        return tensor
    require(dims.ndim == 1, f"'dims' must be 1-dimension, not {dims.ndim}")
    require(
        dims.size == tensor.ndim,
        "'dims' must have the same number of values as 'input' has dimensions. 'input' has "
        f"{tensor.ndim}'dims' has {dims.size} values",
    )
    return np.asarray(np.flip(tensor, tuple(int(i) for i in np.flatnonzero(dims))), order="C")


@reverse.gradient
def _(node, dy):
    return reverse(dy, node.inputs[1]), None


@reverse.samples
def _(rng):
    yield Sample(rng.normal(size=(2, 3)), np.array([False, True]))
    yield Sample(np.array(1.0), np.zeros(0, bool), note="scalar")
    yield ErrorSample(np.ones((2, 3)), np.array([True]), raises="same number of values|must be")


def _checked_axes(axes, rank):
    out = []
    for i, axis in enumerate(int(a) for a in axes):
        found = axis + rank if axis < 0 else axis
        require(0 <= found < rank, f"'axis'[{i}] = {axis} is out of valid range [0, {rank - 1}")
        require(found not in out, f"axis {found} specified more than once.")
        out.append(found)
    return tuple(out)


def reverse_v2_shape(tensor, axis):
    with_rank(axis, 1)
    require(tensor.rank is None or tensor.rank <= 8, _FEW)
    if tensor.rank is not None and axis.value is not None:
        _checked_axes(axis.value, tensor.rank)
    return tensor.plain()


@op(
    "ReverseV2",
    "tensor: T, axis: Tidx -> output: T",
    Tidx=INDEX32,
    T=(*_BEFORE_BFLOAT, dtypes.bfloat16, *_AFTER_BFLOAT),
    shape=reverse_v2_shape,
)
def reverse_v2(tensor, axis):
    """The tensor, reversed along the axes given."""
    if not tensor.ndim:
        return tensor
    require(axis.ndim == 1, f"'dims' must be 1-dimension, not {axis.ndim}")
    return np.asarray(np.flip(tensor, _checked_axes(axis, tensor.ndim)), order="C")


@reverse_v2.gradient
def _(node, dy):
    return reverse_v2(dy, node.inputs[1]), None


@reverse_v2.lower
def _(e, x, axis):
    if axis.value is None:
        raise Decline("the axes are not known")
    turned = _checked_axes(axis.value, len(x.shape)) if x.shape else ()

    def element(*i):
        return x[tuple(n - 1 - k if a in turned else k for a, (k, n) in enumerate(zip(i, x.shape)))]

    return e.compute(x.shape, element)


@reverse_v2.samples
def _(rng):
    yield Sample(rng.normal(size=(2, 3)), np.array([1], np.int32))
    yield Sample(rng.normal(size=(2, 3)), np.array([-1, 0]))
    yield Sample(rng.normal(size=(2, 3)), np.array([], np.int32), note="no axis")
    yield Sample(np.zeros((0, 3)), np.array([0]), note="empty")
    yield Sample(np.array([b"a", b"b"], object), np.array([0]), note="text")
    yield ErrorSample(np.ones((2, 3)), np.array([2]), raises=r"'axis'\[0\] = 2 is out of valid")
    yield ErrorSample(np.ones((2, 3)), np.array([0, -2]), raises="specified more than once")


# -- ReverseSequence ----------------------------------------------------------------------------
def sequence_shape(input, seq_lengths, *, seq_dim, batch_dim):
    lengths = with_rank(seq_lengths, 1)
    if input.rank is None:
        return UNKNOWN
    rank = input.rank
    _check_dims(seq_dim, batch_dim, rank, "input rank:")
    return replaced(input, batch_dim, merge_sizes(input.sizes[batch_dim], lengths.sizes[0]))


def _check_dims(seq_dim, batch_dim, rank, what):
    """A negative one is no dimension from the end: TF's kernel reads memory that is not its own."""
    for name, dim in (("batch_dim", batch_dim), ("seq_dim", seq_dim)):
        require(0 <= dim < rank, f"{name} must be < {what} {dim} vs. {rank}, and not negative")


@op(
    "ReverseSequence",
    "input: T, seq_lengths: Tlen -> output: T",
    seq_dim=Int(),
    batch_dim=0,
    T=Type(),
    Tlen=INDEX64,
    shape=sequence_shape,
)
def reverse_sequence(input, seq_lengths, *, seq_dim, batch_dim):
    """For every entry of the batch, its first `seq_lengths` elements reversed, the rest kept."""
    rank = input.ndim
    require(seq_lengths.ndim == 1, f"seq_lens input must be 1-dim, not {seq_lengths.ndim}")
    require(batch_dim != seq_dim, f"batch_dim == seq_dim == {seq_dim}")
    _check_dims(seq_dim, batch_dim, rank, "input.dims()")
    count, size = input.shape[batch_dim], input.shape[seq_dim]
    require(
        seq_lengths.size == count,
        f"len(seq_lens) != input.dims({batch_dim}), ({seq_lengths.size} vs. {count})",
    )
    for i, n in enumerate(seq_lengths):
        require(n >= 0, f"seq_lens({i}) < 0")
        require(n <= size, f"seq_lens({i}) > input.dims({seq_dim})")
    place = np.arange(size)
    lengths = seq_lengths.reshape(-1, 1)
    source = np.where(place < lengths, lengths - 1 - place, place)  # [batch, sequence]
    index = source if batch_dim < seq_dim else source.T
    shape = [1] * rank
    shape[batch_dim], shape[seq_dim] = count, size
    return np.take_along_axis(input, index.reshape(shape), axis=seq_dim)


@reverse_sequence.gradient
def _(node, dy):
    a = node.attrs
    return reverse_sequence(dy, node.inputs[1], a["seq_dim"], a["batch_dim"]), None


@reverse_sequence.lower
def _(e, x, lengths, *, seq_dim, batch_dim):
    if seq_dim == batch_dim:
        raise Decline("a dimension along itself")
    size = x.shape[seq_dim]

    def element(*i):
        place = i[seq_dim]
        length = e.cast(lengths[i[batch_dim]], place.dtype)
        e.require(length >= 0, "seq_lens{at} < 0")
        e.require(length <= size, f"seq_lens{{at}} > input.dims({seq_dim})")
        source = list(i)
        source[seq_dim] = e.select(place < length, length - 1 - place, place)
        return x[tuple(source)]

    return e.compute(x.shape, element)


@reverse_sequence.samples
def _(rng):
    yield Sample(rng.normal(size=(3, 4)), np.array([2, 0, 4]), seq_dim=1)
    yield Sample(rng.normal(size=(4, 2, 3)), np.array([1, 3, 2], np.int32), seq_dim=0, batch_dim=2)
    yield Sample(np.zeros((0, 4)), np.array([], np.int32), seq_dim=1, note="empty")
    yield ErrorSample(np.ones((2, 3)), np.array([4, 0]), seq_dim=1, raises=r"seq_lens\(0\) > input")
    yield ErrorSample(np.ones((2, 3)), np.array([1]), seq_dim=1, raises="must be equal|len")
    yield ErrorSample(np.ones((2, 3)), np.array([1, 1]), seq_dim=2, raises="seq_dim must be <")
    yield ErrorSample(np.ones((2, 3)), np.array([1, 1]), seq_dim=-1, raises="not negative")


# -- Roll ---------------------------------------------------------------------------------------
def roll_shape(input, shift, axis):
    with_rank_at_least(input, 1)
    merge(with_rank_at_most(shift, 1), with_rank_at_most(axis, 1))
    return input.plain()


@op(
    "Roll",
    "input: T, shift: Tshift, axis: Taxis -> output: T",
    T=Type(),
    Tshift=INDEX,
    Taxis=INDEX,
    shape=roll_shape,
)
def roll(input, shift, axis):
    """The input, shifted along axes; what leaves at one end enters at the other."""
    require(input.ndim > 0, "input must be 1-D or higher")
    for what, value in (("shift", shift), ("axis", axis)):
        text = show(make_shape(value.shape))
        require(value.ndim <= 1, f"{what} must be a scalar or a 1-D vector. Found: {text}")
    require(shift.shape == axis.shape, "shift and axis must have the same size")
    axes = [int(a) + input.ndim if a < 0 else int(a) for a in axis.ravel()]
    for a in axes:
        require(0 <= a < input.ndim, f"axis {a} is out of range")
    return np.roll(input, tuple(int(s) for s in shift.ravel()), tuple(axes))


@roll.gradient
def _(node, dy):
    _, shift, axis = node.inputs
    return roll(dy, -shift, axis), None, None


@roll.lower
def _(e, x, shift, axis):
    if shift.value is None or axis.value is None:
        raise Decline("the shift is not known")
    back = [0] * len(x.shape)
    if any(not -len(back) <= along < len(back) for along in axis.value.ravel()):
        raise Decline("an axis that is none")
    for by, along in zip(shift.value.ravel(), axis.value.ravel()):
        back[int(along)] -= int(by)
    return e.compute(
        x.shape, lambda *i: x[tuple((k + b % n) % n if b and n else k for k, b, n in zip(i, back, x.shape))]
    )


@roll.samples
def _(rng):
    yield Sample(rng.normal(size=(4,)), np.array(1, np.int32), np.array(0, np.int32))
    yield Sample(rng.normal(size=(4, 3)), np.array([-5, 2]), np.array([0, -1]))
    yield Sample(rng.normal(size=(4, 3)), np.array([1, 1]), np.array([0, 0], np.int32))
    yield Sample(np.zeros((0, 3)), np.array(1), np.array(0), note="empty")
    yield ErrorSample(np.array(1.0), np.array(1), np.array(0), raises="at least rank 1|1-D or high")
    yield ErrorSample(np.ones(3), np.array([1, 1]), np.array(0), raises="same size|equal rank")
    yield ErrorSample(np.ones(3), np.array(1), np.array(1), raises="axis 1 is out of range")
