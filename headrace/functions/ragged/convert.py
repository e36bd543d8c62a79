"""Ragged tensors from and to dense and sparse ones."""

from __future__ import annotations

from typing import Any

from headrace.core import dtypes
from headrace.core.dtypes import DTypeLike, as_dtype, int64
from headrace.functions.array import array, checks, stacking
from headrace.functions.array.indexing import boolean_mask, sequence_mask, where
from headrace.functions.control.cond import cond
from headrace.functions.math import math, reduce, sums
from headrace.functions.math.cast import cast
from headrace.functions.ragged.tensor import RaggedTensor
from headrace.functions.sparse.tensor import SparseTensor, convert_to_tensor_or_sparse_tensor, is_sparse
from headrace.functions.values.structure import name_scope
from headrace.graph.tensor import Tensor
from headrace.ops.array.constant import constant
from headrace.ops.declaration.convert import convert_to_tensor
from headrace.ops.math import arithmetic, comparison, logical
from headrace.ops.ragged import dense as ragged_dense
from headrace.ops.ragged import ragged


def to_tensor(value: RaggedTensor, default_value: Any, name: str | None) -> Tensor:
    with name_scope(name, "RaggedToTensor", [value.row_splits, default_value]):
        flat = value.flat_values
        if default_value is None:
            default = array.zeros((), dtype=value.dtype)
        else:
            default = convert_to_tensor(default_value, value.dtype, "default_value")
            if flat.shape.rank is not None:
                inner = flat.shape.rank - 1
                default.shape.with_rank_at_most(value.ragged_rank + inner - 1)
        splits = list(value.nested_row_splits)
        dense = ragged_dense.ragged_tensor_to_tensor(
            constant(-1, int64), flat, default, splits, ["ROW_SPLITS"] * len(splits)
        )
        dense.set_shape(value.shape)
        return dense


def to_sparse(value: RaggedTensor, name: str | None) -> SparseTensor:
    with name_scope(name, "RaggedToSparse", [value.row_splits]) as scope:
        return SparseTensor(
            *ragged.ragged_tensor_to_sparse(list(value.nested_row_splits), value.flat_values, name=scope)
        )


def from_sparse(st_input: Any, name: str | None, row_splits_dtype: Any) -> RaggedTensor:
    kind = as_dtype(row_splits_dtype)
    if not is_sparse(st_input):
        raise TypeError(f"Expected SparseTensor, got {type(st_input).__name__}")
    with name_scope(name, "RaggedFromSparse", [st_input.values]):
        sparse: Any = convert_to_tensor_or_sparse_tensor(st_input, name="st_input")
        ranks = (sparse.dense_shape.shape.dim(0), sparse.indices.shape.dim(1))
        if 2 not in ranks:
            raise ValueError("rank(st_input) must be 2")
        graph = sparse.values.graph
        with graph.control_dependencies([_assert_no_gaps(sparse.indices)]):
            rows = cast(sparse.indices[:, 0], kind)
            count = cast(sparse.dense_shape[0], kind)
            result: RaggedTensor = RaggedTensor.from_value_rowids(sparse.values, rows, count, validate=False)
            return result


def _assert_no_gaps(indices: Tensor) -> Any:
    """Each row has its elements at 0, 1, 2 ..."""
    row, column = indices[:, :-1], indices[:, -1]
    new_row = reduce.reduce_any(comparison.not_equal(row[1:], row[:-1]), axis=1)
    zero = constant(0, indices.dtype)
    follows = where(
        new_row, comparison.equal(column[1:], zero), comparison.equal(column[1:], column[:-1] + 1)
    )
    first = reduce.reduce_all(comparison.equal(column[:1], zero))
    return checks.Assert(
        logical.logical_and(first, reduce.reduce_all(follows)),
        ["SparseTensor is not right-ragged", "SparseTensor.indices =", indices],
    )


