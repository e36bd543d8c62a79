"""Large arenas are shared: a program borrows one while it runs.

Training and evaluation, or batches of many sizes, then need the memory of the largest program
instead of the sum.  Small ones stay with their frame, which costs less than asking.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np

from headrace.core import forks

LARGE = 1 << 20  # bytes from which an arena is borrowed
KEPT = 4  # free arenas

Array = np.ndarray[Any, Any]


class Arenas:
    def __init__(self) -> None:
        self._free: list[Array] = []  # smallest first
        self._lock = threading.Lock()

    def take(self, nbytes: int) -> Array:
        """Memory of at least so many bytes; the smallest free one that fits, or a new one."""
        with self._lock:
            for i, arena in enumerate(self._free):
                if arena.nbytes >= nbytes:
                    return self._free.pop(i)
            if self._free:
                self._free.pop()  # a larger one takes its place
        return np.empty(nbytes, np.uint8)

    def give(self, arena: Array) -> None:
        with self._lock:
            self._free.append(arena)
            self._free.sort(key=lambda a: a.nbytes)
            while len(self._free) > KEPT:
                self._free.pop(0)

    def release(self) -> None:
        """Forget the free ones: a session ended.  Another one makes its own again."""
        with self._lock:
            self._free.clear()

    @property
    def nbytes(self) -> int:
        """Memory that is kept though nobody uses it."""
        return sum(a.nbytes for a in self._free)


ARENAS = Arenas()


def _quiet() -> Callable[[], None]:
    ARENAS._lock.acquire()
    return ARENAS._lock.release


def _renew() -> None:
    ARENAS._lock = threading.Lock()


forks.guard(forks.TEAM, _quiet, _renew)
