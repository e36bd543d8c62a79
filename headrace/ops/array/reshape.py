"""The same elements in the same order under another shape: Reshape, ExpandDims, Squeeze; and what a
tensor's shape is: Shape, ShapeN, Size, Rank, EnsureShape."""

from __future__ import annotations

import math
from math import prod

import numpy as np

from headrace.core.dtypes import DType, as_dtype, int32
from headrace.core.errors import require
from headrace.core.shapes import UNKNOWN, Shape, make_shape, show
from headrace.core.sizes import vector, whole
from headrace.graph.tensor import Tensor
from headrace.ops.array import constant
from headrace.ops.declaration import indexed_slices
from headrace.ops.declaration.declare import op
from headrace.ops.declaration.emit import Decline
from headrace.ops.declaration.samples import ErrorSample, Sample
from headrace.ops.declaration.shape_checks import described_by, divided, merge
from headrace.ops.declaration.shape_rules import scalar
from headrace.ops.declaration.signature import INDEX32, Int, Ints, ShapeAttr, Type
from headrace.ops.declaration.traits import ALIAS, OF_SHAPE


# -- Shape, Size, Rank --------------------------------------------------------------------------
def shape_of(x: Tensor, out_type: DType = int32, name: str | None = None) -> Tensor:
    """The shape of `x` as a vector: a constant where it is known, else a Shape node."""
    if x.shape.is_full:
        return constant.constant(x.shape.as_list(), out_type, name=name or "Shape")
    return shape(x, out_type, name=name)


def rank_of(x: Tensor, name: str | None = None) -> Tensor:
    if x.shape.rank is not None:
        return constant.constant(x.shape.rank, int32, name=name or "Rank")
    return rank(x, name=name)


def size_of(x: Tensor, out_type: DType = int32, name: str | None = None) -> Tensor:
    if x.shape.is_full:
        return constant.constant(x.shape.num_elements(), out_type, name=name or "Size")
    return size(x, out_type, name=name)


def _fits(number, out_type, what):
    if number >> 31 and number > np.iinfo(as_dtype(out_type).numpy).max:
        require(False, f"{what}: {number} does not fit into {as_dtype(out_type).name}")


def _sizes(x, out_type):
    for extent in x.shape:
        _fits(extent, out_type, "a size of the input")
    return np.array(x.shape, dtype=np.int64)


def _rank_vector(x):
    return make_shape((x.rank,))


@op(
    "Shape", "input: T -> output: out_type", T=Type(), out_type=INDEX32, traits={OF_SHAPE}, shape=_rank_vector
)
def shape(input, *, out_type):
    """The sizes of the dimensions."""
    return _sizes(input, out_type)


shape.no_gradient()


@shape.known
def _(node, known):
    return node.inputs[0].shape._sizes


@shape.lower
def _(e, input, *, out_type):
    return e.known(vector(input.shape, out_type.numpy), out_type)


@shape.samples
def _(rng):
    yield Sample(rng.normal(size=(2, 3)), grad=False)
    yield Sample(np.zeros((0, 3)), out_type=as_dtype("int64"), grad=False)
    yield Sample(np.array(b"text", dtype=object), grad=False)


@op(
    "ShapeN",
    "input: N*T -> output: N*out_type",
    N=Int(min=1),
    T=Type(),
    out_type=INDEX32,
    traits={OF_SHAPE},
    shape=lambda input: [_rank_vector(x) for x in input],
)
def shape_n(input, *, out_type):
    """The sizes of the dimensions of each input."""
    return [_sizes(x, out_type) for x in input]


shape_n.no_gradient()


@shape_n.lower
def _(e, input, *, out_type):
    return [e.known(vector(x.shape, out_type.numpy), out_type) for x in input]


@shape_n.samples
def _(rng):
    yield Sample([rng.normal(size=(2, 3)), np.array(1.0), np.zeros((0,))], grad=False)


@op("Size", "input: T -> output: out_type", T=Type(), out_type=INDEX32, traits={OF_SHAPE}, shape=scalar)
def size(input, *, out_type):
    """The number of elements."""
    _fits(input.size, out_type, "Number of elements was larger than representable")
    return np.array(input.size, dtype=np.int64)


size.no_gradient()


@size.known
def _(node, known):
    return node.inputs[0].shape.num_elements()


@size.lower
def _(e, input, *, out_type):
    return e.known(vector([prod(input.shape)], out_type.numpy).reshape(()), out_type)


@size.samples
def _(rng):
    yield Sample(rng.normal(size=(2, 3)), grad=False)
    yield Sample(np.zeros((0, 3)), out_type=as_dtype("int64"), grad=False)


@op("Rank", "input: T -> output: int32", T=Type(), traits={OF_SHAPE}, shape=scalar)
def rank(input):
    """The number of dimensions."""
    return np.array(input.ndim, dtype=np.int32)


