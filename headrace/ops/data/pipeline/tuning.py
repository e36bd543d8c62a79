"""AUTOTUNE: how much runs at once, and how much is kept ready, by measured times."""

from __future__ import annotations

import os
import time
from typing import Any

AUTOTUNE = -1

_ROUND = 0.02  # seconds, at least, of which a rate is measured
_BETTER = 1.05  # how much faster a step must make things to be kept
_MOST = 32  # calls at once for each core: some wait for disks and networks
_RESTS = 16  # rounds after which a limit that was good is tried anew


class Parallelism:
    """The limit of calls at once.  A number that the user gave stays; else the limit climbs as long as
    elements come faster for it, and goes back one step where they do not."""

    def __init__(self, asked: int, running: Any) -> None:
        self.tunes = asked == AUTOTUNE
        cores = os.cpu_count() or 1
        self.limit = min(2, cores) if self.tunes else asked
        if running.threads:
            self.limit = min(self.limit, running.threads)
        self.most = (running.threads or _MOST * cores) if self.tunes else self.limit
        self._since, self._count, self._spent = time.perf_counter(), 0, 0.0
        self._best, self._way, self._rests = 0.0, 1, 0

    def called(self, seconds: float) -> None:
        """A call of the function took so long."""
        self._spent += seconds

    def delivered(self) -> None:
        """An element was taken."""
        if not self.tunes:
            return
        self._count += 1
        now = time.perf_counter()
        passed = now - self._since
        if passed >= _ROUND and self._count >= 2 * self.limit:
            self._decide(self._count / passed, self._spent / passed)
            self._since, self._count, self._spent = now, 0, 0.0

    def _decide(self, rate: float, busy: float) -> None:
        """After a round.  Where calls take less than half of the limit's time, the consumer is what is slow,
        and more calls would only wait."""
        if self._rests:
            self._rests -= 1
            if not self._rests:
                self._best = rate
                self._step()
            return
        if busy < self.limit / 2 and self.limit > 1:
            self._rests = _RESTS
            return
        if rate > self._best * _BETTER:
            self._best = rate
            self._step()
        else:
            self.limit = max(1, self.limit - self._way)
            self._rests = _RESTS

    def _step(self) -> None:
        new = min(self.limit + max(1, self.limit // 2), self.most)
        self._way = new - self.limit
        self.limit = new
        if not self._way:
            self._rests = _RESTS


class BufferSize:
    """The size of a buffer that is filled ahead.  It doubles when the consumer finds it empty after it has
    been full: then what fills it is fast enough, but not evenly so (TensorFlow's rule)."""

    def __init__(self, asked: int) -> None:
        self.tunes = asked == AUTOTUNE
        self.limit = 1 if self.tunes else asked
        self._was_full = False

    def found(self, held: int) -> None:
        """The consumer came and found so many."""
        if not self.tunes:
            return
        if held >= self.limit:
            self._was_full = True
        elif not held and self._was_full:
            self.limit = self.limit * 2 if self.limit < 512 else self.limit + 512
            self._was_full = False
