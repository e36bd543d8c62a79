"""Which row of a table a key has.

A table is an array of values, and this: from keys to numbers of rows.  So whatever the values are, numbers,
text or vectors, there is one way to find them.  In and out go arrays: keys flat (or one key per row of a
matrix), rows as int64, -1 for a key that is absent.
"""

from __future__ import annotations

from collections.abc import Hashable
from itertools import repeat
from typing import Protocol

import numpy as np

from headrace.core.dtypes import NDArray


class KeyRows(Protocol):
    """From keys to rows."""

    def __len__(self) -> int: ...

    def find(self, keys: NDArray) -> NDArray:
        """The row of every key, -1 where it is absent."""
        ...

    def add(self, keys: NDArray, fresh: NDArray) -> tuple[NDArray, int]:
        """The row of every key.  A key that is absent gets the next of the rows `fresh`, which must be
        enough; the second result is how many of them were taken."""
        ...

    def remove(self, keys: NDArray) -> NDArray:
        """The rows that the keys had; a key that is absent, or stands there a second time, has none."""
        ...

    def items(self) -> tuple[NDArray, NDArray]:
        """All keys, in the order of their arrival, and their rows."""
        ...


class DictRows:
    """A dictionary: for tables of any keys."""

    def __init__(self, dtype: np.dtype[np.generic], width: int | None = None) -> None:
        """`width`: of how many elements a key is made; None where keys are single elements."""
        self._dtype, self._width = dtype, width
        self._rows: dict[Hashable, int] = {}

    def __len__(self) -> int:
        return len(self._rows)

    def find(self, keys: NDArray) -> NDArray:
        plain = self._plain(keys)
        return np.fromiter(map(self._rows.get, plain, repeat(-1)), np.int64, len(plain))

    def add(self, keys: NDArray, fresh: NDArray) -> tuple[NDArray, int]:
        rows, before, next_row = self._rows, len(self._rows), iter(fresh.tolist())
        out = [
            rows[key] if key in rows else rows.setdefault(key, next(next_row)) for key in self._plain(keys)
        ]
        return np.array(out, np.int64), len(rows) - before

    def remove(self, keys: NDArray) -> NDArray:
        plain = self._plain(keys)
        return np.fromiter((self._rows.pop(key, -1) for key in plain), np.int64, len(plain))

    def items(self) -> tuple[NDArray, NDArray]:
        count = len(self._rows)
        keys = np.empty((count, *self._tail()), self._dtype)
        if count:
            keys[...] = _column(list(self._rows), keys)
        return keys, np.fromiter(self._rows.values(), np.int64, count)

    def _tail(self) -> tuple[int, ...]:
        return () if self._width is None else (self._width,)

    def _plain(self, keys: NDArray) -> list[Hashable]:
        """Python objects that are equal where keys are."""
        if self._width is None:
            flat: list[Hashable] = keys.reshape(-1).tolist()
            return flat
        return [tuple(key) for key in keys.reshape(-1, self._width).tolist()]


def _column(keys: list[Hashable], like: NDArray) -> NDArray:
    out = np.empty_like(like)
    for i, key in enumerate(keys):
        out[i] = key
    return out
