"""Items -> entries: kernels compiled, calls prepared, every array given its place.

In: stages, updates and checks of one region.  Out: a `NativeProgram`, ready to run with these shapes.
"""

from __future__ import annotations

from math import prod

from headrace.codegen.assembly import control_flow
from headrace.codegen.assembly.assembly import Assembly
from headrace.codegen.assembly.kernels import kernel_instruction, part_instruction
from headrace.codegen.assembly.lay_out import lay_out
from headrace.codegen.assembly.open_program import OpenProgram
from headrace.codegen.convolution import library
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
from headrace.codegen.fusion.schedule import schedule_parts, schedule_scatter, schedule_store
from headrace.codegen.fusion.scheduled import Scheduled
from headrace.codegen.fusion.updates import copied, in_place_updates, own_outputs, own_values
from headrace.codegen.ir import text
from headrace.codegen.ir.kernel_ir import Array, Compute
from headrace.codegen.ir.order import START, Moment
from headrace.codegen.ir.stages import Check, Scatter, Temporary, Update
from headrace.codegen.ir.stages import memory as memory_of
from headrace.codegen.machine.refusals import NEVER, Cancel
from headrace.codegen.machine.target import host
from headrace.codegen.products.gemm import Products
from headrace.codegen.program import native
from headrace.codegen.program.instruction import Instruction
from headrace.codegen.program.program import Entry, NativeProgram
from headrace.core import options
from headrace.core.sizes import Trace


def assemble(
    inputs: list[Array],
    outputs: list[Array],
    updates: list[Update],
    checks: list[Check],
    kept: list[Array] | None = None,
    cancel: Cancel = NEVER,
    effects: list[Array] | None = None,
    trace: Trace | None = None,
) -> NativeProgram | OpenProgram:
    """`kept` are computed though nobody sees them, `effects` done though nobody needs them.
    Stops once `cancel.reason` is not None.  `trace` is that of the arrays' open sizes: then the program has
    open sizes too."""
    outputs = own_outputs(outputs, updates)
    a = Assembly(inputs, outputs, own_values(updates), cancel)
    if "stages" in options.shown():
        wanted = [*outputs, *(kept or ()), *(effects or ()), *(u.value for u in a.updates)]
        options.show("stages", text.describe(wanted, a.updates))
    top = Schedule(a, [*outputs, *(kept or ()), *(effects or ())], a.updates, checks)
    a.in_place = top.in_place
    top.emit()
    return lay_out(a, trace)


class Schedule:
    """What runs of one part of a program, in order.  `emit` adds its instructions."""

    def __init__(
        self,
        a: Assembly,
        roots: list[Array],
        updates: list[Update],
        checks: list[Check],
        first: Moment = START,
    ) -> None:
        """Fuse what these roots need (stages made from `first` on), order the items, and find out which
        arrays are in memory and which updates can be done where the variable is."""
        self.assembly, self.updates, self.checks = a, updates, checks
        self.fusion = Fusion(roots, updates, checks, first)
        self.items = order(self.fusion)
        options.show("regions", describe_items(self.items))
        self.products = Products(i.called.call for i in self.items if isinstance(i, CallItem))
        self.kernels = Scheduled(stored_arrays(self.fusion))
        self.in_place = in_place_updates(updates, self.items, self.kernels)

    def emit(self) -> None:
        a = self.assembly
        for item in self.items:
            if a.cancel.reason is not None:
                raise a.cancel.reason
            match item:
                case UnitItem():
                    control_flow.add_unit(a, item, Schedule)
                case EffectItem():
                    control_flow.add_effect(a, item)
                case _:
                    a.instructions.extend(instructions_of(item, self.kernels, self.fusion, self.products))
            a.instructions.extend(check_instructions(a, item, self.fusion, self.checks))


def order(fusion: Fusion) -> list[Item]:
    """Updates move up to where their operands are ready: gradients then die early."""
    made = fusion.place
    pulled: dict[int, int] = {}
    for position, item in enumerate(fusion.items):
        if not isinstance(item, Group) or not all(m.array in fusion.updates for m in item.members):
            continue
        read = (memory_of(x.extra) for m in item.members for x in m.loads)
        after = [made[t] for t in read if t in made and made[t] != position]
        after += [made[t] for t in fusion.checked]
        for m in item.members:
            readers = fusion.readers.get(fusion.updates[m.array], ())
            after += [p for p in readers if p != position]
        pulled[position] = max((p for p in after if p < position), default=-1)
    keys = {p: (pulled.get(p, p), p in pulled, p) for p in range(len(fusion.items))}
    return [fusion.items[p] for p in sorted(keys, key=keys.__getitem__)]


