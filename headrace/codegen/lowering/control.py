"""Loops and branches of a region, specialized to shapes: units (plan.units) -> stages.

A loop's body is walked with leaves in the place of what it carries.  It is walked again where that
shows more than was assumed: a variable that it updates is carried too; a scalar that seemed to stay
the same does not; an array got its memory.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from headrace.codegen.assembly.control_flow import outside
from headrace.codegen.ir.kernel_ir import Array
from headrace.codegen.ir.order import Moment
from headrace.codegen.ir.stages import BranchStage, Carried, LoopStage, Made, Part
from headrace.codegen.lowering.loop_sums import LoopSum, take_out
from headrace.codegen.lowering.trip_count import trips_of
from headrace.codegen.regions.array_ops import Held, is_equal
from headrace.codegen.regions.regions import Key
from headrace.core.records import record
from headrace.ops.declaration.emit import Decline
from headrace.plan.plan import Edge, Plan, PlanNode
from headrace.plan.units import LOOP, branch_of, loop_of

if TYPE_CHECKING:
    from headrace.codegen.lowering.specialize import Given, Specializer

ROUNDS = 12  # walks of one body


def add(s: Specializer, node: PlanNode) -> None:
    """Specialize a unit; `s` is the Specializer."""
    if node.op is LOOP:
        _add_loop(s, node)
    else:
        _add_branch(s, node)


@contextmanager
def scope(s: Specializer, plan: Plan, given: Sequence[Given | None]) -> Iterator[None]:
    """Walk another plan, to which `given` is fed."""
    saved = s.plan, s.values, s.keys
    s.plan, s.values, s.keys = plan, {}, {}
    for name, value in zip(plan.feeds, given):
        s.put(Edge(name, 0), value)
    try:
        yield
    finally:
        s.plan, s.values, s.keys = saved


@contextmanager
def part_of(s: Specializer) -> Iterator[Part]:
    """Collect what happens inside."""
    emitter = s.emitter
    saved = emitter.checks, emitter.effects
    part = Part(Moment.new())
    emitter.checks, emitter.effects = part.checks, part.effects
    try:
        yield part
    finally:
        emitter.checks, emitter.effects = saved


def walk(s: Specializer, plan: Plan, given: Sequence[Given | None]) -> list[Given | None]:
    """The plan's results; None for one whose branch is known not to run."""
    with scope(s, plan, given):
        feeds = set(plan.feeds)
        for node in plan.nodes.values():
            if s.cancel.reason is not None:
                raise s.cancel.reason
            if node.name not in feeds:
                s.emitter.node = node
                s.add(node)
        return [s.given_or_none(e) for e in plan.fetches]


# -- loops -----------------------------------------------------------------------------------------
class _Changed(Exception):
    """The body is not what it was taken for: once more."""


def _add_loop(s: Specializer, node: PlanNode) -> None:
    loop = loop_of(node)
    given = [s.given(e) for e in node.inputs]
    starts = [t for t in given[: loop.carried] if isinstance(t, Array)]
    if len(starts) < loop.carried:
        raise Decline("a loop that carries handles")
    work = _Loop(s, node, starts, given[loop.carried :])
    for _ in range(ROUNDS):
        try:
            work.run()
            return
        except _Changed:
            continue
    raise Decline("a loop that does not settle")


