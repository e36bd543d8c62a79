"""Loops, branches and what is done to arrays and stacks, as instructions of a program.

A loop's variable that its body computes element by element stays where it is; any other has two
places, which are exchanged after every iteration.  Jumps go to labels; memory that a loop uses and
that is from before it is kept until the loop has ended (`Assembly.loops`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np

from headrace.codegen.assembly.assembly import Assembly
from headrace.codegen.assembly.kernels import kernel_instruction
from headrace.codegen.fusion.fusion import CallItem, EffectItem, Item, UnitItem
from headrace.codegen.fusion.inlining import dependencies
from headrace.codegen.fusion.schedule import schedule_store
from headrace.codegen.fusion.updates import own_values
from headrace.codegen.ir.kernel_ir import Array, Compute, Var, var
from headrace.codegen.ir.order import Moment
from headrace.codegen.ir.stages import (
    PLACED,
    BranchStage,
    Called,
    Cell,
    Check,
    LoopStage,
    Made,
    Part,
    Row,
    Stacked,
    Temporary,
    Update,
    Zeroed,
)
from headrace.codegen.ir.stages import memory as memory_of
from headrace.codegen.products.gemm import Products
from headrace.codegen.program import native
from headrace.codegen.program.instruction import Instruction, of_entry
from headrace.codegen.program.native_control import ADD, HOLES, LOOK_SOME, REST, SUM, TAKE_SOME
from headrace.codegen.program.program import Entry, Label

_CLEARING = (SUM, REST, HOLES, TAKE_SOME, LOOK_SOME)  # what makes cells of an array zeros


class Scheduled(Protocol):
    """A part of a program in its order (assemble.Schedule)."""

    items: list[Item]
    products: Products
    in_place: dict[Array, bool]

    def emit(self) -> None:
        """Add its instructions to the assembly."""


# Puts the stages behind these roots, made from a moment on, in order.
Scheduler = Callable[[Assembly, list[Array], list[Update], list[Check], Moment], Scheduled]


def add_unit(a: Assembly, item: UnitItem, schedule: Scheduler) -> None:
    if isinstance(item.stage, LoopStage):
        _add_loop(a, item.stage, item.outputs, schedule)
    else:
        _add_branch(a, item.stage, item.outputs, schedule)


def _instruction(
    a: Assembly,
    kind: int,
    head: list[int],
    places: list[tuple[Array, bool]],
    name: str,
    jump: Label | None = None,
) -> Instruction:
    made = of_entry(Entry(kind, head, list(places), [], jump=jump), name)
    a.instructions.append(made)
    return made


def _label(a: Assembly, label: Label) -> None:
    label.at = len(a.instructions)


def _copy(a: Assembly, source: Array, target: Array) -> None:
    source = memory_of(source)
    if source.source is None and source.value is not None and not np.any(source.value):
        _instruction(a, native.FILL, [target.nbytes], [(target, True)], "zeros")
    elif target.nbytes:
        _instruction(a, native.COPY, [target.nbytes], [(source, False), (target, True)], "copy")


def _output(array: Array) -> int:
    """Which output of its loop or branch it is; -1: none, it just says that this runs."""
    assert isinstance(array.source, Made)
    return array.source.index


def _storage(array: Array, name: str) -> Array:
    return array.like(Temporary(), name)


# -- loops -----------------------------------------------------------------------------------------
def _add_loop(a: Assembly, stage: LoopStage, outputs: list[Array], schedule: Scheduler) -> None:
    """Head, exit, body, jump back.  A carried value that can not be updated in place has two
    buffers, which change roles (SWAP) at the end of each iteration instead of being copied.
    What the body reads of the condition's values is computed in the head; what does not change
    between iterations is hoisted before the first label.  Arrays that are alive at the last
    entry of the loop stay alive during all of it."""
    moved = [Update(c, n) for c, n in zip(stage.carried, stage.nexts) if memory_of(n) is not c]
    updates = own_values(moved, stage.body.first)
    body = schedule(a, stage.body.roots, updates, stage.body.checks, stage.body.first)
    shared = [t for t in outside(stage.body.roots, stage.body.first) if t.moment >= stage.condition.first]
    head = schedule(
        a, [stage.goes_on, *shared, *stage.condition.roots], [], stage.condition.checks, stage.condition.first
    )
    places = _place_variables(a, stage, updates, body.in_place)
    for array in outputs:
        if (index := _output(array)) >= 0:
            a.alias[array] = stage.carried[index]
    for part in (head, body):
        hoist(a, part, min(stage.condition.first, stage.body.first))
    again, end = Label(), Label()
    _label(a, again)
    first = len(a.instructions)
    head.emit()
    goes_on = memory_of(stage.goes_on)
    _instruction(a, native.UNLESS, [0, 0], [(goes_on, False)], "while", end)
    body.emit()
    for u in updates:
        if not body.in_place[u.variable]:
            _instruction(a, native.SWAP, [], [(u.variable, True), (u.value, True)], "swap")
    _instruction(a, native.JUMP, [0, 0], [], "again", again)
    _label(a, end)
    last = len(a.instructions) - 1
    a.instructions[last].reads += places
    a.loops.append((first, last))


def _place_variables(
    a: Assembly, stage: LoopStage, updates: list[Update], in_place: dict[Array, bool]
) -> list[Array]:
    """Give every variable its memory, with the value that it starts with."""
    changed = {u.variable: u.value for u in updates}
    found = []
    for start, carried in zip(stage.starts, stage.carried):
        place = _storage(carried, f"{carried.name} carried")
        _copy(a, start, place)
        found.append(place)
        following = changed.get(carried)
        if following is None or in_place[carried]:
            a.alias[carried] = place
            if following is not None:
                a.alias[following] = place
            if not place.nbytes:
                _instruction(a, native.FILL, [0], [(place, True)], "nothing")
            continue
        other = _storage(carried, f"{carried.name} next")
        found.append(other)
        a.moving[carried] = a.moving[following] = (place, other)
        _instruction(a, native.LEA, [], [(carried, True), (place, True)], "place")
        _instruction(a, native.LEA, [], [(following, True), (other, True)], "place")
    return found


def hoist(a: Assembly, part: Scheduled, first: Moment) -> None:
    """Panels of operands that are the same in all iterations are made before the first one."""
    for item in part.items:
        if isinstance(item, CallItem):
            a.instructions.extend(part.products.hoisted(item.called.call, first))


def outside(roots: list[Array], first: Moment) -> list[Array]:
    """The arrays from before `first` that these need."""
    seen: set[Array] = set()
    found: dict[Array, None] = {}
    stack = list(roots)
    while stack:
        array = stack.pop()
        if array in seen:
            continue
        seen.add(array)
        if array.moment < first:
            found[array] = None
        else:
            stack.extend(dependencies(array))
    return list(found)


# -- branches --------------------------------------------------------------------------------------
def _add_branch(a: Assembly, stage: BranchStage, outputs: list[Array], schedule: Scheduler) -> None:
    results = {index: t for t in outputs if (index := _output(t)) >= 0}
    places = {i: _storage(t, f"{t.name} of a branch") for i, t in results.items()}
    for i, array in results.items():
        a.alias[array] = places[i]
    otherwise, end = Label(), Label()
    predicate = memory_of(stage.predicate)
    _instruction(a, native.UNLESS, [0, 0], [(predicate, False)], "if", otherwise)
    _add_side(a, stage, 1, places, schedule)
    _instruction(a, native.JUMP, [0, 0], [], "done", end)
    _label(a, otherwise)
    _add_side(a, stage, 0, places, schedule)
    _label(a, end)


def _add_side(a: Assembly, stage: BranchStage, k: int, places: dict[int, Array], schedule: Scheduler) -> None:
    """One side of a conditional.  A result that this side makes itself is made in the place of the
    conditional's output; one from outside, or with a place already, is copied there."""
    part = stage.sides[k]
    made = schedule(a, part.roots, [], part.checks, part.first)
    copied = []
    for i, place in places.items():
        value = stage.values[i][k]
        if value is None:
            continue
        if value not in a.alias and _is_own(value, part):
            a.alias[value] = place
        else:
            copied.append((value, place))
    made.emit()
    for value, place in copied:
        _copy(a, value, place)


