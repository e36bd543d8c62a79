"""Lists of tensors as tensors and back: stacked, one after the other, rows at indices."""

from __future__ import annotations

import numpy as np

from headrace.core.dtypes import INDEX, float32, int32
from headrace.core.errors import require
from headrace.core.shapes import SCALAR, UNKNOWN, Shape, make_shape
from headrace.ops.array import concat
from headrace.ops.array.slices.slice import slice_
from headrace.ops.control.tensor_array_state import partly_known, shown
from headrace.ops.control.tensor_list import (
    held_shape,
    nothing,
    refuses_text,
    shape_input,
    tensor_list_element_shape,
)
from headrace.ops.control.tensor_list_value import TensorList, boxed, described, merge_shapes, unboxed
from headrace.ops.declaration import array
from headrace.ops.declaration.declare import op
from headrace.ops.declaration.samples import ErrorSample, Sample
from headrace.ops.declaration.shape_checks import merge
from headrace.ops.declaration.shape_rules import require_rank
from headrace.ops.declaration.signature import ShapeAttr, Type


def at_least_vector(tensor):
    require(tensor.ndim > 0, f"Tensor must be at least a vector, but saw shape: {shown(tensor.shape)}")


def check_rows(shape, tensor):
    at_least_vector(tensor)
    require(
        shape.is_compatible_with(make_shape(tensor.shape[1:])),
        f"Specified a list with shape {partly_known(shape)} from a tensor with shape "
        f"{shown(tensor.shape[1:])}",
    )


def rows(tensor):
    return [np.asarray(row, tensor.dtype) for row in tensor]


def joined(held, items, shape):
    """Items, and zeros of a full shape for those that are not set, stacked."""
    if not items:
        return held.zeros(make_shape([0]).concatenate(shape))
    zeros = held.zeros(shape) if any(x is None for x in items) else None
    return np.stack([zeros if x is None else x for x in items])


# -- stacked --------------------------------------------------------------------------------------
def stack_shape(input_handle, element_shape, *, element_dtype, num_elements):
    each = merge(held_shape(input_handle, element_dtype), shape_input(element_shape))
    return Shape.of(None if num_elements == -1 else num_elements).concatenate(each)


@op(
    "TensorListStack",
    "input_handle: variant, element_shape: int32 -> tensor: element_dtype",
    element_dtype=Type(),
    num_elements=-1,
    shape=stack_shape,
)
def tensor_list_stack(input_handle, element_shape, *, element_dtype, num_elements):
    """All elements, stacked."""
    held = unboxed(input_handle, element_dtype)
    require(
        num_elements in (-1, len(held)),
        f"Operation expected a list with {num_elements} elements but got a list with {len(held)} elements.",
    )
    shape = held.shape_with(described(element_shape), ())
    require(
        shape.is_full or len(held),
        "Tried to stack elements of an empty list with non-fully-defined element_shape: "
        f"{partly_known(shape)}",
    )
    shape = held.shape_with(shape)
    require(
        shape.is_full,
        "Tried to stack list which only contains uninitialized tensors and has a "
        f"non-fully-defined element_shape: {partly_known(shape)}",
    )
    return joined(held, held.items, shape)


tensor_list_stack.points_to(nothing)
refuses_text(tensor_list_stack, np.array(-1, np.int32), element_dtype=float32)


@tensor_list_stack.gradient
def _(node, dtensor):
    return tensor_list_from_tensor(dtensor, _sizes(dtensor.shape[1:])), None


def _sizes(shape):
    """A shape as a tensor describes it."""
    if shape.rank is None:
        return np.array(-1, np.int32)
    return np.array([-1 if s is None else s for s in shape.sizes], np.int32)


def tail(tensor):
    """The shape of a tensor's rows."""
    return slice_(array.shape(tensor), [1], [-1])


def from_shape(tensor, element_shape):
    if tensor.rank is not None:
        require(tensor.rank >= 1, f"Shape must be at least rank 1 but is rank {tensor.rank}")
        merge(make_shape(tensor.sizes[1:]), shape_input(element_shape))
    return SCALAR


