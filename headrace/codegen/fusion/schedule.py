"""Group -> kernel: which loops are rows, which sweeps each row needs, what is vectorised.

Stages of one group that run over the same inner loops share a sweep, unless one of them needs the
finished reduction of another.  A value that a later sweep needs again is computed again if that is
cheap, else kept in a temporary of one row.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import prod

from headrace.codegen.fusion.channels import ChannelGroup
from headrace.codegen.fusion.collapse import collapse
from headrace.codegen.fusion.fusion import Group
from headrace.codegen.fusion.generalize import linear, strides
from headrace.codegen.fusion.inlining import CHEAP, weight
from headrace.codegen.fusion.members import Member
from headrace.codegen.ir import kernel_ir as ir
from headrace.codegen.ir.kernel import Acc, Accumulate, Action, Kernel, Store, Sweep
from headrace.codegen.ir.kernel_ir import Array, Compute, Expr, Var, var
from headrace.codegen.ir.stages import Scatter, memory
from headrace.codegen.ir.traverse import loads, rebuild, rewrite, substitute, walk
from headrace.codegen.machine.target import host
from headrace.core.sizes import all_same, hint


@dataclass(slots=True, eq=False)
class _Pass:
    """A sweep under construction."""

    level: int
    loops: tuple[Var, ...]
    actions: list[Action] = field(default_factory=list)
    values: dict[Member, Expr] = field(default_factory=dict)

    @property
    def index(self) -> tuple[Expr, ...]:
        return tuple(map(var, self.loops))

    @property
    def extents(self) -> tuple[int, ...]:
        return tuple(v.extent for v in self.loops)


@dataclass(slots=True, eq=False)
class _Made:
    """Where a member's value is: an expression of the row, or one of a pass."""

    value: Expr
    level: int  # the first one at which it can be used
    home: _Pass | None


ROUNDS = 4  # of a loop over an image at a time, each with sums of its own


