"""RaggedTensorValue: what a session gives for a ragged tensor, and what it can be fed with."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from headrace.core.fields import reads
from headrace.core.modules import late

spec = late("headrace.functions.ragged.spec")

_ARRAYS = (np.ndarray, np.generic)


class RaggedTensorValue:
    """A ragged array: row i is values[row_splits[i]:row_splits[i + 1]].

    Args:
      values: an array of any type, or another RaggedTensorValue for the next ragged dimension.
      row_splits: an int32 or int64 vector.
    """

    _nest_kind = "composite"

    def __init__(self, values: Any, row_splits: Any) -> None:
        kind, rank = getattr(row_splits, "dtype", None), getattr(row_splits, "ndim", None)
        if not isinstance(row_splits, _ARRAYS) or rank != 1 or kind not in (np.int32, np.int64):
            raise TypeError(f"row_splits must be a vector of int32 or int64, not {row_splits!r}")
        if isinstance(values, RaggedTensorValue):
            inner = values.row_splits.dtype
            if inner != kind:
                raise ValueError(f"row_splits must have one dtype in all dimensions: {kind}, {inner}")
        elif not isinstance(values, _ARRAYS):
            raise TypeError(f"values must be an array or a RaggedTensorValue, not {values!r}")
        self._values: Any = values
        self._row_splits: Any = row_splits

    values: Any = reads("_values")
    row_splits: Any = reads("_row_splits")
    dtype: Any = reads("_values.dtype")

    @property
    def flat_values(self) -> Any:
        """The innermost values."""
        values = self._values
        return values.flat_values if isinstance(values, RaggedTensorValue) else values

    @property
    def nested_row_splits(self) -> tuple[Any, ...]:
        """The row splits of all ragged dimensions, the outermost first."""
        inner = self._values
        rest = inner.nested_row_splits if isinstance(inner, RaggedTensorValue) else ()
        return (self._row_splits, *rest)

    @property
    def ragged_rank(self) -> int:
        """How many dimensions are ragged."""
        return len(self.nested_row_splits)

    @property
    def shape(self) -> tuple[int | None, ...]:
        return (self._row_splits.shape[0] - 1, None, *self._values.shape[1:])

    def to_list(self) -> list[Any]:
        """The rows as nested lists."""
        inner = self._values
        values = inner.to_list() if isinstance(inner, RaggedTensorValue) else inner.tolist()
        splits = self._row_splits.tolist()
        return [values[start:stop] for start, stop in itertools.pairwise(splits)]

    @property
    def _type_spec(self) -> Any:
        return spec.RaggedTensorSpec.from_value(self)

    def __str__(self) -> str:
        return f"<tf.RaggedTensorValue {self.to_list()}>"

    def __repr__(self) -> str:
        return f"tf.RaggedTensorValue(values={self._values!r}, row_splits={self._row_splits!r})"
