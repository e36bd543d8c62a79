"""RaggedTensor: rows of different lengths, as values and the places where rows begin and end.

The values of a ragged tensor may be ragged themselves: one RaggedTensor for each ragged dimension.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from headrace.core import dtypes
from headrace.core.dtypes import DType, as_dtype, int32, int64
from headrace.core.shapes import Dim, Shape, as_shape, make_shape
from headrace.functions import array, checks, numerics, rank_checks, reduce, stacking, sums
from headrace.functions.cast import cast
from headrace.functions.composite import CompositeTensor
from headrace.functions.grouping import with_dependencies
from headrace.functions.indexing import gather
from headrace.functions.ragged_operators import RaggedOperators
from headrace.functions.ragged_value import RaggedTensorValue
from headrace.functions.structure import name_scope
from headrace.functions.type_spec import (
    BatchableTypeSpec,
    TensorSpec,
    register_type_spec_from_value_converter,
)
from headrace.graph.graph import Graph
from headrace.graph.node import Node
from headrace.graph.tensor import Tensor, run_session
from headrace.ops import arithmetic
from headrace.ops.constant import constant
from headrace.ops.constants import constant_value
from headrace.ops.convert import convert_to_tensor
from headrace.ops.ragged import ragged_tensor_from_variant, ragged_tensor_to_variant

_SPLITS = (int32, int64)


class RaggedTensor(CompositeTensor, RaggedOperators):
    """A tensor with rows of different lengths.

    Made by `tf.ragged.constant` or one of the `from_...` methods:

      >>> tf.RaggedTensor.from_row_splits([3, 1, 4, 1, 5], [0, 2, 2, 5])
      # [[3, 1], [], [4, 1, 5]]
    """

    def __init__(
        self,
        values: Any,
        row_splits: Any,
        cached_row_lengths: Any = None,
        cached_value_rowids: Any = None,
        cached_nrows: Any = None,
        internal: bool = False,
    ) -> None:
        if not internal:
            raise ValueError(
                "RaggedTensor constructor is private; please use one of the factory methods "
                "instead (e.g., RaggedTensor.from_row_lengths())"
            )
        if not isinstance(row_splits, Tensor):
            raise TypeError(f"Row-partitioning argument must be a Tensor, got {row_splits!r}")
        if not isinstance(values, (RaggedTensor, Tensor)):
            raise TypeError(f"values must be a Tensor or RaggedTensor, got {values!r}")
        if row_splits.dtype not in _SPLITS:
            raise ValueError("Row-partitioning argument must be int32 or int64")
        row_splits.shape.assert_has_rank(1)
        values.shape.with_rank_at_least(1)
        row_splits.set_shape([None])
        if isinstance(values, RaggedTensor):
            assert row_splits.dtype == values.row_splits.dtype
        for cached in (cached_row_lengths, cached_value_rowids, cached_nrows):
            if cached is not None and not isinstance(cached, Tensor):
                raise TypeError("Cached value must be a Tensor or None.")
            if cached is not None and cached.dtype not in _SPLITS:
                raise TypeError("Cached value must be int32 or int64.")
        self._values, self._row_splits = values, row_splits
        # What the splits were made from, to give it back without a computation.
        self._cached_row_lengths = cached_row_lengths
        self._cached_value_rowids, self._cached_nrows = cached_value_rowids, cached_nrows

    # -- making ---------------------------------------------------------------------------------
    @classmethod
    def from_value_rowids(
        cls,
        values: Any,
        value_rowids: Any,
        nrows: Any = None,
        name: str | None = None,
        validate: bool = True,
    ) -> RaggedTensor:
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
                ids = with_dependencies([
                    rank_checks.assert_rank(ids, 1, message=what),
                    rank_checks.assert_rank(nrows, 0, message=what),
                    checks.assert_equal(_count(values), _count(ids), message=what),
                    checks.assert_non_negative(ids[:1], message=what),
                    _assert_rising(ids, what),
                    checks.assert_less(ids[-1:], nrows, message=what),
                    *_assert_values(values),
                ], ids)  # fmt: skip
            limit = cast(nrows, int32)
            lengths = numerics.bincount(
                cast(ids, int32), minlength=limit, maxlength=limit, dtype=ids.dtype
            )
            splits = _from_lengths(lengths)
            if known is not None:
                lengths.set_shape([known])
                splits.set_shape([known + 1])
            return cls(values, splits, lengths, ids, nrows, internal=True)

    @classmethod
    def from_row_splits(
        cls, values: Any, row_splits: Any, name: str | None = None, validate: bool = True
    ) -> RaggedTensor:
        """Rows from the places where they begin and end: row i is values[splits[i]:splits[i+1]]."""
        _check_flag(validate)
        if isinstance(row_splits, (list, tuple)) and not row_splits:
            raise ValueError("row_splits tensor may not be empty.")
        with name_scope(name, "RaggedFromRowSplits", [values, row_splits]):
            values, splits = _converted(values, row_splits, "row_splits")
            splits.shape.assert_has_rank(1)
            if validate:
                what = "Arguments to from_row_splits do not form a valid RaggedTensor"
                splits = with_dependencies([
                    rank_checks.assert_rank(splits, 1, message=what),
                    _assert_zero(splits[0], what),
                    _assert_rising(splits, what),
                    checks.assert_equal(splits[-1], _count(values, splits.dtype), message=what),
                    *_assert_values(values),
                ], splits)  # fmt: skip
            return cls(values, splits, internal=True)

    @classmethod
    def from_row_lengths(
        cls, values: Any, row_lengths: Any, name: str | None = None, validate: bool = True
    ) -> RaggedTensor:
        """Rows from their lengths."""
        _check_flag(validate)
        with name_scope(name, "RaggedFromRowLengths", [values, row_lengths]):
            values, lengths = _converted(values, row_lengths, "row_lengths")
            lengths.shape.assert_has_rank(1)
            if validate:
                what = "Arguments to from_row_lengths do not form a valid RaggedTensor"
                total = reduce.reduce_sum(lengths)
                lengths = with_dependencies([
                    rank_checks.assert_rank(lengths, 1, message=what),
                    checks.assert_non_negative(lengths, message=what),
                    checks.assert_equal(total, _count(values, lengths.dtype), message=what),
                    *_assert_values(values),
                ], lengths)  # fmt: skip
            return cls(values, _from_lengths(lengths), cached_row_lengths=lengths, internal=True)

    @classmethod
    def from_row_starts(
        cls, values: Any, row_starts: Any, name: str | None = None, validate: bool = True
    ) -> RaggedTensor:
        """Rows from the places where they begin."""
        _check_flag(validate)
        with name_scope(name, "RaggedFromRowStarts", [values, row_starts]):
            values, starts = _converted(values, row_starts, "row_starts")
            starts.shape.assert_has_rank(1)
            count = _count(values, starts.dtype)
            if validate:
                what = "Arguments to from_row_starts do not form a valid RaggedTensor"
                starts = with_dependencies([
                    rank_checks.assert_rank(starts, 1, message=what),
                    _assert_zero(starts[:1], what),
                    _assert_rising(starts, what),
                    checks.assert_less_equal(starts[-1:], count, message=what),
                    *_assert_values(values),
                ], starts)  # fmt: skip
            return cls(values, stacking.concat([starts, [count]], axis=0), internal=True)

    @classmethod
    def from_row_limits(
        cls, values: Any, row_limits: Any, name: str | None = None, validate: bool = True
    ) -> RaggedTensor:
        """Rows from the places where they end."""
        _check_flag(validate)
        with name_scope(name, "RaggedFromRowLimits", [values, row_limits]):
            values, limits = _converted(values, row_limits, "row_limits")
            limits.shape.assert_has_rank(1)
            if validate:
                what = "Arguments to from_row_limits do not form a valid RaggedTensor"
                count = _count(values, limits.dtype)
                limits = with_dependencies([
                    rank_checks.assert_rank(limits, 1, message=what),
                    checks.assert_non_negative(limits[:1], message=what),
                    _assert_rising(limits, what),
                    checks.assert_equal(limits[-1:], count, message=what),
                    *_assert_values(values),
                ], limits)  # fmt: skip
            zero = array.zeros([1], limits.dtype)
            return cls(values, stacking.concat([zero, limits], axis=0), internal=True)

    @classmethod
    def from_nested_value_rowids(
        cls,
        flat_values: Any,
        nested_value_rowids: Any,
        nested_nrows: Any = None,
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
        cls, flat_values: Any, nested_row_splits: Any, name: str | None = None,
        validate: bool = True,
    ) -> Any:  # fmt: skip
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
        cls, flat_values: Any, nested_row_lengths: Any, name: str | None = None,
        validate: bool = True,
    ) -> Any:  # fmt: skip
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
        padding: Any = None,
        ragged_rank: int = 1,
        name: str | None = None,
        row_splits_dtype: Any = int64,
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
        from headrace.functions.ragged_convert import from_tensor

        return from_tensor(tensor, lengths, padding, ragged_rank, name, row_splits_dtype)

    @classmethod
    def from_sparse(
        cls, st_input: Any, name: str | None = None, row_splits_dtype: Any = int64
    ) -> RaggedTensor:
        """The rows of a sparse matrix in which nothing is missing before a row's end."""
        from headrace.functions.ragged_convert import from_sparse

        return from_sparse(st_input, name, row_splits_dtype)

    # -- what it is -----------------------------------------------------------------------------
    @property
    def values(self) -> Any:
        """The values of all rows: a tensor, or a RaggedTensor for the next ragged dimension."""
        return self._values

    @property
    def row_splits(self) -> Tensor:
        """The places where rows begin and end."""
        return self._row_splits

    @property
    def dtype(self) -> DType:
        dtype: DType = self._values.dtype
        return dtype

    @property
    def shape(self) -> Shape:
        """What is known of the shape; ragged dimensions are unknown."""
        splits = self._row_splits.shape.dim(0)
        rows = make_shape((None if splits is None else splits - 1, None))
        values = self._values.shape
        return rows.concatenate(values if values.rank is None else values[1:])

    def get_shape(self) -> Shape:
        return self.shape

    @property
    def ragged_rank(self) -> int:
        """How many dimensions are ragged."""
        return len(self.nested_row_splits)

    @property
    def flat_values(self) -> Tensor:
        """The innermost values, a dense tensor."""
        values = self._values
        while isinstance(values, RaggedTensor):
            values = values._values
        return values

    @property
    def nested_row_splits(self) -> tuple[Tensor, ...]:
        """The row splits of all ragged dimensions, the outermost first."""
        return tuple(level._row_splits for level in self._levels())

    def _levels(self) -> list[RaggedTensor]:
        out: list[RaggedTensor] = []
        level: Any = self
        while isinstance(level, RaggedTensor):
            out.append(level)
            level = level._values
        return out

    @property
    def graph(self) -> Graph:
        return self._row_splits.graph

    def consumers(self) -> list[Node]:
        return self._consumers()

    def value_rowids(self, name: str | None = None) -> Tensor:
        """The number of the row that each value belongs to."""
        from headrace.functions.ragged import row_splits_to_segment_ids

        if self._cached_value_rowids is not None:
            return self._cached_value_rowids
        with name_scope(name, "RaggedValueRowIds", [self._row_splits]):
            return row_splits_to_segment_ids(self._row_splits)

    def nested_value_rowids(self, name: str | None = None) -> tuple[Tensor, ...]:
        """The row numbers for all ragged dimensions, the outermost first."""
        with name_scope(name, "RaggedNestedValueRowIds", [self._row_splits]):
            return tuple(level.value_rowids() for level in self._levels())

    def nrows(self, out_type: Any = None, name: str | None = None) -> Tensor:
        """How many rows there are."""
        kind = self._row_splits.dtype if out_type is None else as_dtype(out_type)
        if self._cached_nrows is not None:
            return cast(self._cached_nrows, kind)
        with name_scope(name, "RaggedNRows", [self._row_splits]):
            return array.shape(self._row_splits, out_type=kind)[0] - 1

    def row_starts(self, name: str | None = None) -> Tensor:
        """The places where rows begin."""
        with name_scope(name, "RaggedRowStarts", [self._row_splits]):
            return self._row_splits[:-1]

    def row_limits(self, name: str | None = None) -> Tensor:
        """The places where rows end."""
        with name_scope(name, "RaggedRowLimits", [self._row_splits]):
            return self._row_splits[1:]

    def row_lengths(self, axis: int = 1, name: str | None = None) -> Any:
        """The lengths of the rows along `axis`."""
        if self._cached_row_lengths is not None:
            return self._cached_row_lengths
        with name_scope(name, "RaggedRowLengths", [self._row_splits]):
            axis = positive_axis(axis, self.shape.rank)
            if axis == 0:
                return self.nrows()
            if axis == 1:
                return self._row_splits[1:] - self._row_splits[:-1]
            if isinstance(self._values, RaggedTensor):
                return self.with_values(self._values.row_lengths(axis - 1))
            kind = self._row_splits.dtype
            sizes = array.shape(self._values, out_type=kind)
            return self.with_values(array.ones(sizes[: axis - 1], kind) * sizes[axis - 1])

    def nested_row_lengths(self, name: str | None = None) -> tuple[Any, ...]:
        """The row lengths of all ragged dimensions, the outermost first."""
        with name_scope(name, "RaggedNestedRowLengths", [self._row_splits]):
            return tuple(level.row_lengths() for level in self._levels())

    def bounding_shape(
        self, axis: Any = None, name: str | None = None, out_type: Any = None
    ) -> Tensor:
        """The smallest dense shape with room for all rows, or its sizes along `axis`."""
        kind = self._row_splits.dtype if out_type is None else as_dtype(out_type)
        with name_scope(name, "RaggedBoundingBox", [self._row_splits, axis]):
            rows = array.shape(self._row_splits, out_type=kind)[0] - 1
            if isinstance(axis, int) and axis == 0:
                return rows
            longest = [
                arithmetic.maximum(reduce.reduce_max(s[1:] - s[:-1]), constant(0, s.dtype))
                for s in self.nested_row_splits
            ]
            longest = [cast(size, kind) for size in longest]
            if isinstance(axis, int) and axis == 1:
                return longest[0]
            inner = array.shape(self.flat_values, out_type=kind)[1:]
            box = stacking.concat([stacking.stack([rows, *longest]), inner], axis=0)
            return box if axis is None else gather(box, axis)

    # -- with other parts -----------------------------------------------------------------------
    def with_values(self, new_values: Any) -> RaggedTensor:
        """The same rows of other values."""
        new_values.shape.with_rank_at_least(1)
        self._values.shape[:1].assert_is_compatible_with(new_values.shape[:1])
        if (
            isinstance(new_values, RaggedTensor)
            and self._row_splits.dtype != new_values.row_splits.dtype
        ):
            raise ValueError(
                "self and new_values have mismatched row_splits dtypes; use "
                "RaggedTensor.with_row_splits_dtype() to convert them to compatible dtypes."
            )
        return RaggedTensor(
            new_values,
            self._row_splits,
            self._cached_row_lengths,
            self._cached_value_rowids,
            self._cached_nrows,
            internal=True,
        )

    def with_flat_values(self, new_values: Any) -> RaggedTensor:
        """The same rows of other innermost values."""
        inner = self._values
        if isinstance(inner, RaggedTensor):
            return self.with_values(inner.with_flat_values(new_values))
        return self.with_values(new_values)

    def with_row_splits_dtype(self, dtype: Any) -> RaggedTensor:
        """The same, with row splits of int32 or int64."""
        kind = as_dtype(dtype)
        if kind not in _SPLITS:
            raise ValueError("dtype must be int32 or int64")
        if self._row_splits.dtype == kind:
            return self

        def converted(tensor: Any) -> Any:
            return None if tensor is None else cast(tensor, kind)

        inner = self._values
        if isinstance(inner, RaggedTensor):
            inner = inner.with_row_splits_dtype(kind)
        return RaggedTensor(
            inner,
            cast(self._row_splits, kind),
            converted(self._cached_row_lengths),
            converted(self._cached_value_rowids),
            converted(self._cached_nrows),
            internal=True,
        )

    # -- other forms ----------------------------------------------------------------------------
    def to_tensor(self, default_value: Any = None, name: str | None = None) -> Tensor:
        """A dense tensor; `default_value` (zero by default) stands behind the end of short rows."""
        from headrace.functions.ragged_convert import to_tensor

        return to_tensor(self, default_value, name)

    def to_sparse(self, name: str | None = None) -> Any:
        """The same elements as a `SparseTensor`."""
        from headrace.functions.ragged_convert import to_sparse

        return to_sparse(self, name)

    def to_list(self) -> list[Any]:
        """Only values have lists: run the tensor first."""
        raise ValueError(
            "RaggedTensor.to_list() is only supported in eager mode; in graph mode, evaluate the "
            "RaggedTensor first and then use RaggedTensorValue.to_list()."
        )

    def eval(self, feed_dict: Any = None, session: Any = None) -> Any:
        """Run this tensor in `session`, or in the default one.  Returns a RaggedTensorValue."""
        return run_session(self.graph, session, "eval").run(self, feed_dict)

    def _to_variant(self, batched_input: bool = False, name: str | None = None) -> Tensor:
        with name_scope(name, "RaggedToVariant", [self._row_splits, batched_input]):
            return ragged_tensor_to_variant(
                list(self.nested_row_splits), self.flat_values, batched_input
            )

    @classmethod
    def _from_variant(
        cls,
        variant: Any,
        dtype: Any,
        output_ragged_rank: int,
        input_ragged_rank: int | None = None,
        name: str | None = None,
    ) -> Any:
        variant = convert_to_tensor(variant, dtypes.variant, "variant")
        rank = variant.shape.rank
        if None not in (rank, input_ragged_rank) and output_ragged_rank != (
            input_ragged_rank + rank
        ):
            raise ValueError(
                "output_ragged_rank must be equal to input_ragged_rank +variant.shape.ndims, found "
                f"variant.shape.ndims: {rank}, input_ragged_rank: {input_ragged_rank}, "
                f"output_ragged_rank: {output_ragged_rank}"
            )
        with name_scope(name, "RaggedFromVariant", [variant]):
            splits, values = ragged_tensor_from_variant(
                variant,
                -1 if input_ragged_rank is None else input_ragged_rank,
                output_ragged_rank,
                dtype,
                int64,
            )
            return cls.from_nested_row_splits(values, splits, validate=False)

    @property
    def _type_spec(self) -> RaggedTensorSpec:
        return RaggedTensorSpec.from_value(self)

    def _shape_invariant_to_type_spec(self, shape: Any) -> RaggedTensorSpec:
        return RaggedTensorSpec(shape, self.dtype, self.ragged_rank, self._row_splits.dtype)

    def __getitem__(self, key: Any) -> Any:
        from headrace.functions.ragged_getitem import getitem

        return getitem(self, key)

    def __repr__(self) -> str:
        return f"tf.RaggedTensor(values={self._values}, row_splits={self._row_splits})"


