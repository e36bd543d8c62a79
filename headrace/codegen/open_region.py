"""Programs of a region for all sizes: which sizes are open, and which program fits shapes that come.

In: shapes of the region's inputs that differ from earlier ones in sizes alone, and integers that are known
and may be sizes too.  Out: a program with open sizes (assembly/open_program.py), made once, and from it one
for each of the shapes that fit (docs/decisions/0022-open-sizes.md).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from headrace.codegen.regions.regions import Key
from headrace.core.dtypes import DType, NDArray
from headrace.core.records import record
from headrace.core.size_values import Numbers, Unfit
from headrace.core.sizes import LEAST, Size, Trace, vector

if TYPE_CHECKING:
    from headrace.codegen.assembly.open_program import OpenSpecialized
    from headrace.codegen.program.program import Specialized

MOST = 8  # programs with open sizes of a region
EARLIER = 16  # shapes that are looked back at, to see which sizes change
Shapes = tuple[tuple[int, ...], ...]
Held = Mapping[Key, tuple[tuple[int, ...], DType]]  # shapes and types of variables
Values = Mapping[int, NDArray]  # of inputs that are known, by place


@record
class Given:
    """What a program is asked for: the shapes of the region's inputs, and the values that are known."""

    shapes: Shapes
    values: Values


class OpenRegion:
    """A region with open sizes: the pattern of its shapes and values, and the program once it is made."""

    def __init__(self, now: Given, before: Sequence[Given], held: Held) -> None:
        """Sizes that were ever others before are open; those that were always equal, and are, are one."""
        self.trace, self.held = Trace(), dict(held)
        found: dict[tuple[int, ...], Size] = {}

        def opened(n: int, *earlier: int) -> int:
            if all(m == n for m in earlier):
                return n
            key = (n, *earlier)
            if key not in found:
                found[key] = self.trace.symbol(n)
            return found[key]  # type: ignore[return-value]

        every = zip(now.shapes, *(b.shapes for b in before))
        self.shapes = [tuple(map(opened, *shapes)) for shapes in every]
        self.values: dict[int, NDArray] = {}
        for place, value in now.values.items():
            numbers = list(map(opened, _numbers(value), *(_numbers(b.values[place]) for b in before)))
            self.values[place] = vector(numbers, value.dtype).reshape(value.shape) if value.size else value
        self.symbols = list(found.values())
        self.made: OpenSpecialized | None = None

    def now(self) -> Specialized:
        """The program for the sizes that it was made with."""
        return self.at(Numbers(self.trace, [s.value for s in self.symbols]))

    def find(self, given: Given, held: Held) -> Specialized | None:
        """The program for these shapes and values, where they are of the pattern and all guards hold."""
        if self.made is None or held != self.held or given.values.keys() != self.values.keys():
            return None
        found: dict[Size, int] = {}
        for pattern, shape in zip(self.shapes, given.shapes):
            if not _fits(pattern, shape, found):
                return None
        for place, pattern_value in self.values.items():
            value = given.values[place]
            if value.shape != pattern_value.shape:
                return None
            if value.dtype.kind not in "iu":
                if not np.array_equal(value, pattern_value):
                    return None
            elif not _fits(pattern_value.reshape(-1).tolist(), _numbers(value), found):
                return None
        numbers = Numbers(self.trace, [found[s] for s in self.symbols])
        try:
            return self.at(numbers) if numbers.fit() else None
        except Unfit:
            return None

    def at(self, numbers: Numbers) -> Specialized:
        assert self.made is not None
        found = self.made.at(numbers)
        found.program.pattern, found.program.sizes = self, tuple(numbers.sizes)
        return found


def _fits(pattern: Sequence[Any], numbers: Sequence[int], found: dict[Size, int]) -> bool:
    """Whether numbers are those of a pattern; notes what its open sizes are."""
    if len(pattern) != len(numbers):
        return False
    return all((found.setdefault(p, n) if isinstance(p, Size) else p) == n for p, n in zip(pattern, numbers))


def _numbers(value: NDArray) -> list[Any]:
    """The elements of an array; those of one that is not of integers are never open."""
    found: list[Any] = value.reshape(-1).tolist()
    return found


def differ_in_sizes(now: Given, before: Given) -> bool:
    """Whether they do, in nothing else, and in no size of 0 or 1: those are other programs."""
    if now.values.keys() != before.values.keys():
        return False
    pairs: list[tuple[Any, Any]] = []
    for new, old in zip(now.shapes, before.shapes):
        if len(new) != len(old):
            return False
        pairs += zip(new, old)
    for place, value in now.values.items():
        other = before.values[place]
        if value.shape != other.shape or value.dtype.kind not in "iu":
            if not np.array_equal(value, other):
                return False
            continue
        pairs += zip(_numbers(value), _numbers(other))
    return any(n != m for n, m in pairs) and all(n == m or min(n, m) >= LEAST for n, m in pairs)


def where_unknown(given: Given, known: Sequence[Sequence[int | None] | None]) -> Given:
    """Shapes and values that differ in the sizes that the graph does not know, and in values that are equal
    to one of those: to open what data decide."""
    shapes = [list(shape) for shape in given.shapes]
    changed = set()
    for shape, sizes in zip(shapes, known):
        for axis, n in enumerate(shape):
            if n >= LEAST and (sizes is None or sizes[axis] is None):
                changed.add(n)
                shape[axis] = n + 1
    values = {}
    for place, value in given.values.items():
        values[place] = value + np.isin(value, list(changed)) if value.dtype.kind in "iu" else value
    return Given(tuple(map(tuple, shapes)), values)


def others(given: Given) -> Given:
    """Shapes that differ in every size that may be open: to open all of them."""
    shapes = tuple(tuple(n + 1 if n >= LEAST else n for n in shape) for shape in given.shapes)
    return Given(shapes, given.values)
