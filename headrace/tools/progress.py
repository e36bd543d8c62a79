"""A progress bar on standard error, where somebody is there to see it."""

from __future__ import annotations

import sys
import time
from types import TracebackType

from headrace.core import options

_EVERY = 0.1  # seconds between two pictures
_WIDTH = 30


class Progress:
    """with Progress("reading", total) as p: p.at(done)"""

    def __init__(self, what: str, total: int) -> None:
        self.what, self.total = what, total
        self._next = time.monotonic() + 3 * _EVERY  # short work needs no bar
        self._seen = options.is_watched() and total > 0
        self._drawn = False

    def at(self, done: int) -> None:
        """So much is done."""
        if not self._seen or time.monotonic() < self._next:
            return
        self._next = time.monotonic() + _EVERY
        self._drawn = True
        part = min(done / self.total, 1)
        bar = "#" * int(part * _WIDTH)
        sys.stderr.write(f"\r{self.what} [{bar:<{_WIDTH}}] {part:4.0%}")
        sys.stderr.flush()

    def __enter__(self) -> Progress:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._drawn:
            sys.stderr.write("\r" + " " * (len(self.what) + _WIDTH + 9) + "\r")
            sys.stderr.flush()
