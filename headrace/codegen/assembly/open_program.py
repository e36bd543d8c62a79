"""A program with open sizes: made once, turned into a native program for any sizes that fit.

In: what `lay_out` has of an Assembly whose arrays have open sizes (core/sizes.py).  Out, for other numbers: a
NativeProgram, unless a guard says that the compiler would have decided something differently.  Nothing is
planned or compiled then: kernels take their extents as arguments, oneDNN's primitives are made by their
recipes, arrays keep the order in which they lie above one another in the arena.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from headrace.codegen.onednn import onednn_api as dnn
from headrace.codegen.onednn import recipes
from headrace.codegen.program import native
from headrace.codegen.program.arenas import LARGE
from headrace.codegen.program.image import Image, flattened
from headrace.codegen.program.memory import ALIGNMENT, Allocation, align
from headrace.codegen.program.packed_weights import Packing
from headrace.codegen.program.program import (
    CheckInfo,
    Entry,
    Face,
    Interface,
    Key,
    NativeProgram,
    Result,
    Specialized,
)
from headrace.core.dtypes import NDArray
from headrace.core.size_tables import Table
from headrace.core.size_values import Numbers, Unfit
from headrace.core.sizes import Size, Trace, Whole

_TEAM = {native.KERNEL: 3, native.SGEMM: 9}  # the word that says how many threads share an entry
Place = tuple[int, int, Whole]  # a base; the number of an allocation, or -1; an offset behind that


@dataclass(slots=True)
class Open:
    """An entry whose words depend on the sizes, and where its arrays are."""

    entry: Entry
    places: list[Place]


@dataclass(slots=True)
class Patch:
    """A number among the constants that follows from sizes."""

    offset: int
    dtype: np.dtype
    number: Whole


class Stack:
    """Allocations by what lies below them: a place for each, whatever the sizes are."""

    def __init__(self, allocations: Sequence[Allocation], sizes: Sequence[Whole]) -> None:
        """The allocations are placed, for the sizes of now."""
        self.sizes = list(sizes)
        order = sorted(range(len(allocations)), key=lambda i: (allocations[i].offset, i))
        self.below: list[tuple[int, list[int]]] = []  # in an order in which they can be placed
        reach = [0] * len(allocations)
        for at, i in enumerate(order):
            chosen: list[int] = []
            for j in reversed(order[:at]):
                if not reach[i] >> j & 1 and allocations[i].overlaps(allocations[j]):
                    chosen.append(j)
                    reach[i] |= reach[j] | 1 << j
            self.below.append((i, chosen))

    def places(self, numbers: Numbers) -> tuple[list[int], int]:
        """Offsets, and the size of the arena."""
        taken = [align(n) for n in numbers.all(self.sizes)]
        offsets, ends = [0] * len(taken), [0] * len(taken)
        for i, below in self.below:
            if below:
                at = offsets[i] = ends[below[0]] if len(below) == 1 else max([ends[j] for j in below])
                ends[i] = at + taken[i]
            else:
                ends[i] = taken[i]
        return offsets, max(ends, default=0)


class Words:
    """Numbers of which some are open: an array that is copied, and the places where it changes."""

    def __init__(self, numbers: Sequence[Any], sizes: dict[Size, int]) -> None:
        """`sizes` numbers the open ones."""
        self.fixed = np.array([0 if isinstance(n, Size) else n for n in numbers] or [0], np.int64)
        found = [(i, sizes.setdefault(n, len(sizes))) for i, n in enumerate(numbers) if isinstance(n, Size)]
        pairs = np.array(found, np.intp).reshape(-1, 2)
        self.places, self.which = pairs[:, 0], pairs[:, 1]

    def at(self, values: NDArray) -> NDArray:
        made = self.fixed.copy()
        made[self.places] = values[self.which]
        return made


class Template:
    """What an OpenProgram computes for new sizes, arranged so that NumPy does it: all sizes at once, then the
    words of all entries."""

    def __init__(self, program: OpenProgram) -> None:
        """Find every word and parameter that is open, or lies behind the start of an allocation."""
        entries = program.entries
        for o in entries:
            o.entry.pairs = [0] * (2 * len(o.places))
        self.form, words, params = flattened([o.entry for o in entries])
        lies: list[tuple[int, int]] = []  # a word, and the allocation behind whose start it is
        for o, start in zip(entries, self.form.pairs):
            for k, (base, allocation, offset) in enumerate(o.places):
                words[start + 2 * k : start + 2 * k + 2] = base, offset
                if allocation >= 0:
                    lies.append((start + 2 * k + 1, allocation))
        found = np.array(lies, np.intp).reshape(-1, 2)
        self.lying, self.allocations = found[:, 0], found[:, 1]
        teams = [
            start + 2 + _TEAM[o.entry.kind]
            for o, start in zip(entries, self.form.starts)
            if o.entry.kind in _TEAM
        ]
        self.teams = np.array(teams, np.intp)
        self.uses_team = any(
            o.entry.uses_team for o in entries if o.entry.kind not in _TEAM and o.entry.instantiate is None
        )
        self.calls = [o.entry.instantiate for o in entries if isinstance(o.entry.instantiate, dnn.Call)]
        numbered: dict[Size, int] = {}
        self.words, self.params = Words(words, numbered), Words(params, numbered)
        used = [*program.stack.sizes, *(p.number for p in program.patches)]
        used += (n for shape, _ in [*program.interface.inputs, *program.interface.fresh] for n in shape)
        for n in used:
            if isinstance(n, Size):
                numbered.setdefault(n, len(numbered))
        self.sizes = list(numbered)
        self.table = Table([s.terms for s in self.sizes])

    def image(self, numbers: Numbers, offsets: Sequence[int]) -> Image:
        """The words of all entries."""
        values = np.array(numbers.all(self.sizes), np.int64)
        words = self.words.at(values)
        words[self.lying] += np.array(offsets, np.int64)[self.allocations]
        calls = [recipes.remade_call(c, numbers) for c in self.calls]
        uses_team = self.uses_team or bool((words[self.teams] > 1).any()) or any(c.team > 1 for c in calls)
        return Image(self.form, words, self.params.at(values), calls, uses_team)


@dataclass(slots=True)
class OpenProgram:
    """All that a NativeProgram is made from, with open sizes in it."""

    trace: Trace
    interface: Interface
    constants: NDArray
    patches: list[Patch]
    entries: list[Open]
    checks: list[tuple[CheckInfo, Place, Place | None]]
    stack: Stack
    moving: int
    growing: int
    names: list[str]  # of allocations
    packing: Packing | None = None
    _template: Template | None = None

    def at(self, numbers: Numbers) -> NativeProgram:
        """The program for these numbers, which fit.  Raises Unfit where there can be none."""
        try:
            return self._made(numbers)
        except (OverflowError, dnn.LibraryError) as error:
            raise Unfit(str(error)) from error

    def _made(self, numbers: Numbers) -> NativeProgram:
        """All sizes at once, then places, words and what a caller sees."""
        template = self._template
        if template is None:
            template = self._template = Template(self)
        numbers.learn(template.sizes, template.table)
        offsets, total = self.stack.places(numbers)
        made = NativeProgram(
            self._interface(numbers),
            self._constants(numbers),
            [o.entry for o in self.entries],
            [_check(c, bad, value, numbers, offsets) for c, bad, value in self.checks],
            total,
            self.moving,
            self.growing,
            self._largest(numbers) if total >= LARGE else "",
            template.image(numbers, offsets),
        )
        made.packing = self.packing
        return made

    def _largest(self, numbers: Numbers) -> str:
        found = sorted(zip(numbers.all(self.stack.sizes), self.names), reverse=True)
        return ", ".join(f"{name} ({size} bytes)" for size, name in found[:5])

    def _constants(self, numbers: Numbers) -> NDArray:
        if not self.patches:
            return self.constants
        room = np.empty(len(self.constants) + ALIGNMENT, np.uint8)
        start = -room.ctypes.data % ALIGNMENT
        found = room[start : start + len(self.constants)]
        found[:] = self.constants
        for p in self.patches:
            found[p.offset : p.offset + p.dtype.itemsize] = np.array([numbers(p.number)], p.dtype).view(
                np.uint8
            )
        return found

    def _interface(self, numbers: Numbers) -> Interface:
        i = self.interface
        return Interface(
            [_face(f, numbers) for f in i.inputs],
            i.writes,
            [_face(f, numbers) for f in i.fresh],
            [_result(r, numbers) for r in i.results],
        )


@dataclass(slots=True)
class OpenSpecialized:
    """A program with open sizes, and how the region's values map to it (see Specialized)."""

    program: OpenProgram
    variables: list[Key]
    updated: list[Key]
    outputs: list[int | Key]

    def at(self, numbers: Numbers) -> Specialized:
        return Specialized(self.program.at(numbers), self.variables, self.updated, self.outputs)


def _face(face: Face, numbers: Numbers) -> Face:
    return numbers.all(face[0]), face[1]


def _result(r: Result, numbers: Numbers) -> Result:
    value = r.constant
    if value is not None and value.dtype == object:
        found = np.array([numbers(n) for n in value.reshape(-1)], r.dtype)
        value = found.reshape(value.shape)
    return Result(r.group, r.number, numbers.all(r.shape), r.dtype, value)


def _check(c: CheckInfo, bad: Place, value: Place | None, numbers: Numbers, offsets: list[int]) -> CheckInfo:
    def at(place: Place) -> tuple[int, int]:
        base, allocation, offset = place
        return base, numbers(offset) + (offsets[allocation] if allocation >= 0 else 0)

    where = None if value is None else at(value)
    return CheckInfo(numbers.all(c.shape), c.message, numbers(c.extent), c.node, at(bad), where)
