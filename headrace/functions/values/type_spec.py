"""Descriptions of values (tf.TypeSpec): what a function accepts, what a data set yields.

A description says into which tensors a value of its kind comes apart (`_to_components`), and puts
them together again.  `_serialize` gives its own content; comparing, hashing and printing follow.
"""

from __future__ import annotations

import abc
from typing import Any

import numpy as np

from headrace.core.dtypes import DType
from headrace.core.modules import late
from headrace.core.shapes import Shape
from headrace.functions.values import nest

tensor_spec = late("headrace.functions.values.tensor_spec")


class TypeSpec(abc.ABC):
    """Describes a kind of value."""

    __slots__ = ()
    _nest_kind = "spec"

    # -- what a subclass says --------------------------------------------------------------------
    @property
    @abc.abstractmethod
    def value_type(self) -> Any:
        """The Python type of the values."""

    @abc.abstractmethod
    def _serialize(self) -> tuple[Any, ...]:
        """The content: nested tuples and dicts of plain values, shapes, types and specs."""

    @property
    @abc.abstractmethod
    def _component_specs(self) -> Any:
        """A structure of specs, one for every component."""

    @abc.abstractmethod
    def _to_components(self, value: Any) -> Any:
        """The structure of tensors that a value consists of.  Adds no nodes."""

    @abc.abstractmethod
    def _from_components(self, components: Any) -> Any:
        """The value that consists of these tensors."""

    @classmethod
    def _deserialize(cls, serialization: Any) -> TypeSpec:
        return cls(*serialization)

    # -- what follows ----------------------------------------------------------------------------
    def is_compatible_with(self, spec_or_value: Any) -> bool:
        """Whether a value of the other kind may stand where one of this kind is expected."""
        other = spec_or_value
        if not isinstance(other, TypeSpec):
            other = _described(other)
        return type(self) is type(other) and _compatible(self._serialize(), other._serialize())

    def most_specific_compatible_type(self, other: TypeSpec) -> TypeSpec:
        """The narrowest description that covers both.

        Raises:
          ValueError: the two differ in more than shapes.
        """
        if type(self) is not type(other):
            raise ValueError(f"No TypeSpec is compatible with both {self} and {other}")
        return self._deserialize(_merged(self._serialize(), other._serialize()))

    def _to_tensor_list(self, value: Any) -> list[Any]:
        return nest.flatten(self._to_components(value), expand_composites=True)

    def _from_tensor_list(self, tensor_list: list[Any]) -> Any:
        """The value that comes apart into these tensors; they are checked."""
        expected = self._flat_tensor_specs
        found = [_described(t) for t in tensor_list]
        if len(found) != len(expected):
            raise ValueError("Incompatible input: wrong number of tensors")
        for i, (a, b) in enumerate(zip(found, expected)):
            if not a.is_compatible_with(b):
                raise ValueError(
                    f"Incompatible input: tensor {i} ({tensor_list[i]}) is incompatible with {b}"
                )
        return self._from_compatible_tensor_list(tensor_list)

    def _from_compatible_tensor_list(self, tensor_list: list[Any]) -> Any:
        return self._from_components(
            nest.pack_sequence_as(self._component_specs, tensor_list, expand_composites=True)
        )

    @property
    def _flat_tensor_specs(self) -> list[Any]:
        return nest.flatten(self._component_specs, expand_composites=True)

    def _to_legacy_output_types(self) -> Any:
        raise NotImplementedError(f"{type(self).__name__}._to_legacy_output_types()")

    def _to_legacy_output_shapes(self) -> Any:
        raise NotImplementedError(f"{type(self).__name__}._to_legacy_output_shapes()")

    def _to_legacy_output_classes(self) -> Any:
        return self.value_type

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and _key(self) == _key(other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash(_key(self))

    def __reduce__(self) -> Any:
        return type(self), self._serialize()

    def __repr__(self) -> str:
        return f"{type(self).__name__}{self._serialize()!r}"


class BatchableTypeSpec(TypeSpec):
    """Describes values that can be stacked: stacking their tensors is enough."""

    __slots__ = ()

    @abc.abstractmethod
    def _batch(self, batch_size: int | None) -> TypeSpec:
        """The description of `batch_size` such values, stacked."""

    @abc.abstractmethod
    def _unbatch(self) -> TypeSpec:
        """The description of one element of such a value."""

    def _to_batched_tensor_list(self, value: Any) -> list[Any]:
        tensors = self._to_tensor_list(value)
        if any(t.shape.rank == 0 for t in tensors):
            raise ValueError(f"Value {value} has insufficient rank for batching.")
        return tensors


# -- serialised forms ---------------------------------------------------------------------------
def _key(spec: Any) -> Any:
    return type(spec), _hashable(spec._serialize(), spec)


def _hashable(value: Any, spec: Any) -> Any:
    if value is None or isinstance(value, (int, float, str, bytes, DType, TypeSpec)):
        return value
    if isinstance(value, dict):
        return tuple((_hashable(k, spec), _hashable(value[k], spec)) for k in sorted(value))
    if isinstance(value, tuple):
        return tuple(_hashable(v, spec) for v in value)
    if isinstance(value, Shape):
        return Shape, value._sizes
    if isinstance(value, np.ndarray):
        return np.ndarray, value.shape, tuple(value.ravel().tolist())
    raise ValueError(
        f"Unsupported value type {type(value).__name__} returned by {type(spec).__name__}._serialize"
    )


def _compatible(a: Any, b: Any) -> bool:
    if type(a) is not type(b):
        return False
    if isinstance(a, tuple):
        return len(a) == len(b) and all(_compatible(x, y) for x, y in zip(a, b))
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(_compatible(a[k], b[k]) for k in a)
    if isinstance(a, (TypeSpec, Shape, DType)):
        return a.is_compatible_with(b)
    return bool(np.array_equal(a, b)) if isinstance(a, np.ndarray) else bool(a == b)


def _merged(a: Any, b: Any) -> Any:
    differ = ValueError(f"Types are not compatible: {a!r} vs {b!r}")
    if type(a) is not type(b):
        raise differ
    if isinstance(a, tuple):
        if len(a) != len(b):
            raise differ
        return tuple(_merged(x, y) for x, y in zip(a, b))
    if isinstance(a, dict):
        if a.keys() != b.keys():
            raise differ
        return {k: _merged(a[k], b[k]) for k in sorted(a)}
    if isinstance(a, TypeSpec):
        return a.most_specific_compatible_type(b)
    if isinstance(a, Shape):
        return a.most_specific_compatible_shape(b)
    if not _compatible(a, b):
        raise differ
    return a


def _described(value: Any) -> TypeSpec:
    result: TypeSpec = tensor_spec.type_spec_from_value(value)
    return result
