"""Order and distinctness: tf.sort, tf.argsort, tf.searchsorted, tf.math.top_k, tf.unique ..."""

from __future__ import annotations

from typing import Any

import numpy as np

from headrace.core import dtypes
from headrace.core.dtypes import DTypeLike
from headrace.functions.array.array import rank, shape, shape_internal
from headrace.functions.array.stacking import concat
from headrace.functions.sparse.tensor import is_sparse
from headrace.functions.values.old_names import renamed
from headrace.functions.values.structure import name_scope
from headrace.graph.tensor import Tensor
from headrace.ops.array import sort as order
from headrace.ops.array import unique as distinct
from headrace.ops.array.constant import constant
from headrace.ops.array.reverse import reverse_sequence as build_reverse_sequence
from headrace.ops.declaration import array
from headrace.ops.declaration.constants import constant_value
from headrace.ops.declaration.convert import convert_to_tensor
from headrace.ops.math import sequence
from headrace.ops.strings.edit_distance import edit_distance as build_distance


def sort(values: Any, axis: int = -1, direction: str = "ASCENDING", name: str | None = None) -> Tensor:
    """A tensor, sorted along a dimension.

    Args:
      values: numbers, of rank 1 or more.
      axis: the dimension.
      direction: "ASCENDING" or "DESCENDING".
      name: name of the scope.

    Raises:
      ValueError: `axis` is not a constant scalar, or the direction is unknown.
    """
    with name_scope(name, "sort"):
        return _sorted(values, axis, direction, 0)


def argsort(
    values: Any, axis: int = -1, direction: str = "ASCENDING", stable: bool = False, name: str | None = None
) -> Tensor:
    """The places that sort a tensor along a dimension.

    Args:
      values: numbers, of rank 1 or more.
      axis: the dimension.
      direction: "ASCENDING" or "DESCENDING".
      stable: equal elements keep their order; they always do here.
      name: name of the scope.

    Returns:
      int32, of the shape of `values`.

    Raises:
      ValueError: `axis` is not a constant scalar, or the direction is unknown.
    """
    del stable
    with name_scope(name, "argsort"):
        return _sorted(values, axis, direction, 1)


def _sorted(values: Any, axis: Any, direction: str, which: int) -> Tensor:
    if direction not in ("ASCENDING", "DESCENDING"):
        raise ValueError(f"{direction} should be one of ASCENDING, DESCENDING")
    axis = convert_to_tensor(axis, name="axis")
    known = constant_value(axis)
    if axis.shape.rank != 0 or known is None:
        raise ValueError("axis must be a constant scalar")
    values = convert_to_tensor(values, name="values")
    if direction == "DESCENDING":
        return _descending(values, int(known), which)
    out = _descending(-values, int(known), which)
    return out if which else -out


def _descending(values: Tensor, axis: int, which: int) -> Tensor:
    """TopK of whole rows; another axis changes places with the last one first."""
    count = shape(values)[axis]
    if axis in (-1, (values.shape.rank or 0) - 1):
        return order.top_k_v2(values, count)[which]
    swap = _exchange_with_last(values, axis)
    found = order.top_k_v2(array.transpose(values, swap), count)[which]
    return array.transpose(found, swap)


def _exchange_with_last(values: Tensor, axis: int) -> Any:
    static = values.shape.rank
    if static is not None:
        last = axis % static
        places = np.arange(static, dtype=np.int32)
        places[last], places[-1] = static - 1, last
        return constant(places, name="transposition")
    count = rank(values)
    at: Any = axis if axis >= 0 else axis + count
    return concat([sequence.range_(0, at, 1), [count - 1], sequence.range_(at + 1, count - 1, 1), [at]], 0)


def searchsorted(
    sorted_sequence: Any,
    values: Any,
    side: str = "left",
    out_type: DTypeLike = dtypes.int32,
    name: str | None = None,
) -> Tensor:
    """Where values could be inserted into sorted rows.

    Args:
      sorted_sequence: numbers, sorted along the last dimension.
      values: numbers of the same type; all dimensions but the last agree with the sequence.
      side: "left" (before equal ones) or "right" (behind them).
      out_type: int32 or int64.
      name: name of the node.

    Raises:
      ValueError: an unknown side.

    Example:
      >>> tf.searchsorted([[0, 3, 9, 9, 10]], [[2, 4, 9]])       # [[1, 2, 2]]
    """
    rows = array.reshape(sorted_sequence, [-1, shape_internal(sorted_sequence)[-1]])
    wanted = array.reshape(values, [-1, shape_internal(values)[-1]])
    if side not in ("left", "right"):
        raise ValueError(f"side must be either 'right' or 'left'.  Saw: {side}.")
    build = order.lower_bound if side == "left" else order.upper_bound
    return array.reshape(build(rows, wanted, out_type, name=name), shape_internal(values))