class RowSchedule:
    """Sweeps of a group with rows."""

    is_wide = False  # a result of a row is one number

    def __init__(self, group: Group | ChannelGroup, stored: set[Array]) -> None:
        self.group, self.stored, self.rank = group, stored, group.row_rank
        self.rows = tuple(Var(n) for n in group.members[0].extents[: self.rank])
        self.passes: list[_Pass] = []
        self.made: dict[Array, _Made] = {}
        self.kept: dict[Array, Array] = {}  # member -> its temporary
        self.final: list[Action] = []
        self.results: dict[Acc, int] = {}  # reduction -> the first level that may use it
        for member in group.members:
            self.add(member)

    def kernel(self, name: str) -> Kernel:
        sweeps = [Sweep(p.loops, tuple(p.actions)) for p in sorted(self.passes, key=_level)]
        if self.final:
            sweeps.append(Sweep((), tuple(self.final), is_vector=False))
        return finish(self.rows, sweeps, frozenset(self.kept.values()), name)

    def add(self, member: Member) -> None:
        """A member's formula, in the sweep at which all that it reads is there; its value stays in a
        register for later members of the same sweep, and is stored only if somebody outside of the kernel
        reads it."""
        own = {v: var(r) for v, r in zip(member.loops, self.rows)}
        inner = member.loops[self.rank :]
        body = substitute_loops(member.body, own)
        if not inner:
            self.add_row_value(member, body)
            return
        level = self.level_of(body, inner)
        home = self.pass_for(level, tuple(v.extent for v in inner))
        value = self.resolve(body, dict(zip(inner, home.index)), home)
        home.values[member] = value
        self.made[member.array] = _Made(value, level, home)
        if member.array in self.stored:
            index = self.full_index(member, home.index)
            home.actions.append(Store(member.array, index, value))

    def add_row_value(self, member: Member, body: Expr) -> None:
        value, level = self.reductions(body) if member.is_row else (body, 0)
        level = max(level, self.level_of(value, ()))
        value = self.resolve(value, {}, None)
        self.made[member.array] = _Made(value, level, None)
        if member.array in self.stored:
            self.final.append(Store(member.array, self.full_index(member, ()), value))

    def reductions(self, body: Expr) -> tuple[Expr, int]:
        """Reductions over the row become accumulators of a pass, used above it."""
        made: dict[int, Expr] = {}
        ready = 0
        for x in walk(body):
            args = tuple(made[id(a)] for a in x.args)
            new = x if all(a is b for a, b in zip(args, x.args)) else rebuild(x, args)
            if x.op == "reduce" and not any(isinstance(v, Var) and v not in self.rows for v in x.free):
                how, loops = x.extra
                new, after = self.accumulate(how, loops, new.args[0], x.kind)
                ready = max(ready, after)
            made[id(x)] = new
        return made[id(body)], ready

    def accumulate(self, how: str, loops: tuple[Var, ...], body: Expr, kind: ir.Kind) -> tuple[Expr, int]:
        ones = {v: ir.const(0, ir.INDEX) for v in loops if v.extent == 1}
        inner = tuple(v for v in loops if v.extent != 1)
        level = self.level_of(body, inner)
        home = self.pass_for(level, tuple(v.extent for v in inner))
        value = self.resolve(body, {**ones, **dict(zip(inner, home.index))}, home)
        acc = Acc(how, kind, self.is_wide)
        home.actions.append(Accumulate(acc, value))
        self.results[acc] = level + 1
        return acc.expr, level + 1

    # -- levels ------------------------------------------------------------------------------
    def level_of(self, body: Expr, inner: tuple[Var, ...]) -> int:
        """The first level at which everything the body reads is there."""
        level = 0
        for x in walk(body):
            if x.op == "acc":
                level = max(level, self.results[x.extra])
            elif x.op == "load" and x.extra in self.made:
                made = self.made[x.extra]
                shared = made.home is None or self.is_aligned(x, made.home, inner)
                level = max(level, made.level if shared else made.level + 1)
        return level

    def is_aligned(self, load: Expr, home: _Pass, inner: tuple[Var, ...]) -> bool:
        """Reads the value at the reader's own place in a pass over the same extents."""
        at = self.inner_index(load.args, load.extra)
        same = all_same(home.extents, [v.extent for v in inner])
        return same and len(at) == len(inner) and all(i is var(v) for i, v in zip(at, inner))

    def inner_index(self, args: tuple[Expr, ...], array: Array) -> tuple[Expr, ...]:
        return tuple(i for i, n in zip(args, array.shape) if n != 1)[self.rank :]

    def pass_for(self, level: int, extents: tuple[int, ...]) -> _Pass:
        for p in self.passes:
            if p.level == level and all_same(p.extents, extents):
                return p
        made = _Pass(level, tuple(Var(n) for n in extents))
        self.passes.append(made)
        return made

    # -- values ------------------------------------------------------------------------------
    def resolve(self, body: Expr, inner: dict[Var, Expr], home: _Pass | None) -> Expr:
        """The body with its inner loops named after the pass and other members' values put in."""
        body = substitute_loops(body, inner)

        def change(x: Expr, args: tuple[Expr, ...]) -> Expr | None:
            if x.op != "load" or x.extra not in self.made:
                return None
            made = self.made[x.extra]
            if made.home is None:
                return made.value
            at = self.inner_index(args, x.extra)
            if home is not None and all_same(home.extents, made.home.extents):
                if all(a is b for a, b in zip(at, home.index)):
                    if made.home is home:
                        return made.value
                    if self.is_cheap(x.extra, made.value):
                        return substitute_loops(made.value, dict(zip(made.home.loops, at)))
            return self.from_memory(x, args, at, made)

        return rewrite(body, change)

    def is_cheap(self, array: Array, value: Expr) -> bool:
        """Computed again rather than read again."""
        return weight(value) <= CHEAP

    def from_memory(self, load: Expr, args: tuple[Expr, ...], at: tuple[Expr, ...], made: _Made) -> Expr:
        array = load.extra
        if array in self.stored:
            return array[args]  # type: ignore[no-any-return]
        assert made.home is not None
        kept = self.kept.get(array)
        if kept is None:
            kept = self.kept[array] = Array([v.extent for v in made.home.loops], array.dtype)
            made.home.actions.append(Store(kept, made.home.index, made.value))
        return kept[at]

    def full_index(self, member: Member, inner: tuple[Expr, ...]) -> tuple[Expr, ...]:
        """The member's index, loops of one round included."""
        own = iter((*map(var, self.rows), *inner))
        return tuple(next(own) if n != 1 else ir.const(0, ir.INDEX) for n in member.array.shape)


