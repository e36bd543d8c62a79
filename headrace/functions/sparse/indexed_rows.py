"""IndexedSlices as arguments: conversion that keeps them, and rows masked out of them."""

from __future__ import annotations

from typing import Any

from headrace.core.dtypes import as_dtype
from headrace.functions.sparse.tensor import SparseTensor
from headrace.functions.values.structure import name_scope
from headrace.ops.array.indexing.gather import gather_v2
from headrace.ops.array.unique import list_diff
from headrace.ops.declaration.convert import convert_to_tensor
from headrace.ops.declaration.indexed_slices import IndexedSlices

newaxis = None  # x[tf.newaxis] makes a dimension of size 1, as in NumPy


def convert_to_tensor_or_indexed_slices(value: Any, dtype: Any = None, name: str | None = None) -> Any:
    """A tensor, unless the value is `IndexedSlices` or a `SparseTensor` already.

    Args:
      value: anything that `tf.convert_to_tensor` takes, `IndexedSlices` or a `SparseTensor`.
      dtype: the type of the result.
      name: name of the node.

    Raises:
      ValueError: the slices have another type.
    """
    if not isinstance(value, (IndexedSlices, SparseTensor)):
        return convert_to_tensor(value, dtype, name)
    if dtype is not None and not as_dtype(dtype).is_compatible_with(value.dtype):
        raise ValueError(
            f"Tensor conversion requested dtype {as_dtype(dtype).name} for Tensor with dtype "
            f"{value.dtype.name}: {str(value)!r}"
        )
    return value


def sparse_mask(a: IndexedSlices, mask_indices: Any, name: str | None = None) -> IndexedSlices:
    """`IndexedSlices` without the rows at some places.

    Args:
      a: `IndexedSlices`.
      mask_indices: a vector, the places to leave out.
      name: name of the node.
    """
    with name_scope(name, "sparse_mask", [a, mask_indices]) as scope:
        kept, rows = list_diff(a.indices, mask_indices)
        return IndexedSlices(gather_v2(a.values, rows, 0, name=scope), kept, a.dense_shape)
