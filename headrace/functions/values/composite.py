"""Composite tensors: values that consist of several tensors, described by a TypeSpec.

`nest` goes into them where it is asked to (`expand_composites=True`).
"""

from __future__ import annotations

import abc
from typing import Any

from headrace.functions.sparse.indexed_slices_spec import IndexedSlicesSpec
from headrace.functions.values import nest
from headrace.functions.values.tensor_spec import (
    BoundedTensorSpec,
    TensorSpec,
    register_type_spec_from_value_converter,
    type_spec_from_value,
)
from headrace.functions.values.type_spec import BatchableTypeSpec, TypeSpec

__all__ = [
    "BatchableTypeSpec",
    "BoundedTensorSpec",
    "CompositeTensor",
    "IndexedSlicesSpec",
    "TensorSpec",
    "TypeSpec",
    "register_type_spec_from_value_converter",
    "replace_composites_with_components",
    "type_spec_from_value",
]


class CompositeTensor(abc.ABC):
    """A value of several tensors."""

    _nest_kind = "composite"

    @property
    @abc.abstractmethod
    def _type_spec(self) -> TypeSpec:
        """The description of this value."""

    def _to_components(self) -> Any:
        return self._type_spec._to_components(self)

    def _component_metadata(self) -> TypeSpec:
        return self._type_spec

    @staticmethod
    def _from_components(components: Any, metadata: TypeSpec) -> Any:
        return metadata._from_components(components)

    def _shape_invariant_to_type_spec(self, shape: Any) -> TypeSpec:
        """The description that a shape invariant of tf.while_loop stands for."""
        raise NotImplementedError(f"{type(self).__name__}._shape_invariant_to_type_spec")

    @property
    def _is_graph_tensor(self) -> bool:
        return any(hasattr(t, "graph") for t in nest.flatten(self, expand_composites=True))

    def _consumers(self) -> list[Any]:
        """The nodes that take one of the tensors."""
        found = {
            node: None
            for tensor in nest.flatten(self, expand_composites=True)
            if getattr(tensor, "graph", None) is not None
            for node in tensor.consumers()
        }
        return list(found)


def replace_composites_with_components(structure: Any) -> Any:
    """The structure with every composite replaced by its tensors."""
    if nest.is_composite(structure):
        components = structure._type_spec._to_components(structure)
        return replace_composites_with_components(components)
    if not nest.is_nested(structure):
        return structure
    return nest.map_structure(replace_composites_with_components, structure)