def top_k(input: Any, k: Any = 1, sorted: bool = True, name: str | None = None) -> Any:
    """The k largest elements of each row.

    Args:
      input: numbers, of rank 1 or more.
      k: a scalar, how many.
      sorted: in falling order (they always are).
      name: name of the node.

    Returns:
      (values, indices); of equal elements the one with the lower index comes first.
    """
    return order.top_k_v2(input, k, sorted, name=name)


def nth_element(input: Any, n: Any, reverse: bool = False, name: str | None = None) -> Tensor:
    """The n-th smallest element of each row, counted from 0.

    Args:
      input: numbers, of rank 1 or more.
      n: a scalar.
      reverse: the n-th largest instead.
      name: name of the node.
    """
    return order.nth_element(input, n, reverse, name=name)


# -- distinct elements --------------------------------------------------------------------------
def unique(x: Any, out_idx: Any = dtypes.int32, name: str | None = None) -> Any:
    """The distinct elements of a vector, in the order of their first occurrence.

    Args:
      x: a vector.
      out_idx: the type of the numbers, int32 or int64.
      name: name of the node.

    Returns:
      (y, idx): the distinct elements, and for each element of `x` its number among them.
    """
    return distinct.unique(x, out_idx, name=name)


def unique_with_counts(x: Any, out_idx: Any = dtypes.int32, name: str | None = None) -> Any:
    """As tf.unique; also how often each distinct element occurs.

    Args:
      x: a vector.
      out_idx: the type of the numbers and counts, int32 or int64.
      name: name of the node.

    Returns:
      (y, idx, count).
    """
    return distinct.unique_with_counts(x, out_idx, name=name)


def setdiff1d(x: Any, y: Any, index_dtype: Any = dtypes.int32, name: str | None = None) -> Any:
    """The elements of one vector that another does not have.

    Args:
      x: a vector.
      y: a vector of the same type.
      index_dtype: the type of the places, int32 or int64.
      name: name of the node.

    Returns:
      (out, idx): the elements, in their order, and their places in `x`.
    """
    return distinct.list_diff(x, y, index_dtype, name=name)


# -- sequences ----------------------------------------------------------------------------------
def reverse_sequence(
    input: Any,
    seq_lengths: Any,
    seq_axis: int | None = None,
    batch_axis: int | None = None,
    name: str | None = None,
    seq_dim: int | None = None,
    batch_dim: int | None = None,
) -> Tensor:
    """Sequences of a batch, each reversed up to its length.

    Args:
      input: a tensor.
      seq_lengths: integers [batch], the lengths.
      seq_axis: the dimension of the sequences.
      batch_axis: the dimension of the batch, 0 if not given.
      name: name of the node.
      seq_dim: the old name of `seq_axis`.
      batch_dim: the old name of `batch_axis`.
    """
    along = renamed("seq_axis", seq_axis, "seq_dim", seq_dim)
    batch = renamed("batch_axis", batch_axis, "batch_dim", batch_dim)
    return build_reverse_sequence(input, seq_lengths, along, batch, name=name)


def edit_distance(hypothesis: Any, truth: Any, normalize: bool = True, name: str = "edit_distance") -> Tensor:
    """The Levenshtein distances of sequences.

    Args:
      hypothesis: a `SparseTensor`, its sequences along the last dimension.
      truth: a `SparseTensor` of the same rank and type.
      normalize: divide by the length of the truth.
      name: name of the node.

    Returns:
      float32, of rank one less.

    Raises:
      TypeError: one of them is not a `SparseTensor`.
    """
    for what, value in (("Hypothesis", hypothesis), ("Truth", truth)):
        if not is_sparse(value):
            raise TypeError(f"{what} must be a SparseTensor.")
    return build_distance(
        hypothesis.indices,
        hypothesis.values,
        hypothesis.dense_shape,
        truth.indices,
        truth.values,
        truth.dense_shape,
        normalize,
        name=name,
    )
