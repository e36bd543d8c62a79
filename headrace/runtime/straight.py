"""Straight-line execution: a piece without control-flow primitives, op by op, in the plan's order.

Values live in numbered registers; a register is emptied after its last use, so memory is freed early
and an update may happen in place.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import replace
from typing import Any

from headrace.core.denormals import flushing
from headrace.core.errors import at
from headrace.ops.declaration.resources import Slot
from headrace.ops.declaration.traits import BLOCKING, CONTROL_FLOW, DEFERRED
from headrace.plan.plan import Edge, Plan, PlanNode
from headrace.plan.units import inner_plans, is_unit
from headrace.runtime.kernel import Call, kernel_of
from headrace.runtime.step import Step
from headrace.runtime.units import unit_call


class StraightProgram:
    """A list of calls over registers.  `is_inner`: a part of a larger program, which gives on
    references as such; else what a reference leads to is read when everything has run."""

    def __init__(self, plan: Plan, is_inner: bool = False) -> None:
        """Number the values; after each call those registers are cleared that nobody reads later, so that
        memory is free as soon as possible, and arrays have one owner (in-place updates look at that)."""
        self.plan, self.is_inner = plan, is_inner
        registers = _number(plan)
        self.count = len(registers)
        self.arguments = [registers[Edge(name, 0)] for name in plan.feeds]
        self.results = [registers[e] for e in plan.fetches]
        last = _last_uses(plan)
        kept = {registers[e] for e in plan.fetches}
        feeds, used = set(plan.feeds), {e for n in plan.nodes.values() for e in n.inputs}
        self.calls: list[tuple[Call, tuple[int, ...], tuple[int, ...], tuple[int, ...], PlanNode]] = []
        for node in plan.nodes.values():
            if node.name in feeds:
                continue
            call = self.unit(node) if is_unit(node) else kernel_of(node, [plan.dtype(e) for e in node.inputs])
            outputs = tuple(registers[Edge(node.name, i)] for i in range(len(node.outputs)))
            dead = {registers[e] for e in last.get(node.name, ())}
            dead |= {r for i, r in enumerate(outputs) if Edge(node.name, i) not in used}
            self.calls.append(
                (call, tuple(registers[e] for e in node.inputs), outputs, tuple(dead - kept), node)
            )

    def unit(self, node: PlanNode) -> Call:
        return unit_call(node, inner_program)

    @flushing
    def run(self, step: Step, arguments: Sequence[Any]) -> list[Any]:
        """Call after call, in the plan's order.  A register is emptied after its last reader, which
        frees the memory and lets an update find that it is the only holder.  Cancellation is
        seen between calls."""
        registers: list[Any] = [None] * self.count
        for index, value in zip(self.arguments, arguments):
            registers[index] = value
        cancel, trace = step.cancel, step.trace
        for call, inputs, outputs, dead, node in self.calls:
            if cancel.reason is not None:
                raise cancel.reason
            try:
                if trace is not None and not is_unit(node):
                    with trace.kernel(node):
                        values = call([registers[i] for i in inputs], step)
                else:
                    values = call([registers[i] for i in inputs], step)
                if type(values) is not tuple and isinstance(values, Future):
                    values = values.result()
                for index, value in zip(outputs, values):
                    registers[index] = value.result() if isinstance(value, Future) else value
            except BaseException as error:
                raise at(error, node) from error.__cause__
            for index in dead:
                registers[index] = None
        found = [registers[i] for i in self.results]
        return found if self.is_inner else read_references(self.plan, found)


def read_references(plan: Plan, fetched: list[Any]) -> list[Any]:
    """What is fetched, with the values of variables where references to them were: as all of the step left
    them."""
    for place, value in enumerate(fetched):
        if isinstance(value, Slot):
            try:
                fetched[place] = value.read()
            except Exception as error:
                raise at(error, plan.nodes[plan.fetches[place].node]) from None
    return fetched


def inner_program(plan: Plan) -> StraightProgram:
    return StraightProgram(plan, is_inner=True)


def _number(plan: Plan) -> dict[Edge, int]:
    edges = (Edge(n.name, i) for n in plan.nodes.values() for i in range(len(n.outputs)))
    return {edge: i for i, edge in enumerate(edges)}


def _last_uses(plan: Plan) -> dict[str, list[Edge]]:
    last: dict[Edge, str] = {}
    for node in plan.nodes.values():
        for edge in node.inputs:
            last[edge] = node.name
    out: dict[str, list[Edge]] = {}
    for edge, name in last.items():
        out.setdefault(name, []).append(edge)
    return out


def has_control_flow(plan: Plan) -> bool:
    return any(CONTROL_FLOW in n.op.traits for n in plan.nodes.values())


def is_straight(plan: Plan) -> bool:
    """No frames, no dead values, nothing that may wait for another op of the same step: of the nodes
    that answer later, each needs the one before it."""
    followers: set[str] | None = None  # of the last node that answers later, itself included
    for node in plan.nodes.values():
        if node.op.traits & {CONTROL_FLOW, BLOCKING}:
            return False
        if not all(map(is_straight, inner_plans(node))):
            return False
        follows = followers is not None and not followers.isdisjoint(
            [*(e.node for e in node.inputs), *node.control]
        )
        if DEFERRED in node.op.traits:
            if followers is not None and not follows:
                return False
            followers = {node.name}
        elif follows and followers is not None:
            followers.add(node.name)
    return True


def waiting_last(plan: Plan) -> Plan:
    """The same plan; what does not need the answer of a node that answers later comes before that node, and
    so has happened even where no answer comes.  (Where something waits, edges say which order matters.)"""
    followers: set[str] = set()
    for node in plan.nodes.values():
        sources = {*(e.node for e in node.inputs), *node.control}
        if DEFERRED in node.op.traits or not followers.isdisjoint(sources):
            followers.add(node.name)
    if not followers:
        return plan
    nodes = sorted(plan.nodes.values(), key=lambda n: n.name in followers)
    return replace(plan, nodes={n.name: n for n in nodes})
