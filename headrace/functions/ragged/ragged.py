"""tf.ragged.*: constants, ranges, gathering, stacking, masks; and the operators of RaggedTensor."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headrace.core import dtypes
from headrace.core.dtypes import DTypeLike, as_dtype, int32, int64
from headrace.functions.array import array, checks, indexing, sort, stacking
from headrace.functions.math import math, numerics, sums
from headrace.functions.math.cast import cast
from headrace.functions.ragged.tensor import RaggedTensor, convert_to_tensor_or_ragged_tensor, is_ragged
from headrace.functions.values.structure import name_scope
from headrace.graph.defaults import get_default_graph
from headrace.graph.tensor import Tensor
from headrace.ops.declaration.constants import constant_value as static_value
from headrace.ops.declaration.convert import convert_to_tensor
from headrace.ops.ragged import ragged as ops

_WIDER = (int32, int64, dtypes.float32, dtypes.float64)


# -- ranges and segments ------------------------------------------------------------------------
def ragged_range(
    starts: Any,
    limits: Any = None,
    deltas: Any = 1,
    dtype: DTypeLike | None = None,
    name: str | None = None,
    row_splits_dtype: DTypeLike = int64,
) -> RaggedTensor:
    """Row i counts from starts[i] up to limits[i] in steps of deltas[i].

    Args:
      starts: vector or scalar; the limits, if these are not given, and rows then start at 0.
      limits: vector or scalar.
      deltas: vector or scalar.
      dtype: the type of the numbers.
      name: name of the scope.
      row_splits_dtype: int32 or int64.
    """
    kind = as_dtype(row_splits_dtype)
    if limits is None:
        starts, limits = 0, starts
    with name_scope(name, "RaggedRange", [starts, limits, deltas]) as scope:
        starts = convert_to_tensor(starts, dtype, "starts")
        limits = convert_to_tensor(limits, dtype, "limits")
        deltas = convert_to_tensor(deltas, dtype, "deltas")
        if dtype is None:
            widest = max((x.dtype.base for x in (starts, limits, deltas)), key=_WIDER.index)
            starts, limits, deltas = (cast(x, widest) for x in (starts, limits, deltas))
        splits, values = ops.ragged_range(starts, limits, deltas, Tsplits=kind, name=scope)
        result: RaggedTensor = RaggedTensor.from_row_splits(values, splits, validate=False)
        return result


def row_splits_to_segment_ids(splits: Any, name: str | None = None, out_type: Any = None) -> Tensor:
    """The row of each value, from row splits.

    Example:
      >>> tf.ragged.row_splits_to_segment_ids([0, 3, 3, 5])      # 0 0 0 2 2
    """
    with name_scope(name, "RaggedSplitsToSegmentIds", [splits]):
        splits = convert_to_tensor(splits, name="splits", preferred_dtype=int64)
        if splits.dtype not in (int32, int64):
            raise ValueError("splits must have dtype int32 or int64")
        splits.shape.assert_has_rank(1)
        if splits.shape.dim(0) == 0:
            raise ValueError("Invalid row_splits: []")
        kind = splits.dtype if out_type is None else as_dtype(out_type)
        places = math.range_(splits[-1])
        found = sort.searchsorted(splits[1:], places, side="right", out_type=int64)
        result: Tensor = cast(found, kind)
        return result


def segment_ids_to_row_splits(
    segment_ids: Any, num_segments: Any = None, out_type: Any = None, name: str | None = None
) -> Tensor:
    """Row splits from the row of each value.

    Example:
      >>> tf.ragged.segment_ids_to_row_splits([0, 0, 0, 2, 2])     # 0 3 3 5
    """
    if out_type is not None:
        kind = as_dtype(out_type)
    else:
        given = [x.dtype for x in (segment_ids, num_segments) if isinstance(x, Tensor)]
        kind = given[0] if given else int64
    with name_scope(name, "SegmentIdsToRaggedSplits", [segment_ids]):
        ids = _as_int32(segment_ids, "segment_ids")
        ids.shape.assert_has_rank(1)
        count = None
        if num_segments is not None:
            count = _as_int32(num_segments, "num_segments")
            count.shape.assert_has_rank(0)
        lengths = numerics.bincount(ids, minlength=count, maxlength=count, dtype=kind)
        splits = lengths_to_splits(lengths)
        known = None if count is None else static_value(count)
        if known is not None:
            splits.set_shape([int(known) + 1])
        return splits


def _as_int32(value: Any, name: str) -> Tensor:
    tensor = convert_to_tensor(value, name=name, preferred_dtype=int32)
    if not tensor.dtype.is_integer:
        raise TypeError(f"{name} must be an integer tensor; dtype={tensor.dtype}")
    result: Tensor = cast(tensor, int32)
    return result


def lengths_to_splits(lengths: Tensor) -> Tensor:
    result: Tensor = stacking.concat([array.zeros([1], lengths.dtype), sums.cumsum(lengths)], axis=0)
    return result


# -- functions of the values --------------------------------------------------------------------
def map_flat_values(op: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """`op` of the innermost values of ragged tensors with equal rows; the result has these rows.

    Args:
      op: takes dense tensors where ragged ones are given.
      *args: its arguments; ragged tensors, also within lists, give their values.
      **kwargs: its keyword arguments.
    """
    nested: list[tuple[Tensor, ...]] = []
    flat_args = _flattened(args, nested)
    flat_kwargs = _flattened(kwargs, nested)
    if not nested:
        return op(*args, **kwargs)
    if len({splits[0].dtype for splits in nested}) > 1:
        raise ValueError(
            "Input RaggedTensors have mismatched row_splits dtypes; use "
            "RaggedTensor.with_row_splits_dtype() to convert them to compatible dtypes."
        )
    with get_default_graph().control_dependencies(assert_splits_match(nested)):
        values = op(*flat_args, **flat_kwargs)
        return RaggedTensor.from_nested_row_splits(values, nested[0], validate=False)


def _flattened(value: Any, nested: list[tuple[Tensor, ...]]) -> Any:
    """The value with ragged tensors replaced by their values; their splits go to `nested`."""
    if is_ragged(value):
        ragged = convert_to_tensor_or_ragged_tensor(value)
        nested.append(ragged.nested_row_splits)
        return ragged.flat_values
    if isinstance(value, (list, tuple)):
        return type(value)(_flattened(v, nested) for v in value)
    if isinstance(value, dict):
        return {k: _flattened(v, nested) for k, v in value.items()}
    return value


def assert_splits_match(nested: list[Any]) -> list[Any]:
    """Checks that several lists of row splits are equal."""
    message = "Inputs must have identical ragged splits"
    if any(len(splits) != len(nested[0]) for splits in nested):
        raise ValueError(message)
    return [
        checks.assert_equal(a, b, message=message)
        for splits in nested[1:]
        for a, b in zip(nested[0], splits)
        if a is not b
    ]


def take(params: Any, indices: Any) -> Any:
    """The rows of a dense or ragged tensor that a vector of indices names."""
    if not isinstance(params, RaggedTensor):
        return indexing.gather(params, indices)
    return gather(params, indices)


def gather(params: Any, indices: Any, name: str | None = None) -> Any:
    """The rows of a ragged tensor; ragged indices give ragged rows of rows."""
    with name_scope(name, "RaggedGather", [indices]):
        params = convert_to_tensor_or_ragged_tensor(params, name="params")
        indices = convert_to_tensor_or_ragged_tensor(indices, name="indices")
        if isinstance(indices, RaggedTensor):
            return indices.with_values(gather(params, indices.values))
        if not isinstance(params, RaggedTensor):
            return indexing.gather(params, indices)
        rank = indices.shape.rank
        if rank is None:
            raise ValueError("indices.shape.ndims must be known statically")
        splits, values = ops.ragged_gather(
            list(params.nested_row_splits),
            params.flat_values,
            indices,
            OUTPUT_RAGGED_RANK=rank + params.ragged_rank - 1,
        )
        return RaggedTensor.from_nested_row_splits(values, splits, validate=False)
