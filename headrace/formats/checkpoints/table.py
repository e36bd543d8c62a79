"""Sorted string tables, read: the index of checkpoints, and all of old ones.

Data blocks, an index block and a footer; every block has a checksum, which is verified.  Keys are
bytes in increasing order.  A block is read when it is needed; nothing in the file can ask for more
memory than the file is long (twenty times that where blocks are compressed).
"""

from __future__ import annotations

import bisect
import os
from collections.abc import Iterator
from typing import Any

from headrace.core.errors import DataLossError
from headrace.formats import files
from headrace.formats.coding import Damaged, read_bytes, read_fixed32, read_varint
from headrace.formats.records import crc32c, snappy

MAGIC = 0xDB4775248B80FB57
FOOTER = 48
TRAILER = 5  # a type byte and the checksum, behind every block
PLAIN, SNAPPY = 0, 1

Handle = tuple[int, int]  # offset and size of a block


class TableBlock:
    """The entries of one block, keys and values side by side."""

    __slots__ = ("keys", "values")

    def __init__(self, data: memoryview) -> None:
        """Raises Damaged."""
        self.keys: list[bytes] = []
        self.values: list[memoryview] = []
        at, end, last = 0, _entries_end(data), None
        while at < end:
            start = at
            shared, at = read_varint(data, at, bits=32)
            own, at = read_varint(data, at, bits=32)
            length, at = read_varint(data, at, bits=32)
            if shared > len(last or b"") or at + own + length > end:
                raise Damaged("an entry reaches beyond its block", start)
            tail, at = read_bytes(data, at, own)
            key = (last or b"")[:shared] + tail
            if last is not None and key <= last:
                raise Damaged("keys are not in order", start)
            self.keys.append(key)
            self.values.append(data[at : at + length])
            at, last = at + length, key


def _entries_end(data: memoryview) -> int:
    """Where the entries of a block end and its restart points begin."""
    count, _ = read_fixed32(data, len(data) - 4)
    end = len(data) - 4 - 4 * count
    if end < 0:
        raise Damaged(f"{count} restart points in {len(data)} bytes", len(data) - 4)
    return end


class Table:
    """A table in a file.  `close` it, or use it in a `with`."""

    def __init__(self, path: Any) -> None:
        """Raises NotFoundError, or DataLossError where the file is no table."""
        self.path = files.local(path)
        with files.translated(path):
            self._file = open(self.path, "rb", buffering=0)
        self._size = os.fstat(self._file.fileno()).st_size
        self._kept: tuple[Handle, TableBlock] | None = None
        try:
            self._index = self._read_block(self._index_handle())
        except DataLossError:
            self.close()
            raise

    def close(self) -> None:
        self._file.close()

    def __enter__(self) -> Table:
        return self

    def __exit__(self, *error: Any) -> None:
        self.close()

    # -- look up ---------------------------------------------------------------------------------
    def get(self, key: bytes) -> memoryview | None:
        """The value of a key, if it is there."""
        place = bisect.bisect_left(self._index.keys, key)
        if place == len(self._index.keys):
            return None
        block = self._block(place)
        at = bisect.bisect_left(block.keys, key)
        if at < len(block.keys) and block.keys[at] == key:
            return block.values[at]
        return None

    def __contains__(self, key: bytes) -> bool:
        return self.get(key) is not None

    def items(self) -> Iterator[tuple[bytes, memoryview]]:
        """All entries in the order of their keys."""
        last: bytes | None = None
        for place in range(len(self._index.keys)):
            block = self._block(place)
            if block.keys and last is not None and block.keys[0] <= last:
                raise self._damage("blocks are not in order", self._handle(place)[0])
            yield from zip(block.keys, block.values)
            last = block.keys[-1] if block.keys else last

    # -- blocks ----------------------------------------------------------------------------------
    def _block(self, place: int) -> TableBlock:
        handle = self._handle(place)
        if self._kept is None or self._kept[0] != handle:
            self._kept = handle, self._read_block(handle)
        return self._kept[1]

    def _handle(self, place: int) -> Handle:
        try:
            return _read_handle(self._index.values[place], 0)[0]
        except Damaged as error:
            raise self._damage(f"in the index of blocks, {error}", 0) from None

    def _index_handle(self) -> Handle:
        if self._size < FOOTER:
            raise self._damage(f"a file of {self._size} bytes is too short to be an sstable", 0)
        start = self._size - FOOTER
        footer = self._read(start, FOOTER)
        if int.from_bytes(footer[-8:], "little") != MAGIC:
            raise self._damage(
                "not an sstable (bad magic number): perhaps your file is in a different file "
                "format and you need to use a different restore operator?",
                self._size - 8,
            )
        try:
            _, at = _read_handle(footer, 0)
            return _read_handle(footer, at)[0]
        except Damaged as error:
            raise self._damage(str(error), start + error.offset) from None

    def _read_block(self, handle: Handle) -> TableBlock:
        offset, size = handle
        if offset + size + TRAILER > self._size:
            raise self._damage(f"a block of {size} bytes is cut short", offset)
        raw = self._read(offset, size + TRAILER)
        stored = int.from_bytes(raw[-4:], "little")
        if crc32c.masked(raw[: size + 1]) != stored:
            raise self._damage("block checksum mismatch", offset)
        try:
            return TableBlock(_opened(raw[:size], raw[size]))
        except Damaged as error:
            raise self._damage(str(error), offset) from None

    def _read(self, offset: int, size: int) -> memoryview:
        with files.translated(self.path):
            data = os.pread(self._file.fileno(), size, offset)
        if len(data) != size:
            raise self._damage(f"{size} bytes expected, {len(data)} read", offset)
        return memoryview(data)

    def _damage(self, reason: str, offset: int) -> DataLossError:
        return DataLossError(None, None, f"Unable to open table file {self.path}: at byte {offset}: {reason}")


def _read_handle(data: memoryview, at: int) -> tuple[Handle, int]:
    offset, at = read_varint(data, at)
    size, at = read_varint(data, at)
    return (offset, size), at


def _opened(data: memoryview, kind: int) -> memoryview:
    if kind == PLAIN:
        return data
    if kind == SNAPPY:
        return memoryview(snappy.decompress(data))
    raise Damaged(f"blocks of type {kind} are unknown")
