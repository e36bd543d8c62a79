"""No garbage collection for a while.

Making a plan builds many thousands of objects that live on; each round of the collector walks all of
them in vain, a tenth of the time of a first step.  Nothing else changes: what has no cycles is freed
as ever, and who has switched the collector off finds it off.
"""

from __future__ import annotations

import gc
import os
import threading
from types import TracebackType


class _Paused:
    """Several threads may be inside; the last one to leave switches the collector on again."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._inside = 0
        self._was_on = False

    def __enter__(self) -> None:
        with self._lock:
            if not self._inside:
                self._was_on = gc.isenabled()
                gc.disable()
            self._inside += 1

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:  # fmt: skip
        with self._lock:
            self._inside -= 1
            if not self._inside and self._was_on:
                gc.enable()

    def renew(self) -> None:
        """In a child: no other thread is inside, nor holds the lock."""
        self._lock = threading.Lock()
        if self._inside and self._was_on:
            gc.enable()
        self._inside = 0


paused = _Paused()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=paused.renew)