class ChannelSchedule(RowSchedule):
    """Sweeps of a group whose rows are blocks of channels."""

    is_wide = True

    def kernel(self, name: str) -> Kernel:
        passes = [p for p in sorted(self.passes, key=_level) if p.actions]
        loops = [p.loops for p in passes] + ([()] if self.final else [])
        actions = [p.actions for p in passes] + ([self.final] if self.final else [])
        merged, done = collapse([self.rows, *loops], [[], *actions])
        sweeps = (Sweep(v, tuple(a), False) for v, a in zip(merged[1:], done[1:]))
        width = host().lanes(32)
        return Kernel(merged[0], tuple(sweeps), 1, ROUNDS, name=name, width=width)

    def inner_index(self, args: tuple[Expr, ...], array: Array) -> tuple[Expr, ...]:
        if len(args) != 5:
            return ()
        return tuple(args[axis] for axis in (0, 2, 3) if array.shape[axis] != 1)

    def is_cheap(self, array: Array, value: Expr) -> bool:
        """What is in memory has just been there: it is in a cache."""
        return array not in self.stored

    def full_index(self, member: Member, inner: tuple[Expr, ...]) -> tuple[Expr, ...]:
        (block,), lane = map(var, self.rows), ir.lane(host().lanes(32))
        shape = member.array.shape
        if len(shape) == 1:
            return (block * lane.extra + lane,)
        if len(shape) == 2:
            return (block, lane)
        own = iter(inner)
        n, h, w = (next(own) if shape[a] != 1 else ir.const(0, ir.INDEX) for a in (0, 2, 3))
        return (n, block, h, w, lane)


def _level(p: _Pass) -> int:
    return p.level


def substitute_loops(body: Expr, values: dict[Var, Expr]) -> Expr:
    """Only the given loops change; reductions keep theirs."""
    if not values:
        return body
    return rewrite(body, lambda x, args: values.get(x.extra) if x.op == "var" else None)


def flat_kernel(group: Group, stored: set[Array], name: str) -> Kernel:
    """All members element by element over the same loops."""
    loops = tuple(Var(n) for n in group.members[0].extents)
    index = tuple(map(var, loops))
    values: dict[Array, Expr] = {}
    actions: list[Action] = []
    for m in group.members:
        body = substitute_loops(m.body, dict(zip(m.loops, index)))
        value = rewrite(body, lambda x, args: values.get(x.extra) if x.op == "load" else None)
        values[m.array] = value
        if m.array in stored:
            own = iter(index)
            at = tuple(next(own) if n != 1 else ir.const(0, ir.INDEX) for n in m.array.shape)
            actions.append(Store(m.array, at, value))
    return finish_flat(loops, actions, name)


def is_flat(group: Group) -> bool:
    """Every member has the same loops, and reads others at its own index."""
    first = group.members[0]
    if group.exact is not None or any(not all_same(m.extents, first.extents) for m in group.members):
        return False
    for m in group.members:
        for load in loads(m.body):
            if group.find(load.extra) is not None:
                at = [i for i, n in zip(load.args, load.extra.shape) if n != 1]
                if not all(i is var(v) for i, v in zip(at, m.loops)):
                    return False
    return True


def schedule_group(group: Group | ChannelGroup, stored: set[Array], name: str = "kernel") -> Kernel:
    if isinstance(group, ChannelGroup):
        return ChannelSchedule(group, stored).kernel(name)
    if is_flat(group):
        return flat_kernel(group, stored, name)
    return RowSchedule(group, stored).kernel(name)


