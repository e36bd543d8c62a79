"""Items -> entries: kernels compiled, calls prepared, every array given its place.

In: stages, updates and checks of one region.  Out: a `Program`, ready to run with these shapes.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from concurrent.futures import wait
from dataclasses import dataclass, field, replace
from math import prod
from typing import Any

import numpy as np

from headrace.codegen import (
    branches,
    control_steps,
    costs,
    library,
    llvm,
    memory,
    native,
    threads,
)
from headrace.codegen.cache import kernel_soon
from headrace.codegen.channels import ChannelGroup
from headrace.codegen.columns import schedule_columns
from headrace.codegen.compile import naming
from headrace.codegen.fusion import (
    AssembleItem,
    CallItem,
    ColumnsItem,
    EffectItem,
    Fusion,
    Group,
    Item,
    ScatterItem,
    UnitItem,
)
from headrace.codegen.gemm import Products
from headrace.codegen.inline import dependencies
from headrace.codegen.kernel_ir import Compute, Tensor, Var, var
from headrace.codegen.lift import Lifted, lift
from headrace.codegen.loops import Kernel
from headrace.codegen.postpone import postpone
from headrace.codegen.program import NEVER, CheckInfo, Entry, Program
from headrace.codegen.reuse import layer_by_layer
from headrace.codegen.schedule import (
    is_flat,
    schedule_group,
    schedule_parts,
    schedule_scatter,
    schedule_store,
)
from headrace.codegen.stages import PLACED, Check, Temporary, Update
from headrace.codegen.stages import memory as memory_of
from headrace.codegen.target import host
from headrace.codegen.walks import loads
from headrace.core import options

_GLANCE = 0.05  # seconds between two looks at the token of a step that waits for the compiler
PARALLEL_COST = 1 << 19  # element-operations below which a kernel stays on one thread
MORE_MEMORY, FEW_BYTES = 1.1, 4 << 20  # what running side by side may take


@dataclass(slots=True, eq=False)
class Step:
    """One entry before addresses are known."""

    reads: list[Tensor]
    writes: list[Tensor]
    entry: Entry
    scratch: int = 0
    block: memory.Block | None = None
    name: str = ""
    cost: float = 0.0  # ns on one thread; 0: not known
    is_part: bool = False  # writes a part of an array, beside others that do


@dataclass(slots=True)
class Assembly:
    """Everything that one program is made from."""

    inputs: list[Tensor]
    outputs: list[Tensor]
    updates: list[Update]
    cancel: Any = NEVER
    checks: list[Check] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)
    in_place: dict[Tensor, bool] = field(default_factory=dict)
    alias: dict[Tensor, Tensor] = field(default_factory=dict)  # arrays in the memory of others
    moving: dict[Tensor, tuple[Tensor, ...]] = field(
        default_factory=dict
    )  # and now here, now there
    loops: list[tuple[int, int]] = field(default_factory=list)  # first step, last step
    growing: list[Tensor] = field(default_factory=list)  # stacks without a limit
    forks: list[branches.Fork] = field(default_factory=list)  # steps that run side by side

    def final(self, tensor: Tensor) -> Tensor:
        """The array whose memory this one is in."""
        while tensor in self.alias:
            tensor = self.alias[tensor]
        return tensor


def assemble(
    inputs: list[Tensor],
    outputs: list[Tensor],
    updates: list[Update],
    checks: list[Check],
    kept: list[Tensor] | None = None,
    cancel: Any = NEVER,
    effects: list[Tensor] | None = None,
) -> Program:
    """`kept` are computed though nobody sees them, `effects` done though nobody needs them.
    Stops once `cancel.reason` is not None."""
    outputs = [_copied(t) if isinstance(memory_of(t).source, PLACED) else t for t in outputs]
    a = Assembly(inputs, outputs, own_values(updates), cancel)
    top = Schedule(a, [*outputs, *(kept or ()), *(effects or ())], a.updates, checks)
    a.in_place = top.in_place
    top.emit()
    return lay_out(a)


class Schedule:
    """What runs of one part of a program, in order.  `emit` adds its steps."""

    def __init__(
        self, a: Assembly, roots: list[Tensor], updates: list[Update], checks: list[Check],
        first: float = 0,
    ) -> None:  # fmt: skip
        self.assembly, self.updates, self.checks = a, updates, checks
        self.fusion = Fusion(roots, updates, checks, first)
        self.items = order(self.fusion)
        options.show("regions", describe_items(self.items))
        self.products = Products(i.called.call for i in self.items if isinstance(i, CallItem))
        self.in_place = in_place_updates(updates, self.items)

    def emit(self) -> None:
        a, stored = self.assembly, stored_tensors(self.fusion)
        for item in self.items:
            if a.cancel.reason is not None:
                raise a.cancel.reason
            match item:
                case UnitItem():
                    control_steps.add_unit(a, item, Schedule)
                case EffectItem():
                    control_steps.add_effect(a, item)
                case _:
                    a.steps.extend(steps_of(item, stored, self.fusion, self.products))
            a.steps.extend(check_steps(a, item, self.fusion, self.checks))


def own_values(updates: list[Update], first: float = 0) -> list[Update]:
    """Each variable's new value gets memory of its own: an input, a constant or a value that
    another variable takes too is copied; so is one from before `first`."""
    taken: set[Tensor] = set()
    found = []
    for u in updates:
        root = memory_of(u.value)
        shared = root.source is None or root in taken or root is not u.value
        shared = shared or isinstance(root.source, PLACED) or root.serial < first
        value = _copied(u.value) if shared else u.value
        taken.add(value)
        found.append(Update(u.variable, value))
    return found


def _copied(tensor: Tensor) -> Tensor:
    loops = tuple(Var(n) for n in tensor.shape)
    source = Compute(loops, tensor[tuple(map(var, loops))])
    return Tensor(tensor.shape, tensor.dtype, source=source, name=tensor.name)


def order(fusion: Fusion) -> list[Item]:
    """Updates move up to where their operands are ready: gradients then die early."""
    made = fusion.place
    pulled: dict[int, int] = {}
    for position, item in enumerate(fusion.items):
        if not isinstance(item, Group) or not all(m.tensor in fusion.updates for m in item.members):
            continue
        read = (memory_of(x.extra) for m in item.members for x in m.loads)
        after = [made[t] for t in read if t in made and made[t] != position]
        after += [made[t] for t in fusion.checked]
        for m in item.members:
            readers = fusion.readers.get(fusion.updates[m.tensor], ())
            after += [p for p in readers if p != position]
        pulled[position] = max((p for p in after if p < position), default=-1)
    keys = {p: (pulled.get(p, p), p in pulled, p) for p in range(len(fusion.items))}
    return [fusion.items[p] for p in sorted(keys, key=keys.__getitem__)]


def stored_tensors(fusion: Fusion) -> set[Tensor]:
    """Arrays that must be in memory: asked for, or read by another item than makes them."""
    stored = {memory_of(t) for t in fusion.inlining.required}
    for tensor, positions in fusion.readers.items():
        if any(p != fusion.place.get(tensor) for p in positions):
            stored.add(tensor)
    return stored


def in_place_updates(updates: list[Update], items: list[Item]) -> dict[Tensor, bool]:
    """Per variable: is its old value read by nobody after the update, and beside it only at the
    same index?"""
    made: dict[Tensor, int] = {}
    last: dict[Tensor, int] = {}
    for position, item in enumerate(items):
        match item:
            case Group(members=members):
                made |= {m.tensor: position for m in members}
            case ScatterItem(tensor=tensor):
                made[tensor] = position
        for tensor in reads_of(item):
            last[tensor] = position
    found = {}
    for u in updates:
        at = made.get(u.value)
        if at is None:
            found[u.variable] = False
            continue
        found[u.variable] = last.get(u.variable, -1) <= at and is_harmless(u, items[at])
    return found


def is_harmless(update: Update, item: Item) -> bool:
    """Within one item, the update does not overwrite what is still to be read."""
    if isinstance(item, ScatterItem):
        read = loads(item.scatter.value, *item.scatter.place)
        own = any(memory_of(x.extra) is update.variable for x in read)
        return item.scatter.into is update.variable and not own
    assert isinstance(item, Group)
    for m in item.members:
        for x in m.loads:
            if memory_of(x.extra) is update.variable:
                if not (is_flat(item) and _is_own_index(x, m.loops)):
                    return False
    return True


def _is_own_index(load: Any, loops: tuple[Var, ...]) -> bool:
    at = [i for i, n in zip(load.args, load.extra.shape) if n != 1]
    return len(at) == len(loops) and all(i is var(v) for i, v in zip(at, loops))


def reads_of(item: Item) -> set[Tensor]:
    match item:
        case Group(members=members) | ChannelGroup(members=members):
            return {memory_of(x.extra) for m in members for x in m.loads}
        case ScatterItem(scatter=s, start=start):
            bodies = [s.value, *s.place] + ([start.body] if start else [])
            return {memory_of(x.extra) for x in loads(*bodies)} | ({s.into} if not start else set())
        case ColumnsItem(how=how):
            return {memory_of(x.extra) for x in loads(how.term)}
        case AssembleItem(parts=parts):
            return {memory_of(x.extra) for _, made in parts for x in loads(made.body)}
        case CallItem(called=called):
            return {memory_of(t) for t in called.inputs}
        case UnitItem(stage=stage):
            return {memory_of(t) for t in stage.reads}
        case EffectItem(tensor=tensor):
            return {memory_of(t) for t in dependencies(tensor)}


# -- entries -------------------------------------------------------------------------------------
def steps_of(item: Item, stored: set[Tensor], fusion: Fusion, products: Products) -> list[Step]:
    match item:
        case Group() | ChannelGroup():
            if all(m.tensor.count == 0 for m in item.members):
                return []
            name = "+".join(m.tensor.name or "stage" for m in item.members[:3])
            return [kernel_step(schedule_group(item, stored, name))]
        case ScatterItem(tensor=tensor, scatter=scatter, start=start):
            return scatter_steps(tensor, scatter, start, fusion)
        case ColumnsItem(tensor=tensor, how=how):
            return [kernel_step(schedule_columns(tensor, how, host().lanes(tensor.kind.bits)))]
        case AssembleItem(tensor=tensor, parts=parts):
            return [part_step(k) for k in schedule_parts(tensor, parts)]
        case CallItem(called=called, outputs=outputs):
            return library.steps(called, outputs, Step, products)
    raise AssertionError(item)


def scatter_steps(
    tensor: Tensor, scatter: Any, start: Compute | None, fusion: Fusion
) -> list[Step]:
    steps = []
    target = fusion.updates.get(tensor)
    if start is not None:
        steps.append(kernel_step(schedule_store(tensor, start, None)))
    elif isinstance(scatter.into.source, Temporary):
        pass  # nobody reads what was there
    elif target is None or scatter.into is not target:
        copied = _copied(scatter.into).source
        assert isinstance(copied, Compute)
        steps.append(kernel_step(schedule_store(tensor, copied, None)))
    if prod(v.extent for v in scatter.vars):
        changed = kernel_step(schedule_scatter(tensor, scatter))
        changed.reads.append(tensor)
        steps.append(changed)
    return steps


def kernel_step(kernel: Kernel) -> Step:
    lifted = lift(kernel)
    options.show("kernels", f"{kernel.name}\n{lifted.text}params {lifted.params}")
    with naming(kernel.name):
        code = kernel_soon(lifted.text, lambda symbol: llvm.write_module(lifted, symbol))
    params = (ctypes.c_int64 * max(len(lifted.params), 1))(*lifted.params)
    team, grain = parallel(kernel)
    entry = Entry(
        native.KERNEL,
        [0, ctypes.addressof(params), kernel.work, team, grain, len(lifted.buffers)],
        [], [], keep=[params], uses_team=team > 1, code=code,
    )  # fmt: skip
    step = _with_buffers(entry, lifted, team, kernel.name)
    step.cost = costs.of_kernel(kernel, step)
    return step


def part_step(kernel: Kernel) -> Step:
    step = kernel_step(kernel)
    step.is_part = True
    return step


def _with_buffers(entry: Entry, lifted: Lifted, team: int, name: str) -> Step:
    """Row temporaries share one scratch block; the other buffers are arrays."""
    reads: list[Tensor] = []
    writes: list[Tensor] = []
    scratch = 0
    for number, tensor in enumerate(lifted.buffers):
        if number in lifted.temporaries:
            entry.places.append(("scratch", scratch))
            scratch += memory.align(max(lifted.params[lifted.temporaries[number]] * team, 1))
            continue
        entry.places.append((tensor, number in lifted.written))
        (writes if number in lifted.written else reads).append(tensor)
    return Step(reads, writes, entry, scratch, name=name)


def parallel(kernel: Kernel) -> tuple[int, int]:
    """Threads, and how many rows (or elements) belong together."""
    grain = 256 if kernel.is_ranged else 1
    if costs.operations(kernel) < PARALLEL_COST or kernel.work <= grain or kernel.name == "scatter":
        return 1, grain
    return threads.count(), grain


def check_steps(a: Assembly, item: Item, fusion: Fusion, checks: list[Check]) -> list[Step]:
    """A check follows the item that computes its last part."""
    found = []
    for check in checks:
        last = check.value if check.value is not None else check.bad
        if fusion.items[fusion.place[last]] is item:
            entry = Entry(native.CHECK, [], [(check.bad, False)], [])
            entry.check = len(a.checks)
            a.checks.append(check)
            reads = [check.bad] + ([check.value] if check.value is not None else [])
            found.append(Step(reads, [], entry, name="check"))
    return found


# -- layout --------------------------------------------------------------------------------------
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
    every = [*blocks.values(), *(s.block for s in a.steps if s.block)]
    total = memory.plan(every)
    options.show("memory", memory.describe(every, total))
    where = fixed | {t: (b, 0) for t, b in bases.items()}
    where |= {t: (0, block.offset) for t, block in blocks.items()}
    where |= {t: (last + 1 + i, 0) for i, t in enumerate([*a.moving, *a.growing])}
    where |= {t: where[a.final(t)] for t in a.alias if a.final(t) in where}
    entries = [place(s, where) for s in a.steps]
    await_code(entries, a.cancel)
    checks = [
        CheckInfo(c, where[c.bad], None if c.value is None else where[c.value]) for c in a.checks
    ]
    program = Program(
        a.inputs, blob, a.updates, a.in_place, fresh, a.outputs, entries, checks, total,
        len(a.moving), len(a.growing),
    )  # fmt: skip
    large = sorted(every, key=lambda b: -b.size)[:5]
    program.largest = ", ".join(f"{b.name} ({b.size} bytes)" for b in large)
    return program


def fork(a: Assembly, elsewhere: set[Tensor]) -> None:
    """Small steps side by side, unless that takes much more memory."""
    variables = {a.final(u.value): u.variable for u in a.updates}
    steps, forks = branches.side_by_side(a.steps, a.final, variables, threads.count(), Step)
    if forks:
        forked = replace(a, steps=steps, forks=forks)
        if peak(forked, elsewhere) <= MORE_MEMORY * peak(a, elsewhere) + FEW_BYTES:
            branches.run_alone(steps, forks)
            a.steps, a.forks = steps, forks


def peak(a: Assembly, elsewhere: set[Tensor]) -> int:
    blocks = arena_blocks(a, elsewhere)
    every = [*blocks.values(), *(s.block for s in a.steps if s.block)]
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
    branches.live_together([*blocks.values(), *(s.block for s in a.steps if s.block)], a.forks)
    return blocks


def place(step: Step, where: dict[Tensor, tuple[int, int]]) -> Entry:
    """The entry with (base, offset) for every array."""
    found: list[int] = []
    for what, extra in step.entry.places:
        if what == "scratch":
            assert step.block is not None
            found += [0, step.block.offset + extra]
        else:
            found += where[what]
    step.entry.pairs, step.entry.name = found, step.name
    return step.entry


def describe_items(items: list[Item]) -> str:
    lines = []
    for item in items:
        match item:
            case Group(members=members):
                lines.append(f"kernel rows {item.row_rank}: " + ", ".join(
                    f"{m.tensor!r}{' (row)' if m.is_row else ''}" for m in members))  # fmt: skip
            case ChannelGroup(members=members):
                lines.append(f"kernel by channels: {[m.tensor for m in members]}")
            case CallItem(called=called, outputs=outputs):
                lines.append(f"{called.call.kind} {list(called.inputs)} -> {outputs}")
            case ScatterItem(tensor=tensor):
                lines.append(f"scatter {tensor!r}")
            case ColumnsItem(tensor=tensor):
                lines.append(f"columns {tensor!r}")
            case AssembleItem(tensor=tensor, parts=parts):
                lines.append(f"assemble {tensor!r} of {len(parts)}")
            case UnitItem(stage=stage, outputs=outputs):
                lines.append(f"{type(stage).__name__} {stage.reads} -> {outputs}")
            case EffectItem(tensor=tensor):
                lines.append(f"{type(tensor.source).__name__} {tensor!r}")
    return "\n".join(lines)
