"""Ragged tensors put together and chosen from: concat, stack, masks, partitions."""

from __future__ import annotations

from typing import Any

from headrace.core import dtypes
from headrace.core.dtypes import DType
from headrace.functions.array import array, checks, indexing, sort, stacking
from headrace.functions.math import math, reduce, sums
from headrace.functions.math.cast import cast
from headrace.functions.ragged.ragged import (
    assert_splits_match,
    gather,
    lengths_to_splits,
    map_flat_values,
    row_splits_to_segment_ids,
    take,
)
from headrace.functions.ragged.tensor import (
    RaggedTensor,
    convert_to_tensor_or_ragged_tensor,
    is_ragged,
    match_row_splits_dtypes,
    positive_axis,
)
from headrace.functions.values.structure import name_scope
from headrace.graph.defaults import get_default_graph
from headrace.graph.tensor import Tensor
from headrace.ops.declaration.convert import convert_to_tensor


# -- putting together ---------------------------------------------------------------------------
def concat(values: Any, axis: int, name: str | None = None) -> Any:
    """Dense and ragged tensors, one after the other along `axis`."""
    values = list(values) if isinstance(values, (list, tuple)) else [values]
    with name_scope(name, "RaggedConcat"):
        return _joined(values, axis, stacked=False)


def stack(values: Any, axis: int = 0, name: str | None = None) -> Any:
    """Tensors of equal rank, dense or ragged, along a new axis.

    Args:
      values: a list of tensors; rows may have different lengths.
      axis: the new axis.
      name: name of the scope.

    Returns:
      A `RaggedTensor`.
    """
    values = list(values) if isinstance(values, (list, tuple)) else [values]
    with name_scope(name, "RaggedConcat"):
        return _joined(values, axis, stacked=True)


def _joined(values: list[Any], axis: int, stacked: bool) -> Any:
    if not values:
        raise ValueError("rt_inputs may not be empty.")
    inputs = [convert_to_tensor_or_ragged_tensor(v, name="rt_input") for v in values]
    kind = match_row_splits_dtypes(*inputs)
    if len(inputs) == 1:
        return expand_dims(inputs[0], axis) if stacked else inputs[0]
    rank = inputs[0].shape.rank
    for other in inputs[1:]:
        other.shape.assert_has_rank(rank)
    out_rank = rank + 1 if stacked and rank is not None else rank
    axis = positive_axis(axis, out_rank)
    if rank is not None and not any(is_ragged(x) for x in inputs):
        if axis == out_rank - 1 or axis == rank - 1:
            return stacking.stack(inputs, axis) if stacked else stacking.concat(inputs, axis)
    depth = max([x.ragged_rank for x in inputs if is_ragged(x)], default=1)
    inputs = [_with_ragged_rank(x, depth, kind) for x in inputs]
    if axis == 0:
        return _one_below_the_other(inputs, stacked)
    if axis == 1:
        return _side_by_side(inputs, stacked)
    splits = [[x.row_splits] for x in inputs]
    with get_default_graph().control_dependencies(assert_splits_match(splits)):
        inner = _joined([x.values for x in inputs], axis - 1, stacked)
        return RaggedTensor.from_row_splits(inner, splits[0][0], validate=False)


def _with_ragged_rank(value: Any, rank: int, kind: DType) -> Any:
    if rank <= 0:
        return value
    if not is_ragged(value):
        value = RaggedTensor.from_tensor(value, row_splits_dtype=kind)
    if value.ragged_rank < rank:
        value = value.with_values(_with_ragged_rank(value.values, rank - 1, kind))
    return value


def _one_below_the_other(inputs: list[Any], stacked: bool) -> Any:
    values = stacking.concat([x.flat_values for x in inputs], axis=0)
    nested = [_continued(levels) for levels in zip(*(x.nested_row_splits for x in inputs))]
    if stacked:
        nested.insert(0, lengths_to_splits(stacking.stack([x.nrows() for x in inputs])))
    return RaggedTensor.from_nested_row_splits(values, nested, validate=False)


