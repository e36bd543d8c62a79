"""Items -> entries: kernels compiled, calls prepared, every array given its place.

In: stages, updates and checks of one region.  Out: a `Program`, ready to run with these shapes.
"""

from __future__ import annotations

import ctypes
from math import prod
from typing import Any

from headrace.codegen.assembly import control_steps
from headrace.codegen.assembly.assembly import Assembly, Step
from headrace.codegen.assembly.lay_out import lay_out
from headrace.codegen.convolution import library
from headrace.codegen.emit import llvm
from headrace.codegen.fusion import costs, in_place
from headrace.codegen.fusion.channels import ChannelGroup
from headrace.codegen.fusion.columns import schedule_columns
from headrace.codegen.fusion.fusion import (
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
from headrace.codegen.fusion.generalize import Lifted, lift
from headrace.codegen.fusion.schedule import schedule_group, schedule_parts, schedule_scatter, schedule_store
from headrace.codegen.fusion.updates import copied, in_place_updates, own_outputs, own_values
from headrace.codegen.ir import text
from headrace.codegen.ir.kernel import Kernel
from headrace.codegen.ir.kernel_ir import Compute, Tensor
from headrace.codegen.ir.order import START, Moment
from headrace.codegen.ir.stages import Check, Temporary, Update
from headrace.codegen.ir.stages import memory as memory_of
from headrace.codegen.machine import threads
from headrace.codegen.machine.cache import kernel_soon
from headrace.codegen.machine.faults import naming
from headrace.codegen.machine.target import host
from headrace.codegen.products.gemm import Products
from headrace.codegen.program import memory, native
from headrace.codegen.program.program import NEVER, Entry, Program
from headrace.core import options

PARALLEL_COST = 1 << 19  # element-operations below which a kernel stays on one thread


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
    outputs = own_outputs(outputs, updates)
    a = Assembly(inputs, outputs, own_values(updates), cancel)
    if "stages" in options.shown():
        wanted = [*outputs, *(kept or ()), *(effects or ()), *(u.value for u in a.updates)]
        options.show("stages", text.describe(wanted, a.updates))
    top = Schedule(a, [*outputs, *(kept or ()), *(effects or ())], a.updates, checks)
    a.in_place = top.in_place
    top.emit()
    return lay_out(a)


class Schedule:
    """What runs of one part of a program, in order.  `emit` adds its steps."""

    def __init__(
        self,
        a: Assembly,
        roots: list[Tensor],
        updates: list[Update],
        checks: list[Check],
        first: Moment = START,
    ) -> None:
        self.assembly, self.updates, self.checks = a, updates, checks
        self.fusion = Fusion(roots, updates, checks, first)
        self.items = order(self.fusion)
        options.show("regions", describe_items(self.items))
        self.products = Products(i.called.call for i in self.items if isinstance(i, CallItem))
        self.stored = stored_tensors(self.fusion)
        self.in_place = in_place_updates(updates, self.items, self.stored)

    def emit(self) -> None:
        a = self.assembly
        for item in self.items:
            if a.cancel.reason is not None:
                raise a.cancel.reason
            match item:
                case UnitItem():
                    control_steps.add_unit(a, item, Schedule)
                case EffectItem():
                    control_steps.add_effect(a, item)
                case _:
                    a.steps.extend(steps_of(item, self.stored, self.fusion, self.products))
            a.steps.extend(check_steps(a, item, self.fusion, self.checks))


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


# -- entries -------------------------------------------------------------------------------------
def steps_of(item: Item, stored: set[Tensor], fusion: Fusion, products: Products) -> list[Step]:
    """The entries of one item: a kernel, a library call, or several of them for one array.  A
    kernel of which every array is empty has none."""
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


def scatter_steps(tensor: Tensor, scatter: Any, start: Compute | None, fusion: Fusion) -> list[Step]:
    """An array that starts as another one and is changed at some places.  The copy is left out
    where nobody reads the old content, and where the array *is* the variable that is updated in
    place."""
    steps = []
    target = fusion.updates.get(tensor)
    if start is not None:
        steps.append(kernel_step(schedule_store(tensor, start, None)))
    elif isinstance(scatter.into.source, Temporary):
        pass  # nobody reads what was there
    elif target is None or scatter.into is not target:
        source = copied(scatter.into).source
        assert isinstance(source, Compute)
        steps.append(kernel_step(schedule_store(tensor, source, None)))
    if prod(v.extent for v in scatter.vars):
        changed = kernel_step(schedule_scatter(tensor, scatter))
        changed.reads.append(tensor)
        steps.append(changed)
    return steps


def kernel_step(kernel: Kernel) -> Step:
    """Start compiling the kernel and describe its call.  The code's address is filled in at the end
    (`lay_out.await_code`), so that LLVM works while the other kernels are planned."""
    lifted = lift(kernel)
    options.show("kernels", f"{kernel.name}\n{lifted.text}params {lifted.params}")
    with naming(kernel.name):
        code = kernel_soon(lifted.text, lambda symbol: llvm.write_module(lifted, symbol))
    params = (ctypes.c_int64 * max(len(lifted.params), 1))(*lifted.params)
    team, grain = parallel(kernel)
    entry = Entry(
        native.KERNEL,
        [0, ctypes.addressof(params), kernel.work, team, grain, len(lifted.buffers)],
        [],
        [],
        keep=[params],
        uses_team=team > 1,
        kernel=lifted.text,
        code=code,
    )
    step = _with_buffers(entry, lifted, team, kernel.name)
    step.cost = costs.of_kernel(kernel, step)
    step.in_place = in_place.pairs(kernel)
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


def describe_items(items: list[Item]) -> str:
    """What was fused with what, for `HEADRACE_SHOW=regions`."""
    lines = []
    for item in items:
        match item:
            case Group(members=members):
                lines.append(
                    f"kernel rows {item.row_rank}: "
                    + ", ".join(f"{m.tensor!r}{' (row)' if m.is_row else ''}" for m in members)
                )
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
