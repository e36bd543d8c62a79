"""HEADRACE_VERIFY=bounds: a program that notices when anything leaves the bounds of an array.

Kernels check each access (machine.checked_text) against a table of sizes themselves, and leave a report.
Entries that call a library, or copy, must ask for no more bytes than their arrays have (`needs`).  Around
every array lie fences, which nobody may change: allocations of the arena share no memory here, and
arrays from outside are copied in and out.  What lies in a fence is NaN, so that a library that reads
there shows it in its results.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from typing import Any

import numpy as np

from headrace.codegen.ir.kernel_ir import Array
from headrace.codegen.machine.checked_text import REPORT
from headrace.codegen.machine.refusals import Cancel, OutOfBounds
from headrace.codegen.program import memory, native
from headrace.codegen.program.instance import Instance
from headrace.codegen.program.instruction import Instruction
from headrace.codegen.program.program import Entry, NativeProgram, Scratch
from headrace.core.dtypes import NDArray

FENCE = 1024  # bytes before and behind an array
NAN = 0xFFFB  # of two, four or eight bytes


# -- while a program is made ---------------------------------------------------------------------
class Watch:
    """Over one program."""

    def __init__(self, instructions: list[Instruction]) -> None:
        """Give kernels their table and the report, before their own arrays."""
        self.kernels = [s for s in instructions if s.entry.kind == native.KERNEL]
        self.report = Array((len(REPORT),), np.int64)
        self.allocation = memory.Allocation(self.report.nbytes, 0, len(instructions), "report")
        self.allocations: list[memory.Allocation] = []
        for number, instruction in enumerate(self.kernels):
            sizes = [_size(instruction, i) for i in range(len(instruction.entry.places))]
            numbers = np.array([number, *sizes], np.int64)
            table = Array(numbers.shape, np.int64, value=numbers)
            instruction.reads.append(table)
            instruction.entry.places[:0] = [(table, False), (self.report, True)]
            instruction.entry.head[5] += 2

    def plan(self, allocations: list[memory.Allocation]) -> int:
        """A place of its own for every allocation, with fences; the size of the arena."""
        at, self.allocations = FENCE, allocations
        for allocation in allocations:
            allocation.offset = at
            at += memory.align(allocation.size) + FENCE
        return at

    def program(self, *parts: Any) -> WatchedProgram:  # the arguments of NativeProgram
        return WatchedProgram(self, *parts)


def _size(instruction: Instruction, place: int) -> int:
    what = instruction.entry.places[place]
    if not isinstance(what, Scratch):
        return what[0].nbytes
    scratch = (p.offset for p in instruction.entry.places if isinstance(p, Scratch))
    return min((at for at in scratch if at > what.offset), default=instruction.scratch) - what.offset


def needs(entry: Entry) -> Iterator[tuple[int, int]]:
    """(place, bytes) that an entry other than a kernel reads or writes."""
    head = entry.head
    match entry.kind:
        case native.FILL:
            yield 0, head[0]
        case native.COPY:
            yield from ((0, head[0]), (1, head[0]))
        case native.CHECK:
            yield 0, 8
        case native.UNLESS:
            yield 0, 1
        case native.CELL:
            _, _, _, size, cells, width = head
            yield from ((0, size), (1, size * cells), (2, width), (3, cells))
        case native.ROW:
            _, size, cells = head
            yield from ((0, size * cells), (1, cells))
        case native.PUSH if entry.grows < 0:
            yield from ((0, head[0]), (1, head[0] * head[1]), (2, 8))
        case native.PUSH | native.POP:
            yield from ((0, head[0]), (2, 8))
        case native.LIMIT:
            yield 0, head[1]
        case native.SGEMM:
            _, turn_a, turn_b, m, n, k, *pitches, _ = head
            shapes = [(k, m) if turn_a == ord("T") else (m, k)]
            shapes += [(n, k) if turn_b == ord("T") else (k, n), (m, n)]
            for place, ((rows, columns), pitch) in enumerate(zip(shapes, pitches)):
                yield place, 4 * ((rows - 1) * pitch + columns)
        case native.EXECUTE | native.REPEAT:
            first = entry.kind == native.REPEAT
            for place, (_, layout) in enumerate(entry.instantiate.arguments):  # type: ignore[union-attr]
                yield place + first, layout.nbytes


def fault(entry: Entry) -> OutOfBounds | None:
    """What is wrong with an entry before it has run."""
    for place, nbytes in needs(entry):
        what = entry.places[place]
        assert not isinstance(what, Scratch)
        array = what[0]
        if nbytes > array.nbytes:
            text = f"uses {nbytes} bytes of {_show(array)}, which has {array.nbytes}"
            return _error([entry], text)
    return None


# -- while it runs -------------------------------------------------------------------------------
class WatchedProgram(NativeProgram):
    """Runs with fences, and raises OutOfBounds where something was."""

    def __init__(self, watch: Watch, *parts: Any) -> None:
        super().__init__(*parts)
        self.watch, self.report = watch, watch.allocation.offset
        self.fault = next(filter(None, map(fault, self.entries)), None)
        self.is_plain = False  # `run_checked` would take arrays as they are
        outside = np.ones(self.arena_bytes, bool)
        for allocation in watch.allocations:
            outside[allocation.offset : allocation.offset + allocation.size] = False
        self.fences = np.flatnonzero(outside)
        self.intact = fence(self.arena_bytes)[outside]

    def call(self, instance: Instance, arrays: list[NDArray], how: int, cancel: Cancel) -> bool:
        if self.fault is not None:
            raise self.fault
        fenced = {id(a): Fenced(a) for a in arrays}
        inside = [fenced[id(a)].array for a in arrays]
        if how == native.RESUME:
            instance.bind(inside)
        found = super().call(instance, inside, how, cancel)
        for number, (given, used) in enumerate(zip(arrays, inside)):
            if problem := fenced[id(given)].problem():
                raise self.at_border(self.users(number), problem)
            if number >= len(self.inputs):  # new values of variables, results
                np.copyto(given, used)
        return found

    def execute(self, instance: Instance, arrays: list[NDArray], how: int, cancel: Cancel) -> bool:
        arena = self.arena(instance)
        arena[self.fences] = self.intact
        words = arena[self.report :][: 8 * len(REPORT)].view(np.int64)
        words[:] = 0
        try:
            return super().execute(instance, arrays, how, cancel)
        finally:
            self.look(arena, dict(zip(REPORT, words.tolist())))

    def arena(self, instance: Instance) -> NDArray:
        held = (ctypes.c_uint8 * self.arena_bytes).from_address(instance.bases[0])
        return np.ctypeslib.as_array(held)

    def look(self, arena: NDArray, found: dict[str, int]) -> None:
        if found["found"]:
            raise self.explained(found)
        changed = arena[self.fences] != self.intact
        if not changed.any():
            return
        at = int(self.fences[changed.argmax()])
        allocation = min(self.watch.allocations, key=lambda b: _distance(b, at))
        users = [e for e in self.entries if [0, allocation.offset] in [e.pairs[i : i + 2] for i in _pairs(e)]]
        problem = f"byte {at - allocation.offset} of {allocation.name}, which has {allocation.size}"
        raise self.at_border(users, problem)

    def explained(self, found: dict[str, int]) -> OutOfBounds:
        """A kernel's report in words."""
        entry = self.watch.kernels[found["entry"]].entry
        place, offset = entry.places[2 + found["buffer"]], found["offset"]
        does = "writes" if found["writes"] else "reads"
        if isinstance(place, Scratch):
            return _error([entry], f"{does} {found['bytes']} bytes at byte {offset} of its scratch")
        array = place[0]
        size = array.kind.bytes
        many = found["bytes"] // size
        what = f"element {offset // size}" if many == 1 else f"{many} elements from {offset // size}"
        return _error([entry], f"{does} {what} of {_show(array)}, which has {array.count}")

    def users(self, number: int) -> list[Entry]:
        """Entries that use an array from outside."""
        return [e for e in self.entries if any(e.pairs[i] == number + 1 for i in _pairs(e))]

    def at_border(self, users: list[Entry], problem: str) -> OutOfBounds:
        """No kernel of ours did it: they are stopped before."""
        libraries = [e for e in users if e.kind != native.KERNEL] or users
        return _error(libraries, f"writes {problem}")