def _continued(splits: Any) -> Tensor:
    """Row splits, each going on where the one before it ended."""
    pieces, end = [splits[0]], splits[0][-1]
    for piece in splits[1:]:
        pieces.append(piece[1:] + end)
        end = end + piece[-1]
    result: Tensor = stacking.concat(pieces, axis=0)
    return result


def _side_by_side(inputs: list[Any], stacked: bool) -> Any:
    rows, count = inputs[0].nrows(), len(inputs)
    message = "Input tensors have incompatible shapes."
    equal = [checks.assert_equal(x.nrows(), rows, message=message) for x in inputs[1:]]
    with get_default_graph().control_dependencies(equal):
        below = _one_below_the_other(inputs, stacked=False)
        # row r of every input, then row r + 1 of every input, ...
        order = array.reshape(math.range_(rows * count), [count, -1])
        mixed = gather(below, array.reshape(array.transpose(order), [-1]))
        if stacked:
            splits = math.range_(0, rows * count + 1, count)
            values = mixed
        else:
            splits, values = mixed.row_splits[::count], mixed.values
        for x in inputs:
            size = x.shape.dim(0)
            if size is not None:
                splits.set_shape([size + 1])
        return RaggedTensor.from_row_splits(values, splits, validate=False)


def expand_dims(input: Any, axis: int, name: str | None = None) -> Any:
    """A dimension of size 1 more in a dense or ragged tensor."""
    with name_scope(name, "RaggedExpandDims"):
        value = convert_to_tensor_or_ragged_tensor(input, name="input")
        if not is_ragged(value):
            return array.expand_dims(value, axis)
        rank = value.shape.rank
        axis = positive_axis(axis, None if rank is None else rank + 1)
        if axis == 0:
            zero = array.zeros((), value.row_splits.dtype)
            return RaggedTensor.from_row_splits(value, stacking.stack([zero, value.nrows()]), validate=False)
        if axis == 1:
            return RaggedTensor.from_row_splits(value, math.range_(value.nrows() + 1), validate=False)
        if is_ragged(value.values):
            return value.with_values(expand_dims(value.values, axis - 1))
        return value.with_values(array.expand_dims(value.values, axis - 1))


# -- choosing -----------------------------------------------------------------------------------
def boolean_mask(data: Any, mask: Any, name: str | None = None) -> Any:
    """The elements of `data` where `mask` is true; rows keep what is left of them.

    Args:
      data: a dense or ragged tensor.
      mask: bools, dense or ragged; its shape is the beginning of the shape of `data`.
      name: name of the scope.
    """
    with name_scope(name, "RaggedMask"):
        data = convert_to_tensor_or_ragged_tensor(data, name="data")
        mask = convert_to_tensor_or_ragged_tensor(mask, dtypes.bool_, name="mask")
        kind = match_row_splits_dtypes(data, mask)
        rank = mask.shape.rank
        if rank is None:
            raise ValueError("mask.shape.ndims must be known statically.")
        if rank == 0:
            raise ValueError("mask cannot be scalar.")
        if is_ragged(mask):
            return _masked_rows(data, mask, kind)
        if is_ragged(data):
            if rank == 1:
                return _masked_whole_rows(data, mask)
            depth = min(data.ragged_rank, rank - 1)
            mask = RaggedTensor.from_tensor(mask, ragged_rank=depth, row_splits_dtype=kind)
            return boolean_mask(data, mask)
        values = indexing.boolean_mask(data, mask)
        if rank < 2:
            return values
        counts = reduce.reduce_sum(cast(mask, kind), axis=rank - 1)
        splits = lengths_to_splits(array.reshape(counts, [-1]))
        result = RaggedTensor.from_row_splits(values, splits, validate=False)
        if rank > 2:
            outer = array.shape(mask, out_type=kind)
            totals = sums.cumprod(outer)
            nested = [math.range_(0, totals[d - 1] + 1) * outer[d] for d in range(1, rank - 1)]
            return RaggedTensor.from_nested_row_splits(result, nested, validate=False)
        return result


