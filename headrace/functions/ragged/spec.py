"""RaggedTensorSpec: the description of a ragged tensor."""

from __future__ import annotations

from typing import Any

import numpy as np

from headrace.core import dtypes
from headrace.core.dtypes import DTypeLike, as_dtype, int64
from headrace.core.shapes import Shape, as_shape
from headrace.functions.ragged.tensor import RaggedTensor, is_ragged
from headrace.functions.ragged.value import RaggedTensorValue
from headrace.functions.values.tensor_spec import TensorSpec, register_type_spec_from_value_converter
from headrace.functions.values.type_spec import BatchableTypeSpec
from headrace.graph.tensor import Tensor
from headrace.ops.declaration.convert import convert_to_tensor


class RaggedTensorSpec(BatchableTypeSpec):
    """Describes a ragged tensor.

    Args:
      shape: what is known of the shape; ragged dimensions are None.
      dtype: the type of the values.
      ragged_rank: how many dimensions are ragged; all but the first by default.
      row_splits_dtype: the type of the row splits.
    """

    __slots__ = ("_dtype", "_ragged_rank", "_row_splits_dtype", "_shape")

    def __init__(
        self,
        shape: Any = None,
        dtype: DTypeLike = dtypes.float32,
        ragged_rank: int | None = None,
        row_splits_dtype: DTypeLike = int64,
    ) -> None:
        self._shape, self._dtype = as_shape(shape), as_dtype(dtype)
        self._row_splits_dtype = as_dtype(row_splits_dtype)
        rank = self._shape.rank
        if ragged_rank is None:
            if rank is None:
                raise ValueError("Must specify ragged_rank or a shape with a known rank.")
            ragged_rank = rank - 1
        if not isinstance(ragged_rank, int):
            raise TypeError("ragged_rank must be an int")
        if rank is not None and ragged_rank >= rank:
            raise ValueError("ragged_rank must be less than rank.")
        self._ragged_rank = ragged_rank

    @classmethod
    def from_value(cls, value: Any) -> RaggedTensorSpec:
        return cls(value.shape, value.flat_values.dtype, value.ragged_rank, value.row_splits.dtype)

    @property
    def value_type(self) -> Any:
        return RaggedTensor if self._ragged_rank > 0 else Tensor

    def _serialize(self) -> tuple[Any, ...]:
        return self._shape, self._dtype, self._ragged_rank, self._row_splits_dtype

    @property
    def _component_specs(self) -> list[TensorSpec]:
        if self._ragged_rank == 0:
            return [TensorSpec(self._shape, self._dtype)]
        rows = self._shape.dim(0)
        outer = TensorSpec([None if rows is None else rows + 1], self._row_splits_dtype)
        inner = TensorSpec([None], self._row_splits_dtype)
        values = TensorSpec(self._flat_shape(), self._dtype)
        return [values, outer] + [inner] * (self._ragged_rank - 1)

    def _flat_shape(self) -> Shape:
        if self._shape.rank is None:
            return self._shape
        return Shape([None]).concatenate(self._shape[self._ragged_rank + 1 :])

    def _to_components(self, value: Any) -> list[Any]:
        return [value.flat_values, *value.nested_row_splits] if is_ragged(value) else [value]

    def _from_components(self, components: Any) -> Any:
        result, *nested = components
        if all(isinstance(c, np.ndarray) for c in components):
            for splits in reversed(nested):
                result = RaggedTensorValue(result, splits)
            return result
        if isinstance(result, np.ndarray):
            result, *nested = (convert_to_tensor(c) for c in components)
        for splits in reversed(nested):
            result = RaggedTensor(result, splits, internal=True)
        return result

    # A tensor list has one variant, so that values with other row lengths can be stacked.
    @property
    def _flat_tensor_specs(self) -> list[Any]:
        return [TensorSpec(None, dtypes.variant)]

    def _to_tensor_list(self, value: Any) -> list[Any]:
        return [value._to_variant(batched_input=False)]

    def _to_batched_tensor_list(self, value: Any) -> list[Any]:
        return [value._to_variant(batched_input=True)]

    def _from_compatible_tensor_list(self, tensor_list: list[Any]) -> Any:
        if self._ragged_rank <= 0:
            raise ValueError(f"ragged_rank must be non-negative; got {self._ragged_rank}.")
        result = RaggedTensor._from_variant(
            tensor_list[0], dtype=self._dtype, output_ragged_rank=self._ragged_rank
        )
        if self._shape.rank is not None:
            rows = self._shape.dim(0)
            if rows is not None:
                result.row_splits.set_shape([rows + 1])
            result.flat_values.set_shape(self._flat_shape())
        return result

    def _batch(self, batch_size: int | None) -> RaggedTensorSpec:
        shape = Shape([batch_size]).concatenate(self._shape)
        return RaggedTensorSpec(shape, self._dtype, self._ragged_rank + 1)

    def _unbatch(self) -> RaggedTensorSpec:
        shape = self._shape if self._shape.rank is None else self._shape[1:]
        return RaggedTensorSpec(shape, self._dtype, self._ragged_rank - 1)

    def _to_legacy_output_types(self) -> Any:
        return self._dtype

    def _to_legacy_output_shapes(self) -> Any:
        return self._shape

    def _to_legacy_output_classes(self) -> Any:
        return self


register_type_spec_from_value_converter(RaggedTensorValue, RaggedTensorSpec.from_value)
