"""Packed weights at run time (see convolution/packing.py): the second program runs when
variables have changed."""

from __future__ import annotations

import threading
from collections.abc import Sequence

from headrace.codegen.program.program import NativeProgram
from headrace.core.dtypes import NDArray

MOST_PATIENCE = 64  # steps


class Packing:
    """Runs the second program when the variables have changed.

    To hold a variable's array makes the next training step write into a new one.  So where
    variables change between the steps, arrays are held only after some steps in which they did not.
    """

    def __init__(self, program: NativeProgram, places: Sequence[int]) -> None:
        self.program, self.places = program, list(places)
        self.lock = threading.Lock()
        self.kept: tuple[list[NDArray], list[NDArray]] | None = None
        self.last: list[int] = []
        self.patience = self.waited = 0

    def arrays(self, given: list[NDArray]) -> list[NDArray]:
        """The packed weights for these inputs of the first program."""
        used = [given[p] for p in self.places]
        kept = self.kept
        if kept is not None and all(a is b for a, b in zip(kept[0], used)):
            return kept[1]
        with self.lock:
            if self.kept is not None:
                self.kept = None
                self.patience = min(2 * self.patience + 1, MOST_PATIENCE)
                self.waited = 0
            names = list(map(id, used))
            self.waited = self.waited + 1 if names == self.last else 0
            self.last = names
            made, _ = self.program.run(used)
            if self.waited >= self.patience:
                self.kept = (used, made)
            return made
