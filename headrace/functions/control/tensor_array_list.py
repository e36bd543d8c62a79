"""A TensorArray whose flow is itself a list of tensors, and the description of tensor arrays.

Such arrays come out of data sets and functions: the list is a value like any other.
"""

from __future__ import annotations

from typing import Any

from headrace.core import dtypes
from headrace.core.dtypes import as_dtype
from headrace.core.families import takes
from headrace.core.shapes import Shape, as_shape
from headrace.functions.control import tensor_lists
from headrace.functions.control.tensor_array import TensorArray
from headrace.functions.values.structure import name_scope
from headrace.functions.values.tensor_spec import TensorSpec, register_type_spec_from_value_converter
from headrace.functions.values.type_spec import TypeSpec
from headrace.graph.node import Node
from headrace.graph.tensor import Tensor
from headrace.ops.array.source import no_op
from headrace.ops.control import tensor_list
from headrace.ops.declaration.convert import convert_to_tensor


class ListArray(TensorArray):
    """Made by TensorArray(dtype, flow=a list)."""

    @takes(TensorArray.__init__)
    def __init__(
        self, dtype: Any, size: Any, dynamic_size: Any, flow: Any, element_shape: Any, **options: Any
    ) -> None:
        if size is not None:
            raise ValueError("Cannot provide both a flow and size at the same time")
        if element_shape is not None:
            raise ValueError("Cannot provide both a flow and element_shape at the same time")
        self._dtype = as_dtype(dtype).base
        self._dynamic_size = bool(dynamic_size)
        self._infer_shape, self._element_shape = options["infer_shape"], [Shape(None)]
        self._first_written, self._handle, self._flow = None, None, flow

    def size(self, name: str | None = None) -> Tensor:
        found: Tensor = tensor_list.tensor_list_length(self._flow, name=name)
        return found

    def close(self, name: str | None = None) -> Node:
        node: Node = no_op(name=name)
        return node

    def read(self, index: Any, name: str | None = None) -> Any:
        with name_scope(name, "TensorArrayV2Read", [self._flow, index]):
            return tensor_lists.tensor_list_get_item(
                self._flow, index, self._dtype, self.element_shape, name=name
            )

    def stack(self, name: str | None = None) -> Any:
        with name_scope(name, "TensorArrayV2Stack", [self._flow]):
            return tensor_lists.tensor_list_stack(self._flow, self._dtype, element_shape=self.element_shape)

    def gather(self, indices: Any, name: str | None = None) -> Any:
        return tensor_lists.tensor_list_gather(
            self._flow, indices, self._dtype, self.element_shape, name=name
        )

    def concat(self, name: str | None = None) -> Any:
        shape = self.element_shape
        if shape.rank:
            shape = Shape([None]).concatenate(shape[1:])
        return tensor_lists.tensor_list_concat(self._flow, self._dtype, shape, name=name)

    def write(self, index: Any, value: Any, name: str | None = None) -> TensorArray:
        with name_scope(name, "TensorArrayV2Write", [self._flow, index, value]):
            value = self._converted(value)
            self._check_element_shape(value.shape)
            return self.with_flow(
                tensor_lists.tensor_list_set_item(self._flow, index, value, self._dynamic_size, name=name)
            )

    def unstack(self, value: Any, name: str | None = None) -> TensorArray:
        with name_scope(name, "TensorArrayUnstack", [self._flow, value]):
            value = self._converted(value)
            self._check_element_shape(value.shape[1:])
            return self.with_flow(tensor_lists.tensor_list_from_tensor(value, value.shape[1:]))

    def scatter(self, indices: Any, value: Any, name: str | None = None) -> TensorArray:
        with name_scope(name, "TensorArrayScatter", [self._flow, value, indices]):
            value = self._converted(value)
            self._check_element_shape(value.shape[1:])
            return self.with_flow(
                tensor_lists.tensor_list_scatter(value, indices, self.element_shape, self._flow)
            )

    def split(self, value: Any, lengths: Any, name: str | None = None) -> TensorArray:
        with name_scope(name, "TensorArraySplit", [self._flow, value, lengths]):
            value = self._converted(value)
            lengths = self._checked_lengths(value, lengths)
            return self.with_flow(
                tensor_lists.tensor_list_split(value, self.element_shape, lengths, name=name)
            )

    def grad(self, source: str, flow: Any = None, name: str | None = None) -> TensorArray:
        raise NotImplementedError("the gradient of a list is a list")