@op(
    "TensorListFromTensor",
    "tensor: element_dtype, element_shape: shape_type -> output_handle: variant",
    element_dtype=Type(),
    shape_type=INDEX,
    shape=from_shape,
)
def tensor_list_from_tensor(tensor, element_shape, *, element_dtype):
    """The rows of a tensor."""
    shape = described(element_shape)
    check_rows(shape, tensor)
    return boxed(TensorList(rows(tensor), element_dtype, shape))


@tensor_list_from_tensor.points_to
def _(tensor, element_shape, *, element_dtype):
    return element_dtype, shape_input(element_shape)


@tensor_list_from_tensor.gradient
def _(node, dlist):
    tensor = node.inputs[0]
    count = tensor.shape.sizes[0] if tensor.shape.rank else None
    dtensor = tensor_list_stack(
        dlist, tail(tensor), element_dtype=tensor.dtype.base, num_elements=-1 if count is None else count
    )
    return dtensor, None


@tensor_list_from_tensor.samples
def _(rng):
    yield Sample(rng.normal(size=(3, 2)), np.array([2], np.int32), grad=False)
    yield Sample(np.zeros((0, 2)), np.array(-1, np.int32), note="empty", grad=False)
    yield ErrorSample(np.ones((3, 2)), np.array([3], np.int32), raises="shape|Dimension|compatible")


# -- one after the other --------------------------------------------------------------------------
def joined_shape(input_handle, element_shape, element_dtype):
    shape = merge(element_shape, held_shape(input_handle, element_dtype))
    whole = UNKNOWN if shape.rank is None else Shape.of(None).concatenate(shape[1:])
    return [whole, Shape.of(None)]


def _concat(held, shape, leading_dims):
    """`leading_dims` None: the old op, which knows nothing of elements that are not set."""
    require(shape.rank != 0, "Concat requires elements to be at least vectors, found scalars instead.")
    first, rest = (None, UNKNOWN) if shape.rank is None else (shape.dim(0), shape[1:])
    require(
        len(held) or rest.is_full,
        "All except the first dimension must be fully defined when concating an empty tensor list. "
        f"element_shape: {partly_known(rest)}",
    )
    for i, item in enumerate(held.items):
        if item is None:
            continue
        require(item.ndim, f"Concat saw a scalar shape at index {i} but requires at least vectors.")
        rest = _merged_rest(rest, item)
        require(
            first is None or first == len(item),
            "First entry of element_shape input does not match the first dim of list element at "
            f"index: {i} Expected: {first} Actual: {len(item)}",
        )
    require(
        rest.is_full,
        "Trying to concat list with only uninitialized tensors but element_shape_except_first_dim_ "
        f"is not fully defined: {partly_known(rest)}",
    )
    found = {len(item) for item in held.items if item is not None}
    if first is None and len(found) == 1 and not held.element_shape.is_full:
        first = found.pop()
    parts = []
    for i, item in enumerate(held.items):
        if item is None:
            length = _unset_length(i, first, leading_dims)
            item = held.zeros(make_shape([length]).concatenate(rest))
        parts.append(item)
    lengths = np.array([len(p) for p in parts], np.int64)
    if not parts:
        return held.zeros(make_shape([0]).concatenate(rest)), lengths
    return np.concatenate(parts), lengths


def _merged_rest(rest, item):
    return merge_shapes(rest, make_shape(item.shape[1:]))


def _unset_length(index, first, leading_dims):
    if first is not None and (leading_dims is None or index >= len(leading_dims)):
        return first
    require(
        leading_dims is not None,
        "Concating lists with uninitialized tensors is not supported in this version of "
        "TensorListConcat. Consider updating your GraphDef to run the newer version.",
    )
    require(
        index < len(leading_dims),
        f"List contains uninitialized tensor at index {index} but leading_dims has only "
        f"{len(leading_dims)} elements.",
    )
    return int(leading_dims[index])


def concat_shape(input_handle, *, element_dtype, element_shape):
    return joined_shape(input_handle, element_shape, element_dtype)


@op(
    "TensorListConcat",
    "input_handle: variant -> tensor: element_dtype, lengths: int64",
    element_dtype=Type(),
    element_shape=ShapeAttr(None),
    shape=concat_shape,
)
def tensor_list_concat(input_handle, *, element_dtype, element_shape):
    """All elements one after the other, and the length of each."""
    held = unboxed(input_handle, element_dtype)
    rest = UNKNOWN if element_shape.rank is None else Shape.of(None).concatenate(element_shape[1:])
    return _concat(held, rest, None)


