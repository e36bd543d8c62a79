"""The description of a dataset that is part of an element."""

from __future__ import annotations

from typing import Any

from headrace.core import dtypes
from headrace.core.modules import late
from headrace.core.shapes import Shape, as_shape
from headrace.functions.values.tensor_spec import TensorSpec
from headrace.functions.values.type_spec import BatchableTypeSpec
from headrace.ops.declaration.convert import convert_to_tensor

dataset = late("headrace.data.dataset")


class DatasetSpec(BatchableTypeSpec):
    """Describes datasets.

    Args:
      element_spec: the nest that describes their elements.
      dataset_shape: the shape of a tensor of such datasets.
    """

    __slots__ = ("_dataset_shape", "_element_spec")

    def __init__(self, element_spec: Any, dataset_shape: Any = ()) -> None:
        self._element_spec, self._dataset_shape = element_spec, as_shape(dataset_shape)

    @property
    def value_type(self) -> Any:
        return dataset.Dataset

    def _serialize(self) -> tuple[Any, ...]:
        return self._element_spec, self._dataset_shape

    @property
    def _component_specs(self) -> Any:
        return TensorSpec(self._dataset_shape, dtypes.variant)

    def _to_components(self, value: Any) -> Any:
        return value._variant_tensor

    def _from_components(self, components: Any) -> Any:
        if self._dataset_shape.rank == 0:
            return dataset.Dataset(components, self._element_spec)
        return NestedVariant(components, self._element_spec, self._dataset_shape)

    def _to_tensor_list(self, value: Any) -> list[Any]:
        if isinstance(value, list):  # datasets that from_tensor_slices was given
            return [convert_to_tensor([v._variant_tensor for v in value])]
        tensor = value._variant_tensor
        tensor.set_shape(self._dataset_shape)
        return [tensor]

    @staticmethod
    def from_value(value: Any) -> DatasetSpec:
        """The description of a dataset."""
        return DatasetSpec(value.element_spec)

    def _batch(self, batch_size: int | None) -> DatasetSpec:
        return DatasetSpec(self._element_spec, Shape([batch_size]).concatenate(self._dataset_shape))

    def _unbatch(self) -> DatasetSpec:
        if self._dataset_shape.rank == 0:
            raise ValueError("Unbatching a dataset is only supported for rank >= 1")
        return DatasetSpec(self._element_spec, self._dataset_shape[1:])

    def _to_batched_tensor_list(self, value: Any) -> list[Any]:
        if self._dataset_shape.rank == 0:
            raise ValueError("Unbatching a dataset is only supported for rank >= 1")
        return self._to_tensor_list(value)

    def _to_legacy_output_types(self) -> Any:
        return self

    def _to_legacy_output_shapes(self) -> Any:
        return self

    def _to_legacy_output_classes(self) -> Any:
        return self


class NestedVariant:
    """A tensor of datasets."""

    _nest_kind = "composite"

    def __init__(self, variant_tensor: Any, element_spec: Any, dataset_shape: Any) -> None:
        self._variant_tensor = variant_tensor
        self._element_spec, self._dataset_shape = element_spec, dataset_shape

    @property
    def _type_spec(self) -> DatasetSpec:
        return DatasetSpec(self._element_spec, self._dataset_shape)
