"""The iterator of a `for` loop: it starts when it is made, and ends when nobody holds it.

In eager mode its elements are values.  It may be an argument of a function: there, `next` gives tensors,
which are the next element at every call.
"""

from __future__ import annotations

import weakref
from typing import Any

from headrace.core import dtypes
from headrace.core.errors import OutOfRangeError
from headrace.core.shapes import SCALAR
from headrace.data.dataset import Dataset
from headrace.data.options_applied import apply_options
from headrace.data.values import structure
from headrace.functions.platform.scopes import device
from headrace.functions.values.composite import CompositeTensor
from headrace.functions.values.tensor_spec import TensorSpec
from headrace.functions.values.type_spec import TypeSpec
from headrace.graph.defaults import get_default_graph
from headrace.ops.data import iterators as ops
from headrace.ops.data.iterator_resource import IteratorResource


class OwnedIterator(CompositeTensor):
    """The elements of a dataset, one after the other.

    Args:
      dataset: what it goes over.
    """

    def __init__(self, dataset: Dataset | None = None, components: Any = None, element_spec: Any = None):
        if (dataset is None) == (components is None or element_spec is None):
            raise ValueError("Either `dataset` or both `components` and `element_spec` need to be provided.")
        if dataset is None:
            self._element_spec = element_spec
            self._iterator_resource, self._deleter = components
            self._flat = structure.flat_structure(element_spec)
        else:
            self._begin(dataset)

    def _begin(self, dataset: Dataset) -> None:
        applied = apply_options(dataset)
        self._element_spec, self._flat = applied.element_spec, applied._flat_structure
        with device("/cpu:0"):
            self._iterator_resource, self._deleter = ops.anonymous_iterator_v2(**self._flat)
            ops.make_iterator(applied._variant_tensor, self._iterator_resource)
        if get_default_graph().runs_at_once:
            # What goes on in the background ends with the tensor that leads to the iterator.
            resource = self._iterator_resource._constant.get(IteratorResource)
            weakref.finalize(self._iterator_resource, resource.close_resource).atexit = False

    def get_next(self, name: str | None = None) -> Any:
        """The next element.

        Raises:
          OutOfRangeError: there is none.
        """
        take = ops.iterator_get_next
        if get_default_graph().runs_at_once:
            take = ops.iterator_get_next_sync
        with device(self._iterator_resource.device):
            flat = take(self._iterator_resource, name=name, **self._flat)
        tensors = list(flat) if isinstance(flat, (list, tuple)) else [flat]
        return structure.from_compatible_tensor_list(self._element_spec, tensors)

    def __iter__(self) -> OwnedIterator:
        if not get_default_graph().runs_at_once:
            raise RuntimeError(
                "A loop over an iterator never ends in the body of a function, where its elements are "
                "tensors: take them by next(), or use Dataset.reduce()."
            )
        return self

    def __next__(self) -> Any:
        try:
            return self.get_next()
        except OutOfRangeError:
            raise StopIteration from None

    next = __next__

    # -- what it is --------------------------------------------------------------------------------
    @property
    def element_spec(self) -> Any:
        """The nest of TypeSpecs that describes an element."""
        return self._element_spec

    @property
    def output_classes(self) -> Any:
        """The class of each component of an element."""
        return structure.legacy_classes(self._element_spec)

    @property
    def output_shapes(self) -> Any:
        """The shape of each component of an element."""
        return structure.legacy_shapes(self._element_spec)

    @property
    def output_types(self) -> Any:
        """The type of each component of an element."""
        return structure.legacy_types(self._element_spec)

    @property
    def _type_spec(self) -> IteratorSpec:
        return IteratorSpec(self._element_spec)


class IteratorSpec(TypeSpec):
    """Describes iterators.

    Args:
      element_spec: the nest that describes their elements.
    """

    __slots__ = ("_element_spec",)

    def __init__(self, element_spec: Any) -> None:
        self._element_spec = element_spec

    @property
    def value_type(self) -> Any:
        return OwnedIterator

    def _serialize(self) -> tuple[Any, ...]:
        return (self._element_spec,)

    @property
    def _component_specs(self) -> Any:
        return TensorSpec(SCALAR, dtypes.resource), TensorSpec(SCALAR, dtypes.variant)

    def _to_components(self, value: Any) -> Any:
        return value._iterator_resource, value._deleter

    def _from_components(self, components: Any) -> Any:
        return OwnedIterator(components=components, element_spec=self._element_spec)