tensor_list_concat.points_to(nothing)
refuses_text(tensor_list_concat, element_dtype=float32)


def concat_v2_shape(input_handle, element_shape, leading_dims, *, element_dtype):
    return joined_shape(input_handle, shape_input(element_shape), element_dtype)


@op(
    "TensorListConcatV2",
    "input_handle: variant, element_shape: shape_type, leading_dims: int64 -> "
    "tensor: element_dtype, lengths: int64",
    element_dtype=Type(),
    shape_type=INDEX,
    shape=concat_v2_shape,
)
def tensor_list_concat_v2(input_handle, element_shape, leading_dims, *, element_dtype):
    """The same; elements that are not set are zeros of the lengths `leading_dims`."""
    held = unboxed(input_handle, element_dtype)
    return _concat(held, held.shape_with(described(element_shape), ()), leading_dims)


tensor_list_concat_v2.points_to(nothing)
refuses_text(tensor_list_concat_v2, np.array(-1, np.int32), np.zeros(0, np.int64), element_dtype=float32)


def _concat_gradient(node, dtensor, _):
    shape = tensor_list_element_shape(node.inputs[0], shape_type=int32)
    dlist = tensor_list_split(dtensor, shape, node.outputs[1])
    return [dlist, *[None] * (len(node.inputs) - 1)]


tensor_list_concat.gradient(_concat_gradient)
tensor_list_concat_v2.gradient(_concat_gradient)


def split_shape(tensor, element_shape, lengths):
    require_rank(lengths, 1)
    if tensor.rank is not None:
        require(tensor.rank >= 1, f"Shape must be at least rank 1 but is rank {tensor.rank}")
        merge(Shape.of(None).concatenate(make_shape(tensor.sizes[1:])), shape_input(element_shape))
    return SCALAR


@op(
    "TensorListSplit",
    "tensor: element_dtype, element_shape: shape_type, lengths: int64 -> output_handle: variant",
    element_dtype=Type(),
    shape_type=INDEX,
    shape=split_shape,
)
def tensor_list_split(tensor, element_shape, lengths, *, element_dtype):
    """`lengths[i]` rows of a tensor as element i."""
    shape = described(element_shape)
    require(
        shape.rank != 0,
        f"TensorListSplit requires element_shape to be at least of rank 1, but saw: {partly_known(shape)}",
    )
    at_least_vector(tensor)
    require(
        (UNKNOWN if shape.rank is None else shape[1:]).is_compatible_with(tensor.shape[1:]),
        f"tensor shape {shown(tensor.shape)} is not compatible with element_shape {partly_known(shape)}",
    )
    require(lengths.ndim == 1, f"Expected lengths to be a vector, received shape: {shown(lengths.shape)}")
    items, end = [], 0
    for length in lengths.tolist():
        require(length >= 0, f"Invalid value in lengths: {length}")
        start, end = end, end + length
        require(
            end <= len(tensor), f"Attempting to slice [{start}, {end}] from tensor with length {len(tensor)}"
        )
        items.append(tensor[start:end])
    require(
        end == len(tensor), f"Unused values in tensor. Length of tensor: {len(tensor)} Values used: {end}"
    )
    return boxed(TensorList(items, element_dtype, shape))


@tensor_list_split.points_to
def _(tensor, element_shape, lengths, *, element_dtype):
    return element_dtype, shape_input(element_shape)


@tensor_list_split.gradient
def _(node, dlist):
    tensor, _, lengths = node.inputs
    shape = concat.concat_v2([[-1], tail(tensor)], 0)
    dtensor, _ = tensor_list_concat_v2(dlist, shape, lengths, element_dtype=tensor.dtype.base)
    return dtensor, None, None


@tensor_list_split.samples
def _(rng):
    lengths = np.array([1, 0, 2], np.int64)
    yield Sample(rng.normal(size=(3, 2)), np.array([-1, 2], np.int32), lengths, grad=False)
    yield ErrorSample(np.ones((2, 2)), np.array(-1, np.int32), lengths, raises="slice")
    yield ErrorSample(np.ones((4, 2)), np.array(-1, np.int32), lengths, raises="Unused values")
