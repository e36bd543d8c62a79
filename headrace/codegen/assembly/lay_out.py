"""Steps -> a program: their last order, a place for every array, addresses of code.

In: an `Assembly`.  Out: a `Program`.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import wait
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from headrace.codegen.assembly import parallel_chains
from headrace.codegen.assembly.assembly import Assembly, Step
from headrace.codegen.assembly.postpone import postpone
from headrace.codegen.assembly.reuse import layer_by_layer
from headrace.codegen.ir.kernel_ir import Tensor
from headrace.codegen.ir.stages import Scatter, Update
from headrace.codegen.ir.stages import memory as memory_of
from headrace.codegen.machine import threads
from headrace.codegen.machine.faults import naming
from headrace.codegen.program import memory
from headrace.codegen.program.native import KINDS
from headrace.codegen.program.program import CheckInfo, Entry, Form, Program, Result
from headrace.core import options

if TYPE_CHECKING:
    from headrace.codegen.assembly.bounds import Watch

_GLANCE = 0.05  # seconds between two looks at the token of a step that waits for the compiler
MORE_MEMORY, FEW_BYTES = 1.1, 4 << 20  # what running side by side may take


def lay_out(a: Assembly) -> Program:
    """Give every array its base and offset, and every entry its words."""
    bases: dict[Tensor, int] = {}
    for tensor in [*a.inputs, *(u.value for u in a.updates)]:
        bases[tensor] = len(bases) + 1
    fresh: list[Tensor] = []
    for tensor in map(memory_of, a.outputs):
        if tensor not in bases and tensor.source is not None:
            fresh.append(tensor)
            bases[tensor] = len(bases) + 1
    watch = _watch(a.steps)
    read = (a.final(t) for step in a.steps for t in step.reads)
    constants = dict.fromkeys(t for t in read if t.source is None and t not in bases)
    blob, offsets = packed(list(constants))
    last = len(bases) + 1
    fixed = {t: (last, offset) for t, offset in zip(constants, offsets)}
    elsewhere = {*bases, *fixed, *a.growing}
    if all(s.entry.jump is None for s in a.steps):
        a.steps = postponed(a, elsewhere)
        fork(a, elsewhere)
    blocks = arena_blocks(a, elsewhere)
    if watch is not None:
        blocks[watch.report] = watch.block
    every = memory_of_all(a, blocks)
    total = memory.plan(every) if watch is None else watch.plan(every)
    options.show("memory", memory.describe(every, total))
    where = fixed | {t: (b, 0) for t, b in bases.items()}
    where |= {t: (0, block.offset) for t, block in blocks.items()}
    where |= {t: (last + 1 + i, 0) for i, t in enumerate([*a.moving, *a.growing])}
    where |= {t: where[a.final(t)] for t in a.alias if a.final(t) in where}
    entries = [place(s, where) for s in a.steps]
    await_code(entries, a.cancel)
    checks = []
    for c in a.checks:
        value = None if c.value is None else where[c.value]
        checks.append(CheckInfo(c.shape, c.message, c.extent, c.node, where[c.bad], value))
    large = sorted(every, key=lambda b: -b.size)[:5]
    program = (Program if watch is None else watch.program)(
        form_of(a.inputs, a.updates, a.in_place, fresh, a.outputs),
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


def describe(program: Program) -> str:
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


def _watch(steps: list[Step]) -> Watch | None:
    """The checks of HEADRACE_VERIFY=bounds, which nobody else loads."""
    if not options.bounds():
        return None
    from headrace.codegen.assembly.bounds import Watch

    return Watch(steps)


def fork(a: Assembly, elsewhere: set[Tensor]) -> None:
    """Small steps side by side, unless that takes much more memory."""
    variables = {a.final(u.value): u.variable for u in a.updates}
    steps, forks = parallel_chains.side_by_side(a.steps, a.final, variables, threads.count(), Step)
    if forks:
        forked = replace(a, steps=steps, forks=forks)
        if peak(forked, elsewhere) <= MORE_MEMORY * peak(a, elsewhere) + FEW_BYTES:
            parallel_chains.run_alone(steps, forks)
            a.steps, a.forks = steps, forks


def peak(a: Assembly, elsewhere: set[Tensor]) -> int:
    blocks = arena_blocks(a, elsewhere)
    every = memory_of_all(a, blocks)
    return memory.plan(every) if a.forks else memory.most_alive(every)


def await_code(entries: list[Entry], cancel: Any) -> None:
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


def postponed(a: Assembly, elsewhere: set[Tensor]) -> list[Step]:
    def needed(steps: Sequence[Step]) -> int:
        return peak(replace(a, steps=list(steps)), elsewhere)

    variables = {a.final(u.value): u.variable for u in a.updates}
    steps = postpone(a.steps, a.final, variables, needed)
    return layer_by_layer(steps, a.final, variables, needed)


def packed(tensors: list[Tensor]) -> tuple[np.ndarray[Any, Any], list[int]]:
    """All constants in one block of memory."""
    offsets, size = [], 0
    for t in tensors:
        assert t.value is not None, f"{t} has no value"
        offsets.append(size)
        size += memory.align(t.nbytes) if t.nbytes > 8 else 8
    blob = np.zeros(size + memory.ALIGNMENT, np.uint8)
    start = -blob.ctypes.data % memory.ALIGNMENT
    blob = blob[start : start + size]
    for t, offset in zip(tensors, offsets):
        value = np.ascontiguousarray(t.value, t.dtype.numpy)
        blob[offset : offset + value.nbytes] = value.reshape(-1).view(np.uint8)
    return blob, offsets


def arena_blocks(a: Assembly, elsewhere: set[Tensor]) -> dict[Tensor, memory.Block]:
    """The lifetime of every array in the arena, in numbers of entries.  An array from before a loop
    that is read inside stays alive until the loop's last entry, since the next iteration reads
    it again; arrays of chains that run side by side never share memory."""
    blocks: dict[Tensor, memory.Block] = {}
    for number, step in enumerate(a.steps):
        used = map(a.final, [*step.writes, *step.reads])
        for tensor in [m for t in used for m in a.moving.get(t, (t,))]:
            if tensor in elsewhere:
                continue
            block = blocks.get(tensor)
            if block is None:
                blocks[tensor] = memory.Block(tensor.nbytes, number, number, repr(tensor))
            else:
                block.last = number
        if step.scratch:
            step.block = memory.Block(step.scratch, number, number, f"scratch of {step.name}")
    for first, last in sorted(a.loops, key=lambda loop: loop[1] - loop[0]):
        for block in blocks.values():  # what is used in a loop, and is from before it, stays
            if block.first < first <= block.last < last:
                block.last = last
    parallel_chains.live_together([*blocks.values(), *(s.block for s in a.steps if s.block)], a.forks)
    replace_operands(a, blocks)
    return blocks


def replace_operands(a: Assembly, blocks: dict[Tensor, memory.Block]) -> None:
    """A result takes the block of an operand that ends where it begins."""
    for number, step in enumerate(a.steps):
        for operand, result in step.in_place:
            old, new = blocks.get(operand), blocks.get(result)
            if old is None or new is None or operand in a.alias or result in a.alias:
                continue
            if old.last == number == new.first and old.lane == new.lane and old is not new:
                old.last, old.name = new.last, f"{old.name}, {new.name}"
                blocks[result] = old


def memory_of_all(a: Assembly, blocks: dict[Tensor, memory.Block]) -> list[memory.Block]:
    """Every block once, those of scratch too."""
    return [*dict.fromkeys(blocks.values()), *(s.block for s in a.steps if s.block)]


def place(step: Step, where: dict[Tensor, tuple[int, int]]) -> Entry:
    """The entry with (base, offset) for every array."""
    found: list[int] = []
    for what, extra in step.entry.places:
        if what == "scratch":
            assert step.block is not None
            found += [0, step.block.offset + extra]
        else:
            found += where[what]
            if extra and what.name:
                step.entry.stores.append(what.name)
    step.entry.pairs, step.entry.name = found, step.name
    return step.entry


# -- what goes in and out ----------------------------------------------------------------------------
def form_of(
    inputs: list[Tensor],
    updates: list[Update],
    in_place: dict[Tensor, bool],
    fresh: list[Tensor],
    outputs: list[Tensor],
) -> Form:
    """Of a program with these arrays."""
    numbers = {t: i for i, t in enumerate(inputs)}
    writes = [(numbers[u.variable], in_place[u.variable], _is_partial(u)) for u in updates]
    results = [_result(t, inputs, updates, fresh) for t in outputs]
    return Form([t.face for t in inputs], writes, [t.face for t in fresh], results)


def _is_partial(update: Update) -> bool:
    """Only some elements are written, so a new buffer starts as a copy of the old one."""
    source = update.value.source
    return isinstance(source, Scatter) and source.into is update.variable


def _result(tensor: Tensor, inputs: list[Tensor], updates: list[Update], fresh: list[Tensor]) -> Result:
    root = memory_of(tensor)
    shape, dtype = tensor.face
    groups = {"news": [u.value for u in updates], "fresh": fresh, "inputs": inputs}
    for group, tensors in groups.items():
        for k, t in enumerate(tensors):
            if t is root:
                return Result(group, k, shape, dtype)
    assert root.value is not None, root
    value = np.ascontiguousarray(root.value, root.dtype.numpy).view(dtype).reshape(shape)
    return Result("constant", 0, shape, dtype, value)