def _is_own(value: Array, part: Part) -> bool:
    """Made here, in memory that may be chosen."""
    return (
        value.moment >= part.first
        and isinstance(value.source, (Compute, Called))
        and memory_of(value) is value
        and not isinstance(value.source, PLACED)
    )


# -- arrays and stacks -----------------------------------------------------------------------------
def add_effect(a: Assembly, item: EffectItem) -> None:
    """What changes memory and has no value that fusion could place: zeros, arrays and stacks."""
    effect = item.array
    match effect.source:
        case Zeroed(held=held):
            made = _instruction(a, native.FILL, [effect.nbytes], [(effect, True)], "zeros")
            made.writes += held
        case Cell() as cell:
            _add_cell(a, effect, cell)
        case Row(array=array, flags=flags, how=how):
            cells = flags.shape[0] if array.shape[0] else 0
            size = array.nbytes // max(array.shape[0], 1)
            places = [(memory_of(array), how in _CLEARING), (flags, True)]
            _instruction(a, native.ROW, [how, size, cells], places, "array")
            if effect.shape:  # read
                a.alias[effect] = memory_of(array)
        case Stacked() as stacked:
            _add_stacked(a, effect, stacked)


def _add_cell(a: Assembly, effect: Array, cell: Cell) -> None:
    """Point a base at one cell of an array, then read or write there.  The first write to a cell of
    a gradient's array stores, later ones jump to the sum."""
    array = memory_of(cell.array)
    size = cell.array.nbytes // max(cell.array.shape[0], 1)
    place = effect if cell.value is None else _storage(cell.value, "cell")
    a.moving[place] = (array,)
    added = Label()
    head = [0, 0, cell.how, size, cell.array.shape[0], cell.index.kind.bytes]
    index = memory_of(cell.index)
    places = [(place, True), (array, False), (index, False), (cell.flags, True)]
    _instruction(a, native.CELL, head, places, "cell", added if cell.how == ADD else None)
    if cell.value is None:
        return
    if not cell.value.nbytes:
        _label(a, added)
        return
    _instruction(a, native.COPY, [size], [(memory_of(cell.value), False), (place, True)], "write")
    if cell.how == ADD:
        end = Label()
        _instruction(a, native.JUMP, [0, 0], [], "written", end)
        _label(a, added)
        _add_sum(a, place, cell.value)
        _label(a, end)