class _Loop:
    """One loop, until its walks agree."""

    def __init__(self, s: Specializer, node: PlanNode, starts: list[Array], invariants: list[Given]) -> None:
        self.s, self.node, self.loop = s, node, loop_of(node)
        self.starts, self.invariants = starts, invariants
        # Flows of tensor arrays are zeros that nobody computes.
        self.same = {i for i, t in enumerate(starts) if is_flow(t)}
        self.states: list[Key] = []  # variables that the body updates

    def run(self) -> None:
        """Lower the loop, and again (`_Changed`) if its body wrote variables that were not carried:
        those must be values of the loop.  A loop that is known not to run leaves its starting
        values."""
        s = self.s
        before, arrays = dict(s.current), dict(s.arrays)
        s.trips.append(trips_of(s, Moment.new(), self.loop, self.starts, self.invariants))
        try:
            stage, results = self.walk()
        finally:
            s.trips.pop()
            after, s.current = s.current, before
        self.check_arrays(arrays)
        new = [k for k in after if after[k] is not before[k] and k not in self.states]
        if new:
            self.states += new
            raise _Changed
        if stage is None:  # known not to run at all
            self.deliver(self.starts)
            return
        s.emitter.effects.append(Array((), "bool", source=Made(stage, -1), name="loop"))
        made = iter([t.result(s) if isinstance(t, LoopSum) else t for t in results])
        self.deliver([t if i in self.same else next(made) for i, t in enumerate(self.starts)])
        for key in self.states:
            s.current[key] = next(made)

    def walk(self) -> tuple[LoopStage | None, list[Array | LoopSum]]:
        """Lower condition and body with leaves for what is carried.  Shapes must not change between
        iterations. Sums that nothing in the loop reads are taken out (`loop_sums`): they become
        one reduction behind the loop."""
        s = self.s
        varying = [t for i, t in enumerate(self.starts) if i not in self.same]
        initial = [*varying, *(s.current[k] for k in self.states)]
        carried = [t.like(Carried(), t.name) for t in initial]
        leaves = iter(carried)
        seen = [t if i in self.same else next(leaves) for i, t in enumerate(self.starts)]
        for key, leaf in zip(self.states, leaves):
            s.current[key] = leaf
        with part_of(s) as condition:
            goes_on, *shared = walk(s, self.loop.condition, [*seen, *self.invariants])
        assert isinstance(goes_on, Array)
        if goes_on.value is not None and not goes_on.value and not condition.effects:
            return None, []
        with part_of(s) as body:
            found = walk(s, self.loop.body, [*seen, *self.invariants, *shared])
        nexts = self.settled(found) + [s.current[k] for k in self.states]
        for start, following in zip(initial, nexts):
            if start.shape != following.shape or start.kind is not following.kind:
                raise Decline(f"{self.node.name} changes a shape from iteration to iteration")
        others = [goes_on, *condition.roots]
        sums = take_out(body, others, initial, carried, nexts) if len(s.trips) == 1 else {}
        kept = [i for i in range(len(initial)) if i not in sums]
        count = len(initial)
        initial, carried, nexts = ([ts[i] for i in kept] for ts in (initial, carried, nexts))
        roots = [*condition.roots, goes_on, *body.roots, *nexts]
        inside = set(carried)
        reads = [t for t in outside(roots, condition.first) if t not in inside]
        stage = LoopStage(
            initial, carried, condition, goes_on, body, nexts, list(dict.fromkeys(reads + initial))
        )
        made = (t.like(Made(stage, i), t.name) for i, t in enumerate(initial))
        return stage, [sums[i] if i in sums else next(made) for i in range(count)]

    def settled(self, results: list[Given | None]) -> list[Array]:
        """The next values of what varies; something that does after all changes the loop."""
        found = [t for t in results if isinstance(t, Array)]
        if len(found) < len(results):
            raise Decline(f"{self.node.name} carries a value that its body does not make")
        wrong = {i for i in self.same if not is_flow(found[i])}
        if wrong:
            self.same -= wrong
            raise _Changed
        return [t for i, t in enumerate(found) if i not in self.same]

    def check_arrays(self, before: dict[Key, Held]) -> None:
        """What arrays from outside have become, they are from the first iteration on."""
        changed = False
        for key, old in before.items():
            new = self.s.arrays[key]
            if new is not old:
                new.check_in_loop(old)
                changed = True
        self.s.arrays = {k: v for k, v in self.s.arrays.items() if k in before or v.outlives(before)}
        changed = changed or len(self.s.arrays) > len(before)
        if changed:
            raise _Changed

    def deliver(self, results: list[Array]) -> None:
        for i, array in enumerate(results):
            self.s.values[Edge(self.node.name, i)] = array


def is_flow(array: Given | None) -> bool:
    return (
        isinstance(array, Array)
        and array.value is not None
        and array.shape == ()
        and array.dtype.name == "float32"
        and not array.value
    )


