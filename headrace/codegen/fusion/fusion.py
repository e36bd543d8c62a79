"""Stages -> groups, each of which becomes one kernel; library calls and scatters stand between
them.

A group has rows: leading dimensions that all its members share.  A member may read another one
only at its own row, so the group runs row by row and its inner values stay in cache or
registers.  Members are `Pointwise` (one value per index; a reduction down the columns counts as
one) or `RowReduction` (one value per row).  The order of items is an order of execution.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from math import prod

from headrace.codegen.fusion import channels
from headrace.codegen.fusion.channels import ChannelGroup
from headrace.codegen.fusion.columns import Columns
from headrace.codegen.fusion.generalize import linear, strides
from headrace.codegen.fusion.inlining import Inlining, collect, dependencies, has_reduction
from headrace.codegen.fusion.members import MAX_MEMBERS, MAX_WEIGHT, Member
from headrace.codegen.fusion.split_reductions import split
from headrace.codegen.ir.kernel_ir import Array, Compute, Expr, Var, var
from headrace.codegen.ir.order import START, Moment
from headrace.codegen.ir.ranges import in_bounds
from headrace.codegen.ir.stages import (
    Assembled,
    BranchStage,
    Called,
    Cell,
    Check,
    LoopStage,
    Made,
    Row,
    Scatter,
    Stacked,
    Update,
    Zeroed,
    memory,
)
from headrace.codegen.ir.traverse import loads, walk
from headrace.core.sizes import all_same, hint

FEW_ROWS, LONG_ROW = 8, 1 << 15  # such groups would leave threads idle


@dataclass(slots=True, eq=False)
class Group:
    """Stages that run in one kernel."""

    members: list[Member] = field(default_factory=list)
    by_array: dict[Array, Member] = field(default_factory=dict)
    weight: int = 0
    exact: int | None = None  # how many dimensions are rows, if a member fixes that
    limit: int = 1 << 30  # and at most how many may be

    def find(self, array: Array) -> Member | None:
        return self.by_array.get(array)

    def append(self, member: Member) -> None:
        self.members.append(member)
        self.by_array[member.array] = member
        self.weight += member.weight

    @property
    def row_rank(self) -> int:
        return self.exact if self.exact is not None else min(self.limit, self.members[0].rank)


@dataclass(slots=True, eq=False)
class ScatterItem:
    """Fill an array, then change it place by place."""

    array: Array
    scatter: Scatter
    start: Compute | None  # how to fill it; None: a copy of `into`


@dataclass(slots=True, eq=False)
class ColumnsItem:
    """Sums down the columns, row by row."""

    array: Array
    how: Columns


@dataclass(slots=True, eq=False)
class AssembleItem:
    array: Array
    parts: list[tuple[tuple[int, ...], Compute]]


@dataclass(slots=True, eq=False)
class CallItem:
    outputs: list[Array]
    called: Called


@dataclass(slots=True, eq=False)
class UnitItem:
    """A loop or a branch, with items of its own."""

    outputs: list[Array]
    stage: LoopStage | BranchStage


@dataclass(slots=True, eq=False)
class EffectItem:
    """Something that is done to memory, at this moment: see stages."""

    array: Array


Item = Group | ChannelGroup | ScatterItem | ColumnsItem | AssembleItem | CallItem | UnitItem | EffectItem


def scattered(updates: Iterable[Array]) -> Iterator[Array]:
    """What a scatter into a variable writes is stored before: it may come from the variable itself,
    which then could not be changed in place."""
    for array in updates:
        if isinstance(array.source, Scatter):
            for load in loads(array.source.value, *array.source.place):
                if load.extra.source is not None:
                    yield load.extra


class Fusion:
    """One program's items, in order; or those of a part of it, whose arrays are made from
    `first` on."""

    def __init__(
        self, outputs: list[Array], updates: list[Update], checks: list[Check], first: Moment = START
    ) -> None:
        """Inline first, then add what is left, stage by stage in order of execution: each goes into an
        item that is there, or into one of its own."""
        self.updates = {u.value: u.variable for u in updates}
        checked = [t for c in checks for t in (c.bad, c.value) if t is not None]
        roots = [*outputs, *checked, *self.updates]
        order = collect(roots, first)
        # What may fail comes before anything that can be seen is changed.
        checked += [t for t in order if isinstance(t.source, (Made, Cell, Row, Stacked))]
        self.checked = checked if first is START else []
        self.inlining = Inlining(order, {*roots, *scattered(self.updates)})
        self.bodies = self.inlining.bodies
        self.items: list[Item] = []
        self.place: dict[Array, int] = {}  # where an array is made
        self.readers: dict[Array, list[int]] = {}  # items that read it from memory
        self.required = {memory(t) for t in self.inlining.required}
        calls: dict[int, CallItem] = {}
        for array in self.inlining.order:
            self.add(array, calls)

    # -- items -------------------------------------------------------------------------------
    def add(self, array: Array, calls: dict[int, CallItem]) -> None:
        """The next stage, by the kind of its source.  All outputs of one call belong to one item."""
        source = array.source
        if array in self.bodies:
            self.add_compute(array, self.bodies[array])
        elif isinstance(source, Called):
            item = calls.get(id(source.call))
            if item is None:
                item = calls[id(source.call)] = CallItem([], source)
                self.append(item, [], source.inputs)
            item.outputs.append(array)
            self.place[array] = self.items.index(item)
        elif isinstance(source, Made):
            self.add_unit(array, source)
        elif isinstance(source, (Zeroed, Cell, Row, Stacked)):
            held = source.held if isinstance(source, Zeroed) else dependencies(array)
            self.append(EffectItem(array), [array], held)
        elif isinstance(source, Scatter):
            self.add_scatter(array, source)
        elif isinstance(source, Assembled):
            self.add_assembled(array, source)

    def add_unit(self, array: Array, source: Made) -> None:
        made = (i for i in self.items if isinstance(i, UnitItem) and i.stage is source.stage)
        item = next(made, None)
        if item is None:
            item = UnitItem([], source.stage)
            self.append(item, [], source.stage.reads)
        item.outputs.append(array)
        self.place[array] = self.items.index(item)

    def append(self, item: Item, made: list[Array], read: object) -> None:
        self.items.append(item)
        position = len(self.items) - 1
        for t in made:
            self.place[t] = position
        self.note_reads(position, read)

    def note_reads(self, position: int, read: object) -> None:
        for t in read:  # type: ignore[attr-defined]
            self.readers.setdefault(memory(t), []).append(position)

    def add_scatter(self, array: Array, source: Scatter) -> None:
        expand = self.inlining.expand
        place = tuple(expand(p) for p in source.place)
        value = expand(source.value)
        start = self.inlining.inlined.get(source.into)
        read = [x.extra for x in loads(value, *place)]
        read += [x.extra for x in loads(start.body)] if start else [source.into]
        scatter = Scatter(source.into, source.vars, place, value, source.how)
        self.append(ScatterItem(array, scatter, start), [array], read)

    def add_assembled(self, array: Array, source: Assembled) -> None:
        parts = []
        for offset, part in source.parts:
            made = self.inlining.inlined.get(part) or _copy(part)
            parts.append((offset, made))
        read = [x.extra for _, made in parts for x in loads(made.body)]
        self.append(AssembleItem(array, parts), [array], read)

    def add_compute(self, array: Array, made: Compute) -> None:
        if array not in self.updates and self.add_to_channels(array, made):
            return
        is_down = goes_down_columns(made.body, tuple(v for v in made.vars if v.extent != 1))
        made, parts = split(array, made, is_down)
        for part, how in parts:
            if isinstance(how, Columns):
                self.append(ColumnsItem(part, how), [part], [x.extra for x in loads(how.term)])
            else:
                self.add_stage(part, how)
        self.add_stage(array, made)

    def add_to_channels(self, array: Array, made: Compute) -> bool:
        """Into a kernel that goes block by block of channels: sums, with what they add up, and what
        is made from them."""
        stage = channels.stage_of(array, made)
        if stage is None:
            return False
        read = [x.extra for x in stage.member.loads]
        latest = max((self.place[t] for t in map(memory, read) if t in self.place), default=-1)
        item = self.items[latest] if latest >= 0 else None
        if isinstance(item, ChannelGroup):
            position = latest if item.join(stage) else None
        else:
            position = self.start_channels(item, latest, stage) if stage.member.is_row else None
        if position is None:
            return False
        self.place[array] = position
        self.note_reads(position, read)
        return True

    def start_channels(self, item: Item | None, position: int, stage: channels.ChannelStage) -> int | None:
        """With the stages that make what is added up, where they are the last thing needed."""
        if isinstance(item, Group) and not any(m.array in self.updates for m in item.members):
            stages = [(m.array, self.bodies[m.array]) for m in item.members if m.array in self.bodies]
            images = [s for t, made in stages if (s := channels.stage_of(t, made)) and s.image]
            group = channels.group_of([*images, stage])
            if group is not None and len(images) == len(item.members):
                self.items[position] = group
                return position
        group = channels.group_of([stage])
        if group is None:
            return None
        self.items.append(group)
        return len(self.items) - 1

    def add_stage(self, array: Array, made: Compute) -> None:
        """Into the first group that may hold it, else into one of its own.  Loops of extent 1 do
        not count, so that [n, 1] and [n] share a loop."""
        loops = tuple(v for v in made.vars if v.extent != 1)
        is_row = has_reduction(made.body) and not goes_down_columns(made.body, loops)
        member = Member(array, loops, made.body, is_row)
        read = [x.extra for x in member.loads]
        for position in self.candidates(member, read):
            group = self.items[position]
            assert isinstance(group, Group)
            if self.may_write(array, position) and self.join(group, member):
                self.place[array] = position
                self.note_reads(position, read)
                return
        group = Group()
        joined = self.join(group, member)
        assert joined
        self.append(group, [array], read)

    # -- choosing a group --------------------------------------------------------------------
    def candidates(self, member: Member, read: list[Array]) -> list[int]:
        """Groups that this stage could join: the latest one it depends on, or, if it depends on
        none, one that reads the same array."""
        places = [self.place[t] for t in map(memory, read) if t in self.place]
        latest = max(places, default=-1)
        found = [latest] if latest >= 0 and isinstance(self.items[latest], Group) else []
        for position in range(len(self.items) - 1, max(latest, len(self.items) - 9), -1):
            group = self.items[position]
            if isinstance(group, Group) and self.shares(group, member, read):
                found.append(position)
        return found

    def shares(self, group: Group, member: Member, read: list[Array]) -> bool:
        """The group reads an array that this stage reads, over the same loops."""
        mine = {memory(t) for t in read if t.count > 1}
        for other in group.members:
            if all_same(other.extents, member.extents) and other.is_row == member.is_row:
                if any(memory(x.extra) in mine for x in other.loads):
                    return True
        return False

    def may_write(self, array: Array, position: int) -> bool:
        """An update comes after the checks, and after whatever reads the old value: then it can
        happen in place."""
        variable = self.updates.get(array)
        if variable is None:
            return True
        if any(self.place.get(t, position) >= position for t in self.checked):
            return False
        return all(p <= position for p in self.readers.get(variable, ()))

    def join(self, group: Group, member: Member) -> bool:
        """Add the member if the group's rows allow it."""
        exact, limit = group.exact, min(group.limit, member.rank)
        related = False
        if member.is_row:
            if exact is not None and exact != member.rank:
                return False
            exact = member.rank
        for load in member.loads:
            other = group.find(load.extra)
            if other is None:
                if group.members and group.find(memory(load.extra)) is not None:
                    return False  # through a reshape: not row by row
                continue
            related = True
            matched = _matched(load, other, member)
            if other.is_row:
                if matched < other.rank:
                    return False
                exact = other.rank if exact is None else exact
            elif matched < other.rank and (exact is None or matched < exact):
                return False
            elif matched == other.rank != member.rank:
                limit = min(limit, other.rank)
        if exact is not None and (exact > limit or any(m.rank < exact for m in group.members)):
            return False
        if group.members and not self.fits(group, member, exact, limit, related):
            return False
        group.exact, group.limit = exact, limit
        group.append(member)
        return True

    def fits(self, group: Group, member: Member, exact: int | None, limit: int, related: bool) -> bool:
        """Whether the member can share the group's loops: the same rows, a bounded size (registers,
        compile time), and rows that keep the threads busy or are short enough to stay in the
        cache."""
        first = group.members[0]
        rank = exact if exact is not None else min(limit, first.rank)
        if not all_same(member.extents[:rank], first.extents[:rank]):
            return False
        if exact is None and not related and not all_same(member.extents, first.extents):
            return False
        everything = [*group.members, member]
        if len(everything) > MAX_MEMBERS or group.weight + member.weight > MAX_WEIGHT:
            return False
        is_uniform = all(all_same(m.extents, first.extents) for m in everything)
        if not is_uniform and any(m.goes_down for m in everything):
            return False  # a reduction down columns needs the lanes of its own result
        if any(m.is_row and m.rank != rank for m in everything):
            return False
        if exact is not None or not is_uniform:
            rows = prod(member.extents[:rank])
            longest = max(hint(m.row_length(rank)) for m in everything)
            return hint(rows) >= FEW_ROWS or longest <= LONG_ROW
        return True


