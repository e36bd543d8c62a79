"""Tables, the resources behind the handles: keys and values, what may be asked of them, and what they refuse.

A table that is initialised once can not be changed any more; the others can be at any time.  All are safe to
use from many threads.
"""

from __future__ import annotations

import threading
from typing import Any

import numpy as np

from headrace.core import hooks
from headrace.core.dtypes import DType, NDArray, bool_, float32, float64, int32, int64, string, variant
from headrace.core.errors import (
    AbortedError,
    FailedPreconditionError,
    InvalidArgumentError,
    UnimplementedError,
    require,
)
from headrace.core.shapes import show
from headrace.ops.declaration.text import shown
from headrace.ops.lookup.key_rows import DictRows, KeyRows

_MANY = 1 << 12  # keys from which on the native form of KeyRows is worth its memory
_FIRST = 16  # rows of a new table


class Table:
    """Keys and values.  `key_shape` and `value_shape` are the shapes of one key and of one value."""

    def __init__(
        self,
        key_dtype: DType,
        value_dtype: DType,
        key_shape: tuple[int, ...] = (),
        value_shape: tuple[int, ...] = (),
    ) -> None:
        self.key_dtype, self.value_dtype = key_dtype, value_dtype
        self.key_shape, self.value_shape = key_shape, value_shape
        self._lock = threading.RLock()
        self._clear()

    def _clear(self) -> None:
        width = int(np.prod(self.key_shape)) if self.key_shape else None
        self._rows: KeyRows = DictRows(self.key_dtype.numpy, width)
        self._values = np.empty((_FIRST, *self.value_shape), self.value_dtype.numpy)
        self._free: list[int] = []
        self._next = 0
        self._is_native = False

    def __len__(self) -> int:
        return len(self._rows)

    # -- what steps ask for ----------------------------------------------------------------------
    def find(self, keys: NDArray, default: NDArray) -> NDArray:
        """The value of every key, `default` where there is none."""
        self._check_key_shape(keys.shape)
        if default.shape != self.value_shape:
            expected, given = show(self.value_shape), show(default.shape)
            raise InvalidArgumentError(
                None, None, f"Expected shape {expected} for default value, got {given}"
            )
        batch = keys.shape[: keys.ndim - len(self.key_shape)]
        with self._lock:
            rows = self._rows.find(keys)
            found = self._values.take(rows, 0, mode="wrap")  # of row -1 too, which is replaced below
        if rows.size and rows.min() < 0:
            found[rows < 0] = default
        return found.reshape(batch + self.value_shape)

    def insert(self, keys: NDArray, values: NDArray) -> None:
        self.check_pairs(keys, values)
        with self._lock:
            self._put(keys, values)

    def remove(self, keys: NDArray) -> None:
        self._check_key_shape(keys.shape)
        with self._lock:
            gone = self._rows.remove(keys)
            gone = gone[gone >= 0]
            if self._values.dtype == object:
                self._values[gone] = None
            self._free.extend(gone.tolist())

    def replace(self, keys: NDArray, values: NDArray) -> None:
        """Forget everything, and take these."""
        self.check_pairs(keys, values)
        with self._lock:
            self._clear()
            self._put(keys, values)

    def export(self) -> tuple[NDArray, NDArray]:
        with self._lock:
            keys, rows = self._rows.items()
            return keys, self._values[rows]

    def initialize(self, keys: NDArray, values: NDArray) -> None:
        """Give a table that does not change its content."""
        raise NotImplementedError

    @property
    def is_static(self) -> bool:
        """Is it initialised once?"""
        return False

    # -- rows --------------------------------------------------------------------------------------
    def _put(self, keys: NDArray, values: NDArray) -> NDArray:
        """Rows of all keys, with their values; of a key that comes twice, the last value stays."""
        rows = self._rows_for(keys)
        self._values[rows] = values.reshape(len(rows), *self.value_shape)
        return rows

    def _rows_for(self, keys: NDArray) -> NDArray:
        count = keys.size // max(int(np.prod(self.key_shape)), 1)
        if len(self._rows) + count > _MANY:
            self._go_native()
        reused = self._free[::-1][:count]
        fresh = np.concatenate(
            [np.array(reused, np.int64), np.arange(self._next, self._next + count - len(reused))]
        )
        rows, used = self._rows.add(keys, fresh)
        del self._free[len(self._free) - min(used, len(reused)) :]
        self._next += max(used - len(reused), 0)
        self._grow(self._next)
        return rows

    def _grow(self, needed: int) -> None:
        if needed > len(self._values):
            size = max(needed, 2 * len(self._values))
            larger = np.empty((size, *self.value_shape), self._values.dtype)
            larger[: len(self._values)] = self._values
            self._values = larger

    def _go_native(self) -> None:
        """From a dictionary to native code, where there is any for these keys."""
        make = hooks.native_key_rows.value
        if self._is_native or make is None or self.key_shape:
            return
        self._is_native = True
        rows = make(self.key_dtype)
        if rows is not None:
            rows.add(*self._rows.items())
            self._rows = rows

    # -- what is refused -------------------------------------------------------------------------
    def _check_key_shape(self, shape: tuple[int, ...]) -> None:
        rank = len(self.key_shape)
        if rank and shape[-rank:] != self.key_shape:
            given, own = show(shape), show(self.key_shape)
            message = f"Input key shape {given} must end with the table's key shape {own}"
            raise InvalidArgumentError(None, None, message)

    def check_pairs(self, keys: NDArray, values: NDArray) -> None:
        self._check_key_shape(keys.shape)
        expected = keys.shape[: keys.ndim - len(self.key_shape)] + self.value_shape
        require(
            values.shape == expected, f"Expected shape {show(expected)} for value, got {show(values.shape)}"
        )