def schedule_store(
    array: Array, made: Compute, offset: tuple[int, ...] | None, name: str = "store"
) -> Kernel:
    """One stage written into an array, at an offset."""
    loops = tuple(v for v in made.vars if v.extent != 1)
    return finish_flat(loops, [stored_at(array, made, offset, loops)], name)


def stored_at(array: Array, made: Compute, offset: tuple[int, ...] | None, loops: tuple[Var, ...]) -> Store:
    """The stage over these loops, which are as long as its own."""
    own = iter(loops)
    at = [var(next(own)) if v.extent != 1 else ir.const(0, ir.INDEX) for v in made.vars]
    changed = {v: i for v, i in zip(made.vars, at) if i is not var(v)}
    body = substitute(made.body, changed) if changed else made.body
    if offset is not None:
        at = [i + start for i, start in zip(at, offset)]
    return Store(array, tuple(at), body)


TOGETHER = 64  # parts that share a kernel: single elements
ALIKE = 8  # and larger ones
Part = tuple[tuple[int, ...], Compute]  # an offset, and what is stored from there on


def schedule_parts(array: Array, parts: list[Part], name: str = "assemble") -> list[Kernel]:
    """Blocks side by side.  Columns share a kernel, and so do single elements: a stack of scalars is
    common, and columns often have much in common.  Larger blocks do if they read the same arrays,
    such as the gradients of a cell's gates."""
    kernels = []
    by_size: dict[tuple[int, ...], list[Part]] = {}
    for offset, made in parts:
        by_size.setdefault(tuple(v.extent for v in made.vars), []).append((offset, made))
    for extents, members in by_size.items():
        is_column = all(n == 1 for n in extents[-1:])
        for group in [members] if is_column else _sharing(members):
            loops = tuple(v for v in group[0][1].vars if v.extent != 1)
            actions: list[Action] = [stored_at(array, made, at, loops) for at, made in group]
            most = ALIKE if loops else TOGETHER
            for start in range(0, len(actions), most):
                kernels.append(finish_flat(loops, actions[start : start + most], name))
    return kernels


def _sharing(parts: list[Part]) -> list[list[Part]]:
    """Parts that read an array of each other's."""
    found: list[tuple[set[Array], list[Part]]] = []
    for part in parts:
        read = {memory(x.extra) for x in loads(part[1].body)}
        for arrays, group in found:
            if not arrays.isdisjoint(read):
                arrays |= read
                group.append(part)
                break
        else:
            found.append((read, [part]))
    return [group for _, group in found]


def schedule_scatter(array: Array, scatter: Scatter, name: str = "scatter") -> Kernel:
    """One place after the other; only a last loop that walks along the array is vectorised."""
    loops = tuple(v for v in scatter.vars if v.extent != 1)
    ones = {v: ir.const(0, ir.INDEX) for v in scatter.vars if v.extent == 1}
    place = tuple(substitute(p, ones) for p in scatter.place)
    value = substitute(scatter.value, ones)
    last = loops[-1] if loops else None
    along = (
        last is not None
        and bool(place)
        and place[-1] is var(last)
        and not any(last in p.free for p in place[:-1])
    )
    store = Store(array, place, value, scatter.how)
    sweep = Sweep(loops, (store,), is_vector=along)
    lanes, unroll = shape_of_code([sweep])
    return Kernel((), (sweep,), lanes, unroll, name=name)


# -- finishing -----------------------------------------------------------------------------------
SHORT_ROW = 16  # elements