# -- branches --------------------------------------------------------------------------------------
def _add_branch(s: Specializer, node: PlanNode) -> None:
    """A conditional.  With a known predicate only one side is lowered, in line.  Otherwise both
    sides are lowered as parts, each from the same state of variables and arrays, and their
    results are merged:

    - a value that both sides get from outside unchanged needs no copy;
    - a value of one side alone (its reader is behind the same condition) is merged only if it is
      made inside;
    - a variable that either side writes becomes an output of the conditional;
    - an array created inside of a side ends with it, or, if it is used later, is created before the
      conditional.

    Shapes must agree, since the merged value has one place in memory.
    """
    branch = branch_of(node)
    predicate = s.array(node.inputs[0])
    count = len(branch.sides[0].feeds)
    captured = node.inputs[1 : 1 + count], node.inputs[1 + count :]
    if predicate.value is not None:
        side = 1 if predicate.value else 0
        found = walk(s, branch.sides[side], [s.given_or_none(e) for e in captured[side]])
        for i, place in enumerate(branch.gives[side]):
            s.put(Edge(node.name, i), _result(found, place))
        return
    before = s.current
    sides = [_walked_side(s, branch.sides[k], captured[k], before) for k in (0, 1)]
    s.current = before
    merged = [*_merged_results(s, node, sides), *_merged_states(before, sides)]
    for _, pair in merged:
        if len({(t.shape, t.kind) for t in pair if t is not None}) > 1:
            raise Decline(f"the sides of {node.name} give different shapes")
        for one, value in zip(sides, pair):
            one.part.outputs += [] if value is None else [value]
    no, yes = (one.part for one in sides)
    reads = [predicate, *outside([*no.roots, *yes.roots], no.first)]
    stage = BranchStage(predicate, (no, yes), [pair for _, pair in merged], list(dict.fromkeys(reads)))
    s.emitter.effects.append(Array((), "bool", source=Made(stage, -1), name="branch"))
    for i, (where, pair) in enumerate(merged):
        like = next(t for t in pair if t is not None)
        made = like.like(Made(stage, i), node.name)
        if isinstance(where, Edge):
            s.values[where] = made
        else:
            s.current[where] = made


@record
class _Side:
    """What one side of a conditional does, gives, and leaves in variables."""

    part: Part
    results: list[Given | None]
    current: dict[Key, Array]


Both = tuple[Array | None, Array | None]  # what the sides give for one output


def _walked_side(s: Specializer, plan: Plan, captured: Sequence[Edge], before: dict[Key, Array]) -> _Side:
    """Lower one side, from the variables as they are before the conditional."""
    arrays = dict(s.arrays)
    s.current = dict(before)
    with part_of(s) as part:
        given = [s.given_or_none(e) for e in captured]
        s.branches.append(part.first)
        try:
            results = walk(s, plan, given)
        finally:
            s.branches.pop()
    for key, new in list(s.arrays.items()):
        if key not in arrays and new.is_inside(part.first):
            del s.arrays[key]
        elif key not in arrays:
            new.move_before(part.first)  # another branch may use it
        elif new is not arrays[key]:
            new.check_in_loop(arrays[key])
    return _Side(part, results, s.current)


def _merged_results(s: Specializer, node: PlanNode, sides: list[_Side]) -> Iterator[tuple[Edge, Both]]:
    """The outputs that need memory of their own; the others are handed on as they are."""
    for i, places in enumerate(zip(*branch_of(node).gives)):
        edge = Edge(node.name, i)
        no, yes = (_result(side.results, place) for side, place in zip(sides, places))
        if no is None or yes is None:
            value = yes if no is None else no
            if isinstance(value, Array) and _is_made_inside(value, sides[0].part):
                yield edge, ((None, value) if no is None else (value, None))
            else:
                s.put(edge, value)
        elif _is_same(no, yes):
            s.put(edge, no)
        elif isinstance(no, Array) and isinstance(yes, Array):
            yield edge, (no, yes)
        else:
            raise Decline("the sides of a branch give different handles")


def _merged_states(before: dict[Key, Array], sides: list[_Side]) -> Iterator[tuple[Key, Both]]:
    """The variables that either side writes."""
    for key in before:
        no, yes = (side.current[key] for side in sides)
        if no is not yes:
            yield key, (no, yes)


def _result(found: list[Given | None], place: int | None) -> Given | None:
    """What a side gives; None for nothing, whether nobody asks for it or it is known not to be made."""
    return None if place is None else found[place]


def _is_made_inside(value: Array, first: Part) -> bool:
    """Who uses a value of one side alone knows that this side ran: a constant stays one outside."""
    return value.moment >= first.first and value.value is None


def _is_same(no: Given, yes: Given) -> bool:
    """Both sides give the same: a handle, a value from outside, a constant."""
    if isinstance(no, Array) and isinstance(yes, Array):
        return is_equal(no, yes)
    return no == yes
