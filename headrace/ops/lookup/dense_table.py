"""The dense table: one whose export is the table of buckets itself, as TensorFlow's kernel reads and writes
it.

Buckets are a matrix of keys, `empty_key` where there is none, and a matrix of values.  A key's first bucket
is its hash modulo the number of buckets, a power of two; if that is taken, buckets 1, 3, 6, ... further on
follow.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from headrace.core.dtypes import DType, NDArray
from headrace.core.errors import InternalError, require
from headrace.core.shapes import show
from headrace.ops.array.hashing import M, hash64, hash64_combine, of_strings
from headrace.ops.lookup.table import Table


class DenseTable(Table):
    """Keys and values are single elements or vectors; two keys stand for "none" and "deleted"."""

    def __init__(
        self,
        value_dtype: DType,
        value_shape: tuple[int, ...],
        key_dtype: DType,
        empty_key: NDArray,
        deleted_key: NDArray | None,
        buckets: int,
        max_load_factor: float,
    ) -> None:
        require(0 < max_load_factor < 1, f"max_load_factor must be between 0 and 1, got: {max_load_factor:g}")
        require(
            len(value_shape) < 2, f"Empty value must be a scalar or a vector, got shape {show(value_shape)}"
        )
        require(
            empty_key.ndim < 2, f"Empty key must be a scalar or a vector, got shape {show(empty_key.shape)}"
        )
        if deleted_key is not None:
            require(
                empty_key.shape == deleted_key.shape,
                "Empty and deleted keys must have same shape, got shapes: "
                f"{show(empty_key.shape)} and {show(deleted_key.shape)}",
            )
            require(not np.array_equal(empty_key, deleted_key), "Empty and deleted keys cannot be equal")
        require(
            buckets >= 4 and not buckets & (buckets - 1),
            f"Number of buckets must be at least 4 and a power of 2, got: {buckets}",
        )
        self._empty, self._deleted = empty_key, deleted_key
        self._buckets, self._load = buckets, np.float32(max_load_factor)
        self._graves: dict[tuple[Any, ...], NDArray] = {}  # deleted keys, and the values that they had
        super().__init__(key_dtype, value_dtype, empty_key.shape, value_shape)

    # -- what steps ask for ----------------------------------------------------------------------
    def find(self, keys: NDArray, default: NDArray) -> NDArray:
        self._check_keys(keys)
        return super().find(keys, default)

    def insert(self, keys: NDArray, values: NDArray) -> None:
        self.check_pairs(keys, values)
        self._check_keys(keys)
        with self._lock:
            pending = len(self) + self._count(keys)
            while pending > self._buckets * self._load:
                self._buckets *= 2
                self._graves.clear()
            self._put(keys, values)

    def remove(self, keys: NDArray) -> None:
        self._check_keys(keys)
        if self._deleted is not None:
            self._bury(keys)
        super().remove(keys)

    def _bury(self, keys: NDArray) -> None:
        """The buckets of keys that go are marked as deleted, with the values that they had."""
        matrix = keys.reshape(self._count(keys), -1)
        with self._lock:
            if len(self._graves) > self._buckets:
                self._graves.clear()
            rows = self._rows.find(keys)
            for key, row in zip(matrix[rows >= 0], rows[rows >= 0]):
                self._graves[tuple(key.tolist())] = np.array(self._values[row], self._values.dtype)

    def export(self) -> tuple[NDArray, NDArray]:
        width = max(int(np.prod(self.key_shape)), 1)
        with self._lock:
            keys, rows = self._rows.items()
            values, size = self._values[rows], self._buckets
            room = max(int(size * self._load) - len(keys), 0)
            graves = [g for g in self._graves.items() if self._rows.find(self._key(g[0]))[0] < 0]
            graves = graves[max(len(graves) - room, 0) :]
            self._graves = dict(graves)
        key_buckets = np.empty((size, width), self.key_dtype.numpy)
        key_buckets[...] = self._empty.reshape(-1)
        value_buckets = np.zeros((size, max(int(np.prod(self.value_shape)), 1)), values.dtype)
        if values.dtype == object:
            value_buckets[...] = b""
        live, dead = len(keys), [self._key(key).reshape(1, width) for key, _ in graves]
        matrix = np.concatenate([keys.reshape(live, width), *dead])
        places = _places(_hashes(matrix), size)
        key_buckets[places[:live]] = matrix[:live]
        value_buckets[places[:live]] = values.reshape(live, -1)
        for place, (_, value) in zip(places[live:], graves):
            key_buckets[place] = _flat(self._deleted)
            value_buckets[place] = value.reshape(-1)
        return key_buckets, value_buckets

    def _key(self, elements: tuple[Any, ...]) -> NDArray:
        key = np.empty(len(elements), self.key_dtype.numpy)
        key[:] = elements
        return key

    def replace(self, keys: NDArray, values: NDArray) -> None:
        """Take buckets as `export` gives them."""
        key_shape, value_shape = self.key_shape or (1,), self.value_shape or (1,)
        require(
            keys.shape[-1:] == key_shape or not self.key_shape,
            f"Input key shape {show(keys.shape)} must end with the table's key shape {show(self.key_shape)}",
        )
        expected = keys.shape[: keys.ndim - 1] + value_shape
        require(
            values.shape == expected and keys.ndim == 2,
            f"Expected shape {show(expected)} for value, got {show(values.shape)}",
        )
        held = ~self._is_reserved(keys)
        with self._lock:
            self._clear()
            self._graves.clear()
            self._buckets = 1 << (max(len(keys), 4) - 1).bit_length()
            self._put(keys[held].reshape(-1, *self.key_shape), values[held])

    # -- keys ----------------------------------------------------------------------------------------
    def _count(self, keys: NDArray) -> int:
        """How many keys these are: along the first dimension alone."""
        count = 1 if keys.ndim == 0 else keys.shape[0]
        expected = (count, *self.key_shape)
        require(
            keys.size == count * max(int(np.prod(self.key_shape)), 1),
            f"Expected key shape {show(expected)} got {show(keys.shape)}",
        )
        return count

    def _check_keys(self, keys: NDArray) -> None:
        self._check_key_shape(keys.shape)
        matrix = keys.reshape(self._count(keys), -1)
        for reserved, name in ((self._empty, "empty_key"), (self._deleted, "deleted_key")):
            if reserved is not None:
                used = (matrix == reserved.reshape(-1)).all(axis=1).any()
                require(not used, f"Using the {name} as a table key is not allowed")

    def _is_reserved(self, matrix: NDArray) -> NDArray:
        found = (matrix == self._empty.reshape(-1)).all(axis=1)
        if self._deleted is not None:
            found |= (matrix == self._deleted.reshape(-1)).all(axis=1)
        return np.asarray(found, bool)


def _flat(key: NDArray | None) -> NDArray:
    assert key is not None
    return key.reshape(-1)


def _hashes(matrix: NDArray) -> NDArray:
    """One uint64 per row, as TensorFlow's kernel hashes keys."""
    words = of_strings(hash64, matrix) if matrix.dtype == object else matrix.astype(np.int64).view(np.uint64)
    if matrix.shape[1] == 1:
        return words[:, 0]
    combined: Any = np.zeros(len(matrix), np.uint64)
    for column in words.T:
        combined = hash64_combine(combined, column) & M
    return np.asarray(combined, np.uint64)


def _places(hashes: NDArray, size: int) -> NDArray:
    """The bucket of every key: keys that meet take turns, the first of them stays."""
    out = np.empty(len(hashes), np.int64)
    taken = np.zeros(size, bool)
    waiting, place = np.arange(len(hashes)), (hashes & np.uint64(size - 1)).astype(np.int64)
    for probe in range(1, size + 1):
        if not len(waiting):
            return out
        free = np.flatnonzero(~taken[place])
        _, first = np.unique(place[free], return_index=True)
        settled = free[first]
        out[waiting[settled]] = place[settled]
        taken[place[settled]] = True
        left = np.ones(len(waiting), bool)
        left[settled] = False
        waiting, place = waiting[left], (place[left] + probe) & (size - 1)
    if len(waiting):
        raise InternalError(None, None, "Internal error in MutableDenseHashTable insert")
    return out