# -- arguments ----------------------------------------------------------------------------------
def _check_flag(validate: Any) -> None:
    if not isinstance(validate, bool):
        raise TypeError("validate must have type bool")


def _converted(values: Any, partition: Any, name: str) -> tuple[Any, Tensor]:
    """Values and row partition as tensors of fitting types."""
    if isinstance(values, RaggedTensor):
        if not isinstance(partition, Tensor):
            return values, convert_to_tensor(partition, values.row_splits.dtype, name)
        if partition.dtype not in _SPLITS:
            raise ValueError(f"{name} must have dtype int32 or int64")
        if values.row_splits.dtype != partition.dtype:
            raise ValueError(
                f"dtype mismatch: {name} ({partition.dtype}) vs values.row_splits "
                f"({values.row_splits.dtype})"
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
            f"Expected nrows >= value_rowids[-1] + 1; got nrows={known}, "
            f"value_rowids[-1]={known_ids[-1]}"
        )
    return tensor, int(known)


def _from_lengths(lengths: Tensor) -> Tensor:
    return stacking.concat([[0], sums.cumsum(lengths)], axis=0)


def _count(value: Any, out_type: Any = int32) -> Tensor:
    """The size of the first dimension."""
    if isinstance(value, RaggedTensor):
        return value.nrows(out_type=out_type)
    return array.shape(value, out_type=out_type)[0]


