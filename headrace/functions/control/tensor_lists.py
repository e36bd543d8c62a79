"""Lists of tensors: shapes given as Python writes them, optional arguments.

`element_shape` is a tensor, a TensorShape, a list of sizes (None or -1 where unknown), or None.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from headrace.core import dtypes
from headrace.core.dtypes import DTypeLike
from headrace.core.shapes import Dimension, Shape
from headrace.functions.control.cond import cond
from headrace.graph.tensor import Tensor
from headrace.ops.array.constant import constant
from headrace.ops.control import tensor_list as items
from headrace.ops.control import tensor_list_rows as by_rows
from headrace.ops.control import tensor_list_whole as whole
from headrace.ops.declaration.convert import convert_to_tensor


def described(shape: Any) -> Any:
    """A shape as the ops take it: a vector with -1 for unknown sizes, or the scalar -1."""
    if isinstance(shape, Tensor):
        return shape
    if isinstance(shape, Shape):
        shape = None if shape.rank is None else shape.as_list()
    if shape is None:
        return -1
    if not len(shape):
        return convert_to_tensor(np.zeros(0, np.int32))
    sizes = [size.value if isinstance(size, Dimension) else size for size in shape]
    return [-1 if size is None else size for size in sizes]


def empty_tensor_list(
    element_shape: Any, element_dtype: Any, max_num_elements: Any = None, name: str | None = None
) -> Any:
    """A list without elements, of at most `max_num_elements` ever."""
    limit = -1 if max_num_elements is None else max_num_elements
    return items.empty_tensor_list(described(element_shape), limit, element_dtype=element_dtype, name=name)


def tensor_list_reserve(
    element_shape: Any, num_elements: Any, element_dtype: Any, name: str | None = None
) -> Any:
    """A list of elements that are not set."""
    return items.tensor_list_reserve(
        described(element_shape), num_elements, element_dtype=element_dtype, name=name
    )


def tensor_list_from_tensor(tensor: Any, element_shape: Any, name: str | None = None) -> Any:
    """The rows of a tensor."""
    return whole.tensor_list_from_tensor(tensor, described(element_shape), name=name)


def tensor_list_get_item(
    input_handle: Any, index: Any, element_dtype: Any, element_shape: Any = None, name: str | None = None
) -> Any:
    """The element at an index."""
    return items.tensor_list_get_item(
        input_handle, index, described(element_shape), element_dtype=element_dtype, name=name
    )


def tensor_list_set_item(
    input_handle: Any,
    index: Any,
    item: Any,
    resize_if_index_out_of_bounds: bool = False,
    name: str | None = None,
) -> Any:
    """The list with `item` at an index; it grows if it must and may."""
    if resize_if_index_out_of_bounds:
        index = convert_to_tensor(index)
        size = items.tensor_list_length(input_handle)
        input_handle = cond(
            index >= size, lambda: items.tensor_list_resize(input_handle, index + 1), lambda: input_handle
        )
    return items.tensor_list_set_item(input_handle, index, item, name=name)


def tensor_list_push_back(input_handle: Any, tensor: Any, name: str | None = None) -> Any:
    """The list with one more element."""
    return items.tensor_list_push_back(input_handle, tensor, name=name)


def tensor_list_pop_back(input_handle: Any, element_dtype: Any, name: str | None = None) -> Any:
    """The list without its last element, and that element."""
    return items.tensor_list_pop_back(input_handle, -1, element_dtype=element_dtype, name=name)


def tensor_list_gather(
    input_handle: Any, indices: Any, element_dtype: Any, element_shape: Any = None, name: str | None = None
) -> Any:
    """The elements at indices, stacked."""
    return by_rows.tensor_list_gather(
        input_handle, indices, described(element_shape), element_dtype=element_dtype, name=name
    )


def tensor_list_scatter(
    tensor: Any, indices: Any, element_shape: Any = None, input_handle: Any = None, name: str | None = None
) -> Any:
    """A list (or `input_handle`) with the rows of a tensor at indices."""
    if input_handle is not None:
        return by_rows.tensor_list_scatter_into_existing_list(input_handle, tensor, indices, name=name)
    return by_rows.tensor_list_scatter_v2(tensor, indices, described(element_shape), -1, name=name)


def tensor_list_stack(
    input_handle: Any,
    element_dtype: DTypeLike,
    num_elements: int = -1,
    element_shape: Any = None,
    name: str | None = None,
) -> Any:
    """All elements, stacked."""
    return whole.tensor_list_stack(
        input_handle,
        described(element_shape),
        element_dtype=element_dtype,
        num_elements=num_elements,
        name=name,
    )


def tensor_list_concat(
    input_handle: Any, element_dtype: Any, element_shape: Any = None, name: str | None = None
) -> Any:
    """All elements one after the other."""
    return whole.tensor_list_concat_v2(
        input_handle,
        described(element_shape),
        constant([], dtypes.int64),
        element_dtype=element_dtype,
        name=name,
    )[0]


def tensor_list_split(tensor: Any, element_shape: Any, lengths: Any, name: str | None = None) -> Any:
    """`lengths[i]` rows of a tensor as element i."""
    return whole.tensor_list_split(tensor, described(element_shape), lengths, name=name)