class StaticTable(Table):
    """A table that is initialised once."""

    def __init__(self, key_dtype: DType, value_dtype: DType) -> None:
        super().__init__(key_dtype, value_dtype)
        self.is_initialized = False

    @property
    def is_static(self) -> bool:
        return True

    def find(self, keys: NDArray, default: NDArray) -> NDArray:
        require_initialized(self)
        return super().find(keys, default)

    def insert(self, keys: NDArray, values: NDArray) -> None:
        raise _unsupported("Insert")

    def remove(self, keys: NDArray) -> None:
        raise _unsupported("Remove")

    def replace(self, keys: NDArray, values: NDArray) -> None:
        self.check_pairs(keys, values)
        self.initialize(keys, values)

    def export(self) -> tuple[NDArray, NDArray]:
        if not self.is_initialized:
            raise AbortedError(None, None, "HashTable is not initialized.")
        return super().export()

    def initialize(self, keys: NDArray, values: NDArray) -> None:
        require(
            keys.shape == values.shape,
            f"keys and values should have the same dimension.{show(keys.shape)} vs {show(values.shape)}",
        )
        require(keys.size, "keys and values cannot be empty tensors.")
        with self._lock:
            if self.is_initialized:
                if keys.size != len(self):
                    raise FailedPreconditionError(
                        None, None, "Table was already initialized with different data."
                    )
                return
            try:
                self._fill(keys.reshape(-1), values.reshape(-1))
            except FailedPreconditionError:
                self._clear()
                raise
            self.is_initialized = True

    def _fill(self, keys: NDArray, values: NDArray) -> None:
        """All pairs; of a key that comes twice the first counts, and the others must be equal to it."""
        rows = self._rows_for(keys)
        self._values[rows[::-1]] = values[::-1]
        other = np.flatnonzero(self._values[rows] != values)
        if len(other):
            at = other[0]
            raise FailedPreconditionError(
                None,
                None,
                f"HashTable has different value for same key. Key {_text(keys[at])} has "
                f"{_text(self._values[rows[at]])} and trying to add value {_text(values[at])}",
            )


def require_initialized(table: StaticTable) -> None:
    if not table.is_initialized:
        raise FailedPreconditionError(None, None, "Table not initialized.")


def _unsupported(what: str) -> UnimplementedError:
    message = f"{what} not supported by InitializableLookupTable implementations"
    return UnimplementedError(None, None, message)


def _text(value: Any) -> str:
    return (
        shown(value) if isinstance(value, bytes) else f"{value:g}" if isinstance(value, float) else str(value)
    )


_NUMBERS = (float64, float32, int32)
TYPES = {
    int32: (*_NUMBERS, string),
    int64: (*_NUMBERS, int64, bool_, string, variant),
    string: (*_NUMBERS, int64, bool_, string),
}  # which values tables may have, by the type of their keys