rank.no_gradient()


@rank.known
def _(node, known):
    return node.inputs[0].shape.rank


@rank.lower
def _(e, input):
    return e.known(np.array(len(input.shape), np.int32))


@rank.samples
def _(rng):
    yield Sample(rng.normal(size=(2, 3)), grad=False)
    yield Sample(np.array(7), grad=False)


# -- Reshape ------------------------------------------------------------------------------------
def reshape_shape(tensor, shape):
    out = described_by(shape)
    if out.rank is None or tensor.rank is None:
        return out
    have, open_here = _elements(tensor)
    want, open_there = _elements(out)
    match open_here, open_there:
        case 0, 0:
            require(
                have == want,
                f"Cannot reshape a tensor with {have} elements to shape {show(out)} ({want} elements)",
            )
        case 0, 1:
            missing = divided(have, want)
            return make_shape(missing if s is None else s for s in out.sizes)
        case 1, 0 if have > 0:
            divided(want, have)
    return out


def _elements(shape: Shape) -> tuple[int, int]:
    """The product of the known sizes, and how many are unknown (none matters beside a 0)."""
    known = [s for s in shape.sizes if s is not None]
    return math.prod(known), 0 if 0 in known else len(shape.sizes) - len(known)


def resolved(sizes, extents):
    """The sizes that Reshape gives an input of these extents: -1 stands for the missing one."""
    sizes = [whole(s) for s in sizes]
    unknown = [i for i, s in enumerate(sizes) if s == -1]
    if len(unknown) > 1:
        require(False, "Only one input size may be -1, not both {} and {}".format(*unknown))
    for i, s in enumerate(sizes):
        require(s >= -1, f"Size {i} must be non-negative, not {s}")
    count = math.prod(extents)
    if unknown:
        # A size 0 on both sides is left out, so that the others still say what is missing.
        known = math.prod(s for s in sizes if s > 0)
        has_zero = 0 in sizes
        given = math.prod(e for e in extents if e > 0 or not has_zero)
        require(
            given % known == 0 or (has_zero and 0 in extents),
            f"Input to reshape is a tensor with {given} values, but the requested shape requires "
            f"a multiple of {known}",
        )
        sizes[unknown[0]] = given // known
    require(
        math.prod(sizes) == count,
        f"Input to reshape is a tensor with {count} values, but the requested shape has {math.prod(sizes)}",
    )
    return tuple(sizes)


@op(
    "Reshape",
    "tensor: T, shape: Tshape -> output: T",
    T=Type(),
    Tshape=INDEX32,
    traits={ALIAS},
    shape=reshape_shape,
)
def reshape(tensor, shape):
    """The elements of `tensor` in their order, under `shape`; one size may be -1: what remains."""
    require(shape.ndim == 1, f"sizes input must be 1-D, not {list(shape.shape)}")
    return tensor.reshape(resolved(shape, tensor.shape))


@reshape.gradient
def _(node, dy):
    return reshape(indexed_slices.dense(dy), shape_of(node.inputs[0])), None


@reshape.lower
def _(e, x, sizes):
    if sizes.value is None:
        raise Decline("the shape is not known")
    return e.view(x, resolved(sizes.value, x.shape))


@reshape.samples
def _(rng):
    yield Sample(rng.normal(size=(2, 6)), np.array([3, -1], np.int32))
    yield Sample(rng.normal(size=(2, 6)), np.array([12]))
    yield Sample(rng.normal(size=(1, 1)), np.array([], np.int32), note="to scalar")
    yield Sample(np.zeros((0, 4)), np.array([2, 0, -1], np.int32), note="empty")
    yield Sample(np.array([b"a", b"b"], dtype=object), np.array([2, 1]), note="text")
    yield ErrorSample(np.ones(6), np.array([4, -1], np.int32), raises="multiple of 4|divisible by 4")
    yield ErrorSample(np.ones(6), np.array([-1, -1], np.int32), raises="Only one input size may be")
    yield ErrorSample(np.ones(6), np.array([1, 5], np.int32), raises="reshape a tensor with 6|has 5")


# -- ExpandDims, Squeeze ------------------------------------------------------------------------
def expanded_shape(input, dim):
    require(dim.num_elements() in (None, 1), "'dim' input must be a tensor with a single value")
    if input.rank is None:
        return UNKNOWN
    at = dim.value
    if at is None:
        return make_shape((None,) * (input.rank + 1))
    at = int(at.item())
    require(
        -1 - input.rank <= at <= input.rank,
        f"dim {at} not in the interval [{-input.rank - 1}, {input.rank}].",
    )
    sizes = list(input.sizes)
    sizes.insert(at if at >= 0 else at + input.rank + 1, 1)
    return make_shape(sizes)


