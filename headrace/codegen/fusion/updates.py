"""New values of variables: memory of their own, or in place of the old value."""

from __future__ import annotations

from headrace.codegen.fusion.channels import ChannelGroup
from headrace.codegen.fusion.fusion import (
    AssembleItem,
    CallItem,
    ColumnsItem,
    EffectItem,
    Group,
    Item,
    ScatterItem,
    UnitItem,
)
from headrace.codegen.fusion.inlining import dependencies
from headrace.codegen.fusion.schedule import is_flat
from headrace.codegen.fusion.scheduled import Scheduled
from headrace.codegen.ir.kernel_ir import Array, Compute, Expr, Var, var
from headrace.codegen.ir.order import START, Moment
from headrace.codegen.ir.stages import PLACED, Update
from headrace.codegen.ir.stages import memory as memory_of
from headrace.codegen.ir.traverse import loads


def own_values(updates: list[Update], first: Moment = START) -> list[Update]:
    """Each variable's new value gets memory of its own: an input, a constant or a value that
    another variable takes too is copied; so is one from before `first`."""
    taken: set[Array] = set()
    found = []
    for u in updates:
        root = memory_of(u.value)
        shared = root.source is None or root in taken or root is not u.value
        shared = shared or isinstance(root.source, PLACED) or root.moment < first
        value = copied(u.value) if shared else u.value
        taken.add(value)
        found.append(Update(u.variable, value))
    return found


def own_outputs(outputs: list[Array], updates: list[Update]) -> list[Array]:
    """Outputs in memory that still holds them when the program has ended: a value in borrowed
    memory is copied, and so is the old value of a variable that changes, however it is named (the
    variable itself, a reshape of it)."""
    changing = {u.variable for u in updates}

    def is_lost(array: Array) -> bool:
        root = memory_of(array)
        return root in changing or isinstance(root.source, PLACED)

    return [copied(t) if is_lost(t) else t for t in outputs]


def copied(array: Array) -> Array:
    loops = tuple(Var(n) for n in array.shape)
    source = Compute(loops, array[tuple(map(var, loops))])
    return array.like(source, array.name)


def in_place_updates(updates: list[Update], items: list[Item], kernels: Scheduled) -> dict[Array, bool]:
    """Per variable: is its old value read by nobody after the update, and beside it only at the
    same index?"""
    made: dict[Array, int] = {}
    last: dict[Array, int] = {}
    for position, item in enumerate(items):
        match item:
            case Group(members=members):
                made |= {m.array: position for m in members}
            case ScatterItem(array=array):
                made[array] = position
        for array in reads_of(item):
            last[array] = position
    found = {}
    for u in updates:
        at = made.get(u.value)
        if at is None:
            found[u.variable] = False
            continue
        found[u.variable] = last.get(u.variable, -1) <= at and is_harmless(u, items[at], kernels)
    return found


def is_harmless(update: Update, item: Item, kernels: Scheduled) -> bool:
    """Within one item, the update does not overwrite what is still to be read."""
    if isinstance(item, ScatterItem):
        read = loads(item.scatter.value, *item.scatter.place)
        is_read = any(memory_of(x.extra) is update.variable for x in read)
        return item.scatter.into is update.variable and not is_read
    assert isinstance(item, Group)
    own = [(x, m) for m in item.members for x in m.loads if memory_of(x.extra) is update.variable]
    if not own or is_flat(item):
        return all(_is_own_index(x, m.loops) for x, m in own)
    _, pairs = kernels.of(item)
    return (update.variable, memory_of(update.value)) in pairs


def _is_own_index(load: Expr, loops: tuple[Var, ...]) -> bool:
    at = [i for i, n in zip(load.args, load.extra.shape) if n != 1]
    return len(at) == len(loops) and all(i is var(v) for i, v in zip(at, loops))


def reads_of(item: Item) -> set[Array]:
    """The arrays in memory that the item reads.  An update in place must come behind every one that
    reads the old value."""
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
        case EffectItem(array=array):
            return {memory_of(t) for t in dependencies(array)}
