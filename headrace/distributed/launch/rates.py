"""How fast counters grow.  Pure: times and counts in, rates out."""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable

WINDOW = 5.0  # seconds that a rate is the mean of


class Rates:
    """Of one counter per key.  A counter that falls was begun anew (its task was started again)."""

    def __init__(self) -> None:
        self._seen: dict[Hashable, deque[tuple[float, int]]] = {}

    def note(self, key: Hashable, now: float, count: int) -> None:
        seen = self._seen.setdefault(key, deque())
        if seen and count < seen[-1][1]:
            seen.clear()
        seen.append((now, count))
        while len(seen) > 2 and seen[1][0] <= now - WINDOW:
            seen.popleft()

    def count(self, key: Hashable) -> int | None:
        """The last count."""
        return self._seen[key][-1][1] if key in self._seen else None

    def rate(self, key: Hashable) -> float | None:
        """Per second; None before the second count."""
        seen = self._seen.get(key)
        if seen is None or len(seen) < 2 or seen[-1][0] <= seen[0][0]:
            return None
        return (seen[-1][1] - seen[0][1]) / (seen[-1][0] - seen[0][0])

    def forget(self, key: Hashable) -> None:
        self._seen.pop(key, None)
