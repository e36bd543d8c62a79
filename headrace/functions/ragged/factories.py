"""How RaggedTensor is made: from the lengths, the ends, the numbers of its rows, or from other forms.

The methods check, while the graph runs, that rows and values fit together.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from headrace.core.dtypes import DTypeLike, int32, int64
from headrace.core.modules import late
from headrace.core.shapes import Dim
from headrace.functions.array import array, checks, rank_checks, stacking
from headrace.functions.control.grouping import with_dependencies
from headrace.functions.math import numerics, reduce, sums
from headrace.functions.math.cast import cast
from headrace.functions.values.structure import name_scope
from headrace.graph.tensor import Tensor
from headrace.ops.array.constant import constant
from headrace.ops.declaration.constants import constant_value
from headrace.ops.declaration.convert import convert_to_tensor

convert = late("headrace.functions.ragged.convert")

_SPLITS = (int32, int64)


class RaggedFactories:
    """What RaggedTensor gets from here."""

    def __init__(self, *parts: Any, **options: Any) -> None:
        raise NotImplementedError

    @property
    def row_splits(self) -> Tensor:
        raise NotImplementedError

    def nrows(self, out_type: Any = None, name: str | None = None) -> Tensor:
        raise NotImplementedError

    # -- making ---------------------------------------------------------------------------------
    @classmethod
    def from_value_rowids(
        cls, values: Any, value_rowids: Any, nrows: Any = None, name: str | None = None, validate: bool = True
    ) -> Any:
        """Rows from the number of the row that each value belongs to.

        Args:
          values: the values of all rows, one after the other.
          value_rowids: a vector with the row of each value; it never falls.
          nrows: how many rows there are; up to the last one with a value by default.
          name: name of the scope.
          validate: check while running that the arguments fit.
        """
        _check_flag(validate)
        with name_scope(name, "RaggedFromValueRowIds", [values, value_rowids, nrows]):
            values, ids = _converted(values, value_rowids, "value_rowids")
            nrows, known = _row_count(ids, nrows)
            ids.shape.assert_has_rank(1)
            nrows.shape.assert_has_rank(0)
            values.shape[:1].assert_is_compatible_with(ids.shape)
            if validate:
                what = "Arguments to from_value_rowids do not form a valid RaggedTensor"
                ids = with_dependencies(
                    [
                        rank_checks.assert_rank(ids, 1, message=what),
                        rank_checks.assert_rank(nrows, 0, message=what),
                        checks.assert_equal(_count(values), _count(ids), message=what),
                        checks.assert_non_negative(ids[:1], message=what),
                        _assert_rising(ids, what),
                        checks.assert_less(ids[-1:], nrows, message=what),
                        *_assert_values(values),
                    ],
                    ids,
                )
            limit = cast(nrows, int32)
            lengths = numerics.bincount(cast(ids, int32), minlength=limit, maxlength=limit, dtype=ids.dtype)
            splits = _from_lengths(lengths)
            if known is not None:
                lengths.set_shape([known])
                splits.set_shape([known + 1])
            return cls(values, splits, lengths, ids, nrows, internal=True)

    @classmethod
    def from_row_splits(
        cls, values: Any, row_splits: Any, name: str | None = None, validate: bool = True
    ) -> Any:
        """Rows from the places where they begin and end: row i is values[splits[i]:splits[i+1]]."""
        _check_flag(validate)
        if isinstance(row_splits, (list, tuple)) and not row_splits:
            raise ValueError("row_splits tensor may not be empty.")
        with name_scope(name, "RaggedFromRowSplits", [values, row_splits]):
            values, splits = _converted(values, row_splits, "row_splits")
            splits.shape.assert_has_rank(1)
            if validate:
                what = "Arguments to from_row_splits do not form a valid RaggedTensor"
                splits = with_dependencies(
                    [
                        rank_checks.assert_rank(splits, 1, message=what),
                        _assert_zero(splits[0], what),
                        _assert_rising(splits, what),
                        checks.assert_equal(splits[-1], _count(values, splits.dtype), message=what),
                        *_assert_values(values),
                    ],
                    splits,
                )
            return cls(values, splits, internal=True)

    @classmethod
    def from_row_lengths(
        cls, values: Any, row_lengths: Any, name: str | None = None, validate: bool = True
    ) -> Any:
        """Rows from their lengths."""
        _check_flag(validate)
        with name_scope(name, "RaggedFromRowLengths", [values, row_lengths]):
            values, lengths = _converted(values, row_lengths, "row_lengths")
            lengths.shape.assert_has_rank(1)
            if validate:
                what = "Arguments to from_row_lengths do not form a valid RaggedTensor"
                total = reduce.reduce_sum(lengths)
                lengths = with_dependencies(
                    [
                        rank_checks.assert_rank(lengths, 1, message=what),
                        checks.assert_non_negative(lengths, message=what),
                        checks.assert_equal(total, _count(values, lengths.dtype), message=what),
                        *_assert_values(values),
                    ],
                    lengths,
                )
            return cls(values, _from_lengths(lengths), cached_row_lengths=lengths, internal=True)

    @classmethod
    def from_row_starts(
        cls, values: Any, row_starts: Any, name: str | None = None, validate: bool = True
    ) -> Any:
        """Rows from the places where they begin."""
        _check_flag(validate)
        with name_scope(name, "RaggedFromRowStarts", [values, row_starts]):
            values, starts = _converted(values, row_starts, "row_starts")
            starts.shape.assert_has_rank(1)
            count = _count(values, starts.dtype)
            if validate:
                what = "Arguments to from_row_starts do not form a valid RaggedTensor"
                starts = with_dependencies(
                    [
                        rank_checks.assert_rank(starts, 1, message=what),
                        _assert_zero(starts[:1], what),
                        _assert_rising(starts, what),
                        checks.assert_less_equal(starts[-1:], count, message=what),
                        *_assert_values(values),
                    ],
                    starts,
                )
            return cls(values, stacking.concat([starts, [count]], axis=0), internal=True)

    @classmethod
    def from_row_limits(
        cls, values: Any, row_limits: Any, name: str | None = None, validate: bool = True
    ) -> Any:
        """Rows from the places where they end."""
        _check_flag(validate)
        with name_scope(name, "RaggedFromRowLimits", [values, row_limits]):
            values, limits = _converted(values, row_limits, "row_limits")
            limits.shape.assert_has_rank(1)
            if validate:
                what = "Arguments to from_row_limits do not form a valid RaggedTensor"
                count = _count(values, limits.dtype)
                limits = with_dependencies(
                    [
                        rank_checks.assert_rank(limits, 1, message=what),
                        checks.assert_non_negative(limits[:1], message=what),
                        _assert_rising(limits, what),
                        checks.assert_equal(limits[-1:], count, message=what),
                        *_assert_values(values),
                    ],
                    limits,
                )
            zero = array.zeros([1], limits.dtype)
            return cls(values, stacking.concat([zero, limits], axis=0), internal=True)

    @classmethod
    def from_nested_value_rowids(
        cls,
        flat_values: Any,
        nested_value_rowids: Sequence[Any],
        nested_nrows: Sequence[Any] | None = None,
        name: str | None = None,
        validate: bool = True,
    ) -> Any:
        """Several ragged dimensions from row numbers, the outermost first."""
        _check_flag(validate)
        if isinstance(nested_value_rowids, Tensor):
            raise TypeError("nested_value_rowids must be a list of Tensors")
        if nested_nrows is None:
            nested_nrows = [None] * len(nested_value_rowids)
        elif isinstance(nested_nrows, Tensor):
            raise TypeError("nested_nrows must be a list of Tensors")
        elif len(nested_nrows) != len(nested_value_rowids):
            raise ValueError("nested_nrows must have the same length as nested_value_rowids")
        with name_scope(name, "RaggedFromNestedValueRowIds", [flat_values, *nested_value_rowids]):
            result = flat_values
            for ids, nrows in reversed(list(zip(nested_value_rowids, nested_nrows))):
                result = cls.from_value_rowids(result, ids, nrows, validate=validate)
            return result

    @classmethod
    def from_nested_row_splits(
        cls, flat_values: Any, nested_row_splits: Any, name: str | None = None, validate: bool = True
    ) -> Any:
        """Several ragged dimensions from row splits, the outermost first."""
        _check_flag(validate)
        if isinstance(nested_row_splits, Tensor):
            raise TypeError("nested_row_splits must be a list of Tensors")
        with name_scope(name, "RaggedFromNestedRowSplits", [flat_values, *nested_row_splits]):
            result = flat_values
            for splits in reversed(nested_row_splits):
                result = cls.from_row_splits(result, splits, validate=validate)
            return result

    @classmethod
    def from_nested_row_lengths(
        cls, flat_values: Any, nested_row_lengths: Any, name: str | None = None, validate: bool = True
    ) -> Any:
        """Several ragged dimensions from row lengths, the outermost first."""
        _check_flag(validate)
        if isinstance(nested_row_lengths, Tensor):
            raise TypeError("nested_row_lengths must be a list of Tensors")
        with name_scope(name, "RaggedFromNestedRowlengths", [flat_values, *nested_row_lengths]):
            result = flat_values
            for lengths in reversed(nested_row_lengths):
                result = cls.from_row_lengths(result, lengths, validate=validate)
            return result

    @classmethod
    def from_tensor(
        cls,
        tensor: Any,
        lengths: Any = None,
        padding: str | None = None,
        ragged_rank: int = 1,
        name: str | None = None,
        row_splits_dtype: DTypeLike = int64,
    ) -> Any:
        """The rows of a dense tensor, without what pads them.

        Args:
          tensor: a dense tensor of a rank above `ragged_rank`.
          lengths: the lengths of the rows, or a list of lengths for nested rows.
          padding: the value that stands behind the end of short rows.
          ragged_rank: how many dimensions become ragged.
          name: name of the scope.
          row_splits_dtype: int32 or int64.
        """
        return convert.from_tensor(tensor, lengths, padding, ragged_rank, name, row_splits_dtype)

    @classmethod
    def from_sparse(cls, st_input: Any, name: str | None = None, row_splits_dtype: Any = int64) -> Any:
        """The rows of a sparse matrix in which nothing is missing before a row's end."""
        return convert.from_sparse(st_input, name, row_splits_dtype)