@op(
    "ExpandDims",
    "input: T, dim: Tdim -> output: T",
    T=Type(),
    Tdim=INDEX32,
    traits={ALIAS},
    shape=expanded_shape,
)
def expand_dims(input, dim):
    """The input with a dimension of size 1 inserted at `dim`; negative ones count from the end."""
    require(dim.size == 1, "'dim' must be a tensor with a single value")
    dim = int(dim.item())
    require(
        -1 - input.ndim <= dim <= input.ndim,
        f"Tried to expand dim index {dim} for tensor with {input.ndim} dimensions.",
    )
    return np.expand_dims(input, dim)


@expand_dims.gradient
def _(node, dy):
    return reshape(indexed_slices.dense(dy), shape_of(node.inputs[0])), None


@expand_dims.lower
def _(e, x, dim):
    if dim.value is None:
        raise Decline("the axis is not known")
    at = int(dim.value.item())
    sizes = list(x.shape)
    sizes.insert(at if at >= 0 else at + len(sizes) + 1, 1)
    return e.view(x, sizes)


@expand_dims.samples
def _(rng):
    for at in (0, 1, -1, -3):
        yield Sample(rng.normal(size=(2, 3)), np.array(at, np.int32))
    yield Sample(rng.normal(size=(2, 3)), np.array([1]), note="vector of one")
    yield Sample(np.array(1.0), np.array(0, np.int32), note="scalar")
    yield ErrorSample(np.ones((2, 3)), np.array(3, np.int32), raises="dim (index )?3")


def squeezed_shape(input, *, squeeze_dims):
    if input.rank is None:
        return UNKNOWN
    gone = _squeezed_axes(squeeze_dims, input.rank)
    for axis in gone:
        found = input.sizes[axis]
        require(found in (None, 1), f"Can not squeeze dim[{axis}], expected a dimension of 1, got {found}")
    if gone:
        return make_shape(s for i, s in enumerate(input.sizes) if i not in gone)
    if None in input.sizes:
        return UNKNOWN  # an unknown size may be 1
    return make_shape(s for s in input.sizes if s != 1)


def _squeezed_axes(axes, rank):
    for axis in axes:
        require(-rank <= axis < rank, f"dim {axis} not in the interval [{-rank}, {rank}).")
    return {axis % rank for axis in axes}


@op(
    "Squeeze",
    "input: T -> output: T",
    T=Type(),
    squeeze_dims=Ints(default=[], min=0),
    traits={ALIAS},
    shape=squeezed_shape,
)
def squeeze(input, *, squeeze_dims):
    """The input without its dimensions of size 1: all of them, or those named."""
    gone = _squeezed_axes(squeeze_dims, input.ndim)
    for axis in sorted(gone):
        found = input.shape[axis]
        require(found == 1, f"Can not squeeze dim[{axis}], expected a dimension of 1, got {found}")
    if not gone:
        gone = {i for i, s in enumerate(input.shape) if s == 1}
    return input.reshape([s for i, s in enumerate(input.shape) if i not in gone])


@squeeze.gradient
def _(node, dy):
    return reshape(indexed_slices.dense(dy), shape_of(node.inputs[0]))


@squeeze.lower
def _(e, x, *, squeeze_dims):
    gone = {a % len(x.shape) for a in squeeze_dims}
    return e.view(x, [n for i, n in enumerate(x.shape) if (i not in gone if gone else n != 1)])


@squeeze.samples
def _(rng):
    yield Sample(rng.normal(size=(1, 2, 1, 3)))
    yield Sample(rng.normal(size=(1, 2, 1, 3)), squeeze_dims=[2])
    yield Sample(rng.normal(size=(1, 2, 1, 3)), squeeze_dims=[-2, 0])
    yield Sample(np.zeros((1, 0)), note="empty")
    yield ErrorSample(np.ones((2, 3)), squeeze_dims=[1], raises="expected a dimension of 1, got 3")


# -- EnsureShape --------------------------------------------------------------------------------
def ensured_shape(input, *, shape):
    return merge(input, shape)


@op("EnsureShape", "input: T -> output: T", attrs={"shape": ShapeAttr(), "T": Type()}, shape=ensured_shape)
def ensure_shape(ctx, input, *, shape):
    """The input, whose shape must agree with the attribute `shape`."""
    found = make_shape(input.shape)
    source = "" if ctx is None else f"{ctx.node.inputs[0]} "
    require(
        found.is_compatible_with(shape),
        f"Shape of tensor {source}{show(found)} is not compatible with expected shape {show(shape)}.",
    )
    return input


@ensure_shape.gradient
def _(node, dy):
    return dy


@ensure_shape.samples
def _(rng):
    yield Sample(rng.normal(size=(2, 3)), shape=[None, 3])
    yield ErrorSample(np.ones((2, 3)), shape=[2, 4], raises="not compatible|must be equal")