def _add_sum(a: Assembly, place: Array, value: Array) -> None:
    """Add to what is in a cell."""
    total = _storage(value, "sum")
    a.alias[total] = place
    loops = tuple(Var(n) for n in value.shape)
    index = tuple(map(var, loops))
    ones = tuple(0 if v.extent == 1 else i for v, i in zip(loops, index))
    body = place[ones] + value[ones]
    a.instructions.append(kernel_instruction(schedule_store(total, Compute(loops, body), None)))


def _add_stacked(a: Assembly, array: Array, stacked: Stacked) -> None:
    """Push or pop.  A stack without a known limit is no part of the arena: it grows, and the entry
    that found it full runs again."""
    value = stacked.value
    if value is None:
        a.moving[array] = (stacked.stack,)
        places = [(array, True), (stacked.stack, False), (stacked.height, True)]
        _instruction(a, native.POP, [array.nbytes], places, "pop")
        return
    place = _storage(value, "pushed")
    a.moving[place] = (stacked.stack,)
    places = [(place, True), (stacked.stack, False), (stacked.height, True)]
    room = 0 if stacked.room is None else stacked.room
    made = _instruction(a, native.PUSH, [value.nbytes, room], places, "push")
    if stacked.room is None:
        if stacked.stack not in a.growing:
            a.growing.append(stacked.stack)
        made.entry.grows = a.growing.index(stacked.stack)
    if value.nbytes:
        _instruction(a, native.COPY, [value.nbytes], [(memory_of(value), False), (place, True)], "push")
