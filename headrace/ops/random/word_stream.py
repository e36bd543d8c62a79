"""Philox's words one by one, for kernels that draw as they go (TF's SimplePhilox)."""

from __future__ import annotations

import numpy as np

from headrace.ops.random.philox import Philox
from headrace.ops.random.sampling import floats32, floats64

_AHEAD = 64  # words computed at a time


class WordStream:
    """Reads a generator from its start."""

    def __init__(self, generator: Philox) -> None:
        self._generator, self._words, self._at = generator, np.zeros(0, np.uint32), 0

    def word(self) -> int:
        if self._at == len(self._words):
            self._words, self._at = self._generator.words(_AHEAD), 0
            self._generator = self._generator.skipped(_AHEAD // 4)
        self._at += 1
        return int(self._words[self._at - 1])

    def float32(self) -> np.float32:
        """In [0, 1)."""
        return np.float32(floats32(np.array([self.word()], np.uint32))[0])

    def float64(self) -> float:
        """In [0, 1)."""
        return float(floats64(np.array([[self.word(), self.word()]], np.uint32))[0])

    def below(self, n: int) -> int:
        """An integer in [0, n), each equally likely: so many small words are refused that n
        divides the number of the others."""
        if n & (n - 1) == 0:
            return self.word() & max(n - 1, 0)
        while (drawn := self.word()) < 0xFFFFFFFF % n + 1:
            pass
        return drawn % n
