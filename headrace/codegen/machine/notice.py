"""What the compiler is at, for somebody who waits at a terminal: one line, after a second, that goes away.

headrace: compiling a region of 312 nodes: 17 of 40 kernels
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from headrace.codegen.machine import cache
from headrace.core import options
from headrace.core.later import Call, call_later

PATIENCE = 1.0  # seconds of compilation after which the user is told
_EVERY = 0.2  # seconds between two pictures


class _Notice:
    def __init__(self, what: str) -> None:
        self.what, self.width, self.is_over = what, 0, False
        self.asked, self.done = cache.kernels.asked, cache.kernels.done
        self._lock = threading.Lock()
        self._next: Call = call_later(PATIENCE, self.draw)

    def text(self) -> str:
        asked, done = cache.kernels.asked - self.asked, cache.kernels.done - self.done
        counted = f": {min(done, asked)} of {asked} kernels" if asked > 0 else ""
        return f"headrace: compiling a {self.what}{counted}"

    def draw(self) -> None:
        with self._lock:
            if not self.is_over:
                text = self.text()
                sys.stderr.write(f"\r{text:<{self.width}}")
                sys.stderr.flush()
                self.width = len(text)
                self._next = call_later(_EVERY, self.draw)

    def wipe(self) -> None:
        with self._lock:
            self.is_over = True
            self._next.cancel()
            if self.width:
                sys.stderr.write("\r" + " " * self.width + "\r")
                sys.stderr.flush()


@contextmanager
def telling(what: str) -> Iterator[None]:
    """Inside, something is compiled."""
    if not options.is_watched():
        yield
        return
    notice = _Notice(what)
    try:
        yield
    finally:
        notice.wipe()