def _matched(load: Expr, other: Member, member: Member) -> int:
    """How many leading dimensions of `other` are read at the reader's own index; -1 if it may be read
    outside in a dimension of one element, which has no loop that would tell."""
    shape = other.array.shape
    if any(n == 1 and not ok for n, ok in zip(shape, in_bounds(load.args, shape))):
        return -1
    index = [i for i, n in zip(load.args, shape) if n != 1]
    matched = 0
    for i, mine in zip(index, member.loops):
        if i is not var(mine):
            break
        matched += 1
    return matched


def _copy(array: Array) -> Compute:
    loops = tuple(Var(n) for n in array.shape)
    return Compute(loops, array[tuple(map(var, loops))])


def goes_down_columns(body: Expr, loops: tuple[Var, ...]) -> bool:
    """Whether the reduction had better run one result per lane: what it reads is contiguous along
    the result, not along the reduction."""
    if not loops:
        return False
    across = along = 0
    for x in walk(body):
        if x.op != "reduce":
            continue
        inner = [v for v in x.extra[1] if v.extent != 1]
        if not inner:
            continue
        for load in loads(x.args[0]):
            steps = {
                atom.extra: step
                for atom, step in linear(load.args, strides(load.extra.shape))[0]
                if atom.op == "var"
            }
            along += abs(steps.get(inner[-1], 0)) == 1
            across += abs(steps.get(loops[-1], 0)) == 1
    if along or not across:
        return False
    return True
