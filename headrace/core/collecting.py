"""No garbage collection for a while.

Making a plan builds many thousands of objects that live on; each round of the collector walks all of
them in vain, a tenth of the time of a first step.  Nothing else changes: what has no cycles is freed
as ever, and who has switched the collector off finds it off.

Where many objects were made, the collector comes back a little later, and on a thread of its own: by
then the step that they were made for runs in native code, and nobody waits for the collector.
"""

from __future__ import annotations

import gc
import os
import threading
from types import TracebackType

from headrace.core.later import Call, call_later

MANY = 5_000  # new objects; the collector may walk the older ones too
LATER = 0.3  # seconds


class _Paused:
    """Several threads may be inside; the last one to leave switches the collector on again."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._inside = 0
        self._was_on = False
        self._coming: Call | None = None  # switches it on, unless somebody is inside

    def __enter__(self) -> None:
        with self._lock:
            if not self._inside:
                self._was_on = gc.isenabled() or self._coming is not None
                gc.disable()
            self._inside += 1

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._lock:
            self._inside -= 1
            if self._inside or not self._was_on or self._coming is not None:
                return
            if gc.get_count()[0] < MANY:
                gc.enable()
                return
            self._coming = call_later(LATER, self._come_back)

    def _come_back(self) -> None:
        with self._lock:
            self._coming = None
            if self._inside:
                return  # who leaves last decides anew
            gc.enable()
        gc.collect(0)

    def renew(self) -> None:
        """In a child: no other thread is inside, nor holds the lock."""
        self._lock = threading.Lock()
        if self._coming is not None or (self._inside and self._was_on):
            gc.enable()
        self._inside, self._coming = 0, None


paused = _Paused()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=paused.renew)