class TensorArraySpec(TypeSpec):
    """Describes a tensor array.

    Args:
      element_shape: what is known of the elements' shape.
      dtype: the type of the elements.
      dynamic_size: writes may make it longer.
      infer_shape: all elements have one shape.
    """

    __slots__ = ("_element_shape", "_dtype", "_dynamic_size", "_infer_shape")

    def __init__(
        self,
        element_shape: Any = None,
        dtype: Any = dtypes.float32,
        dynamic_size: bool = False,
        infer_shape: bool = True,
    ) -> None:
        self._element_shape, self._dtype = as_shape(element_shape), as_dtype(dtype)
        self._dynamic_size, self._infer_shape = dynamic_size, infer_shape

    @property
    def value_type(self) -> Any:
        return TensorArray

    @staticmethod
    def from_value(value: Any) -> TensorArraySpec:
        """The description of a tensor array."""
        if not isinstance(value, TensorArray):
            raise TypeError(f"Expected value to be a TensorArray, but saw: {type(value)}")
        return TensorArraySpec(value.element_shape, value.dtype, value.dynamic_size, value._infer_shape)

    def is_compatible_with(self, spec_or_value: Any) -> bool:
        spec = spec_or_value
        if isinstance(spec, TensorArray):
            spec = TensorArraySpec.from_value(spec)
        if not isinstance(spec, TensorArraySpec) or spec._dynamic_size != self._dynamic_size:
            return False
        one_type = self._dtype.is_compatible_with(spec._dtype)
        return one_type and self._element_shape.is_compatible_with(spec._element_shape)

    def most_specific_compatible_type(self, other: Any) -> TypeSpec:
        if not self.is_compatible_with(other):
            raise ValueError("Types are not compatible")
        shape = self._element_shape.most_specific_compatible_shape(other._element_shape)
        infer = self._infer_shape and other._infer_shape
        return TensorArraySpec(shape, self._dtype, self._dynamic_size, infer)

    def _serialize(self) -> tuple[Any, ...]:
        return (self._element_shape, self._dtype, self._dynamic_size, self._infer_shape)

    @property
    def _component_specs(self) -> Any:
        return [TensorSpec([], dtypes.variant)]

    def _to_components(self, value: Any) -> Any:
        if not isinstance(value, TensorArray):
            raise TypeError(f"value must be a TensorArray, but saw: {type(value)}")
        if value.flow.dtype.base is dtypes.variant:
            return [value.flow]
        with name_scope("convert_tensor_array"):
            return [tensor_lists.tensor_list_from_tensor(value.stack(), value.element_shape)]

    def _from_components(self, components: Any) -> Any:
        array = TensorArray(
            self._dtype,
            flow=convert_to_tensor(components[0]),
            dynamic_size=self._dynamic_size,
            infer_shape=self._infer_shape,
        )
        array._element_shape = [self._element_shape]
        return array

    def _to_legacy_output_types(self) -> Any:
        return self._dtype

    def _to_legacy_output_shapes(self) -> Any:
        # Both flags hide in the shape, where old interfaces look for them.
        flags = Shape([int(self._dynamic_size), int(self._infer_shape)])
        return flags.concatenate(self._element_shape)

    def _to_legacy_output_classes(self) -> Any:
        return TensorArray


register_type_spec_from_value_converter(TensorArray, TensorArraySpec.from_value)
