"""TFRecord files: length (64 bits) and its checksum, data and its checksum, again and again.

Checksums are verified; a file that ends within a record is DataLossError with the record's offset."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Any

from headrace.core.errors import DataLossError, FailedPreconditionError
from headrace.formats.records import crc32c
from headrace.formats.records.compression import ByteSink, ByteSource, Compression

_HEADER = struct.Struct("<QI")
_FOOTER = struct.Struct("<I")


class RecordReader:
    """The records of a file, from front to back; an iterator."""

    def __init__(self, path: Any, compression: Compression = Compression(), offset: int = 0) -> None:
        self._source = ByteSource(path, compression)
        self.path = self._source.path
        if offset:
            self._source.skip_to(offset)

    @property
    def offset(self) -> int:
        """Where the next record starts (after decompression)."""
        return self._source.offset

    def read(self) -> bytes | None:
        """The next record; None at the end of the file.

        Raises:
          DataLossError: the record is damaged or cut short.
        """
        start = self._source.offset
        header = self._source.read(_HEADER.size)
        if not header:
            return None
        if len(header) < _HEADER.size:
            raise self._damage("truncated", start)
        length, stored = _HEADER.unpack(header)
        if crc32c.masked(header[:8]) != stored:
            raise self._damage("corrupted", start)
        data = self._source.read(length + _FOOTER.size)
        if len(data) < length + _FOOTER.size:
            raise self._damage("truncated", start)
        record = data[:length]
        if crc32c.masked(record) != _FOOTER.unpack_from(data, length)[0]:
            raise self._damage("corrupted", start)
        return record

    def _damage(self, how: str, offset: int) -> DataLossError:
        return DataLossError(None, None, f"{how} record at {offset} ({self.path})")

    def __iter__(self) -> Iterator[bytes]:
        return self

    def __next__(self) -> bytes:
        record = self.read()
        if record is None:
            raise StopIteration
        return record

    def close(self) -> None:
        self._source.close()

    def __enter__(self) -> RecordReader:
        return self

    def __exit__(self, *error: Any) -> None:
        self.close()


class RecordWriter:
    """Writes records to a file."""

    def __init__(self, path: Any, compression: Compression = Compression(), mode: str = "wb"):
        self._sink = ByteSink(path, compression, mode)
        self.path = self._sink.path

    def write(self, record: bytes) -> None:
        self._check_open()
        head = struct.pack("<Q", len(record))
        self._sink.write(
            b"".join((head, _FOOTER.pack(crc32c.masked(head)), record, _FOOTER.pack(crc32c.masked(record))))
        )

    def _check_open(self) -> None:
        if self._sink.closed:
            message = "Writer not initialized or previously closed"
            raise FailedPreconditionError(None, None, message)

    def flush(self) -> None:
        """Let readers see all records so far."""
        self._check_open()
        self._sink.flush()

    def sync(self) -> None:
        """Bring all to the disk."""
        self._sink.sync()

    def close(self) -> None:
        self._sink.close()

    def __enter__(self) -> RecordWriter:
        return self

    def __exit__(self, *error: Any) -> None:
        self.close()
