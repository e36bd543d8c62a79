"""Means of unsorted segments, and segments of chosen rows."""

from __future__ import annotations

from typing import Any

from headrace.functions.array.array import ones, shape_internal
from headrace.functions.values.structure import name_scope
from headrace.graph.tensor import Tensor
from headrace.ops.array.indexing import segment
from headrace.ops.declaration import array
from headrace.ops.declaration.convert import convert_to_tensor
from headrace.ops.math.arithmetic import maximum, sqrt
from headrace.ops.sparse import segment as sparse_segment


def _counts(data: Tensor, segment_ids: Tensor, num_segments: Any) -> Tensor:
    """How many rows each segment has, at least 1, shaped to divide its sums."""
    units = ones(shape_internal(segment_ids), data.dtype)
    count = segment.unsorted_segment_sum(units, segment_ids, num_segments)
    behind = data.shape.rank - segment_ids.shape.rank  # type: ignore[operator]
    return maximum(array.reshape(count, [num_segments] + [1] * behind), 1)


def unsorted_segment_mean(data: Any, segment_ids: Any, num_segments: Any, name: str | None = None) -> Tensor:
    """The means of the rows with each id.

    Args:
      data: numbers, of known rank.
      segment_ids: integers whose shape is a prefix of that of `data`; negative ones are dropped.
      num_segments: a scalar, how many segments there are.
      name: name of the scope.

    Returns:
      A tensor [num_segments, ...]; zeros where no row has the id.
    """
    with name_scope(name, "UnsortedSegmentMean"):
        data, segment_ids = convert_to_tensor(data), convert_to_tensor(segment_ids)
        count = _counts(data, segment_ids, num_segments)
        return segment.unsorted_segment_sum(data, segment_ids, num_segments) / count


def unsorted_segment_sqrt_n(
    data: Any, segment_ids: Any, num_segments: Any, name: str | None = None
) -> Tensor:
    """The sums of the rows with each id, divided by the square root of their number.

    Args:
      data: numbers, of known rank.
      segment_ids: integers whose shape is a prefix of that of `data`; negative ones are dropped.
      num_segments: a scalar, how many segments there are.
      name: name of the scope.
    """
    with name_scope(name, "UnsortedSegmentSqrtN"):
        data, segment_ids = convert_to_tensor(data), convert_to_tensor(segment_ids)
        count = _counts(data, segment_ids, num_segments)
        return segment.unsorted_segment_sum(data, segment_ids, num_segments) / sqrt(count)


def _sparse(called: str, plain: Any, counted: Any, what: str) -> Any:
    def reduction(
        data: Any, indices: Any, segment_ids: Any, name: str | None = None, num_segments: Any = None
    ) -> Tensor:
        counts = () if num_segments is None else (num_segments,)
        build = counted if counts else plain
        result: Tensor = build(data, indices, segment_ids, *counts, name=name)
        return result

    reduction.__name__ = reduction.__qualname__ = called
    reduction.__doc__ = f"""{what}

    Args:
      data: a tensor of rank 1 or more.
      indices: a vector, the rows of `data` to take.
      segment_ids: int32, as long as `indices`: the segment of each row, in rising order.
      name: name of the node.
      num_segments: how many segments the result has; up to the last id if not given.
    """
    return reduction


sparse_segment_sum = _sparse(
    "sparse_segment_sum",
    sparse_segment.sparse_segment_sum,
    sparse_segment.sparse_segment_sum_with_num_segments,
    "The sums of chosen rows by segment.",
)
sparse_segment_mean = _sparse(
    "sparse_segment_mean",
    sparse_segment.sparse_segment_mean,
    sparse_segment.sparse_segment_mean_with_num_segments,
    "The means of chosen rows by segment.",
)
sparse_segment_sqrt_n = _sparse(
    "sparse_segment_sqrt_n",
    sparse_segment.sparse_segment_sqrt_n,
    sparse_segment.sparse_segment_sqrt_n_with_num_segments,
    "The sums of chosen rows by segment, divided by the square root of their number.",
)
