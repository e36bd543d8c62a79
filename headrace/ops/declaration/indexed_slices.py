"""IndexedSlices: the rows of a large tensor that are not zero, as Gather's gradient gives them.

`values[i]` belongs at row `indices[i]` of a tensor of `dense_shape`; an index may occur twice: rows
add up.  It becomes a dense tensor where an op needs one, with a warning where that is large.
"""

from __future__ import annotations

import warnings
from collections import namedtuple
from typing import Any

from headrace.core.dtypes import DType
from headrace.core.fields import reads
from headrace.core.modules import late
from headrace.core.shapes import UNKNOWN, Shape
from headrace.graph.graph import Graph
from headrace.graph.node import Node
from headrace.graph.tensor import Tensor
from headrace.ops.declaration.constants import constant_value, constant_value_as_shape
from headrace.ops.declaration.convert import register_tensor_conversion_function

segment = late("headrace.ops.array.indexing.segment")
strided_slice = late("headrace.ops.array.slices.strided_slice")

IndexedSlicesValue = namedtuple("IndexedSlicesValue", ["values", "indices", "dense_shape"])

_LARGE = 100_000_000  # elements: from here on a dense copy is worth a warning


class IndexedSlices:
    """Rows `values` at places `indices` of a tensor of shape `dense_shape`."""

    def __init__(self, values: Tensor, indices: Tensor, dense_shape: Tensor | None = None) -> None:
        self._values, self._indices, self._dense_shape = values, indices, dense_shape

    values: Tensor = reads("_values", "A tensor of the rows.")
    indices: Tensor = reads("_indices", "A vector: the place of each row.")
    dense_shape: Tensor | None = reads("_dense_shape", "The shape of the whole tensor as a vector, or None.")

    @property
    def shape(self) -> Shape:
        """What is known of the shape of the whole tensor."""
        if self._dense_shape is None:
            return UNKNOWN
        return constant_value_as_shape(self._dense_shape)

    name: str = reads("_values.name")
    device: str = reads("_values.device")
    op: Node = reads("_values.op")
    control_element: Node = reads("op", "The node that a control dependency on these slices waits for.")
    dtype: DType = reads("_values.dtype")
    graph: Graph = reads("_values.graph")

    def consumers(self) -> list[Node]:
        return self._values.consumers()

    def __neg__(self) -> IndexedSlices:
        return IndexedSlices(-self._values, self._indices, self._dense_shape)

    def __str__(self) -> str:
        tail = "" if self._dense_shape is None else f", dense_shape={self._dense_shape}"
        return f"IndexedSlices(indices={self._indices}, values={self._values}{tail})"


def _to_tensor(
    value: IndexedSlices, dtype: DType | None = None, name: str | None = None, as_ref: bool = False
) -> Any:
    if dtype is not None and not dtype.is_compatible_with(value.dtype):
        raise ValueError(
            f"Tensor conversion requested dtype {dtype.name} for IndexedSlices with dtype {value.dtype.name}"
        )
    if value.dense_shape is None:
        raise ValueError(f"Tensor conversion requested for IndexedSlices without dense_shape: {value}")
    _warn(value)
    return _dense(value, name)


def _warn(value: IndexedSlices) -> None:
    sizes = constant_value(value.dense_shape)
    if sizes is None:
        warnings.warn(
            "Converting sparse IndexedSlices to a dense Tensor of unknown shape. This may consume "
            "a large amount of memory.",
            stacklevel=2,
        )
    elif sizes.astype(float).prod() >= _LARGE:
        warnings.warn(
            f"Converting sparse IndexedSlices to a dense Tensor with {int(sizes.prod())} elements. "
            "This may consume a large amount of memory.",
            stacklevel=2,
        )


def _dense(value: IndexedSlices, name: str | None = None) -> Tensor:
    rows = strided_slice.getitem(value.dense_shape, 0)
    return segment.unsorted_segment_sum(value.values, value.indices, rows, name=name)


def dense(value: Any) -> Any:
    """A tensor; IndexedSlices are summed up without a warning (the caller knows what it does)."""
    if isinstance(value, IndexedSlices):
        if value.dense_shape is None:
            raise ValueError(f"IndexedSlices without dense_shape can not become dense: {value}")
        return _dense(value)
    return value


register_tensor_conversion_function(IndexedSlices, _to_tensor)
