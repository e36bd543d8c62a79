"""Files that appear whole or not at all: written beside, brought to the disk, then renamed.

`Pending` is a set of files that belong together.  Where none of them exists yet, the last rename makes
them valid.  Where older ones are replaced, they first get names with `.pending`; the rename of the last
one is the moment of change, and readers ask `current` for the name that counts, so that a crash between
two renames never shows new data under an old index.
"""

from __future__ import annotations

import os
import random
import re
import socket
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from typing import IO, Any

from headrace.formats import files

SUFFIX = ".pending"
_TEMPORARY = re.compile(r"\.tempstate(\d{5})(\d{10})\d{10}$")


def temporary(path: str) -> str:
    """A name beside `path` that nobody else uses: TF's word, then who made it, and a random number."""
    return f"{path}.tempstate{_machine():05d}{os.getpid():010d}{random.randrange(10**10):010d}"


@cache
def _machine() -> int:
    """A number for the system whose process numbers are ours."""
    known = socket.gethostname()
    for path in ("/proc/sys/kernel/random/boot_id", "/proc/self/ns/pid"):
        if os.path.exists(path):
            known += str(os.stat(path).st_ino) if path.endswith("pid") else _first_line(path)
    return zlib.crc32(known.encode()) % 10**5


def _first_line(path: str) -> str:
    with open(path) as file:
        return file.readline()


def remove_stale(path: str) -> None:
    """Delete temporary files in the folder of `path` whose makers have died."""
    folder = os.path.dirname(path) or "."
    if not os.path.isdir(folder):
        return
    for name in os.listdir(folder):
        made = _TEMPORARY.search(name)
        if made and int(made[1]) == _machine() and not _is_alive(int(made[2])):
            remove(os.path.join(folder, name))


def _is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


@contextmanager
def new_file(path: str) -> Iterator[IO[bytes]]:
    """An open file, on the disk when the block ends; removed if the block fails."""
    with files.translated(path):
        file = open(path, "wb", buffering=1 << 20)
        try:
            with file:
                yield file
                file.flush()
                os.fsync(file.fileno())
        except BaseException:
            remove(path)
            raise


def write(path: Any, data: bytes | str) -> None:
    """A small file, replaced at once."""
    target = files.local(path)
    beside = temporary(target)
    with new_file(beside) as file:
        file.write(data.encode() if isinstance(data, str) else data)
    rename(beside, target)


def make_folder(path: str) -> None:
    """Make the folder of `path` where it is missing; the one around it must exist, as in TF."""
    folder = os.path.dirname(path)
    if folder and not os.path.exists(folder):
        with files.translated(path), suppress(FileExistsError):  # tasks that save shards make it at once
            os.mkdir(folder)


def rename(source: str, target: str) -> None:
    with files.translated(target):
        os.replace(source, target)
        sync_folder(target)


def sync_folder(path: str) -> None:
    """Bring the names in the folder of `path` to the disk."""
    try:
        handle = os.open(os.path.dirname(path) or ".", os.O_RDONLY)
    except OSError:  # a system where folders can not be opened has nothing to sync
        return
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def remove(path: str) -> None:
    """Delete a file if it is there."""
    try:
        os.remove(path)
    except FileNotFoundError:
        return


def current(path: str, key: str) -> str:
    """The file that counts for `path`, which belongs to the set whose last file is `key`."""
    if os.path.exists(key + SUFFIX) and os.path.exists(path + SUFFIX):
        return path + SUFFIX
    return path


def complete(paths: list[str], key: str) -> None:
    """Finish a change that a crash interrupted, or forget one that had not come to count."""
    if os.path.exists(key + SUFFIX):
        commit_pending(paths, key)
    else:
        for path in paths:
            remove(path + SUFFIX)


def commit_pending(paths: list[str], key: str) -> None:
    for path in (*paths, key):
        if os.path.exists(path + SUFFIX):
            rename(path + SUFFIX, path)


def replace_set(sources: list[str], paths: list[str], source: str, key: str) -> None:
    """Rename sources[i] to paths[i] and `source` to `key`; they count together."""
    complete(paths, key)
    if not os.path.exists(key):
        for beside, path in zip(sources, paths):
            rename(beside, path)
        rename(source, key)
        return
    for beside, path in zip(sources, paths):
        rename(beside, path + SUFFIX)
    rename(source, key + SUFFIX)
    commit_pending(paths, key)
