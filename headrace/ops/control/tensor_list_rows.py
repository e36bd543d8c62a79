"""Rows of a tensor to and from places of a list."""

from __future__ import annotations

import numpy as np

from headrace.core.dtypes import INDEX, float32, int32
from headrace.core.errors import require
from headrace.core.shapes import SCALAR, UNKNOWN
from headrace.ops.array import fill
from headrace.ops.control.tensor_array_state import partly_known, shown
from headrace.ops.control.tensor_list import (
    held_shape,
    nothing,
    refuses_text,
    shape_input,
    tensor_list_element_shape,
    tensor_list_length,
    tensor_list_reserve,
)
from headrace.ops.control.tensor_list_value import TensorList, boxed, described, unboxed
from headrace.ops.control.tensor_list_whole import at_least_vector, check_rows, joined, rows, tail
from headrace.ops.declaration.declare import op
from headrace.ops.declaration.samples import ErrorSample, Sample
from headrace.ops.declaration.shape_checks import merge
from headrace.ops.declaration.shape_rules import require_rank
from headrace.ops.declaration.signature import Type


def gather_shape(input_handle, indices, element_shape, *, element_dtype):
    each = merge(held_shape(input_handle, element_dtype), shape_input(element_shape))
    return indices.plain().concatenate(each)


@op(
    "TensorListGather",
    "input_handle: variant, indices: int32, element_shape: int32 -> values: element_dtype",
    element_dtype=Type(),
    shape=gather_shape,
)
def tensor_list_gather(input_handle, indices, element_shape, *, element_dtype):
    """The elements at `indices`, stacked."""
    held = unboxed(input_handle, element_dtype)
    for i in indices.tolist():
        require(0 <= i < len(held), f"Index {i} out o range; list only has {len(held)} elements.")
    items = [held.items[i] for i in indices.tolist()]
    shape = held.shape_with(described(element_shape), ())
    require(
        shape.is_full or items,
        f"Tried to gather 0-elements from a list with non-fully-defined shape: {partly_known(shape)}",
    )
    shape = held.shape_with(shape, items)
    require(
        shape.is_full,
        "Tried to gather uninitialized tensors from a list with non-fully-defined element_shape: "
        f"{partly_known(shape)}",
    )
    return joined(held, items, shape)


tensor_list_gather.points_to(nothing)
refuses_text(tensor_list_gather, np.array([0], np.int32), np.array(-1, np.int32), element_dtype=float32)


@tensor_list_gather.gradient
def _(node, dtensor):
    held, indices, _ = node.inputs
    shape = tensor_list_element_shape(held, shape_type=int32)
    zeros = tensor_list_reserve(shape, tensor_list_length(held), element_dtype=dtensor.dtype.base)
    return tensor_list_scatter_into_existing_list(zeros, dtensor, indices), None, None


def _scattered(tensor, indices, shape, count, dtype):
    check_rows(shape, tensor)
    require(count >= -1, f"TensorListScatter expects num_elements >= -1, found: {count}")
    require(
        len(indices) == len(tensor),
        f"Invalid number of rows in input tensor. Expected: {len(indices)} Actual: {len(tensor)}",
    )
    for i in indices.tolist():
        require(i >= 0, "Indices in TensorListScatter must all be non-negative.")
        require(
            count == -1 or i < count,
            f"TensorListScatter: Trying to scatter at index {i} in list with size {count}",
        )
    items = [None] * max(int(indices.max(initial=-1)) + 1, count)
    for i, row in zip(indices.tolist(), rows(tensor)):
        items[i] = row
    return boxed(TensorList(items, dtype, shape))


def _scatter_gradient(node, dlist):
    tensor, indices, *_ = node.inputs
    dtensor = tensor_list_gather(dlist, indices, tail(tensor), element_dtype=tensor.dtype.base)
    return [dtensor, *[None] * (len(node.inputs) - 1)]


def scatter_shape(tensor, indices, *others):
    require_rank(indices, 1)
    return SCALAR


