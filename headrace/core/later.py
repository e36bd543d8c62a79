"""Functions that are called a little later, by one thread that lives as long as the process.

Not a `threading.Timer` for each: when a thread's object dies, Python code of its own runs (a WeakSet
forgets it), and a Ctrl-C that arrives there is lost.
"""

from __future__ import annotations

import heapq
import itertools
import os
import sys
import threading
import time
from collections.abc import Callable

FEW = 64  # calls: so many are never worth a look for those that were called off


class Call:
    """What will be called, unless it is called off."""

    __slots__ = ("function",)

    def __init__(self, function: Callable[[], object]) -> None:
        self.function: Callable[[], object] | None = function

    def cancel(self) -> None:
        self.function = None


class _Later:
    def __init__(self) -> None:
        self.renew()

    def renew(self) -> None:
        """In a child there is no thread, and who held the lock is gone."""
        self._changed = threading.Condition()
        self._due: list[tuple[float, int, Call]] = []
        self._full = FEW  # calls at which those that are called off are thrown out
        self._numbers = itertools.count()
        self._thread: threading.Thread | None = None

    def call(self, seconds: float, function: Callable[[], object]) -> Call:
        call = Call(function)
        with self._changed:
            heapq.heappush(self._due, (time.monotonic() + seconds, next(self._numbers), call))
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, daemon=True, name="headrace-later")
                self._thread.start()
            elif self._due[0][2] is call:
                self._changed.notify()
            if len(self._due) >= self._full:
                self._due = [due for due in self._due if due[2].function is not None]
                heapq.heapify(self._due)
                self._full = max(2 * len(self._due), FEW)
        return call

    def _run(self) -> None:
        while True:
            function = self._next().function
            if function is None:
                continue
            try:
                function()
            except Exception:  # one that fails must not keep others from being called
                who = threading.current_thread()
                threading.excepthook(threading.ExceptHookArgs((*sys.exc_info(), who)))

    def _next(self) -> Call:
        with self._changed:
            while True:
                left = self._due[0][0] - time.monotonic() if self._due else None
                if left is not None and left <= 0:
                    return heapq.heappop(self._due)[2]
                self._changed.wait(left if left is None else min(left, threading.TIMEOUT_MAX))


_later = _Later()
call_later = _later.call
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_later.renew)