def _assert_rising(tensor: Tensor, message: str) -> Any:
    return checks.assert_non_negative(tensor[1:] - tensor[:-1], message=message)


def _assert_zero(tensor: Tensor, message: str) -> Any:
    return checks.assert_equal(tensor, constant(0, dtype=tensor.dtype), message=message)


def _assert_values(values: Any) -> list[Any]:
    if isinstance(values, RaggedTensor):
        return []
    return [rank_checks.assert_rank_at_least(values, 1)]


def positive_axis(axis: Any, rank: int | None) -> int:
    """An axis counted from the front."""
    if not isinstance(axis, int):
        raise TypeError(f"axis must be an int; got {type(axis).__name__}")
    if rank is not None:
        if 0 <= axis < rank:
            return axis
        if -rank <= axis < 0:
            return axis + rank
        raise ValueError(f"axis={axis} out of bounds: expected {-rank}<=axis<{rank}")
    if axis < 0:
        raise ValueError("axis may only be negative if ndims is statically known.")
    return axis


def is_ragged(value: Any) -> bool:
    """True for a RaggedTensor and a RaggedTensorValue."""
    return isinstance(value, (RaggedTensor, RaggedTensorValue))


def convert_to_tensor_or_ragged_tensor(
    value: Any, dtype: Any = None, preferred_dtype: Any = None, name: str | None = None
) -> Any:
    """A RaggedTensor where `value` is ragged, else the tensor it stands for."""
    wanted = None if dtype is None else as_dtype(dtype)
    if isinstance(value, RaggedTensor):
        if wanted is not None and not wanted.is_compatible_with(value.dtype):
            raise ValueError(
                f"Tensor conversion requested dtype {wanted.name} for RaggedTensor with dtype "
                f"{value.dtype.name}: {value!r}"
            )
        return value
    if isinstance(value, RaggedTensorValue):
        with name_scope(name, "ConvertToTensorOrRaggedTensor", []):
            flat = convert_to_tensor(value.flat_values, wanted, "flat_values")
            return RaggedTensor.from_nested_row_splits(
                flat, value.nested_row_splits, validate=False
            )
    return convert_to_tensor(value, wanted, name, preferred_dtype=preferred_dtype)


