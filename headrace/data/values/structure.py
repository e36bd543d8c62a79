"""Descriptions of elements: nests of TypeSpecs.  An element comes apart into tensors, which is what ops see,
and is put together from them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from headrace.core.dtypes import DType
from headrace.core.shapes import Shape, as_shape
from headrace.data.values import nest
from headrace.functions.control.tensor_array import TensorArray
from headrace.functions.control.tensor_array_list import TensorArraySpec
from headrace.functions.ragged.spec import RaggedTensorSpec
from headrace.functions.ragged.tensor import convert_to_tensor_or_ragged_tensor
from headrace.functions.sparse.tensor import SparseTensor, SparseTensorSpec
from headrace.functions.values import tensor_spec
from headrace.functions.values.structure import name_scope
from headrace.functions.values.tensor_spec import TensorSpec
from headrace.functions.values.type_spec import TypeSpec
from headrace.graph.tensor import Tensor
from headrace.ops.declaration.convert import convert_to_tensor


def TensorStructure(dtype: Any, shape: Any) -> TensorSpec:
    """Describes a tensor; TensorSpec is its newer name."""
    return TensorSpec(shape, dtype)


def SparseTensorStructure(dtype: Any, shape: Any) -> SparseTensorSpec:
    """Describes a sparse tensor; SparseTensorSpec is its newer name."""
    return SparseTensorSpec(shape, dtype)


def TensorArrayStructure(dtype: Any, element_shape: Any, dynamic_size: Any, infer_shape: Any) -> Any:
    """Describes a tensor array; TensorArraySpec is its newer name."""
    return TensorArraySpec(element_shape, dtype, dynamic_size, infer_shape)


def RaggedTensorStructure(dtype: Any, shape: Any, ragged_rank: Any) -> RaggedTensorSpec:
    """Describes a ragged tensor; RaggedTensorSpec is its newer name."""
    return RaggedTensorSpec(shape, dtype, ragged_rank)


def _spec_alone(value: Any) -> TypeSpec | None:
    """The description of one component; None where the value has to become a tensor first."""
    if isinstance(value, Tensor):
        return TensorSpec(value.shape, value.dtype.base)
    return tensor_spec.spec_if_any(value)


def type_spec_from_value(element: Any) -> Any:
    """The nest of descriptions of an element.

    Raises:
      TypeError: something in it can not be described.
    """
    if isinstance(element, Mapping):
        made: Any = type(element)
        return made((key, type_spec_from_value(value)) for key, value in element.items())
    if nest.is_sequence(element):
        return nest.like(element, [type_spec_from_value(v) for v in nest.branches(element)])
    found = _spec_alone(element)
    if found is not None:
        return found
    try:
        tensor = convert_to_tensor(element)
    except (TypeError, ValueError):
        raise TypeError(
            f"Could not build a TypeSpec for {element!r} with type {type(element).__name__}"
        ) from None
    return TensorSpec(tensor.shape, tensor.dtype.base)


def normalize_element(element: Any) -> Any:
    """The element with everything that is not a value of several tensors as a tensor."""
    with name_scope("normalize_element"):
        parts = [_normal(i, part) for i, part in enumerate(nest.flatten(element))]
    return nest.pack_sequence_as(element, parts)


def _normal(position: int, part: Any) -> Any:
    spec = None if isinstance(part, Tensor) else _spec_alone(part)
    if isinstance(spec, SparseTensorSpec):
        return SparseTensor.from_value(part)
    if isinstance(spec, RaggedTensorSpec):
        return convert_to_tensor_or_ragged_tensor(part, name=f"component_{position}")
    if spec is not None and not isinstance(part, Tensor):
        return part
    return convert_to_tensor(part, name=f"component_{position}")


def convert_legacy_structure(output_types: Any, output_shapes: Any, output_classes: Any) -> Any:
    """Descriptions from three nests: types, shapes and classes."""
    flat = zip(nest.flatten(output_types), nest.flatten(output_shapes), nest.flatten(output_classes))
    return nest.pack_sequence_as(output_classes, [_from_legacy(*x) for x in flat])


def _from_legacy(dtype: Any, shape: Any, kind: Any) -> TypeSpec:
    if isinstance(kind, TypeSpec):
        return kind
    if isinstance(kind, type):
        if issubclass(kind, SparseTensor):
            return SparseTensorSpec(shape, dtype)
        if issubclass(kind, Tensor):
            return TensorSpec(shape, dtype)
        if issubclass(kind, TensorArray):
            # The first two sizes of the shape are flags.
            sizes = as_shape(shape).as_list()
            return TensorArraySpec(sizes[2:], dtype, bool(sizes[0]), bool(sizes[1]))
    raise TypeError(f"Could not build a structure for output class {kind!r}")


# -- elements and their tensors --------------------------------------------------------------------
def get_flat_tensor_specs(element_spec: Any) -> list[Any]:
    return [s for spec in nest.flatten(element_spec) for s in spec._flat_tensor_specs]


def get_flat_tensor_shapes(element_spec: Any) -> list[Shape]:
    return [spec.shape for spec in get_flat_tensor_specs(element_spec)]


def get_flat_tensor_types(element_spec: Any) -> list[DType]:
    return [spec.dtype for spec in get_flat_tensor_specs(element_spec)]


def flat_structure(element_spec: Any) -> dict[str, Any]:
    """The attributes of ops that say of what elements are made."""
    return {
        "output_types": get_flat_tensor_types(element_spec),
        "output_shapes": get_flat_tensor_shapes(element_spec),
    }


def _from(element_spec: Any, tensor_list: list[Any], decode: Callable[[Any, list[Any]], Any]) -> Any:
    flat = nest.flatten(element_spec)
    counts = [len(spec._flat_tensor_specs) for spec in flat]
    tensors = list(tensor_list)
    if sum(counts) != len(tensors):
        raise ValueError(f"Expected {sum(counts)} tensors but got {len(tensors)}.")
    parts = []
    for spec, count in zip(flat, counts):
        parts.append(decode(spec, tensors[:count]))
        del tensors[:count]
    return nest.pack_sequence_as(element_spec, parts)


def from_compatible_tensor_list(element_spec: Any, tensor_list: Any) -> Any:
    """The element that consists of these tensors."""
    return _from(element_spec, tensor_list, lambda spec, value: spec._from_compatible_tensor_list(value))


def from_tensor_list(element_spec: Any, tensor_list: Any) -> Any:
    """The same; the tensors are checked."""
    return _from(element_spec, tensor_list, lambda spec, value: spec._from_tensor_list(value))


def to_tensor_list(element_spec: Any, element: Any) -> list[Any]:
    """The tensors that an element consists of."""
    nest.assert_same_structure(element_spec, element)
    pairs = zip(nest.flatten(element_spec), nest.flatten(element))
    return [t for spec, part in pairs for t in spec._to_tensor_list(part)]


def to_batched_tensor_list(element_spec: Any, element: Any) -> list[Any]:
    """The same for a batch of elements: tensors whose slices are the elements' tensors."""
    nest.assert_same_structure(element_spec, element)
    pairs = zip(nest.flatten(element_spec), nest.flatten(element))
    return [t for spec, part in pairs for t in spec._to_batched_tensor_list(part)]


def are_compatible(spec1: Any, spec2: Any) -> bool:
    """Whether elements of one description may stand where the other is expected."""
    try:
        nest.assert_same_structure(spec1, spec2)
    except (TypeError, ValueError):
        return False
    pairs = zip(nest.flatten(spec1), nest.flatten(spec2))
    return all(a.is_compatible_with(b) and b.is_compatible_with(a) for a, b in pairs)


def legacy_classes(element_spec: Any) -> Any:
    return nest.map_structure(lambda spec: spec._to_legacy_output_classes(), element_spec)


def legacy_shapes(element_spec: Any) -> Any:
    return nest.map_structure(lambda spec: spec._to_legacy_output_shapes(), element_spec)


def legacy_types(element_spec: Any) -> Any:
    return nest.map_structure(lambda spec: spec._to_legacy_output_types(), element_spec)