def fence(nbytes: int) -> NDArray:
    """Untouched memory."""
    return np.full(-(-nbytes // 2), NAN, np.uint16).view(np.uint8)[:nbytes]


class Fenced:
    """A copy of an array between two fences."""

    def __init__(self, given: NDArray) -> None:
        self.size = given.nbytes
        self.held = fence(self.size + 2 * FENCE + memory.ALIGNMENT)
        self.start = FENCE + -(self.held.ctypes.data + FENCE) % memory.ALIGNMENT
        inner = self.held[self.start : self.start + self.size]
        self.array = inner.view(given.dtype).reshape(given.shape)
        self.array[...] = given
        self.name = f"{given.dtype}{list(given.shape)}"

    def problem(self) -> str:
        """Which byte outside was written."""
        end = self.start + self.size
        intact = fence(len(self.held) - self.size + 1)
        for first, part, right in (
            (0, self.held[: self.start], intact),
            (end, self.held[end:], intact[end % 2 :]),
        ):
            changed = part != right[: len(part)]
            if changed.any():
                at = first + int(changed.argmax()) - self.start
                return f"byte {at} of {self.name}, which has {self.size}"
        return ""


def _pairs(entry: Entry) -> range:
    return range(0, len(entry.pairs), 2)


def _distance(allocation: memory.Allocation, at: int) -> int:
    return (
        allocation.offset - at if at < allocation.offset else at - (allocation.offset + allocation.size) + 1
    )


def _show(array: Array) -> str:
    return f"{array.name or 'an unnamed array'}:{array.kind}{list(array.shape)}"


def _error(entries: list[Entry], text: str) -> OutOfBounds:
    """What one of these entries did."""
    names = [name for e in entries for name in e.stores]
    who = " or ".join(dict.fromkeys(e.name or "fill" for e in entries)) or "somebody"
    nodes = f" (node {', '.join(names)})" if names else ""
    return OutOfBounds(f"{who}{nodes} {text}", names)
