"""rt[...]: rows, slices of rows and columns, new axes.

A single column of a ragged dimension can not be asked for: not every row has one.
"""

from __future__ import annotations

from typing import Any

from headrace.functions.array import array, stacking
from headrace.functions.control.cond import cond
from headrace.functions.math import math
from headrace.functions.math.cast import cast
from headrace.functions.ragged.ragged import ragged_range, take
from headrace.functions.ragged.tensor import RaggedTensor
from headrace.functions.values.structure import name_scope
from headrace.graph.tensor import Tensor
from headrace.ops.declaration.convert import convert_to_tensor
from headrace.ops.math import arithmetic

ALL = slice(None)


def getitem(value: RaggedTensor, key: Any) -> Any:
    keys = list(key) if isinstance(key, (list, tuple)) else [key]
    with name_scope(None, "RaggedGetItem", [value.row_splits]):
        return _rows(value, keys)


def _rows(value: RaggedTensor, keys: list[Any]) -> Any:
    if not keys:
        return value
    first, *rest = keys
    if first is Ellipsis:
        return _rows(value, _without_ellipsis(keys, value.shape.rank))
    if first is None:  # a new axis: everything in one row
        inner = _rows(value, rest)
        count = array.shape(inner.row_splits, out_type=inner.row_splits.dtype)[0]
        zero = array.zeros((), count.dtype)
        splits = stacking.stack([zero, count - 1])
        return RaggedTensor.from_row_splits(inner, splits, validate=False)
    if isinstance(first, slice):
        return _columns(_slice_rows(value, first), rest)
    start, limit = value.row_splits[:-1][first], value.row_splits[1:][first]
    row = value.values[start:limit]
    return row[tuple(rest)] if rest else row


def _slice_rows(value: RaggedTensor, key: slice) -> RaggedTensor:
    if key == ALL:
        return value
    starts, limits = value.row_splits[:-1][key], value.row_splits[1:][key]
    if key.step is not None and key.step != 1:
        return _ranges(starts, limits, 1, value.values)
    # The rows lie beside each other; without any the splits are [0].
    zero = array.zeros([1], value.row_splits.dtype)
    splits = stacking.concat([zero[array.size(starts) :], starts[:1], limits], axis=0)
    values = value.values[splits[0] : splits[-1]]
    result: RaggedTensor = RaggedTensor.from_row_splits(values, splits - splits[0], validate=False)
    return result


def _columns(value: Any, keys: list[Any]) -> Any:
    """The keys behind the first one."""
    if not keys:
        return value
    if isinstance(value, Tensor):
        whole = (ALL, *keys)
        return value[whole]
    first, *rest = keys
    if first is Ellipsis:
        return _columns(value, _without_ellipsis(keys, value.values.shape.rank))
    if first is None:  # a new axis: each value in a row of its own
        inner = _columns(value, rest)
        count = array.shape(inner.row_splits, out_type=inner.row_splits.dtype)[0]
        return RaggedTensor.from_row_splits(inner, math.range_(count), validate=False)
    if not isinstance(first, slice):
        raise ValueError("Cannot index into an inner ragged dimension.")
    if first == ALL:
        return value.with_values(_columns(value.values, rest))
    starts = begins = value.row_splits[:-1]
    limits = ends = value.row_splits[1:]
    if first.start is not None and not _is_zero(first.start):
        starts = _moved(first.start, begins, ends)
    if first.stop is not None and not _is_zero(first.stop):
        limits = _moved(first.stop, begins, ends)
    inner = _ranges(starts, limits, first.step, value.values)
    return inner.with_values(_columns(inner.values, rest))


def _is_zero(key: Any) -> bool:
    return isinstance(key, int) and key == 0


def _moved(offset: Any, starts: Tensor, limits: Tensor) -> Tensor:
    """Places `offset` behind the starts, or before the limits if it is negative."""

    def forward() -> Tensor:
        return arithmetic.minimum(starts + offset, limits)

    def backward() -> Tensor:
        return arithmetic.maximum(limits + offset, starts)

    if isinstance(offset, Tensor):
        offset = cast(offset, starts.dtype)
        result: Tensor = cond(offset >= 0, forward, backward)
        return result
    if isinstance(offset, int):
        return forward() if offset > 0 else backward()
    raise TypeError("slice offsets must be integers or None")


def _ranges(starts: Tensor, limits: Tensor, step: Any, values: Any) -> RaggedTensor:
    """Row i has the values from starts[i] up to limits[i]."""
    step = convert_to_tensor(1 if step is None else step, name="step")
    if not step.dtype.is_integer:
        raise TypeError("slice strides must be integers or None")
    places = ragged_range(starts, limits, cast(step, starts.dtype), row_splits_dtype=starts.dtype)
    return places.with_values(take(values, places.values))


def _without_ellipsis(keys: list[Any], rank: int | None) -> list[Any]:
    """The keys with one more ":" in front, or without the "..." if they are enough."""
    if rank is None:
        raise ValueError("Ellipsis not supported for unknown shape RaggedTensors")
    count = sum(key is not None for key in keys)
    if count > rank + 1:
        raise IndexError("Too many indices for RaggedTensor")
    return keys[1:] if count == rank + 1 else [ALL, *keys]