def match_row_splits_dtypes(*tensors: Any) -> DType:
    """The one type of the row splits of all ragged tensors among these; int64 if there are none."""
    kinds = {t.row_splits.dtype for t in tensors if isinstance(t, RaggedTensor)}
    if len(kinds) > 1:
        raise ValueError(
            "Input RaggedTensors have mismatched row_splits dtypes; use "
            "RaggedTensor.with_row_splits_dtype() to convert them to compatible dtypes."
        )
    return kinds.pop() if kinds else int64


# -- descriptions -------------------------------------------------------------------------------
class RaggedTensorSpec(BatchableTypeSpec):
    """Describes a ragged tensor.

    Args:
      shape: what is known of the shape; ragged dimensions are None.
      dtype: the type of the values.
      ragged_rank: how many dimensions are ragged; all but the first by default.
      row_splits_dtype: the type of the row splits.
    """

    __slots__ = ("_dtype", "_ragged_rank", "_row_splits_dtype", "_shape")

    def __init__(
        self,
        shape: Any = None,
        dtype: Any = dtypes.float32,
        ragged_rank: int | None = None,
        row_splits_dtype: Any = int64,
    ) -> None:
        self._shape, self._dtype = as_shape(shape), as_dtype(dtype)
        self._row_splits_dtype = as_dtype(row_splits_dtype)
        rank = self._shape.rank
        if ragged_rank is None:
            if rank is None:
                raise ValueError("Must specify ragged_rank or a shape with a known rank.")
            ragged_rank = rank - 1
        if not isinstance(ragged_rank, int):
            raise TypeError("ragged_rank must be an int")
        if rank is not None and ragged_rank >= rank:
            raise ValueError("ragged_rank must be less than rank.")
        self._ragged_rank = ragged_rank

    @classmethod
    def from_value(cls, value: Any) -> RaggedTensorSpec:
        return cls(value.shape, value.flat_values.dtype, value.ragged_rank, value.row_splits.dtype)

    @property
    def value_type(self) -> Any:
        return RaggedTensor if self._ragged_rank > 0 else Tensor

    def _serialize(self) -> tuple[Any, ...]:
        return self._shape, self._dtype, self._ragged_rank, self._row_splits_dtype

    @property
    def _component_specs(self) -> list[TensorSpec]:
        if self._ragged_rank == 0:
            return [TensorSpec(self._shape, self._dtype)]
        rows = self._shape.dim(0)
        outer = TensorSpec([None if rows is None else rows + 1], self._row_splits_dtype)
        inner = TensorSpec([None], self._row_splits_dtype)
        values = TensorSpec(self._flat_shape(), self._dtype)
        return [values, outer] + [inner] * (self._ragged_rank - 1)

    def _flat_shape(self) -> Shape:
        if self._shape.rank is None:
            return self._shape
        return Shape([None]).concatenate(self._shape[self._ragged_rank + 1 :])

    def _to_components(self, value: Any) -> list[Any]:
        return [value.flat_values, *value.nested_row_splits] if is_ragged(value) else [value]

    def _from_components(self, components: Any) -> Any:
        result, *nested = components
        if all(isinstance(c, np.ndarray) for c in components):
            for splits in reversed(nested):
                result = RaggedTensorValue(result, splits)
            return result
        if isinstance(result, np.ndarray):
            result, *nested = (convert_to_tensor(c) for c in components)
        for splits in reversed(nested):
            result = RaggedTensor(result, splits, internal=True)
        return result

    # A tensor list has one variant, so that values with other row lengths can be stacked.
    @property
    def _flat_tensor_specs(self) -> list[Any]:
        return [TensorSpec(None, dtypes.variant)]

    def _to_tensor_list(self, value: Any) -> list[Any]:
        return [value._to_variant(batched_input=False)]

    def _to_batched_tensor_list(self, value: Any) -> list[Any]:
        return [value._to_variant(batched_input=True)]

    def _from_compatible_tensor_list(self, tensor_list: list[Any]) -> Any:
        if self._ragged_rank <= 0:
            raise ValueError(f"ragged_rank must be non-negative; got {self._ragged_rank}.")
        result = RaggedTensor._from_variant(
            tensor_list[0], dtype=self._dtype, output_ragged_rank=self._ragged_rank
        )
        if self._shape.rank is not None:
            rows = self._shape.dim(0)
            if rows is not None:
                result.row_splits.set_shape([rows + 1])
            result.flat_values.set_shape(self._flat_shape())
        return result

    def _batch(self, batch_size: int | None) -> RaggedTensorSpec:
        shape = Shape([batch_size]).concatenate(self._shape)
        return RaggedTensorSpec(shape, self._dtype, self._ragged_rank + 1)

    def _unbatch(self) -> RaggedTensorSpec:
        shape = self._shape if self._shape.rank is None else self._shape[1:]
        return RaggedTensorSpec(shape, self._dtype, self._ragged_rank - 1)

    def _to_legacy_output_types(self) -> Any:
        return self._dtype

    def _to_legacy_output_shapes(self) -> Any:
        return self._shape

    def _to_legacy_output_classes(self) -> Any:
        return self


register_type_spec_from_value_converter(RaggedTensorValue, RaggedTensorSpec.from_value)
