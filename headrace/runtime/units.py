"""Loops, branches and segments (plan.units) as Python calls over the programs of their plans."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from headrace.plan.plan import Plan, PlanNode
from headrace.plan.units import LOOP, SEGMENT, branch_of, loop_of, segment_of
from headrace.runtime.kernel import Call
from headrace.runtime.step import Step

Prepare = Callable[[Plan], Any]  # a plan -> what runs it
PrepareRest = Callable[[PlanNode], Any]  # a loop -> what runs it to its end, or None
HOT = 32  # iterations, of all runs, after which compiling the body pays


def unit_call(
    node: PlanNode,
    prepare: Prepare,
    prepare_hot: Prepare | None = None,
    prepare_growing: Prepare | None = None,
    prepare_rest: PrepareRest | None = None,
) -> Call:
    """`prepare_hot`: for a loop that turns out to be long; `prepare_growing`: for the body of one whose
    arrays change their shapes from turn to turn; `prepare_rest`: for what is left of a long one."""
    if node.op is LOOP:
        hot = prepare_hot or prepare
        return _LoopCall(node, prepare, hot, prepare_growing or hot, prepare_rest)
    if node.op is SEGMENT:
        program = _Lazy(segment_of(node).plan, prepare_hot or prepare)
        return lambda values, step: program.run(step, values)
    return _BranchCall(node, prepare_hot or prepare)


class _Lazy:
    """A program that is made when it is first needed."""

    def __init__(self, plan: Plan, prepare: Prepare) -> None:
        self.plan, self.prepare = plan, prepare
        self.program: Any = None

    def run(self, step: Step, values: Sequence[Any]) -> list[Any]:
        if self.program is None:
            self.program = self.prepare(self.plan)
        found: list[Any] = self.program.run(step, values)
        return found


class _LoopCall:
    def __init__(
        self,
        node: PlanNode,
        prepare: Prepare,
        prepare_hot: Prepare,
        prepare_growing: Prepare,
        prepare_rest: PrepareRest | None,
    ) -> None:
        """Nothing is prepared before the loop runs: many branches never do."""
        loop = loop_of(node)
        self.node, self.prepare_rest = node, prepare_rest
        self.rest: Any = None
        self.carried = loop.carried
        self.cold = _Lazy(loop.condition, prepare), _Lazy(loop.body, prepare)
        self.hot = _Lazy(loop.condition, prepare_hot), _Lazy(loop.body, prepare_hot)
        self.growing = _Lazy(loop.condition, prepare_growing), _Lazy(loop.body, prepare_growing)
        self.best = self.cold  # another one after many turns
        self.turns = 0

    def __call__(self, values: Sequence[Any], step: Step) -> Sequence[Any]:
        """Iterate.  A loop that proves long (HOT turns) is compiled, and goes on
        natively from where it is; with `growing` where shapes change from turn to turn."""
        if self.rest is not None and self.rest.is_native:
            return self._finished(step, values)
        carried, invariants = list(values[: self.carried]), list(values[self.carried :])
        condition, body = self.best
        while True:
            if step.cancel.reason is not None:
                raise step.cancel.reason
            goes_on, *shared = condition.run(step, [*carried, *invariants])
            if not goes_on:
                return carried
            before = _shapes(carried) if self.best is self.cold else []
            carried = body.run(step, [*carried, *invariants, *shared])
            if self.best is self.cold:
                self.turns += 1
                if self.turns >= HOT:
                    is_steady = _shapes(carried) == before
                    self.best = self.hot if is_steady else self.growing
                    if is_steady and self.prepare_rest is not None:
                        self.rest = self.prepare_rest(self.node)
                        if self.rest is not None:
                            return self._finished(step, [*carried, *invariants])
            condition, body = self.best

    def _finished(self, step: Step, values: Sequence[Any]) -> list[Any]:
        """All turns that are left, from these values on."""
        found: list[Any] = self.rest.run(step, values)
        return found


def _shapes(values: Sequence[Any]) -> list[Any]:
    return [getattr(v, "shape", None) for v in values]


class _BranchCall:
    def __init__(self, node: PlanNode, prepare: Prepare) -> None:
        branch = branch_of(node)
        self.sides = [_Lazy(plan, prepare) for plan in branch.sides]
        self.gives = branch.gives
        self.first = len(branch.sides[0].feeds)

    def __call__(self, values: Sequence[Any], step: Step) -> Sequence[Any]:
        side = 1 if values[0] else 0
        captured = values[1 + self.first :] if side else values[1 : 1 + self.first]
        found = self.sides[side].run(step, captured)
        return [None if place is None else found[place] for place in self.gives[side]]