# -- arguments ----------------------------------------------------------------------------------
def _check_flag(validate: Any) -> None:
    if not isinstance(validate, bool):
        raise TypeError("validate must have type bool")


def _converted(values: Any, partition: Any, name: str) -> tuple[Any, Tensor]:
    """Values and row partition as tensors of fitting types."""
    if isinstance(values, RaggedFactories):
        if not isinstance(partition, Tensor):
            return values, convert_to_tensor(partition, values.row_splits.dtype, name)
        if partition.dtype not in _SPLITS:
            raise ValueError(f"{name} must have dtype int32 or int64")
        if values.row_splits.dtype != partition.dtype:
            raise ValueError(
                f"dtype mismatch: {name} ({partition.dtype}) vs values.row_splits ({values.row_splits.dtype})"
            )
        return values, partition
    values = convert_to_tensor(values, name="values")
    if isinstance(partition, np.ndarray) and partition.dtype == np.int32:
        partition = convert_to_tensor(partition, name=name)
    else:
        partition = convert_to_tensor(partition, name=name, preferred_dtype=int64)
    if partition.dtype not in _SPLITS:
        raise ValueError(f"{name} must have dtype int32 or int64")
    return values, partition


def _row_count(ids: Tensor, nrows: Any) -> tuple[Tensor, Dim]:
    """The number of rows as a tensor, and as an int where it is known."""
    known_ids = constant_value(ids)
    if nrows is None:
        if known_ids is None:
            return stacking.concat([ids[-1:], [-1]], axis=0)[0] + 1, None
        count = int(known_ids[-1]) + 1 if known_ids.size else 0
        return convert_to_tensor(count, ids.dtype, "nrows"), count
    tensor = convert_to_tensor(nrows, ids.dtype, "nrows")
    tensor.shape.assert_has_rank(0)
    known = constant_value(tensor)
    if known is None:
        return tensor, None
    if known < 0:
        raise ValueError(f"Expected nrows >= 0; got {known}")
    if known_ids is not None and known_ids.size and known < known_ids[-1] + 1:
        raise ValueError(
            f"Expected nrows >= value_rowids[-1] + 1; got nrows={known}, value_rowids[-1]={known_ids[-1]}"
        )
    return tensor, int(known)


def _from_lengths(lengths: Tensor) -> Tensor:
    result: Tensor = stacking.concat([[0], sums.cumsum(lengths)], axis=0)
    return result


def _count(value: Any, out_type: Any = int32) -> Tensor:
    """The size of the first dimension."""
    if isinstance(value, RaggedFactories):
        return value.nrows(out_type=out_type)
    return array.shape(value, out_type=out_type)[0]


def _assert_rising(tensor: Tensor, message: str) -> Any:
    return checks.assert_non_negative(tensor[1:] - tensor[:-1], message=message)


def _assert_zero(tensor: Tensor, message: str) -> Any:
    return checks.assert_equal(tensor, constant(0, dtype=tensor.dtype), message=message)


def _assert_values(values: Any) -> list[Any]:
    if isinstance(values, RaggedFactories):
        return []
    return [rank_checks.assert_rank_at_least(values, 1)]
