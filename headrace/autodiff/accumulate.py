"""Several gradients of one tensor -> one: dense ones are added, slices are put together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headrace.core import dtypes
from headrace.core.shapes import UNKNOWN
from headrace.graph.tensor import Tensor
from headrace.ops.array import concat
from headrace.ops.declaration.convert import convert_to_tensor
from headrace.ops.declaration.indexed_slices import IndexedSlices
from headrace.ops.math import add_n, cast


class AggregationMethod:
    """How gradients of one tensor are summed.

    ADD_N: one op, when all are there.  EXPERIMENTAL_TREE: pairs, earlier ones freed earlier.
    EXPERIMENTAL_ACCUMULATE_N: the accumulate op.
    """

    ADD_N = 0
    DEFAULT = ADD_N
    EXPERIMENTAL_TREE = 1
    EXPERIMENTAL_ACCUMULATE_N = 2


_METHODS = (0, 1, 2)


def aggregate(parts: Sequence[Any], method: int | None) -> Any:
    """The sum of gradients; None for no gradient at all."""
    method = AggregationMethod.DEFAULT if method is None else method
    if method not in _METHODS:
        raise ValueError(f"Invalid aggregation_method specified {method}.")
    parts = [p for p in parts if p is not None]
    if not parts:
        return None
    if len(parts) == 1:
        return parts[0]
    if all(isinstance(p, IndexedSlices) for p in parts):
        return _join_slices(parts)
    return _add([convert_to_tensor(p) for p in parts], method)


def _add(tensors: Sequence[Tensor], method: int) -> Any:
    if method == AggregationMethod.ADD_N:
        return _add_by_device(tensors)
    if method == AggregationMethod.EXPERIMENTAL_ACCUMULATE_N and len(tensors) > 2:
        shape = UNKNOWN
        for tensor in tensors:
            shape = shape.merge_with(tensor.shape)
        if shape.is_full and tensors[0].dtype.base.kind != "v":
            return add_n.accumulate_n_v2(list(tensors), shape)
    total = tensors[0]
    for tensor in tensors[1:]:
        total = add_n.add_n([total, tensor])
    return total


def _add_by_device(tensors: Sequence[Tensor]) -> Any:
    """What is on one device is added there first."""
    by_device: dict[str, list[Tensor]] = {}
    for tensor in tensors:
        by_device.setdefault(tensor.device or "", []).append(tensor)
    sums = []
    for _, parts in sorted(by_device.items()):
        with tensors[0].graph.colocate_with(parts[0].op, ignore_existing=True):
            sums.append(parts[0] if len(parts) == 1 else add_n.add_n(parts))
    return sums[0] if len(sums) == 1 else add_n.add_n(sums)


def _join_slices(parts: Sequence[IndexedSlices]) -> IndexedSlices:
    """Rows one after the other: the same row may appear twice, it counts twice."""
    indices = [p.indices for p in parts]
    if len({i.dtype.base for i in indices}) > 1:
        indices = [cast.cast(i, DstT=dtypes.int64) for i in indices]
    return IndexedSlices(
        concat.concat_v2([p.values for p in parts], 0), concat.concat_v2(indices, 0), parts[0].dense_shape
    )
