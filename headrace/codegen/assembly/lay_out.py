"""Instructions -> a program: their last order, a place for every array, addresses of code.

In: an `Assembly`.  Out: a `NativeProgram`.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import wait
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from headrace.codegen.assembly import parallel_chains
from headrace.codegen.assembly.assembly import Assembly
from headrace.codegen.assembly.open_program import Open, OpenProgram, Patch, Place, Stack
from headrace.codegen.assembly.postpone import postpone
from headrace.codegen.assembly.reuse import layer_by_layer
from headrace.codegen.ir.kernel_ir import Array
from headrace.codegen.ir.stages import Scatter, Update
from headrace.codegen.ir.stages import memory as memory_of
from headrace.codegen.machine import threads
from headrace.codegen.machine.faults import naming
from headrace.codegen.machine.refusals import Cancel
from headrace.codegen.program import memory
from headrace.codegen.program.instruction import Instruction
from headrace.codegen.program.native import KINDS
from headrace.codegen.program.program import CheckInfo, Entry, Interface, NativeProgram, Result, Scratch
from headrace.core import options
from headrace.core.dtypes import NDArray
from headrace.core.modules import late
from headrace.core.sizes import Trace, Whole, hint, hints, is_open

if TYPE_CHECKING:
    from headrace.codegen.assembly.bounds import Watch

bounds = late("headrace.codegen.assembly.bounds")

_GLANCE = 0.05  # seconds between two looks at the token of a step that waits for the compiler
MORE_MEMORY, FEW_BYTES = 1.1, 4 << 20  # what running side by side may take


def lay_out(a: Assembly, trace: Trace | None = None) -> NativeProgram | OpenProgram:
    """Give every array its base and offset, and every entry its words.  `trace` is that of the arrays' open
    sizes."""
    bases: dict[Array, int] = {}
    for array in [*a.inputs, *(u.value for u in a.updates)]:
        bases[array] = len(bases) + 1
    fresh: list[Array] = []
    for array in map(memory_of, a.outputs):
        if array not in bases and array.source is not None:
            fresh.append(array)
            bases[array] = len(bases) + 1
    watch = _watch(a.instructions)
    read = (a.final(t) for instruction in a.instructions for t in instruction.reads)
    constants = dict.fromkeys(t for t in read if t.source is None and t not in bases)
    blob, offsets, patches = packed(list(constants))
    last = len(bases) + 1
    fixed = {t: (last, offset) for t, offset in zip(constants, offsets)}
    elsewhere = {*bases, *fixed, *a.growing}
    if all(s.entry.jump is None for s in a.instructions):
        a.instructions = postponed(a, elsewhere)
        fork(a, elsewhere)
    allocations = allocations_of(a, elsewhere)
    if watch is not None:
        allocations[watch.report] = watch.allocation
    every = memory_of_all(a, allocations)
    total = memory.plan(every) if watch is None else watch.plan(every)
    options.show("memory", memory.describe(every, total))
    where = fixed | {t: (b, 0) for t, b in bases.items()}
    where |= {t: (0, allocation.offset) for t, allocation in allocations.items()}
    where |= {t: (last + 1 + i, 0) for i, t in enumerate([*a.moving, *a.growing])}
    where |= {t: where[a.final(t)] for t in a.alias if a.final(t) in where}
    entries = [placed(s, where) for s in a.instructions]
    await_code(entries, a.cancel)
    if trace is not None:
        return opened(a, trace, every, allocations, where, fresh, blob, patches)
    checks = []
    for c in a.checks:
        value = None if c.value is None else where[c.value]
        checks.append(CheckInfo(c.shape, c.message, c.extent, c.node, where[c.bad], value))
    large = sorted(every, key=lambda b: -b.size)[:5]
    program = (NativeProgram if watch is None else watch.program)(
        interface_of(a.inputs, a.updates, a.in_place, fresh, a.outputs),
        blob,
        entries,
        checks,
        total,
        len(a.moving),
        len(a.growing),
        ", ".join(f"{b.name} ({b.size} bytes)" for b in large),
    )
    if "step" in options.shown():
        options.show("step", describe(program))
    return program


def opened(
    a: Assembly,
    trace: Trace,
    every: list[memory.Allocation],
    allocations: dict[Array, memory.Allocation],
    where: dict[Array, tuple[int, int]],
    fresh: list[Array],
    blob: NDArray,
    patches: list[Patch],
) -> OpenProgram:
    """The same with sizes that are open."""
    numbers = {allocation: i for i, allocation in enumerate(every)}
    sizes: list[Whole] = [b.size for b in every]
    for t, allocation in allocations.items():
        n = numbers[allocation]
        sizes[n] = t.nbytes if is_open(t.nbytes) else sizes[n]
    for s in a.instructions:
        if s.allocation is not None:
            sizes[numbers[s.allocation]] = s.scratch

    def place(t: Array) -> Place:
        base, offset = where[t]
        found = allocations.get(a.final(t))
        return (base, -1, offset) if base or found is None else (base, numbers[found], 0)

    entries = []
    for s in a.instructions:
        places: list[Place] = []
        for p in s.entry.places:
            if isinstance(p, Scratch):
                assert s.allocation is not None
                places.append((0, numbers[s.allocation], p.offset))
            else:
                places.append(place(p[0]))
        entries.append(Open(s.entry, places))
    checks = []
    for c in a.checks:
        value = None if c.value is None else place(c.value)
        info = CheckInfo(c.shape, c.message, c.extent, c.node, (0, 0), None)
        checks.append((info, place(c.bad), value))
    return OpenProgram(
        trace,
        interface_of(a.inputs, a.updates, a.in_place, fresh, a.outputs),
        blob,
        patches,
        entries,
        checks,
        Stack(every, sizes),
        len(a.moving),
        len(a.growing),
        [b.name for b in every],
    )


def describe(program: NativeProgram) -> str:
    """The entries in running order: their kind, the node, threads, and base+offset of every array."""
    bases = ["arena"]
    bases += [f"in{i}" for i in range(len(program.inputs))]
    bases += [f"new{i}" for i in range(len(program.writes))]
    bases += [f"out{i}" for i in range(len(program.fresh))]
    bases += ["constants"]
    bases += [f"moving{i}" for i in range(program.base_count - len(bases))]
    lines = [f"{len(program.entries)} entries, arena of {program.arena_bytes} bytes"]
    for number, entry in enumerate(program.entries):
        pairs = zip(entry.pairs[::2], entry.pairs[1::2])
        places = " ".join(f"{bases[b]}+{offset}" for b, offset in pairs)
        team = " team" if entry.uses_team else ""
        lines.append(f"{number:3} {KINDS[entry.kind]}{team} {entry.name}: {places}")
    return "\n".join(lines)


def _watch(instructions: list[Instruction]) -> Watch | None:
    """The checks of HEADRACE_VERIFY=bounds, which nobody else loads."""
    if not options.bounds():
        return None
    made: Watch = bounds.Watch(instructions)
    return made


def fork(a: Assembly, elsewhere: set[Array]) -> None:
    """Small instructions side by side, unless that takes much more memory."""
    variables = {a.final(u.value): u.variable for u in a.updates}
    instructions, forks = parallel_chains.side_by_side(a.instructions, a.final, variables, threads.count())
    if forks:
        forked = replace(a, instructions=instructions, forks=forks)
        if peak(forked, elsewhere) <= MORE_MEMORY * peak(a, elsewhere) + FEW_BYTES:
            parallel_chains.run_alone(instructions, forks)
            a.instructions, a.forks = instructions, forks


def peak(a: Assembly, elsewhere: set[Array]) -> int:
    allocations = allocations_of(a, elsewhere)
    every = memory_of_all(a, allocations)
    return memory.plan(every) if a.forks else memory.most_alive(every)


def await_code(entries: list[Entry], cancel: Cancel) -> None:
    """The addresses of kernels, once they are compiled."""
    for entry in entries:
        if entry.code is None:
            continue
        with naming(entry.name):
            while not entry.code.done() and cancel.reason is None:
                wait([entry.code], _GLANCE)
            if cancel.reason is None:
                entry.head[0] = entry.code.result()
                entry.code = None
        if cancel.reason is not None:
            raise cancel.reason


def postponed(a: Assembly, elsewhere: set[Array]) -> list[Instruction]:
    def needed(instructions: Sequence[Instruction]) -> int:
        return peak(replace(a, instructions=list(instructions)), elsewhere)

    variables = {a.final(u.value): u.variable for u in a.updates}
    instructions = postpone(a.instructions, a.final, variables, needed)
    return layer_by_layer(instructions, a.final, variables, needed)


def packed(arrays: list[Array]) -> tuple[NDArray, list[int], list[Patch]]:
    """All constants in one allocation of memory, and the numbers in it that follow from open sizes."""
    offsets, size = [], 0
    patches: list[Patch] = []
    for t in arrays:
        assert t.value is not None, f"{t} has no value"
        offsets.append(size)
        size += memory.align(t.nbytes) if t.nbytes > 8 else 8
    blob = np.zeros(size + memory.ALIGNMENT, np.uint8)
    start = -blob.ctypes.data % memory.ALIGNMENT
    blob = blob[start : start + size]
    for t, offset in zip(arrays, offsets):
        assert t.value is not None
        if t.value.dtype == object:
            width = t.dtype.numpy.itemsize
            patches += [
                Patch(offset + i * width, t.dtype.numpy, n) for i, n in enumerate(t.value.reshape(-1))
            ]
            continue
        value = np.ascontiguousarray(t.value, t.dtype.numpy)
        blob[offset : offset + value.nbytes] = value.reshape(-1).view(np.uint8)
    return blob, offsets, patches


def allocations_of(a: Assembly, elsewhere: set[Array]) -> dict[Array, memory.Allocation]:
    """The lifetime of every array in the arena, in numbers of entries.  An array from before a loop
    that is read inside stays alive until the loop's last entry, since the next iteration reads
    it again; arrays of chains that run side by side never share memory."""
    allocations: dict[Array, memory.Allocation] = {}
    for number, instruction in enumerate(a.instructions):
        used = map(a.final, [*instruction.writes, *instruction.reads])
        for array in [m for t in used for m in a.moving.get(t, (t,))]:
            if array in elsewhere:
                continue
            allocation = allocations.get(array)
            if allocation is None:
                allocations[array] = memory.Allocation(hint(array.nbytes), number, number, repr(array))
            else:
                allocation.last = number
        if instruction.scratch:
            instruction.allocation = memory.Allocation(
                hint(instruction.scratch), number, number, f"scratch of {instruction.name}"
            )
    for first, last in sorted(a.loops, key=lambda loop: loop[1] - loop[0]):
        for allocation in allocations.values():  # what is used in a loop, and is from before it, stays
            if allocation.first < first <= allocation.last < last:
                allocation.last = last
    parallel_chains.live_together(
        [*allocations.values(), *(s.allocation for s in a.instructions if s.allocation)], a.forks
    )
    replace_operands(a, allocations)
    return allocations


def replace_operands(a: Assembly, allocations: dict[Array, memory.Allocation]) -> None:
    """A result takes the allocation of an operand that ends where it begins."""
    for number, instruction in enumerate(a.instructions):
        for operand, result in instruction.in_place:
            old, new = allocations.get(operand), allocations.get(result)
            if old is None or new is None or operand in a.alias or result in a.alias:
                continue
            if old.last == number == new.first and old.lane == new.lane and old is not new:
                old.last, old.name = new.last, f"{old.name}, {new.name}"
                allocations[result] = old


def memory_of_all(a: Assembly, allocations: dict[Array, memory.Allocation]) -> list[memory.Allocation]:
    """Every allocation once, those of scratch too."""
    return [*dict.fromkeys(allocations.values()), *(s.allocation for s in a.instructions if s.allocation)]


def placed(instruction: Instruction, where: dict[Array, tuple[int, int]]) -> Entry:
    """The entry with (base, offset) for every array."""
    found: list[int] = []
    for place in instruction.entry.places:
        if isinstance(place, Scratch):
            assert instruction.allocation is not None
            found += [0, instruction.allocation.offset + place.offset]
            continue
        array, is_written = place
        found += where[array]
        if is_written and array.name:
            instruction.entry.stores.append(array.name)
    instruction.entry.pairs, instruction.entry.name = found, instruction.name
    return instruction.entry


# -- what goes in and out ----------------------------------------------------------------------------
def interface_of(
    inputs: list[Array],
    updates: list[Update],
    in_place: dict[Array, bool],
    fresh: list[Array],
    outputs: list[Array],
) -> Interface:
    """Of a program with these arrays."""
    numbers = {t: i for i, t in enumerate(inputs)}
    writes = [(numbers[u.variable], in_place[u.variable], _is_partial(u)) for u in updates]
    results = [_result(t, inputs, updates, fresh) for t in outputs]
    return Interface([t.face for t in inputs], writes, [t.face for t in fresh], results)


def _is_partial(update: Update) -> bool:
    """Only some elements are written, so a new buffer starts as a copy of the old one."""
    source = update.value.source
    return isinstance(source, Scatter) and source.into is update.variable


def _result(array: Array, inputs: list[Array], updates: list[Update], fresh: list[Array]) -> Result:
    root = memory_of(array)
    shape, dtype = array.face
    groups = {"news": [u.value for u in updates], "fresh": fresh, "inputs": inputs}
    for group, arrays in groups.items():
        for k, t in enumerate(arrays):
            if t is root:
                return Result(group, k, shape, dtype)
    assert root.value is not None, root
    if root.value.dtype == object:  # open sizes
        return Result("constant", 0, shape, dtype, root.value.reshape(hints(shape)))
    value = np.ascontiguousarray(root.value, root.dtype.numpy).view(dtype).reshape(shape)
    return Result("constant", 0, shape, dtype, value)
