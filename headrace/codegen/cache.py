"""Compiled code by content: in memory, and on disk for the next process.

A file holds one object, after a line with the hash of the rest.  Its name is the hash of what it was
made from, of this package's code generator and of the processor, so nothing in it can be out of date;
it is written under another name and renamed, so no reader sees half of it; and one that does not match
its hash is made again.  A process that adds to the folder first makes room: files that nobody has read
for long go, once all take more than LIMIT.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from functools import lru_cache
from pathlib import Path

from headrace.codegen import compile as compiler
from headrace.codegen.target import host
from headrace.core import forks, options
from headrace.version import __version__

LIMIT = 256 << 20  # bytes on disk
DAY = 86400.0  # a file that is read is marked as used so often
MOST = 1024  # kernels that are on their way, or were
_addresses: dict[str, int] = {}
_soon: OrderedDict[str, Future[int]] = OrderedDict()
_lock = threading.RLock()


def kernel_address(
    identity: str, write: Callable[[str], str], imports: Mapping[str, int] | None = None
) -> int:
    """The address of the function that `write(symbol)` is the LLVM text of."""
    with _lock:
        found = _addresses.get(identity)
        if found is None:
            key = _key(identity)
            symbol = f"k_{key}"
            data = _read(key)
            if data is None or "llvm" in options.shown():
                text = write(symbol)
                options.show("llvm", text)
                data = compiler.to_object(text)
                _write(key, data)
            found = _addresses[identity] = compiler.load(data, symbol, imports)
        return found


def kernel_soon(identity: str, write: Callable[[str], str]) -> Future[int]:
    """`kernel_address`, but what has to be compiled is compiled by a thread: LLVM leaves Python alone
    meanwhile.  The text is written here, since expressions belong to the thread that compiles."""
    found = _soon.get(identity)
    if found is not None and not (found.done() and found.exception()):
        return found
    key = _key(identity)
    if identity in _addresses or "llvm" in options.shown() or _path(key).exists():
        found = Future()
        found.set_result(kernel_address(identity, write))
    else:
        text = write(f"k_{key}")
        found = _worker().submit(kernel_address, identity, lambda _: text)
    _soon[identity] = found
    while len(_soon) > MOST:
        _soon.popitem(last=False)
    return found


@lru_cache(maxsize=1)
def _worker() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(1, "headrace-llvm")


def _key(identity: str) -> str:
    return hashlib.sha256(f"{generator_hash()}\n{identity}".encode()).hexdigest()[:40]


@lru_cache(maxsize=1)
def generator_hash() -> str:
    """Changes with the sources of the code generator and with the processor."""
    digest = hashlib.sha256(f"{host().key} {__version__}".encode())
    folder = Path(__file__).parent
    for path in sorted([*folder.glob("*.py"), *folder.glob("math/*.py")]):
        digest.update(path.read_bytes())
    return digest.hexdigest()


def _folder() -> Path:
    return options.cache_directory() / "kernels"


def _path(key: str) -> Path:
    return _folder() / key[:2] / key


def _read(key: str) -> bytes | None:
    path = _path(key)
    try:
        content = path.read_bytes()
        if time.time() - path.stat().st_mtime > DAY:
            os.utime(path)
    except OSError:
        return None
    head, _, data = content.partition(b"\n")
    if head != hashlib.sha256(data).hexdigest().encode():
        return None
    return data


def _write(key: str, data: bytes) -> None:
    """Best effort: a cache that cannot be written costs time, nothing else."""
    _make_room()
    path = _path(key)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=path.parent)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(hashlib.sha256(data).hexdigest().encode() + b"\n" + data)
            os.replace(name, path)
        except OSError:
            os.unlink(name)
    except OSError:
        return


@lru_cache(maxsize=1)
def _make_room() -> None:
    """Once per process.  Others may do the same meanwhile: a file that is gone is no error."""
    found = []
    try:
        for entry in (e for part in os.scandir(_folder()) for e in os.scandir(part)):
            state = entry.stat()
            found.append((state.st_mtime, state.st_size, entry.path))
    except OSError:
        return
    total = sum(size for _, size, _ in found)
    for _, size, path in sorted(found):
        if total <= LIMIT:
            return
        total -= size
        with suppress(OSError):
            os.unlink(path)


def _quiet() -> Callable[[], None]:
    """Nobody is inside LLVM while the process forks."""
    held = _lock.acquire(timeout=forks.PATIENCE)
    return _lock.release if held else lambda: None


def _renew() -> None:
    global _lock
    _lock = threading.RLock()
    _soon.clear()
    _worker.cache_clear()  # its thread is the parent's


forks.guard(forks.CODE, _quiet, _renew)
