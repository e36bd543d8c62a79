"""A file object with TF's modes and errors: tf.gfile.GFile."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from typing import Any

from headrace.core import errors
from headrace.core.fields import reads
from headrace.formats.files import local, stat, translated


class GFile:
    """A file: opened when it is first read or written.

    Args:
      name: its path.
      mode: "r", "w", "a", "r+", "w+" or "a+", with "b" for bytes instead of text.
    """

    def __init__(self, name: Any, mode: str = "r") -> None:
        self._name, self._mode = name, mode
        self._is_binary = "b" in mode
        mode = mode.replace("b", "")
        if mode not in ("r", "w", "a", "r+", "w+", "a+"):
            raise errors.InvalidArgumentError(
                None, None, "mode is not 'r' or 'w' or 'a' or 'r+' or 'w+' or 'a+'"
            )
        self._plain = mode
        self._may_read, self._may_write = mode in ("r", "r+", "w+", "a+"), mode != "r"
        self._file: Any = None

    name: Any = reads("_name")
    mode: str = reads("_mode")

    def _opened(self) -> Any:
        if self._file is None:
            with translated(self._name):
                path = local(self._name)
                if self._plain == "r" and os.path.isdir(path):
                    raise OSError(errno.EISDIR, "Is a directory")
                self._file = open(path, self._plain + "b")
        return self._file

    def _for_reading(self) -> Any:
        if not self._may_read:
            raise errors.PermissionDeniedError(None, None, "File isn't open for reading")
        return self._opened()

    def _for_writing(self) -> Any:
        if not self._may_write:
            raise errors.PermissionDeniedError(None, None, "File isn't open for writing")
        return self._opened()

    def _shown(self, data: bytes) -> Any:
        return data if self._is_binary else data.decode("utf-8")

    def size(self) -> int:
        """Bytes in the file."""
        if self._file is not None and self._may_write:
            self._file.flush()
        return stat(self._name).length

    def write(self, file_content: Any) -> None:
        """Append text or bytes at the current place."""
        data = file_content.encode() if isinstance(file_content, str) else bytes(file_content)
        with translated(self._name):
            self._for_writing().write(data)

    def read(self, n: int = -1) -> Any:
        """The next `n` bytes, or all that follow."""
        with translated(self._name):
            return self._shown(self._for_reading().read(n))

    def readline(self) -> Any:
        """The next line with its end; empty at the end of the file."""
        with translated(self._name):
            return self._shown(self._for_reading().readline())

    def readlines(self) -> list[Any]:
        return list(self)

    def seek(self, offset: int | None = None, whence: int = 0, position: int | None = None) -> None:
        """Go to a place: from the start (0), from here (1), or from the end (2)."""
        if offset is None and position is None:
            raise TypeError("seek(): offset argument required")
        if offset is not None and position is not None:
            raise TypeError("seek(): offset and position may not be set simultaneously.")
        if position is not None:
            offset = position
        assert offset is not None
        file = self._for_reading()
        if whence not in (0, 1, 2):
            raise errors.InvalidArgumentError(
                None, None, f"Invalid whence argument: {whence}. Valid values are 0, 1, or 2."
            )
        base = {0: 0, 1: file.tell(), 2: self.size()}[whence]
        if base + offset < 0:
            raise errors.InvalidArgumentError(None, None, f"Seek to {base + offset}")
        if base + offset > self.size():
            raise errors.OutOfRangeError(None, None, "EOF reached")
        file.seek(base + offset)

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        """The current place."""
        return int(self._opened().tell())

    def flush(self) -> None:
        if self._file is not None and self._may_write:
            with translated(self._name):
                self._file.flush()

    def close(self) -> None:
        if self._file is not None:
            with translated(self._name):
                self._file.close()
            self._file = None

    def __del__(self) -> None:
        # Programs read whole files and drop the object, as TF lets them.
        if self.__dict__.get("_file") is not None:
            self._file.close()

    def __enter__(self) -> GFile:
        return self

    def __exit__(self, *error: Any) -> None:
        if self._may_write and self._file is None and error[0] is None:
            self._opened()  # `with open(w): pass` makes an empty file
        self.close()

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        line = self.readline()
        if not line:
            raise StopIteration
        return line

    next = __next__


class FastGFile(GFile):
    """The same, under an old name."""
