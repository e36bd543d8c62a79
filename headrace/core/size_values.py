"""What open sizes are for other sizes of a program's inputs.

In: the `Trace` that a program was made with (core/sizes.py), and a number for each of its open sizes.  Out:
whether the program's guards hold for these numbers, and the number of every Size of the trace.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from headrace.core.polynomials import Terms
from headrace.core.size_tables import Table
from headrace.core.sizes import LEAST, MOST_BYTES, RELATIONS, Size, Trace


class Unfit(Exception):
    """What was made with open sizes cannot be made for these numbers, though no guard says so: a library
    refuses them, or a number is too large for a word."""


class Numbers:
    """The numbers that a trace's Sizes have for other sizes of its inputs; each is computed once."""

    def __init__(self, trace: Trace, sizes: Sequence[int]) -> None:
        self.trace, self.sizes = trace, sizes
        self._atoms: list[int | None] = [None] * len(trace.atoms)
        self._known: dict[Size, int] = {}
        self.memo: dict[int, Any] = {}  # what others have made for these numbers
        for number, size in zip(trace.open, sizes):
            self._atoms[number] = size

    def __call__(self, n: Any) -> int:
        if type(n) is not Size:
            return n  # type: ignore[no-any-return]
        found = self._known.get(n)
        if found is None:
            found = self._known[n] = self.of(n.terms)
        return found

    def learn(self, sizes: Sequence[Size], table: Table) -> None:
        """Evaluate many at once: `table` is that of these sizes."""
        self._known |= zip(sizes, table.values(self.atom, self.of))

    def all(self, numbers: Iterable[Any]) -> tuple[int, ...]:
        return tuple(self(n) if type(n) is Size else n for n in numbers)

    def of(self, terms: Terms) -> int:
        total = 0
        for monomial, factor in terms:
            for atom in monomial:
                factor *= self.atom(atom)
            total += factor
        return total

    def atom(self, number: int) -> int:
        found = self._atoms[number]
        return self._computed(number) if found is None else found

    def _computed(self, number: int) -> int:
        how, a, b, compute = self.trace.atoms[number]
        if how == "late":
            assert compute is not None
            value = compute(self)
        elif how == "is":
            value = self.of(a)
        else:
            value = self.of(a) // self.of(b)
        self._atoms[number] = value
        return value

    def fit(self) -> bool:
        """Whether all guards hold: then what was made with this trace is right for these numbers."""
        if any(n < LEAST for n in self.sizes):
            return False
        try:
            for (relation, terms), answer in self.trace.guards.items():
                if RELATIONS[relation](self.of(terms)) is not answer:
                    return False
            if not self.are_held():
                return False
            return all(condition(self) for condition in self.trace.conditions)
        except ZeroDivisionError:
            return False

    def are_held(self) -> bool:
        """Whether an address space holds every array: what is larger may end in a library's fault."""
        found = self.trace.made.get(Table)
        if found is None or len(found.many) != len(self.trace.bytes):
            found = self.trace.made[Table] = Table(list(self.trace.bytes))
        return max(found.values(self.atom, self.of), default=0) <= MOST_BYTES