@op(
    "TensorListScatter",
    "tensor: element_dtype, indices: int32, element_shape: shape_type -> output_handle: variant",
    element_dtype=Type(),
    shape_type=INDEX,
    shape=scatter_shape,
)
def tensor_list_scatter(tensor, indices, element_shape, *, element_dtype):
    """A list with the rows of a tensor at `indices`."""
    return _scattered(tensor, indices, described(element_shape), -1, element_dtype)


@tensor_list_scatter.points_to
def _(tensor, indices, element_shape, *, element_dtype):
    return element_dtype, shape_input(element_shape)


@tensor_list_scatter.samples
def _(rng):
    indices, shape = np.array([3, 1], np.int32), np.array([2], np.int32)
    yield Sample(rng.normal(size=(2, 2)), indices, shape, grad=False)
    yield ErrorSample(np.ones((3, 2)), indices, shape, raises="Invalid number of rows")
    yield ErrorSample(np.ones((2, 2)), -indices, shape, raises="non-negative")


@op(
    "TensorListScatterV2",
    "tensor: element_dtype, indices: int32, element_shape: shape_type, "
    "num_elements: int32 -> output_handle: variant",
    element_dtype=Type(),
    shape_type=INDEX,
    shape=scatter_shape,
)
def tensor_list_scatter_v2(tensor, indices, element_shape, num_elements, *, element_dtype):
    """The same, of `num_elements` elements (-1: as many as needed)."""
    shape = described(element_shape)
    return _scattered(tensor, indices, shape, int(num_elements), element_dtype)


@tensor_list_scatter_v2.points_to
def _(tensor, indices, element_shape, num_elements, *, element_dtype):
    return element_dtype, shape_input(element_shape)


tensor_list_scatter.gradient(_scatter_gradient)
tensor_list_scatter_v2.gradient(_scatter_gradient)


@tensor_list_scatter_v2.samples
def _(rng):
    indices, shape = np.array([3, 1], np.int32), np.array([2], np.int32)
    yield Sample(rng.normal(size=(2, 2)), indices, shape, np.array(5, np.int32), grad=False)
    yield ErrorSample(np.ones((2, 2)), indices, shape, np.array(3, np.int32), raises="scatter at index 3")


def into_shape(input_handle, tensor, indices, *, element_dtype):
    require_rank(indices, 1)
    require(tensor.rank != 0, "Shape must be at least rank 1 but is rank 0")
    held_shape(input_handle, element_dtype)
    return SCALAR


@op(
    "TensorListScatterIntoExistingList",
    "input_handle: variant, tensor: element_dtype, indices: int32 -> output_handle: variant",
    element_dtype=Type(),
    shape=into_shape,
)
def tensor_list_scatter_into_existing_list(input_handle, tensor, indices, *, element_dtype):
    """The list with the rows of a tensor at `indices`; it grows if it must."""
    held = unboxed(input_handle, element_dtype)
    at_least_vector(tensor)
    require(
        len(indices) == len(tensor),
        f"Expected len(indices) == tensor.shape[0], but saw: {len(indices)} vs. {len(tensor)}",
    )
    items = [*held.items, *[None] * (int(indices.max(initial=-1)) + 1 - len(held))]
    for i, row in zip(indices.tolist(), rows(tensor)):
        require(i >= 0, f"Indices must be non-negative, but saw {i} in {shown(indices.shape)}")
        items[i] = row
    return boxed(held.with_items(items))


@tensor_list_scatter_into_existing_list.points_to
def _(input_handle, tensor, indices, *, element_dtype):
    return input_handle.handle or (element_dtype, UNKNOWN)


refuses_text(tensor_list_scatter_into_existing_list, np.ones((1, 2), np.float32), np.array([0], np.int32))


@tensor_list_scatter_into_existing_list.gradient
def _(node, dlist):
    _, tensor, indices = node.inputs
    dtensor = tensor_list_gather(dlist, indices, tail(tensor), element_dtype=tensor.dtype.base)
    rest = tensor_list_scatter_into_existing_list(dlist, fill.zeros_like(tensor), indices)
    return rest, dtensor, None
