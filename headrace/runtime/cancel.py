"""Cancellation: one token per step.  Deadlines, failures elsewhere, close and Ctrl-C cancel it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

from headrace.core import forks
from headrace.core.errors import CancelledError, OpError


class Cancel:
    """Set once; callbacks run at once when it is set, the latest first (so a kernel that waits can say
    what it waited for before the executor gives up), or immediately if it is set already."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._callbacks: dict[int, Callable[[], None]] = {}
        self._next = 0
        self.reason: OpError | None = None

    @property
    def is_set(self) -> bool:
        return self.reason is not None

    def set(self, reason: OpError | None = None) -> None:
        with self._lock:
            if self.reason is not None:
                return
            self.reason = reason or CancelledError(None, None, "Step was cancelled.")
            callbacks = list(reversed(self._callbacks.values()))
            self._callbacks.clear()
        for callback in callbacks:
            callback()

    def check(self) -> None:
        if self.reason is not None:
            raise self.reason

    def on_cancel(self, callback: Callable[[], None]) -> Callable[[], None]:
        """Call `callback` on cancellation; the returned function takes that back."""
        with self._lock:
            if self.reason is None:
                key = self._next
                self._next += 1
                self._callbacks[key] = callback
                return lambda: self._drop(key)
        callback()
        return lambda: None

    def _drop(self, key: int) -> None:
        with self._lock:
            self._callbacks.pop(key, None)


_GLANCE = 0.1  # seconds between two looks at the token while somebody else holds a lock


def acquire(locks: Sequence[Any], cancel: Any) -> None:
    """Take all the locks; none, if the step is cancelled or interrupted while it waits."""
    if forks.pending:
        forks.let_pass()
    held = 0
    try:
        for lock in locks:
            while not lock.acquire(timeout=_GLANCE):
                if cancel.reason is not None:
                    raise cancel.reason
            held += 1
    except BaseException:
        release(locks[:held])
        raise


def release(locks: Sequence[Any]) -> None:
    for lock in locks:
        lock.release()
