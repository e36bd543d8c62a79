"""Descriptions of values (tf.TypeSpec): what a function accepts, what a data set yields.

A description says into which tensors a value of its kind comes apart (`_to_components`), and puts
them together again.  `_serialize` gives its own content; comparing, hashing and printing follow.
"""

from __future__ import annotations

import abc
from collections.abc import Callable
from typing import Any

import numpy as np

from headrace.core.dtypes import DType, as_dtype, float32
from headrace.core.shapes import Shape, broadcast_sizes
from headrace.functions import nest
from headrace.graph.tensor import Tensor
from headrace.ops.convert import convert_to_tensor


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
            other = type_spec_from_value(other)
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
        found = [type_spec_from_value(t) for t in tensor_list]
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
        f"Unsupported value type {type(value).__name__} returned by "
        f"{type(spec).__name__}._serialize"
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
    if isinstance(a, Shape):
        return a.most_specific_compatible_shape(b)
    if isinstance(a, list):
        raise AssertionError("_serialize() should not return list values.")
    if isinstance(a, TypeSpec):
        return a.most_specific_compatible_type(b)
    if not _compatible(a, b):
        raise differ
    return a


# -- dense tensors ------------------------------------------------------------------------------
class TensorSpec(BatchableTypeSpec):
    """Describes a dense tensor.

    Args:
      shape: what is known of the shape.
      dtype: the element type.
      name: a name for it, or None.

    Example:
      >>> tf.TensorSpec([None, 3], tf.int32).is_compatible_with(tf.TensorSpec([2, 3], tf.int32))
      True
    """

    __slots__ = ("_dtype", "_name", "_shape")
    _nest_kind = "leaf"

    def __init__(self, shape: Any, dtype: Any = float32, name: str | None = None) -> None:
        self._shape, self._dtype, self._name = Shape(shape), as_dtype(dtype), name

    @classmethod
    def from_spec(cls, spec: Any, name: str | None = None) -> TensorSpec:
        return cls(spec.shape, spec.dtype, name or spec.name)

    @classmethod
    def from_tensor(cls, tensor: Any, name: str | None = None) -> TensorSpec:
        if not isinstance(tensor, Tensor):
            raise ValueError("`tensor` should be a tf.Tensor")
        return TensorSpec(tensor.shape, tensor.dtype, name or tensor.op.name)

    @property
    def shape(self) -> Shape:
        return self._shape

    @property
    def dtype(self) -> DType:
        return self._dtype

    @property
    def name(self) -> str | None:
        return self._name

    @property
    def value_type(self) -> Any:
        return Tensor

    def is_compatible_with(self, spec_or_tensor: Any) -> bool:
        """True for a tensor, or a TensorSpec, of this type and a compatible shape."""
        other = spec_or_tensor
        return (
            isinstance(other, (TensorSpec, Tensor))
            and self._dtype.is_compatible_with(other.dtype)
            and self._shape.is_compatible_with(other.shape)
        )

    def most_specific_compatible_type(self, other: Any) -> TensorSpec:
        if type(self) is not type(other) or self._dtype != other.dtype:
            raise ValueError(f"Types are not compatible: {self!r} vs {other!r}")
        shape = self._shape.most_specific_compatible_shape(other.shape)
        return TensorSpec(shape, self._dtype, self._name if self._name == other.name else None)

    def _serialize(self) -> tuple[Any, ...]:
        return self._shape, self._dtype, self._name

    @property
    def _component_specs(self) -> Any:
        return self

    def _to_components(self, value: Any) -> Any:
        try:
            tensor = convert_to_tensor(value, self._dtype)
        except (TypeError, ValueError):
            tensor = None
        if tensor is None or not tensor.shape.is_compatible_with(self._shape):
            raise ValueError(
                f"Value {value!r} is not convertible to a tensor with dtype {self._dtype} and "
                f"shape {self._shape}."
            )
        return tensor

    def _from_components(self, components: Any) -> Any:
        return components

    def _from_compatible_tensor_list(self, tensor_list: list[Any]) -> Any:
        (tensor,) = tensor_list
        tensor.set_shape(self._shape)
        return tensor

    def _batch(self, batch_size: int | None) -> TensorSpec:
        return TensorSpec(Shape([batch_size]).concatenate(self._shape), self._dtype)

    def _unbatch(self) -> TensorSpec:
        if self._shape.rank == 0:
            raise ValueError("Unbatching a tensor is only supported for rank >= 1")
        shape = self._shape if self._shape.rank is None else self._shape[1:]
        return TensorSpec(shape, self._dtype)

    def _to_legacy_output_types(self) -> Any:
        return self._dtype

    def _to_legacy_output_shapes(self) -> Any:
        return self._shape

    def __hash__(self) -> int:
        return hash((self._shape._sizes, self._dtype))

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and (
            (self._shape._sizes, self._dtype, self._name)
            == (other._shape._sizes, other._dtype, other._name)
        )

    def __repr__(self) -> str:
        return f"TensorSpec(shape={self._shape}, dtype={self._dtype!r}, name={self._name!r})"


