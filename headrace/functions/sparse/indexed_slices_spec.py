"""The description of IndexedSlices, which makes them composite tensors for `nest`."""

from __future__ import annotations

from typing import Any

import numpy as np

from headrace.core.dtypes import DTypeLike, as_dtype, float32, int64
from headrace.core.shapes import Shape, as_shape
from headrace.functions.values import nest
from headrace.functions.values.tensor_spec import TensorSpec
from headrace.functions.values.type_spec import TypeSpec
from headrace.ops.declaration.constants import constant_value_as_shape
from headrace.ops.declaration.indexed_slices import IndexedSlices, IndexedSlicesValue


class IndexedSlicesSpec(TypeSpec):
    """Describes IndexedSlices.

    Args:
      shape: what is known of the shape of the whole tensor.
      dtype: the type of the rows.
      indices_dtype: the type of the indices, int32 or int64.
      dense_shape_dtype: the type of `dense_shape`; None where there is none.
      indices_shape: the shape of the indices: how many rows there are.
    """

    __slots__ = ("_dense_shape_dtype", "_indices_dtype", "_indices_shape", "_shape", "_values_dtype")

    def __init__(
        self,
        shape: Any = None,
        dtype: DTypeLike = float32,
        indices_dtype: DTypeLike = int64,
        dense_shape_dtype: DTypeLike | None = None,
        indices_shape: Any = None,
    ) -> None:
        self._shape = as_shape(shape)
        self._values_dtype, self._indices_dtype = as_dtype(dtype), as_dtype(indices_dtype)
        self._dense_shape_dtype = None if dense_shape_dtype is None else as_dtype(dense_shape_dtype)
        self._indices_shape = as_shape(indices_shape).with_rank(1)

    @property
    def value_type(self) -> Any:
        return IndexedSlices

    def _serialize(self) -> tuple[Any, ...]:
        return (
            self._shape,
            self._values_dtype,
            self._indices_dtype,
            self._dense_shape_dtype,
            self._indices_shape,
        )

    @property
    def _component_specs(self) -> tuple[TensorSpec, ...]:
        row = Shape(None) if self._shape.rank is None else self._shape[1:]
        specs = (
            TensorSpec(self._indices_shape.concatenate(row), self._values_dtype),
            TensorSpec(self._indices_shape, self._indices_dtype),
        )
        if self._dense_shape_dtype is None:
            return specs
        return (*specs, TensorSpec([self._shape.rank], self._dense_shape_dtype))

    def _to_components(self, value: Any) -> tuple[Any, ...]:
        if value.dense_shape is None:
            return value.values, value.indices
        return value.values, value.indices, value.dense_shape

    def _from_components(self, components: Any) -> Any:
        values, indices, dense_shape = (*components, None)[:3]
        if all(isinstance(c, np.ndarray) for c in components):
            return IndexedSlicesValue(values, indices, dense_shape)
        return IndexedSlices(values, indices, dense_shape)


def _spec_of(slices: IndexedSlices) -> IndexedSlicesSpec:
    count = slices.indices.shape.merge_with(slices.values.shape[:1])
    row = Shape(None) if slices.values.shape.rank is None else slices.values.shape[1:]
    shape = Shape([None]).concatenate(row)
    kind = None
    if slices.dense_shape is not None:
        shape = shape.merge_with(constant_value_as_shape(slices.dense_shape))
        kind = slices.dense_shape.dtype
    return IndexedSlicesSpec(shape, slices.values.dtype, slices.indices.dtype, kind, count)


def _shape_invariant(slices: IndexedSlices, shape: Any) -> IndexedSlicesSpec:
    """An invariant of tf.while_loop is the shape of `values`."""
    whole = Shape(None) if shape.rank is None else Shape([None]).concatenate(shape[1:])
    kind = None if slices.dense_shape is None else slices.dense_shape.dtype
    return IndexedSlicesSpec(whole, slices.values.dtype, slices.indices.dtype, kind, Shape([shape.dim(0)]))


# The class itself stands among the ops, which do not know of descriptions.
_slices: Any = IndexedSlices
_slices._nest_kind = "composite"
_slices._type_spec = property(_spec_of)
_slices._shape_invariant_to_type_spec = _shape_invariant
_slices._to_components = lambda self: _spec_of(self)._to_components(self)
nest.forget(IndexedSlices)
