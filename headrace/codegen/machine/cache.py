"""Compiled code by content: in memory, and on disk for the next process (codegen.machine.disk).

A file holds one object.  Its name is the hash of what it was made from, of this package's code generator
and of the processor, so nothing in it can be out of date.
"""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TypeVar

from headrace.codegen.machine import compile as compiler
from headrace.codegen.machine.disk import KERNELS
from headrace.codegen.machine.target import host
from headrace.core import forks, options
from headrace.core.modules import late
from headrace.version import __version__

checked_text = late("headrace.codegen.machine.checked_text")

MOST = 1024  # kernels that are on their way, or were
Done = TypeVar("Done")


@dataclass(slots=True)
class Kernels:
    """What the thread that compiles was given, and has done, since the process began."""

    asked: int = 0
    done: int = 0


kernels = Kernels()
_addresses: dict[str, int] = {}
_soon: OrderedDict[str, Future[int]] = OrderedDict()
_lock = threading.RLock()


def kernel_address(
    identity: str, write: Callable[[str], str], imports: Mapping[str, int] | None = None
) -> int:
    """The address of the function that `write(symbol)` is the LLVM text of."""
    if options.bounds() and not identity.startswith(_CHECKED):
        return kernel_address(*_checked(identity, write), imports)
    with _lock:
        found = _addresses.get(identity)
        if found is None:
            key = _key(identity)
            symbol = f"k_{key}"
            data = KERNELS.read(key)
            if data is None or "llvm" in options.shown():
                text = write(symbol)
                options.show("llvm", text)
                data = compiler.to_object(text)
                KERNELS.write(key, data)
            found = _addresses[identity] = compiler.load(data, symbol, imports)
        return found


_CHECKED = "checked "


def _checked(identity: str, write: Callable[[str], str]) -> tuple[str, Callable[[str], str]]:
    """The same code with checks of every access."""
    return _CHECKED + identity, lambda symbol: checked_text.checked(write(symbol))


def known_address(identity: str) -> int | None:
    """`kernel_address` for somebody who has no text of it: None where it is not compiled yet."""
    with _lock:
        found = _addresses.get(identity)
        if found is None:
            key = _key(identity)
            data = KERNELS.read(key)
            if data is not None:
                found = _addresses[identity] = compiler.load(data, f"k_{key}")
        return found


def kernel_soon(identity: str, write: Callable[[str], str]) -> Future[int]:
    """`kernel_address`, but what has to be compiled is compiled by a thread: LLVM leaves Python alone
    meanwhile.  The text is written here, since expressions belong to the thread that compiles."""
    if options.bounds():
        identity, write = _checked(identity, write)
    found = _soon.get(identity)
    if found is not None and not (found.done() and found.exception()):
        return found
    key = _key(identity)
    if identity in _addresses or "llvm" in options.shown() or KERNELS.path(key).exists():
        found = Future()
        found.set_result(kernel_address(identity, write))
    else:
        text = write(f"k_{key}")
        kernels.asked += 1
        found = _worker().submit(_compiled, identity, text)
    _soon[identity] = found
    while len(_soon) > MOST:
        _soon.popitem(last=False)
    return found


def _compiled(identity: str, text: str) -> int:
    try:
        return kernel_address(identity, lambda _: text)
    finally:
        kernels.done += 1


def later(job: Callable[[], Done]) -> Future[Done]:
    """Done by the thread that compiles, when it comes to it; before the process ends."""
    try:
        return _worker().submit(job)
    except RuntimeError:  # it is ending now: no more threads
        done: Future[Done] = Future()
        done.set_result(job())
        return done


@lru_cache(maxsize=1)
def _worker() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(1, "headrace-llvm")


def _key(identity: str) -> str:
    return hashlib.sha256(f"{generator_hash()}\n{identity}".encode()).hexdigest()[:40]


GENERATOR = Path(__file__).parents[1]  # codegen/, with all of its rooms


@lru_cache(maxsize=1)
def generator_hash() -> str:
    """Changes with the sources of the code generator and with the processor."""
    digest = hashlib.sha256(f"{host().key} {__version__}".encode())
    for path in sorted(GENERATOR.rglob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()


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