class BoundedTensorSpec(TensorSpec):
    """A TensorSpec with the least and the greatest value, both included."""

    __slots__ = ("_maximum", "_minimum")

    def __init__(
        self, shape: Any, dtype: Any, minimum: Any, maximum: Any, name: str | None = None
    ) -> None:
        super().__init__(shape, dtype, name)
        if minimum is None or maximum is None:
            raise ValueError(
                f"minimum and maximum must be provided; but saw '{minimum}' and '{maximum}'"
            )
        self._minimum = self._bound("minimum", minimum)
        self._maximum = self._bound("maximum", maximum)

    def _bound(self, which: str, value: Any) -> Any:
        try:
            if self._shape.rank is not None:
                broadcast_sizes(np.shape(value), self._shape.sizes)
        except ValueError as error:
            raise ValueError(f"{which} is not compatible with shape. Message: {error!r}.") from None
        array = np.array(value, dtype=self._dtype.as_numpy_dtype)
        array.setflags(write=False)
        return array

    @classmethod
    def from_spec(cls, spec: Any, name: str | None = None) -> BoundedTensorSpec:
        dtype = as_dtype(spec.dtype)
        low, high = getattr(spec, "minimum", dtype.min), getattr(spec, "maximum", dtype.max)
        return BoundedTensorSpec(spec.shape, dtype, low, high, name or spec.name)

    @property
    def minimum(self) -> Any:
        return self._minimum

    @property
    def maximum(self) -> Any:
        return self._maximum

    def _serialize(self) -> tuple[Any, ...]:
        return self._shape, self._dtype, self._minimum, self._maximum, self._name

    def __hash__(self) -> int:
        return super().__hash__()

    def __eq__(self, other: object) -> bool:
        return super().__eq__(other) and bool(
            np.allclose(self._minimum, other._minimum)  # type: ignore[attr-defined]
            and np.allclose(self._maximum, other._maximum)  # type: ignore[attr-defined]
        )

    def __repr__(self) -> str:
        return (
            f"BoundedTensorSpec(shape={self._shape}, dtype={self._dtype!r}, name={self._name!r}, "
            f"minimum={self._minimum!r}, maximum={self._maximum!r})"
        )


# -- values -> specs ----------------------------------------------------------------------------
_CONVERTERS: list[tuple[Any, Callable[[Any], TypeSpec], bool]] = []


def register_type_spec_from_value_converter(
    type_object: Any, converter_fn: Callable[[Any], TypeSpec], allow_subclass: bool = False
) -> None:
    """Say how values of a type are described; the latest registration wins."""
    _CONVERTERS.append((type_object, converter_fn, allow_subclass))


def type_spec_from_value(value: Any) -> TypeSpec:
    """The description of a value.

    Raises:
      TypeError: no description fits, and it can not become a tensor.
    """
    spec = _spec_from_value(value)
    if spec is None:
        try:
            tensor = convert_to_tensor(value)
        except (TypeError, ValueError):
            raise TypeError(
                f"Could not build a TypeSpec for {value!r} with type {type(value).__name__}"
            ) from None
        spec = TensorSpec(tensor.shape, tensor.dtype)
    return spec


def _spec_from_value(value: Any) -> TypeSpec | None:
    if isinstance(value, Tensor):
        return TensorSpec(value.shape, value.dtype)
    if nest.is_composite(value):
        return value._type_spec
    if isinstance(value, list) and value:
        stacked = _stacked([_spec_from_value(v) for v in value])
        if stacked is not None:
            return stacked
    for kind, convert, allow_subclass in reversed(_CONVERTERS):
        if type(value) is kind or (allow_subclass and isinstance(value, kind)):
            return convert(value)
    return None


def _stacked(specs: list[TypeSpec | None]) -> TypeSpec | None:
    """One description for a list of values that can be stacked."""
    first = specs[0]
    if not isinstance(first, BatchableTypeSpec):
        return None
    merged: Any = first
    try:
        for other in specs[1:]:
            merged = merged.most_specific_compatible_type(other)
        return merged._batch(len(specs))
    except (TypeError, ValueError):
        return None


register_type_spec_from_value_converter(
    np.ndarray, lambda array: TensorSpec(array.shape, array.dtype)
)
