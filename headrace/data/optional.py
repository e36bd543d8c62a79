"""tf.data.experimental.Optional: a value that may be absent when the step runs."""

from __future__ import annotations

from typing import Any

from headrace.core import dtypes
from headrace.data.values import structure
from headrace.functions.values.composite import CompositeTensor, register_type_spec_from_value_converter
from headrace.functions.values.structure import name_scope
from headrace.functions.values.tensor_spec import TensorSpec
from headrace.functions.values.type_spec import TypeSpec
from headrace.ops.control import optional as ops
from headrace.ops.data import iterators


class Optional(CompositeTensor):
    """A value, or none.  `get_next_as_optional` gives them: at the end of a dataset the optional is empty,
    and no error is raised."""

    def __init__(self, variant_tensor: Any, value_structure: Any) -> None:
        self._variant_tensor, self._value_structure = variant_tensor, value_structure

    @staticmethod
    def from_value(value: Any) -> Optional:
        """An optional that holds `value`, a nest of tensors."""
        with name_scope("optional") as scope:
            with name_scope("value"):
                spec = structure.type_spec_from_value(value)
                flat = structure.to_tensor_list(spec, value)
            return Optional(ops.optional_from_value(flat, name=scope), spec)

    @staticmethod
    def none_from_structure(value_structure: Any) -> Optional:
        """An empty optional, for values that a nest of TypeSpecs describes."""
        return Optional(ops.optional_none(), value_structure)

    def has_value(self, name: str | None = None) -> Any:
        """A bool tensor: does it hold a value?"""
        return ops.optional_has_value(self._variant_tensor, name=name)

    def get_value(self, name: str | None = None) -> Any:
        """The value.  The step raises tf.errors.InvalidArgumentError if there is none."""
        with name_scope(name, "OptionalGetValue", [self._variant_tensor]) as scope:
            flat: Any = ops.optional_get_value(
                self._variant_tensor, name=scope, **structure.flat_structure(self._value_structure)
            )
            tensors = list(flat) if isinstance(flat, (list, tuple)) else [flat]
            return structure.from_tensor_list(self._value_structure, tensors)

    @property
    def value_structure(self) -> Any:
        """The nest of TypeSpecs that describes the value."""
        return self._value_structure

    @property
    def _type_spec(self) -> Any:
        return OptionalSpec(self._value_structure)


class OptionalSpec(TypeSpec):
    """Describes optionals.

    Args:
      value_structure: the nest of TypeSpecs that describes the values.
    """

    __slots__ = ("_value_structure",)

    def __init__(self, value_structure: Any) -> None:
        self._value_structure = value_structure

    @property
    def value_type(self) -> Any:
        return Optional

    def _serialize(self) -> tuple[Any, ...]:
        return (self._value_structure,)

    @property
    def _component_specs(self) -> Any:
        return [TensorSpec([], dtypes.variant)]

    def _to_components(self, value: Any) -> Any:
        return [value._variant_tensor]

    def _from_components(self, components: Any) -> Any:
        return Optional(components[0], self._value_structure)

    @staticmethod
    def from_value(value: Any) -> OptionalSpec:
        """The description of an optional."""
        return OptionalSpec(value.value_structure)

    def _to_legacy_output_types(self) -> Any:
        return self

    def _to_legacy_output_shapes(self) -> Any:
        return self

    def _to_legacy_output_classes(self) -> Any:
        return self


def get_next_as_optional(iterator: Any) -> Optional:
    """The next element of an iterator as an optional, which is empty at the end."""
    spec = iterator.element_spec
    variant = iterators.iterator_get_next_as_optional(
        iterator._iterator_resource, **structure.flat_structure(spec)
    )
    return Optional(variant, spec)


register_type_spec_from_value_converter(Optional, OptionalSpec.from_value)