def from_tensor(
    tensor: Any,
    lengths: Any = None,
    padding: str | None = None,
    ragged_rank: int = 1,
    name: str | None = None,
    row_splits_dtype: DTypeLike = int64,
) -> Any:
    kind = as_dtype(row_splits_dtype)
    if lengths is not None and padding is not None:
        raise ValueError("Specify lengths or padding, but not both")
    if not isinstance(ragged_rank, int):
        raise TypeError(f"ragged_rank expected int, got {ragged_rank!r}")
    if ragged_rank <= 0:
        raise ValueError(f"ragged_rank must be greater than 0; got {ragged_rank}")
    with name_scope(name, "RaggedFromTensor", [tensor, lengths, padding]):
        tensor = convert_to_tensor(tensor, name="tensor")
        tensor.shape.with_rank_at_least(ragged_rank + 1)
        sizes = array.shape(tensor, out_type=kind)
        if ragged_rank > 1:
            return _nested(tensor, lengths, padding, ragged_rank, sizes)
        if padding is not None:
            lengths = _lengths_without(tensor, padding, sizes[1])
        if lengths is None:
            splits = math.range_(sizes[0] + 1) * sizes[1]
            whole = stacking.concat([[sizes[0] * sizes[1]], sizes[2:]], axis=0)
            return RaggedTensor.from_row_splits(array.reshape(tensor, whole), splits, validate=False)
        if _is_nested(lengths):
            return _masked(tensor, lengths)
        lengths = convert_to_tensor(lengths, name="lengths", preferred_dtype=kind)
        if not lengths.dtype.is_integer:
            raise TypeError(f"lengths must be an integer tensor; dtype={lengths.dtype}")
        lengths = cast(lengths, kind)
        lengths.shape.assert_has_rank(1)
        lengths = arithmetic.minimum(lengths, sizes[1])
        lengths = arithmetic.maximum(lengths, constant(0, kind))
        values = boolean_mask(tensor, sequence_mask(lengths, maxlen=sizes[1]))
        splits = stacking.concat([array.zeros([1], kind), sums.cumsum(lengths)], axis=0)
        return RaggedTensor.from_row_splits(values, splits, validate=False)


def _is_nested(lengths: Any) -> bool:
    return bool(isinstance(lengths, (list, tuple)) and lengths and not isinstance(lengths[0], (int, float)))


def _nested(tensor: Tensor, lengths: Any, padding: Any, rank: int, sizes: Tensor) -> Any:
    """The last ragged dimension of the flattened tensor, below uniform ones."""
    if _is_nested(lengths):
        return _masked(tensor, lengths)
    kind = sizes.dtype
    flat = array.reshape(tensor, stacking.concat([constant([-1], kind), sizes[rank:]], axis=0))
    values = from_tensor(flat, lengths, padding, row_splits_dtype=kind)
    totals = sums.cumprod(sizes)
    splits = [math.range_(0, totals[d - 1] + 1) * sizes[d] for d in range(1, rank)]
    return RaggedTensor.from_nested_row_splits(values, splits, validate=False)


def _masked(tensor: Tensor, lengths: Any) -> Any:
    """What lies inside of nested rows of these lengths."""
    tensor.shape.with_rank_at_least(len(lengths) + 1)
    inside = array.ones([reduce.reduce_sum(lengths[-1])], dtype=dtypes.bool_)
    mask = RaggedTensor.from_nested_row_lengths(inside, lengths, validate=False)
    kept = boolean_mask(tensor, mask.to_tensor(default_value=False))
    return RaggedTensor.from_nested_row_lengths(kept, lengths, validate=False)


def _lengths_without(tensor: Tensor, padding: Any, columns: Tensor) -> Tensor:
    """The lengths of the rows up to the last element that is not padding."""
    padding = convert_to_tensor(padding, tensor.dtype, "padding")
    inner = tensor.shape if tensor.shape.rank is None else tensor.shape[2:]
    padding.shape.assert_is_compatible_with(inner)
    equal = comparison.equal(padding, tensor)
    rank = array.rank(tensor)
    axes = math.range_(2, rank)
    is_padding = cond(rank > 2, lambda: reduce.reduce_all(equal, axis=axes), lambda: equal)
    is_padding.set_shape([None, None])
    if tensor.shape.rank is not None:
        is_padding.set_shape(tensor.shape[:2])
    given = cast(logical.logical_not(is_padding), columns.dtype)
    position = array.expand_dims(math.range_(1, columns + 1), 0)
    return reduce.reduce_max(given * position, axis=1)
