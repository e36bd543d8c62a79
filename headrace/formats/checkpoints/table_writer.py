"""Sorted string tables, written: byte for byte as TF's, without compression."""

from __future__ import annotations

from typing import IO

from headrace.formats.checkpoints.table import FOOTER, MAGIC, PLAIN
from headrace.formats.coding import fixed32, varint
from headrace.formats.records import crc32c

BLOCK_SIZE = 1 << 18
RESTART = 16  # every so many keys one is written in full


class _Block:
    """Entries of a block in the making."""

    def __init__(self, restart: int) -> None:
        self._interval = restart
        self.clear()

    def clear(self) -> None:
        self._parts: list[bytes] = []
        self._bytes, self._since = 0, 0
        self._restarts = [0]
        self._last = b""

    @property
    def is_empty(self) -> bool:
        return not self._parts

    @property
    def size(self) -> int:
        return self._bytes + 4 * len(self._restarts) + 4

    def add(self, key: bytes, value: bytes) -> None:
        shared = 0
        if self._since < self._interval:
            shared = _common(self._last, key)
        else:
            self._restarts.append(self._bytes)
            self._since = 0
        head = varint(shared) + varint(len(key) - shared) + varint(len(value)) + key[shared:]
        self._parts += (head, value)
        self._bytes += len(head) + len(value)
        self._last = key
        self._since += 1

    def data(self) -> bytes:
        ends = [fixed32(place) for place in (*self._restarts, len(self._restarts))]
        return b"".join([*self._parts, *ends])


class TableWriter:
    """Writes entries, whose keys must come in increasing order, to an open binary file."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file, self._offset = file, 0
        self._block, self._index = _Block(RESTART), _Block(1)
        self._last: bytes | None = None
        self._pending: bytes | None = None  # the handle of a block not yet in the index

    def add(self, key: bytes, value: bytes) -> None:
        if self._last is not None:
            assert key > self._last, f"{key!r} after {self._last!r}"
            if len(key) + len(value) >= 2 * BLOCK_SIZE:
                self._flush()
        if self._pending is not None:
            assert self._last is not None
            self._note(_between(self._last, key))
        self._block.add(key, value)
        self._last = key
        if self._block.size >= BLOCK_SIZE:
            self._flush()

    def finish(self) -> None:
        """The index and the footer; the file stays open."""
        self._flush()
        meta = self._write(_Block(RESTART).data())
        if self._pending is not None:
            assert self._last is not None
            self._note(_after(self._last))
        handles = meta + self._write(self._index.data())
        self._file.write(handles.ljust(FOOTER - 8, b"\0") + MAGIC.to_bytes(8, "little"))

    def _flush(self) -> None:
        if not self._block.is_empty:
            self._pending = self._write(self._block.data())
            self._block.clear()

    def _note(self, key: bytes) -> None:
        assert self._pending is not None
        self._index.add(key, self._pending)
        self._pending = None

    def _write(self, data: bytes) -> bytes:
        """Write a block; returns its handle."""
        kind = bytes([PLAIN])
        crc = crc32c.extend(crc32c.value(data), kind)
        self._file.write(data)
        self._file.write(kind + fixed32(crc32c.mask(crc)))
        handle = varint(self._offset) + varint(len(data))
        self._offset += len(data) + 5
        return handle


def _common(a: bytes, b: bytes) -> int:
    limit = min(len(a), len(b))
    if a[:limit] == b[:limit]:
        return limit
    return next(i for i in range(limit) if a[i] != b[i])


def _between(low: bytes, high: bytes) -> bytes:
    """A short key k with low <= k < high."""
    at = _common(low, high)
    if at < min(len(low), len(high)) and low[at] + 1 < high[at]:
        return low[:at] + bytes([low[at] + 1])
    return low


def _after(key: bytes) -> bytes:
    """A short key that is not below this one."""
    for at, byte in enumerate(key):
        if byte != 0xFF:
            return key[:at] + bytes([byte + 1])
    return key
