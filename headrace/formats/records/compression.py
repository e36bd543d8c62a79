"""Files that may be compressed (gzip, zlib), read and written as streams of bytes."""

from __future__ import annotations

import os
import zlib
from dataclasses import dataclass
from typing import Any

from headrace.core.errors import DataLossError, InvalidArgumentError
from headrace.formats import files

NONE, GZIP, ZLIB = "", "GZIP", "ZLIB"
_CHUNK = 1 << 18
_GZIP_BITS = 16  # added to the window size: a gzip header instead of zlib's


@dataclass(frozen=True)
class Compression:
    """How a stream is compressed; the numbers are zlib's."""

    kind: str = NONE
    window_bits: int = 15
    level: int = zlib.Z_DEFAULT_COMPRESSION
    method: int = zlib.DEFLATED
    mem_level: int = 9
    strategy: int = zlib.Z_DEFAULT_STRATEGY

    def __post_init__(self) -> None:
        if self.kind not in (NONE, GZIP, ZLIB):
            raise InvalidArgumentError(None, None, f"Unsupported compression_type:{self.kind}")

    @property
    def bits(self) -> int:
        return self.window_bits + (_GZIP_BITS if self.kind == GZIP else 0)

    def compressor(self) -> Any:
        return zlib.compressobj(self.level, self.method, self.bits, self.mem_level, self.strategy)


class ByteSource:
    """The (decompressed) bytes of a file, from front to back."""

    def __init__(self, path: Any, compression: Compression = Compression()) -> None:
        """Raises NotFoundError where there is no such file."""
        self.path = files.local(path)
        with files.translated(path):
            self._file = open(self.path, "rb", buffering=_CHUNK)
        self._size = os.fstat(self._file.fileno()).st_size
        self._compression = compression
        self._buffer = bytearray()
        self._inflate = None if compression.kind == NONE else zlib.decompressobj(compression.bits)
        self.offset = 0  # of the next byte, decompressed

    def close(self) -> None:
        self._file.close()

    def read(self, count: int) -> bytes:
        """The next `count` bytes, fewer at the end of the file.

        Raises:
          DataLossError: the compressed data is damaged or ends early.
        """
        with files.translated(self.path):
            if self._inflate is None:
                # a damaged length must not ask for more memory than the file has bytes
                data = self._file.read(min(count, max(self._size - self.offset, _CHUNK)))
            else:
                data = self._inflated(count)
        self.offset += len(data)
        return data

    def skip_to(self, offset: int) -> None:
        """Go on at an offset, which must not lie behind."""
        if self._inflate is None:
            with files.translated(self.path):
                self._file.seek(offset)
            self.offset = offset
        while self.offset < offset and self.read(min(_CHUNK, offset - self.offset)):
            pass

    def _inflated(self, count: int) -> bytes:
        while len(self._buffer) < count:
            part = self._next_part()
            if part is None:
                break
            self._buffer += part
        data = bytes(self._buffer[:count])
        del self._buffer[:count]
        return data

    def _next_part(self) -> bytes | None:
        """Some more decompressed bytes; None at the end.  Members may follow one another."""
        inflate = self._inflate
        assert inflate is not None
        data = inflate.unconsumed_tail or inflate.unused_data or self._file.read(_CHUNK)
        if not data:
            if not inflate.eof and self._file.tell() > 0:
                raise self._damage("the compressed stream is cut short")
            return None
        if inflate.eof:
            inflate = self._inflate = zlib.decompressobj(self._compression.bits)
        try:
            return inflate.decompress(data, _CHUNK)
        except zlib.error as error:
            raise self._damage(str(error)) from None

    def _damage(self, reason: str) -> DataLossError:
        return DataLossError(None, None, f"{self.path}: at byte {self._file.tell()} of the file: {reason}")


class ByteSink:
    """A file to which bytes are written, compressed or not."""

    def __init__(self, path: Any, compression: Compression = Compression(), mode: str = "wb"):
        self.path = files.local(path)
        with files.translated(path):
            self._file: Any = open(self.path, mode, buffering=_CHUNK)
        self._deflate = None if compression.kind == NONE else compression.compressor()

    @property
    def closed(self) -> bool:
        return bool(self._file.closed)

    def write(self, data: bytes) -> None:
        with files.translated(self.path):
            self._file.write(data if self._deflate is None else self._deflate.compress(data))

    def flush(self) -> None:
        """All that was written so far can be read afterwards."""
        with files.translated(self.path):
            if self._deflate is not None:
                self._file.write(self._deflate.flush(zlib.Z_SYNC_FLUSH))
            self._file.flush()

    def sync(self) -> None:
        self.flush()
        with files.translated(self.path):
            os.fsync(self._file.fileno())

    def close(self) -> None:
        if self._file.closed:
            return
        with files.translated(self.path):
            if self._deflate is not None:
                self._file.write(self._deflate.flush(zlib.Z_FINISH))
            self._file.close()
