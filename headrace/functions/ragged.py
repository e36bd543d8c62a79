"""tf.ragged.*: constants, ranges, gathering, stacking, masks; and the operators of RaggedTensor."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from headrace.core import dtypes
from headrace.core.dtypes import DType, as_dtype, int32, int64
from headrace.core.shapes import Shape
from headrace.functions import (
    array,
    checks,
    indexing,
    math,
    numerics,
    reduce,
    sort,
    stacking,
    sums,
)
from headrace.functions.cast import cast
from headrace.functions.ragged_tensor import (
    RaggedTensor,
    convert_to_tensor_or_ragged_tensor,
    is_ragged,
    match_row_splits_dtypes,
    positive_axis,
)
from headrace.functions.ragged_value import RaggedTensorValue
from headrace.functions.structure import name_scope
from headrace.graph.defaults import get_default_graph
from headrace.graph.tensor import Tensor
from headrace.ops import ragged as ops
from headrace.ops.constant import constant as dense_constant
from headrace.ops.constants import constant_value as static_value
from headrace.ops.convert import convert_to_tensor


# -- constants ----------------------------------------------------------------------------------
def constant(
    pylist: Any,
    dtype: Any = None,
    ragged_rank: int | None = None,
    inner_shape: Any = None,
    name: str | None = None,
    row_splits_dtype: Any = int64,
) -> Any:
    """A ragged tensor from nested lists.

    Args:
      pylist: nested lists or tuples; all scalars lie at the same depth.
      dtype: the type of the values.
      ragged_rank: how many dimensions are ragged; as many as possible by default.
      inner_shape: the shape of the innermost values.
      name: name of the scope.
      row_splits_dtype: int32 or int64.

    Returns:
      A `RaggedTensor`, or a dense tensor where nothing can be ragged.

    Example:
      >>> tf.ragged.constant([[1, 2], [3]])
    """

    def rows(values: Any, splits: list[int]) -> RaggedTensor:
        ends = dense_constant(splits, dtype=row_splits_dtype)
        return RaggedTensor.from_row_splits(values, ends, validate=False)

    def inner(values: Any, dtype: Any, shape: Any, name: str = "Const") -> Tensor:
        return dense_constant(values, dtype=dtype, shape=shape, name=name)

    with name_scope(name, "RaggedConstant"):
        return _from_lists(rows, inner, pylist, dtype, ragged_rank, inner_shape)


def constant_value(
    pylist: Any,
    dtype: Any = None,
    ragged_rank: int | None = None,
    inner_shape: Any = None,
    row_splits_dtype: Any = "int64",
) -> Any:
    """A RaggedTensorValue, or an array, from nested lists.  Arguments as in `tf.ragged.constant`."""
    if isinstance(dtype, DType):
        dtype = dtype.as_numpy_dtype
    kind = as_dtype(row_splits_dtype).as_numpy_dtype

    def rows(values: Any, splits: list[int]) -> RaggedTensorValue:
        return RaggedTensorValue(values, np.array(splits, dtype=kind))

    def inner(values: Any, dtype: Any, shape: Any, name: str = "") -> Any:
        found = np.array(values, dtype=dtype)
        return found if shape is None else found.reshape(shape)

    return _from_lists(rows, inner, pylist, dtype, ragged_rank, inner_shape)


def _is_list(value: Any) -> bool:
    return isinstance(value, (list, tuple)) or np.ndim(value) != 0


def _from_lists(
    rows: Callable[..., Any], inner: Callable[..., Any], pylist: Any, dtype: Any,
    ragged_rank: int | None, inner_shape: Any,
) -> Any:  # fmt: skip
    if is_ragged(pylist):
        raise TypeError("pylist may not be a RaggedTensor or RaggedTensorValue.")
    if not _is_list(pylist):
        if ragged_rank:
            raise ValueError(
                f"Invalid pylist={pylist!r}: incompatible with ragged_rank={ragged_rank}"
            )
        if inner_shape:
            raise ValueError(
                f"Invalid pylist={pylist!r}: incompatible with dim(inner_shape)={len(inner_shape)}"
            )
        return inner(pylist, dtype, ())
    if ragged_rank is not None and ragged_rank < 0:
        raise ValueError(f"Invalid ragged_rank={ragged_rank!r}: must be nonnegative")
    scalars, deepest = _depths(pylist)
    if scalars is not None and deepest > scalars:
        raise ValueError(
            f"Invalid pylist={pylist!r}: empty list nesting is greater than scalar value nesting"
        )
    if inner_shape is not None and ragged_rank is not None:
        expected = ragged_rank + len(inner_shape) + 1
        if expected != scalars if scalars is not None else expected < deepest:
            raise ValueError(
                f"Invalid pylist={pylist!r}: incompatible with ragged_rank={ragged_rank} and "
                f"dim(inner_shape)={len(inner_shape)}"
            )
    below = 0 if inner_shape is None else len(inner_shape)
    if ragged_rank == 0 or (ragged_rank is None and deepest - below < 2):
        return inner(pylist, dtype, inner_shape)
    if inner_shape is None:
        inner_shape = () if ragged_rank is None else _inner_shape(pylist, ragged_rank)
    if ragged_rank is None:
        depth = deepest if scalars is None else scalars - len(inner_shape)
        ragged_rank = max(1, depth - 1)
    nested, values = [], pylist
    for _ in range(ragged_rank):
        nested.append([0, *np.cumsum([len(row) for row in values]).tolist()])
        values = [item for row in values for item in row]
    result = inner(values, dtype, (len(values), *inner_shape), name="values")
    for splits in reversed(nested):
        result = rows(result, splits)
    return result


def _depths(pylist: Any) -> tuple[int | None, int]:
    """The depth of the scalars (None without any), and of the deepest list."""
    if not _is_list(pylist):
        return 0, 0
    scalars, deepest = None, 1
    for child in pylist:
        below, depth = _depths(child)
        if below is not None:
            if scalars not in (None, below + 1):
                raise ValueError("all scalar values must have the same nesting depth")
            scalars = below + 1
        deepest = max(deepest, depth + 1)
    return scalars, deepest


def _inner_shape(pylist: Any, ragged_rank: int) -> tuple[int, ...]:
    """The shape of the values below the ragged dimensions."""
    values = pylist
    for dim in range(ragged_rank):
        if not all(_is_list(v) for v in values):
            raise ValueError(
                f"pylist has scalar values depth {dim + 1}, but ragged_rank={ragged_rank} requires "
                f"scalar value depth greater than {ragged_rank}"
            )
        values = [item for row in values for item in row]
    shape: list[int] = []
    first = values
    while _is_list(first):
        shape.append(len(first))
        if not len(first):
            break
        first = first[0]
    _check_inner(values, shape)
    return tuple(shape[1:])


def _check_inner(item: Any, shape: list[int]) -> None:
    if _is_list(item) != bool(shape) or (shape and len(item) != shape[0]):
        raise ValueError("inner values have inconsistent shape")
    for child in item if shape else ():
        _check_inner(child, shape[1:])


def placeholder(
    dtype: Any, ragged_rank: int, value_shape: Any = None, name: str | None = None
) -> Any:
    """A ragged tensor that must be fed, with a RaggedTensorValue.

    Args:
      dtype: the type of the values.
      ragged_rank: how many dimensions are ragged.
      value_shape: the shape of the innermost values.
      name: name of the scope.
    """
    if ragged_rank == 0:
        return array.placeholder(dtype, value_shape, name)
    with name_scope(name, "RaggedPlaceholder", []):
        flat = Shape([None]).concatenate(value_shape)
        result: Any = array.placeholder(dtype, flat, "flat_values")
        for i in reversed(range(ragged_rank)):
            splits = array.placeholder(int64, [None], f"row_splits_{i}")
            result = RaggedTensor(result, splits, internal=True)
        return result


_WIDER = (int32, int64, dtypes.float32, dtypes.float64)


# -- ranges and segments ------------------------------------------------------------------------
def ragged_range(
    starts: Any,
    limits: Any = None,
    deltas: Any = 1,
    dtype: Any = None,
    name: str | None = None,
    row_splits_dtype: Any = int64,
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
        return RaggedTensor.from_row_splits(values, splits, validate=False)


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
        return cast(found, kind)


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
    return cast(tensor, int32)


def lengths_to_splits(lengths: Tensor) -> Tensor:
    return stacking.concat([array.zeros([1], lengths.dtype), sums.cumsum(lengths)], axis=0)


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
    return stacking.concat(pieces, axis=0)


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
            return RaggedTensor.from_row_splits(
                value, stacking.stack([zero, value.nrows()]), validate=False
            )
        if axis == 1:
            return RaggedTensor.from_row_splits(
                value, math.range_(value.nrows() + 1), validate=False
            )
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
        return RaggedTensor.from_nested_row_splits(
            boolean_mask(data, inner), nested, validate=False
        )


def _masked_whole_rows(data: RaggedTensor, mask: Tensor) -> RaggedTensor:
    lengths = indexing.boolean_mask(data.row_lengths(), mask)
    kept = indexing.gather(mask, row_splits_to_segment_ids(data.row_splits))
    return RaggedTensor.from_row_splits(
        boolean_mask(data.values, kept), lengths_to_splits(lengths), validate=False
    )


def stack_dynamic_partitions(
    data: Any, partitions: Any, num_partitions: Any, name: str | None = None
) -> Any:
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
        partitions = convert_to_tensor_or_ragged_tensor(
            partitions, name="partitions", preferred_dtype=kind
        )
        count = convert_to_tensor(
            num_partitions, name="num_partitions", preferred_dtype=partitions.dtype
        )
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
            below = checks.assert_less(
                ids[-1:], count, message="partitions must be less than num_partitions"
            )
            with get_default_graph().control_dependencies([below]):
                return RaggedTensor.from_value_rowids(
                    take(data, order), ids, nrows=count, validate=False
                )
        if not is_ragged(data):
            data = RaggedTensor.from_tensor(data, row_splits_dtype=partitions.dtype)
        if not is_ragged(partitions):
            partitions = RaggedTensor.from_tensor(
                partitions, row_splits_dtype=data.row_splits.dtype,
                ragged_rank=max(data.ragged_rank, rank - 1),
            )  # fmt: skip
        equal = checks.assert_equal(
            data.row_splits, partitions.row_splits,
            message="data and partitions have incompatible ragged shapes",
        )  # fmt: skip
        with get_default_graph().control_dependencies([equal]):
            return stack_dynamic_partitions(data.values, partitions.values, count)