def stored_arrays(fusion: Fusion) -> set[Array]:
    """Arrays that must be in memory: asked for, or read by another item than makes them."""
    stored = {memory_of(t) for t in fusion.inlining.required}
    for array, positions in fusion.readers.items():
        if any(p != fusion.place.get(array) for p in positions):
            stored.add(array)
    return stored


# -- entries -------------------------------------------------------------------------------------
def instructions_of(item: Item, kernels: Scheduled, fusion: Fusion, products: Products) -> list[Instruction]:
    """The entries of one item: a kernel, a library call, or several of them for one array.  A
    kernel of which every array is empty has none."""
    match item:
        case Group() | ChannelGroup():
            if all(m.array.count == 0 for m in item.members):
                return []
            return [kernel_instruction(*kernels.of(item))]
        case ScatterItem(array=array, scatter=scatter, start=start):
            return scatter_instructions(array, scatter, start, fusion)
        case ColumnsItem(array=array, how=how):
            return [kernel_instruction(schedule_columns(array, how, host().lanes(array.kind.bits)))]
        case AssembleItem(array=array, parts=parts):
            return [part_instruction(k) for k in schedule_parts(array, parts)]
        case CallItem(called=called, outputs=outputs):
            return library.instructions(called, outputs, products)
    raise AssertionError(item)


def scatter_instructions(
    array: Array, scatter: Scatter, start: Compute | None, fusion: Fusion
) -> list[Instruction]:
    """An array that starts as another one and is changed at some places.  The copy is left out
    where nobody reads the old content, and where the array *is* the variable that is updated in
    place."""
    instructions = []
    target = fusion.updates.get(array)
    if start is not None:
        instructions.append(kernel_instruction(schedule_store(array, start, None)))
    elif isinstance(scatter.into.source, Temporary):
        pass  # nobody reads what was there
    elif target is None or scatter.into is not target:
        source = copied(scatter.into).source
        assert isinstance(source, Compute)
        instructions.append(kernel_instruction(schedule_store(array, source, None)))
    if prod(v.extent for v in scatter.vars):
        changed = kernel_instruction(schedule_scatter(array, scatter))
        changed.reads.append(array)
        instructions.append(changed)
    return instructions


def check_instructions(a: Assembly, item: Item, fusion: Fusion, checks: list[Check]) -> list[Instruction]:
    """A check follows the item that computes its last part."""
    found = []
    for check in checks:
        last = check.value if check.value is not None else check.bad
        if fusion.items[fusion.place[last]] is item:
            entry = Entry(native.CHECK, [], [(check.bad, False)], [])
            entry.check = len(a.checks)
            a.checks.append(check)
            reads = [check.bad] + ([check.value] if check.value is not None else [])
            found.append(Instruction(reads, [], entry, name="check"))
    return found


def describe_items(items: list[Item]) -> str:
    """What was fused with what, for `HEADRACE_SHOW=regions`."""
    lines = []
    for item in items:
        match item:
            case Group(members=members):
                lines.append(
                    f"kernel rows {item.row_rank}: "
                    + ", ".join(f"{m.array!r}{' (row)' if m.is_row else ''}" for m in members)
                )
            case ChannelGroup(members=members):
                lines.append(f"kernel by channels: {[m.array for m in members]}")
            case CallItem(called=called, outputs=outputs):
                lines.append(f"{called.call.kind} {list(called.inputs)} -> {outputs}")
            case ScatterItem(array=array):
                lines.append(f"scatter {array!r}")
            case ColumnsItem(array=array):
                lines.append(f"columns {array!r}")
            case AssembleItem(array=array, parts=parts):
                lines.append(f"assemble {array!r} of {len(parts)}")
            case UnitItem(stage=stage, outputs=outputs):
                lines.append(f"{type(stage).__name__} {stage.reads} -> {outputs}")
            case EffectItem(array=array):
                lines.append(f"{type(array.source).__name__} {array!r}")
    return "\n".join(lines)
