"""The best of many, held in the order in which TensorFlow's kernels hold them: ties fall alike.

As long as there is room, elements lie as they came; from then on they are a heap with the least in front,
made and mended step by step as the C++ library does it.  (TF 2.21 takes the least out, then puts the new one
in; 1.15 does both in one go, which may leave equal ones in another order.)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class TopN:
    """At most `limit` elements, of which the least goes.  The score of an element may change while it is
    held, as long as the order does not."""

    def __init__(self, limit: int, score: Callable[[Any], float]) -> None:
        self.limit, self.score = limit, score
        self.elements: list[Any] = []
        self.is_heap = self.knows_least = False

    def __len__(self) -> int:
        return len(self.elements)

    @property
    def is_full(self) -> bool:
        return len(self.elements) >= self.limit

    def least(self) -> Any:
        """The least element, which moves to the front."""
        if not self.is_heap and not self.knows_least:
            scores = [self.score(x) for x in self.elements]
            place = scores.index(min(scores))
            self._swap(0, place)
            self.knows_least = True
        return self.elements[0]

    def push(self, x: Any) -> None:
        elements = self.elements
        if self.is_heap:
            if self.score(x) > self.score(elements[0]):
                self._drop_least()
                elements.append(x)
                self._rise(len(elements) - 1, 0, x)
            return
        elements.append(x)
        if self.knows_least and not self.score(x) > self.score(elements[0]):
            self._swap(0, -1)
        if len(elements) > self.limit:
            for place in reversed(range(len(elements) // 2)):
                self._sift(place, len(elements), elements[place])
            self._drop_least()
            self.is_heap = True

    def _drop_least(self) -> None:
        last = self.elements.pop()
        if self.elements:
            self._sift(0, len(self.elements), last)

    def in_order(self) -> list[Any]:
        """Best first.  Where nothing is equal, there is but one order."""
        if not self.is_heap or len({*map(self.score, self.elements)}) == len(self.elements):
            return sorted(self.elements, key=self.score, reverse=True)
        for end in reversed(range(1, len(self.elements))):
            least, last = self.elements[0], self.elements[end]
            self._sift(0, end, last)
            self.elements[end] = least
        return self.elements

    def _swap(self, i: int, j: int) -> None:
        self.elements[i], self.elements[j] = self.elements[j], self.elements[i]

    def _sift(self, place: int, count: int, x: Any) -> None:
        """A hole in a heap of `count` goes down to the leaves; x comes up from there."""
        elements, score, top = self.elements, self.score, place
        child = 2 * place + 2
        while child < count:
            if score(elements[child]) > score(elements[child - 1]):
                child -= 1
            elements[place] = elements[child]
            place, child = child, 2 * child + 2
        if child == count:
            elements[place] = elements[child - 1]
            place = child - 1
        self._rise(place, top, x)

    def _rise(self, place: int, top: int, x: Any) -> None:
        """x comes up from a place, as far as `top`."""
        elements, score = self.elements, self.score
        above = (place - 1) // 2
        while place > top and score(elements[above]) > score(x):
            elements[place] = elements[above]
            place, above = above, (above - 1) // 2
        elements[place] = x
