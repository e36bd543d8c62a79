"""Loops and conditionals as single nodes, with plans inside: what `structure` makes of primitives.

    loop:    while condition(carried, invariants): carried = body(carried, invariants, shared)
    branch:  one of two plans runs, as the first input says
    segment: a plan that runs as it is, once its inputs are there

The inputs of a loop's node are the carried values at the start, then the invariants; its outputs are
the carried values at the end.  `shared` are values of the condition's plan that the body uses too.
The inputs of a branch's node are the condition, what the false side captures, what the true side does.
An output that only one side gives has no value where the other one runs: who uses it knows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from headrace.ops.declaration.declare import Op
from headrace.ops.declaration.shape_rules import none
from headrace.ops.declaration.signature import parse
from headrace.ops.declaration.traits import IDENTITY, STATEFUL
from headrace.plan.plan import Edge, Plan, PlanNode, is_handle

LOOP = Op("_Loop", parse("->", {}), None, none, frozenset({STATEFUL}))
BRANCH = Op("_Branch", parse("->", {}), None, none, frozenset({STATEFUL}))
SEGMENT = Op("_Segment", parse("->", {}), None, none, frozenset({STATEFUL}))


@dataclass(frozen=True, slots=True, eq=False)
class Loop:
    condition: Plan  # fetches: the condition, then the shared values
    body: Plan  # fetches: the carried values of the next iteration
    carried: int


@dataclass(frozen=True, slots=True, eq=False)
class Branch:
    sides: tuple[Plan, Plan]  # false, true
    gives: tuple[tuple[int | None, ...], tuple[int | None, ...]]  # output -> fetch of that side


@dataclass(frozen=True, slots=True, eq=False)
class Segment:
    plan: Plan  # feeds are the inputs of its node, fetches the outputs


def loop_of(node: PlanNode) -> Loop:
    found: Loop = node.attrs["loop"]
    return found


def branch_of(node: PlanNode) -> Branch:
    found: Branch = node.attrs["branch"]
    return found


def segment_of(node: PlanNode) -> Segment:
    found: Segment = node.attrs["segment"]
    return found


def is_unit(node: PlanNode) -> bool:
    return node.op is LOOP or node.op is BRANCH or node.op is SEGMENT


def inner_plans(node: PlanNode) -> tuple[Plan, ...]:
    """The plans inside of a unit; none for other nodes."""
    if node.op is LOOP:
        loop = loop_of(node)
        return loop.condition, loop.body
    if node.op is SEGMENT:
        return (segment_of(node).plan,)
    return branch_of(node).sides if node.op is BRANCH else ()


def inner_nodes(node: PlanNode) -> Iterator[PlanNode]:
    """All nodes inside of a unit, at any depth, without what is fed to it."""
    for plan in inner_plans(node):
        feeds = set(plan.feeds)
        for inner in plan.nodes.values():
            if inner.name not in feeds:
                yield inner
                yield from inner_nodes(inner)


def has_units(plan: Plan) -> bool:
    return any(is_unit(n) for n in plan.nodes.values())


def unit_attrs(unit: Loop | Branch | Segment) -> dict[str, Any]:
    return {type(unit).__name__.lower(): unit}


def handed_on(node: PlanNode, index: int) -> Edge | None:
    """The reference or handle that comes out of a unit as this output, where all of its sides hand on the
    same one; None where that is not certain."""
    if node.op is SEGMENT:
        parts = [(segment_of(node).plan, index, node.inputs)]
    elif node.op is BRANCH:
        branch = branch_of(node)
        middle = 1 + len(branch.sides[0].feeds)
        captured = node.inputs[1:middle], node.inputs[middle:]
        places = [gives[index] for gives in branch.gives]
        parts = [(s, p, c) for s, p, c in zip(branch.sides, places, captured) if p is not None]
    else:
        return None
    found = {_source(plan, plan.fetches[place], inputs) for plan, place, inputs in parts}
    return found.pop() if len(found) == 1 else None


def _source(plan: Plan, edge: Edge, inputs: Sequence[Edge]) -> Edge | None:
    """Which of a unit's inputs an edge of the plan inside leads back to."""
    while edge.node not in plan.feeds:
        node = plan.nodes[edge.node]
        if is_unit(node):
            source = handed_on(node, edge.index)
        elif IDENTITY in node.op.traits or node.outputs[edge.index].dtype.is_ref:
            source = next((e for e in node.inputs if is_handle(plan.dtype(e))), None)
        else:
            source = None
        if source is None:
            return None
        edge = source
    return inputs[plan.feeds.index(edge.node)]
