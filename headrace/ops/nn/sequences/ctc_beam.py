"""The beam search of CTC over label sequences, step by step as TensorFlow's decoder does it.

Each entry of the beam is a sequence of labels, with the log probabilities of all paths that read as it:
those that end in its last label, those that end in a blank, and both.  What leaves the beam within a step
may come back in the same step as a new child of its parent; then it has lost the paths that it had.
Numbers are rounded to the type of the inputs after each operation; sums of probabilities are floats.
"""

from __future__ import annotations

import math
from operator import attrgetter
from typing import Any

import numpy as np

from headrace.ops.nn.sequences.top_n import TopN

NEVER = -math.inf


class Entry:
    """A sequence: its parent's labels and one more."""

    __slots__ = ("blank", "children", "label", "old_blank", "old_total", "parent", "path", "total")

    def __init__(self, parent: Entry | None, label: int) -> None:
        self.parent, self.label = parent, label
        self.children: dict[int, Entry] = {}
        self.forget()
        self.old_total = self.old_blank = NEVER

    def forget(self) -> None:
        """It is no longer in the beam."""
        self.total = self.blank = self.path = NEVER  # `path`: those that end in the label

    @property
    def labels(self) -> list[int]:
        found, entry = [], self
        while entry.parent is not None:
            found.append(entry.label)
            entry = entry.parent
        return found[::-1]


class Beam:
    """The best sequences so far."""

    def __init__(self, width: int, dtype: Any) -> None:
        self.width, self.dtype = width, np.dtype(dtype).type
        root = Entry(None, -1)
        root.total = root.blank = 0.0
        self.leaves = self._no_leaves()
        self.leaves.push(root)

    def _no_leaves(self) -> TopN:
        return TopN(self.width, attrgetter("total"))

    def best(self, count: int) -> list[Entry]:
        found = TopN(count, attrgetter("total"))
        for entry in self.leaves.elements:
            found.push(entry)
        return found.in_order()

    def step(self, inputs: Any) -> None:
        """One more time."""
        with np.errstate(invalid="ignore"):  # of a column without anything finite
            shift = inputs.max() + _log_sum(inputs - inputs.max())
            log_y = inputs - shift
        branches = self.leaves.in_order()
        self.leaves = self._no_leaves()
        for b in branches:
            b.old_total, b.old_blank = b.total, b.blank
        for b in branches:
            self._stay(b, log_y, inputs[-1], shift)
            self.leaves.push(b)
        self._grow(branches, log_y[:-1])

    def _stay(self, b: Entry, log_y: Any, blank: Any, shift: Any) -> None:
        """The same sequence one time later."""
        if b.parent is not None:
            if b.parent.total != NEVER:
                same = b.label == b.parent.label
                before = b.parent.old_blank if same else b.parent.old_total
                b.path = self._together(b.path, before)
            b.path = float(self.dtype(b.path) + log_y[b.label])
        b.blank = float(self.dtype(b.old_total) + blank - shift)
        b.total = self._together(b.blank, b.path)

    def _grow(self, branches: list[Entry], log_y: Any) -> None:
        """Sequences of one more label that are better than the least of the beam."""
        totals = np.array([b.old_total for b in branches], self.dtype)[:, None] + log_y
        for row, b in enumerate(branches):
            if b.label >= 0:  # its own label again: only across a blank
                totals[row, b.label] = log_y[b.label] + self.dtype(b.old_blank)
        for b, row in zip(branches, totals.tolist()):
            if self._is_better(b.old_total):
                least = self._least()
                self._grow_one(b, {label for label, total in enumerate(row) if total > least}, row)

    def _grow_one(self, b: Entry, labels: set[int], totals: list[float]) -> None:
        for label in sorted({*labels, *b.children}):
            child = b.children.get(label)
            if child is not None and child.total != NEVER:
                continue
            total = totals[label]
            if not self._is_better(total):
                if child is not None:  # it left the beam in this step, and grows no more
                    child.old_total = child.old_blank = NEVER
                continue
            if child is None:
                child = b.children[label] = Entry(b, label)
            child.path = child.total = total
            if self.leaves.is_full:
                self.leaves.least().forget()
            self.leaves.push(child)

    def _is_better(self, total: float) -> bool:
        """Than what must go from a full beam."""
        return total > NEVER and total > self._least()

    def _least(self) -> float:
        return float(self.leaves.least().total) if self.leaves.is_full else NEVER

    def _together(self, x: float, y: float) -> float:
        """log(e^x + e^y)"""
        if x == NEVER or y == NEVER:
            return max(x, y)
        high, low = max(x, y), min(x, y)
        more = np.log1p(np.float32(math.exp(np.float32(low - high))))
        return float(self.dtype(high) + self.dtype(more))


def _log_sum(x: Any) -> Any:
    terms = np.exp(x.astype(np.float64)).astype(x.dtype)
    return x.dtype.type(math.log(np.add.accumulate(terms)[-1]))  # one after the other