def _masked_rows(data: Any, mask: RaggedTensor, kind: DType) -> Any:
    if not is_ragged(data):
        data = RaggedTensor.from_tensor(
            data, ragged_rank=mask.ragged_rank, row_splits_dtype=mask.row_splits.dtype
        )
    prefix = data.nested_row_splits[: mask.ragged_rank]
    equal = assert_splits_match([mask.nested_row_splits, prefix])
    with get_default_graph().control_dependencies(equal):
        nested: list[Tensor] = []
        inner: Any = mask
        while is_ragged(inner):
            if is_ragged(inner.values) or inner.values.shape.rank > 1:
                nested.append(inner.row_splits)
            else:
                kept = cast(inner.values, kind)
                ends = stacking.concat([array.zeros([1], kind), sums.cumsum(kept)], axis=0)
                nested.append(indexing.gather(ends, inner.row_splits))
            inner, data = inner.values, data.values
        return RaggedTensor.from_nested_row_splits(boolean_mask(data, inner), nested, validate=False)


def _masked_whole_rows(data: RaggedTensor, mask: Tensor) -> RaggedTensor:
    lengths = indexing.boolean_mask(data.row_lengths(), mask)
    kept = indexing.gather(mask, row_splits_to_segment_ids(data.row_splits))
    result: RaggedTensor = RaggedTensor.from_row_splits(
        boolean_mask(data.values, kept), lengths_to_splits(lengths), validate=False
    )
    return result


def stack_dynamic_partitions(data: Any, partitions: Any, num_partitions: Any, name: str | None = None) -> Any:
    """Row i has the elements of `data` whose partition is i.

    Args:
      data: a dense or ragged tensor.
      partitions: the row of each element; its shape is the beginning of the shape of `data`.
      num_partitions: how many rows there are.
      name: name of the scope.
    """
    with name_scope(name, "SegmentStack"):
        data = convert_to_tensor_or_ragged_tensor(data, name="data")
        kind = data.row_splits.dtype if is_ragged(data) else None
        partitions = convert_to_tensor_or_ragged_tensor(partitions, name="partitions", preferred_dtype=kind)
        count = convert_to_tensor(num_partitions, name="num_partitions", preferred_dtype=partitions.dtype)
        if kind is not None:
            partitions = map_flat_values(cast, partitions, kind)
        count = cast(count, partitions.dtype)
        rank = partitions.shape.rank
        if rank is None:
            raise ValueError("partitions must have known rank.")
        count.shape.assert_has_rank(0)
        partitions.shape.assert_is_compatible_with(data.shape[:rank])
        if rank == 0:
            return RaggedTensor.from_value_rowids(
                stack([data]) if is_ragged(data) else stacking.stack([data]),
                stacking.stack([partitions]),
                nrows=count,
                validate=False,
            )
        if rank == 1:
            order = sort.argsort(partitions, stable=True)
            ids = indexing.gather(partitions, order)
            below = checks.assert_less(ids[-1:], count, message="partitions must be less than num_partitions")
            with get_default_graph().control_dependencies([below]):
                return RaggedTensor.from_value_rowids(take(data, order), ids, nrows=count, validate=False)
        if not is_ragged(data):
            data = RaggedTensor.from_tensor(data, row_splits_dtype=partitions.dtype)
        if not is_ragged(partitions):
            partitions = RaggedTensor.from_tensor(
                partitions,
                row_splits_dtype=data.row_splits.dtype,
                ragged_rank=max(data.ragged_rank, rank - 1),
            )
        equal = checks.assert_equal(
            data.row_splits,
            partitions.row_splits,
            message="data and partitions have incompatible ragged shapes",
        )
        with get_default_graph().control_dependencies([equal]):
            return stack_dynamic_partitions(data.values, partitions.values, count)