def finish_flat(loops: tuple[Var, ...], actions: list[Action], name: str) -> Kernel:
    """A kernel whose loops are all alike.  One loop is cut by threads at any element (`is_ranged`);
    accesses that cross rows and columns are tiled, so that both are read in whole vectors; very
    short rows are taken two loops at a time."""
    (merged,), (done,) = collapse([loops], [actions])
    if not merged:
        return Kernel((), (Sweep((), tuple(done), is_vector=False),), 1, 1, name=name)
    sweep = Sweep(merged[-1:], tuple(done))
    lanes, unroll = shape_of_code([sweep], merged[:-1])
    across = crossing_loop(merged, done)
    if across is not None and lanes <= 16:
        block = Var(-(-across.extent // lanes))
        rows = tuple(v for v in merged[:-1] if v is not across)
        tiled = Sweep(merged[-1:], tuple(done), tile=(across, block))
        return Kernel((*rows, block), (tiled,), lanes, 1, name=name)
    if len(merged) > 2 and hint(merged[-1].extent) <= SHORT_ROW and hint(merged[-2].extent) >= SHORT_ROW:
        # A row of a few elements is too little to count rows for: such as a block of channels.
        both = Sweep(merged[-2:], tuple(done))
        return Kernel(merged[:-2], (both,), lanes, 1, name=name)
    return Kernel(merged[:-1], (sweep,), lanes, unroll, is_ranged=len(merged) == 1, name=name)


def crossing_loop(loops: tuple[Var, ...], actions: list[Action]) -> Var | None:
    """The loop along which memory is read while the last loop strides through it: a transpose.
    Squares of it are read as rows, turned in registers and written as rows."""
    if len(loops) < 2 or any(x.op == "reduce" for a in actions for x in walk(a.value)):
        return None
    found: dict[Var, int] = {}
    for action in actions:
        for load in loads(action.value):
            steps = _steps(load.args, load.extra)
            if abs(steps.get(loops[-1], 0)) > 1:
                for v in loops[:-1]:
                    if steps.get(v) == 1:
                        found[v] = found.get(v, 0) + 1
        if isinstance(action, Store) and _steps(action.index, action.array).get(loops[-1]) != 1:
            return None
    best = max(found, key=found.__getitem__, default=None)
    if best is None or min(hint(best.extent), hint(loops[-1].extent)) < 8:
        return None
    return best


def _steps(index: tuple[Expr, ...], array: Array) -> dict[Var, int]:
    terms, _ = linear(index, strides(array.shape))
    return {t.extra: f for t, f in terms if t.op == "var"}


def finish(rows: tuple[Var, ...], sweeps: list[Sweep], temporaries: frozenset[Array], name: str) -> Kernel:
    parts, actions = collapse([rows, *(s.loops for s in sweeps)], [[], *(list(s.actions) for s in sweeps)])
    done = [
        Sweep(loops, tuple(acts), s.is_vector and bool(loops))
        for s, loops, acts in zip(sweeps, parts[1:], actions[1:])
    ]
    lanes, unroll = shape_of_code(done, parts[0])
    return Kernel(parts[0], tuple(done), lanes, unroll, temporaries=temporaries, name=name)


WORTH = 1 << 21  # element-operations from which more copies save what it takes to compile them


def shape_of_code(sweeps: list[Sweep], rows: tuple[Var, ...] = ()) -> tuple[int, int]:
    """Lanes per vector and copies per round.  The narrowest of the wide kinds fills a register."""
    values = [a.value for s in sweeps for a in s.actions]
    kinds = [x.kind for x in walk(*values) if x.kind not in (ir.BOOL, ir.INDEX)]
    kinds += [a.array.kind for s in sweeps for a in s.actions if isinstance(a, Store)]
    bits = min((max(k.bits, 32) for k in kinds), default=32)
    if kinds and all(k.bits == 8 or k is ir.BOOL for k in kinds):
        bits = 8
    lanes = host().lanes(bits)
    longest = max((prod(hint(v.extent) for v in s.loops[-1:]) for s in sweeps if s.is_vector), default=1)
    if longest < 4 * lanes:
        return lanes, 1
    heavy = sum(weight(v) for v in values)
    if not any(isinstance(a, Accumulate) for s in sweeps for a in s.actions):
        most = max(prod(hint(v.extent) for v in (*rows, *s.loops)) for s in sweeps)
        if heavy * most < WORTH:
            return lanes, 2
    # A long chain waits for its own results: more copies fill the gaps.
    many = 12 if heavy > 100 else 8 if heavy > 60 else 4
    return lanes, many if longest >= 64 * lanes else 4
