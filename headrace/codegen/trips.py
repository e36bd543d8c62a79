"""At most how many iterations a loop makes, where its condition and its counter show it."""

from __future__ import annotations

from typing import Any

from headrace.codegen.kernel_ir import Tensor
from headrace.ops.traits import CONSTANT, IDENTITY
from headrace.plan.plan import Edge, Plan
from headrace.plan.units import Loop


def most_trips(s: Any, loop: Loop, starts: list[Tensor], invariants: list[Any]) -> int | None:
    """None where nothing is known.  `s.upper` has upper bounds of scalars."""
    given = dict(zip(loop.condition.feeds, [*starts, *invariants]))
    return _most(s, loop, given, loop.condition.fetches[0])


def _most(s: Any, loop: Loop, given: dict[str, Any], edge: Edge) -> int | None:
    plan = loop.condition
    edge = _source(plan, edge)
    node = plan.nodes[edge.node]
    if node.op.name == "LogicalAnd":
        found = [_most(s, loop, given, e) for e in node.inputs]
        return min((f for f in found if f is not None), default=None)
    if node.op.name != "Less":
        return None
    counter, limit = (_source(plan, e) for e in node.inputs)
    if counter.node not in plan.feeds[: loop.carried]:
        return None
    place = plan.feeds.index(counter.node)
    start, end = _known(given[counter.node]), _upper(s, plan, given, limit)
    step = _step(loop, place)
    if start is None or end is None or step is None:
        return None
    return max(0, -((start - end) // step))


def _source(plan: Plan, edge: Edge) -> Edge:
    while IDENTITY in plan.nodes[edge.node].op.traits:
        edge = plan.nodes[edge.node].inputs[0]
    return edge


def _known(tensor: Any) -> int | None:
    if isinstance(tensor, Tensor) and tensor.value is not None and tensor.shape == ():
        return int(tensor.value)
    return None


def _upper(s: Any, plan: Plan, given: dict[str, Any], edge: Edge) -> int | None:
    node = plan.nodes[edge.node]
    if CONSTANT in node.op.traits:
        value = node.attrs["value"].array
        return int(value) if value.ndim == 0 else None
    if node.op.name == "Minimum":
        ends = [_upper(s, plan, given, _source(plan, e)) for e in node.inputs]
        return min((e for e in ends if e is not None), default=None)
    if edge.node in given and plan.feeds.index(edge.node) >= 0:
        tensor = given[edge.node]
        known = _known(tensor)
        return known if known is not None else s.upper.get(tensor)
    return None


def _step(loop: Loop, place: int) -> int | None:
    """By how much a counter grows in every iteration."""
    plan = loop.body
    edge = _source(plan, plan.fetches[place])
    node = plan.nodes[edge.node]
    if node.op.name not in ("Add", "AddV2"):
        return None
    first, second = (_source(plan, e) for e in node.inputs)
    if first.node != plan.feeds[place]:
        first, second = second, first
    other = plan.nodes[second.node]
    if first.node != plan.feeds[place] or CONSTANT not in other.op.traits:
        return None
    value = other.attrs["value"].array
    return int(value) if value.ndim == 0 and value > 0 else None
