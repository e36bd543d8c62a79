"""The words of a Philox generator in order, counted, so that a place in them can be kept."""

from __future__ import annotations

from headrace.core.fields import reads
from headrace.ops.random.philox import Philox

_FIRST, _MORE = 64, 4096  # words computed ahead: few, then many


class Words:
    """TF's SingleSampleAdapter over a Philox generator."""

    __slots__ = ("_seeds", "_words", "_at", "_start")

    def __init__(self, seeds: tuple[int, int], drawn: int = 0) -> None:
        self._seeds = seeds
        self._start = drawn - drawn % 4
        self._words: list[int] = []
        self._at = 0
        self._fill(_FIRST)
        self._at = drawn % 4

    def _fill(self, count: int) -> None:
        generator = Philox(*self._seeds).skipped(self._start // 4)
        self._words, self._at = generator.words(count).tolist(), 0

    @property
    def drawn(self) -> int:
        """How many have been given."""
        return self._start + self._at

    def next(self) -> int:
        if self._at == len(self._words):
            self._start += len(self._words)
            self._fill(_MORE)
        self._at += 1
        return self._words[self._at - 1]


class Seeds:
    """Pairs of seeds for iterators over one shuffled dataset, one after the other."""

    def __init__(self, seeds: tuple[int, int], drawn: int = 0) -> None:
        self.seeds = seeds
        self._words = Words(seeds, drawn)

    drawn: int = reads("_words.drawn")

    def pair(self) -> tuple[int, int]:
        return self._words.next(), self._words.next()

    def go_to(self, drawn: int) -> None:
        self._words = Words(self.seeds, drawn)
