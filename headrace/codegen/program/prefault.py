"""Pages of an arena, asked for while its program is still being made.

The system gives memory when it is first touched, page by page; for hundreds of megabytes that takes as
long as much of a step, and longest on virtual machines.  Making a program keeps one core busy, so a
thread can touch meanwhile what the program will need at least.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable
from functools import cache

import numpy as np

from headrace.core.dtypes import NDArray

LEAST = 32 << 20  # bytes: less is touched in no time
_PART = 4 << 20  # bytes between two looks whether to stop
_POPULATE = 23  # Linux's MADV_POPULATE_WRITE
_PAGE = 4096


class Touched:
    """Room for an arena of at least `nbytes`, whose pages a thread touches (prefaults)."""

    def __init__(self, nbytes: int) -> None:
        self.nbytes = nbytes
        # Address space costs nothing: the arena may turn out larger.
        self.room = np.empty(3 * nbytes, np.uint8)
        self._ends = threading.Event()
        self._thread = threading.Thread(target=self._touch, daemon=True, name="headrace-pages")
        self._thread.start()

    def _touch(self) -> None:
        advise = _advise()
        if advise is None:
            return
        start = self.room.ctypes.data
        begin, end = start + -start % _PAGE, start + self.nbytes
        while begin < end and not self._ends.is_set():
            if advise(begin, min(_PART, end - begin) // _PAGE * _PAGE, _POPULATE):
                return  # an old system, or no memory: who needs it will hear of it
            begin += _PART

    def stop(self) -> NDArray:
        self._ends.set()
        self._thread.join()
        return self.room


@cache
def _advise() -> Callable[[int, int, int], int] | None:
    try:
        function = ctypes.CDLL(None).madvise
    except (OSError, AttributeError, TypeError):
        return None  # another system
    function.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    return function
