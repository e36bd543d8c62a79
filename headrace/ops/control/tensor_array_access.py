"""What the ops of tensor arrays do with an array, whichever way they name it: checks, then the cells."""

from __future__ import annotations

import numpy as np

from headrace.core.errors import UnimplementedError, require
from headrace.core.shapes import make_shape
from headrace.ops.control.tensor_array_state import ArrayState, partly_known, refuse, shown, unique_name
from headrace.ops.declaration.messages.node_def import type_name


def new_state(name, size, dtype, element_shape, dynamic, clear_after_read, identical=False):
    require(size.ndim == 0, f"TensorArray size must be scalar, but had shape: {shown(np.shape(size))}")
    require(size >= 0, "Size should be >= 0.")
    return ArrayState(
        unique_name(name), dtype, int(size), element_shape, identical, dynamic, clear_after_read
    )


def _scalar_index(index):
    if index.ndim:
        refuse(f"TensorArray index must be scalar, but had shape: {shown(index.shape)}")
    return int(index)


def _check_written_type(state, dtype):
    if dtype is not state.dtype:
        refuse(
            f"TensorArray dtype is {type_name(state.dtype)} but Op is trying to write dtype "
            f"{type_name(dtype)}."
        )


def _check_requested_type(state, dtype):
    if dtype is not state.dtype:
        refuse(f"TensorArray dtype is {type_name(state.dtype)} but Op requested dtype {type_name(dtype)}.")


def write(state, index, value, flow_in, dtype):
    index = _scalar_index(index)
    _check_written_type(state, dtype)
    state.write(index, value)
    return flow_in


def read(state, index, dtype):
    index = _scalar_index(index)
    _check_requested_type(state, dtype)
    return state.read(index)


def gather(state, indices, dtype, element_shape):
    """The cells at `indices` (all of them for None), stacked."""
    _check_requested_type(state, dtype)
    state.narrow(element_shape)
    if indices is None:
        indices = np.arange(state.whole_size())
    require(indices.ndim == 1, f"Expected indices to be a vector, but received shape: {shown(indices.shape)}")
    if not len(indices):
        return _empty(element_shape, dtype, "element shape", "packing")
    values = [state.read(i) for i in indices.tolist()]
    first = values[0].shape
    require(
        element_shape.is_compatible_with(make_shape(first)),
        f"TensorArray was passed element_shape {partly_known(element_shape)} which does not match "
        f"the Tensor at index 0: {shown(first)}",
    )
    for i, value in enumerate(values):
        require(
            value.shape == first,
            f"TensorArray has inconsistent shapes.  Index 0 has shape: {shown(first)} but index {i} "
            f"has shape: {shown(value.shape)}",
        )
    return np.stack(values)


def _empty(shape, dtype, what, doing):
    if not shape.is_full:
        raise UnimplementedError(
            None,
            None,
            f"TensorArray has size zero, but {what} {partly_known(shape)} is not fully defined. "
            f"Currently only static shapes are supported when {doing} zero-size TensorArrays.",
        )
    return np.zeros((0, *shape.sizes), dtype.numpy)


def scatter(state, indices, value, flow_in, dtype):
    """The rows of `value` to the cells at `indices` (in order for None)."""
    _check_written_type(state, dtype)
    require(
        value.ndim > 0,
        f"Input value for unpack must be at least a vector but received shape: {shown(value.shape)}",
    )
    size, count = state.size(), len(value)
    if indices is None:
        indices = np.arange(count)
        size = max(size, count) if state.has_dynamic_size else size
        require(
            count == size,
            f"Input value must have first dimension equal to the array size ({count} vs. {size})",
        )
        state.mark_size(size)
    require(indices.ndim == 1, f"Expected indices to be a vector, but received shape: {shown(indices.shape)}")
    require(
        len(indices) == count,
        f"Expected len(indices) == values.shape[0], but saw: {len(indices)} vs. {count}",
    )
    last = int(indices.max(initial=-1))
    require(
        state.has_dynamic_size or last < size, f"Max scatter index must be < array size ({last} vs. {size})"
    )
    for index, row in zip(indices.tolist(), value):
        state.write(index, np.asarray(row, value.dtype))
    return flow_in


def concat(state, dtype, element_shape_except0):
    """The cells one after the other, and the length of each."""
    _check_requested_type(state, dtype)
    size = state.whole_size()
    if not size:
        value = _empty(element_shape_except0, dtype, "element_shape_except0", "concatenating")
        return value, np.zeros(0, np.int64)
    values = [state.read(i) for i in range(size)]
    for i, value in enumerate(values):
        require(
            value.ndim > 0,
            f"Concat saw a scalar shape at index {i} but requires at least vectors.  Did you mean "
            "to call pack?",
        )
    rest = values[0].shape[1:]
    require(
        element_shape_except0.is_compatible_with(make_shape(rest)),
        f"TensorArray was passed element_shape_except0 {partly_known(element_shape_except0)} but "
        f"index 0 has (excepting dimension 0) shape: {shown(rest)} which does not match.",
    )
    for i, value in enumerate(values):
        require(
            value.shape[1:] == rest,
            "TensorArray has inconsistent shapes.  Index 0 has (excepting dimension 0) shape: "
            f"{shown(rest)} but index {i} has (excepting dimension 0) shape: "
            f"{shown(value.shape[1:])}",
        )
    return np.concatenate(values), np.array([len(v) for v in values], np.int64)


def split(state, value, lengths, flow_in, dtype):
    """The first rows of `value` to the first cell, and so on."""
    require(lengths.ndim == 1, f"Expected lengths to be a vector, received shape: {shown(lengths.shape)}")
    require(
        value.ndim > 0, f"Expected value to be at least a vector, but received shape: {shown(value.shape)}"
    )
    total, count = int(lengths.sum()), len(lengths)
    require(
        total == len(value) and np.all(lengths >= 0),
        f"Expected sum of lengths to be equal to values.shape[0], but sum of lengths is {total} and "
        f"value's shape is: {shown(value.shape)}",
    )
    size = state.size()
    size = max(size, count) if state.has_dynamic_size else size
    require(
        size == count,
        f"TensorArray's size is not equal to the size of lengths ({size} vs. {count}), and the "
        "TensorArray is not marked as dynamically resizeable",
    )
    _check_written_type(state, dtype)
    state.mark_size(size)
    ends = np.cumsum(lengths).tolist()
    for index, (start, end) in enumerate(zip([0, *ends], ends)):
        state.write(index, value[start:end])
    return flow_in
