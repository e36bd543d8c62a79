"""TensorSpec: the description of a dense tensor; and the description of any value."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from headrace.core.dtypes import DType, as_dtype, float32
from headrace.core.fields import reads
from headrace.core.shapes import Shape, broadcast_sizes
from headrace.functions.values import nest
from headrace.functions.values.type_spec import BatchableTypeSpec, TypeSpec
from headrace.graph.tensor import Tensor
from headrace.ops.declaration.convert import convert_to_tensor


class ShapedSpec(BatchableTypeSpec):
    """A shape and a type; a batch has a dimension more."""

    _shape: Shape
    _dtype: Any

    def _reshaped(self, shape: Shape) -> Any:
        raise NotImplementedError

    def _batch(self, batch_size: int | None) -> Any:
        return self._reshaped(Shape([batch_size]).concatenate(self._shape))

    def _unbatch(self) -> Any:
        if self._shape.rank == 0:
            raise ValueError("Unbatching a tensor is only supported for rank >= 1")
        return self._reshaped(self._shape if self._shape.rank is None else self._shape[1:])

    def _to_legacy_output_types(self) -> Any:
        return self._dtype

    def _to_legacy_output_shapes(self) -> Any:
        return self._shape


class TensorSpec(ShapedSpec):
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

    shape: Shape = reads("_shape")
    dtype: DType = reads("_dtype")
    name: str | None = reads("_name")

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

    def _reshaped(self, shape: Shape) -> TensorSpec:
        return TensorSpec(shape, self._dtype)

    def __hash__(self) -> int:
        return hash((self._shape._sizes, self._dtype))

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and (
            (self._shape._sizes, self._dtype, self._name) == (other._shape._sizes, other._dtype, other._name)
        )

    def __repr__(self) -> str:
        return f"TensorSpec(shape={self._shape}, dtype={self._dtype!r}, name={self._name!r})"


class BoundedTensorSpec(TensorSpec):
    """A TensorSpec with the least and the greatest value, both included."""

    __slots__ = ("_maximum", "_minimum")

    def __init__(self, shape: Any, dtype: Any, minimum: Any, maximum: Any, name: str | None = None) -> None:
        super().__init__(shape, dtype, name)
        if minimum is None or maximum is None:
            raise ValueError(f"minimum and maximum must be provided; but saw '{minimum}' and '{maximum}'")
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

    minimum: Any = reads("_minimum")
    maximum: Any = reads("_maximum")

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
    spec = spec_if_any(value)
    if spec is None:
        try:
            tensor = convert_to_tensor(value)
        except (TypeError, ValueError):
            raise TypeError(
                f"Could not build a TypeSpec for {value!r} with type {type(value).__name__}"
            ) from None
        spec = TensorSpec(tensor.shape, tensor.dtype)
    return spec


def spec_if_any(value: Any) -> TypeSpec | None:
    if isinstance(value, Tensor):
        return TensorSpec(value.shape, value.dtype)
    if nest.is_composite(value):
        result: TypeSpec | None = value._type_spec
        return result
    if isinstance(value, list) and value:
        stacked = _stacked([spec_if_any(v) for v in value])
        if stacked is not None:
            return stacked
    for kind, convert, allow_subclass in reversed(_CONVERTERS):
        if type(value) is kind or (allow_subclass and isinstance(value, kind)):
            result = convert(value)
            return result
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
        result: TypeSpec | None = merged._batch(len(specs))
        return result
    except (TypeError, ValueError):
        return None


register_type_spec_from_value_converter(np.ndarray, lambda array: TensorSpec(array.shape, array.dtype))
