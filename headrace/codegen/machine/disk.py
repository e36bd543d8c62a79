"""Files of the cache: compiled kernels, and programs that were made from them.

A file holds its data after a line with the hash of its name and of them.  It is written under another
name and renamed, so no reader sees half of it; one that does not match its hash counts as absent.  A process
that adds a file first makes room: files that nobody has read for long go, once all take more than LIMIT.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from functools import lru_cache
from pathlib import Path

from headrace.core import options

LIMIT = 256 << 20  # bytes on disk
DAY = 86400.0  # a file that is read is marked as used so often


class Folder:
    """Files of one kind, by key: words of hexadecimal digits."""

    def __init__(self, name: str) -> None:
        self.name = name

    @property
    def place(self) -> Path:
        return options.cache_directory() / self.name

    def path(self, key: str) -> Path:
        return self.place / key[:2] / key

    def read(self, key: str) -> bytes | None:
        path = self.path(key)
        try:
            content = path.read_bytes()
            if time.time() - path.stat().st_mtime > DAY:
                os.utime(path)
        except OSError:
            return None
        head, _, data = content.partition(b"\n")
        return data if head == _hash(key, data) else None

    def write(self, key: str, data: bytes) -> None:
        """Best effort: a cache that cannot be written costs time, nothing else."""
        make_room()
        path = self.path(key)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            handle, name = tempfile.mkstemp(dir=path.parent)
            try:
                with os.fdopen(handle, "wb") as file:
                    file.write(_hash(key, data) + b"\n" + data)
                os.replace(name, path)
            except OSError:
                os.unlink(name)
        except OSError:
            return

    def files(self) -> Iterator[os.DirEntry[str]]:
        for part in os.scandir(self.place):
            yield from os.scandir(part)

    def size(self) -> tuple[int, int]:
        """How many files, and their bytes."""
        try:
            sizes = [entry.stat().st_size for entry in self.files()]
        except OSError:
            return 0, 0
        return len(sizes), sum(sizes)


def _hash(key: str, data: bytes) -> bytes:
    digest = hashlib.sha256(f"{key}\n".encode())
    digest.update(data)
    return digest.hexdigest().encode()


KERNELS, PROGRAMS = Folder("kernels"), Folder("programs")


@lru_cache(maxsize=1)
def make_room() -> None:
    """Once per process.  Others may do the same meanwhile: a file that is gone is no error."""
    found = []
    for folder in (KERNELS, PROGRAMS):
        with suppress(OSError):
            for entry in folder.files():
                state = entry.stat()
                found.append((state.st_mtime, state.st_size, entry.path))
    total = sum(size for _, size, _ in found)
    for _, size, path in sorted(found):
        if total <= LIMIT:
            return
        total -= size
        with suppress(OSError):
            os.unlink(path)
