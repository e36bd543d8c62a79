"""Large arenas are shared: a program borrows one while it runs.

Training and evaluation, or batches of many sizes, then need the memory of the largest program
instead of the sum.  Small ones stay with their instance, which costs less than asking.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

import numpy as np

from headrace.codegen.program.prefault import LEAST, Touched
from headrace.core import forks
from headrace.core.dtypes import NDArray

LARGE = 1 << 20  # bytes from which an arena is borrowed
KEPT = 4  # free arenas


class Arenas:
    def __init__(self) -> None:
        self._free: list[NDArray] = []  # smallest first
        self._coming: Touched | None = None  # for a program that is being made
        self._lock = threading.Lock()

    @contextmanager
    def expecting(self, nbytes: int) -> Iterator[None]:
        """The program that is made inside of the block takes at least `nbytes`: prefault them meanwhile."""
        coming = None
        with self._lock:
            has_room = any(a.nbytes >= nbytes for a in self._free)
            if nbytes >= LEAST and not has_room and self._coming is None:
                with suppress(MemoryError, ValueError, OverflowError):
                    coming = self._coming = Touched(nbytes)
        try:
            yield
        except BaseException:
            with self._lock:
                if coming is not None and self._coming is coming:
                    self._coming = None
                    coming.stop()
            raise

    def take(self, nbytes: int) -> NDArray:
        """Memory of at least `nbytes`: the smallest free arena that fits, or a new one."""
        with self._lock:
            for i, arena in enumerate(self._free):
                if arena.nbytes >= nbytes:
                    return self._free.pop(i)
            if self._free:
                self._free.pop()  # a larger one takes its place
            coming = self._coming
            if coming is not None and nbytes >= coming.nbytes:
                self._coming = None
                room = coming.stop()
                if room.nbytes >= nbytes:
                    return room[:nbytes]
        return np.empty(nbytes, np.uint8)

    def give(self, arena: NDArray) -> None:
        with self._lock:
            self._free.append(arena)
            self._free.sort(key=lambda a: a.nbytes)
            while len(self._free) > KEPT:
                self._free.pop(0)

    def release(self) -> None:
        """Forget the free ones: a session ended.  Another one makes its own again."""
        with self._lock:
            self._free.clear()
            if self._coming is not None:
                self._coming.stop()
                self._coming = None

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
    ARENAS._coming = None  # its thread is the parent's


forks.guard(forks.TEAM, _quiet, _renew)
