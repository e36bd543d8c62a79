"""How many iterations a loop makes, exactly or at most, where its condition and its counter show it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from headrace.codegen.ir.kernel_ir import Array
from headrace.codegen.ir.order import Moment
from headrace.core.sizes import whole
from headrace.ops.declaration.traits import CONSTANT, IDENTITY
from headrace.ops.math.arithmetic import add, add_v2
from headrace.ops.math.comparison import less
from headrace.ops.math.logical import logical_and
from headrace.plan.plan import Edge, Plan
from headrace.plan.units import Loop

if TYPE_CHECKING:
    from headrace.codegen.lowering.specialize import Given, Specializer


class Trips(NamedTuple):
    """Of a loop that is being walked."""

    first: Moment  # when it begins
    most: int | None  # None where nothing is known
    is_exact: bool


def trips_of(
    s: Specializer, first: Moment, loop: Loop, starts: list[Array], invariants: list[Given]
) -> Trips:
    """What is known of the trip count before the loop runs; `s.upper` has upper bounds of scalars."""
    given = dict(zip(loop.condition.feeds, [*starts, *invariants]))
    return Trips(first, *_most(s, loop, given, loop.condition.fetches[0]))


def _most(s: Specializer, loop: Loop, given: dict[str, Given], edge: Edge) -> tuple[int | None, bool]:
    """An upper bound of the trip count, and whether it is exact."""
    plan = loop.condition
    edge = _source(plan, edge)
    node = plan.nodes[edge.node]
    if node.op is logical_and:
        found = [_most(s, loop, given, e) for e in node.inputs]
        most = min((most for most, _ in found if most is not None), default=None)
        return most, all(is_exact for _, is_exact in found)
    if node.op is not less:
        return None, False
    counter, limit = (_source(plan, e) for e in node.inputs)
    if counter.node not in plan.feeds[: loop.carried]:
        return None, False
    place = plan.feeds.index(counter.node)
    start, (end, is_exact) = _known(given[counter.node]), _upper(s, plan, given, limit)
    step = _step(loop, place)
    if start is None or end is None or step is None:
        return None, False
    return max(0, -((start - end) // step)), is_exact


def _source(plan: Plan, edge: Edge) -> Edge:
    while IDENTITY in plan.nodes[edge.node].op.traits:
        edge = plan.nodes[edge.node].inputs[0]
    return edge


def _known(array: Given) -> int | None:
    if isinstance(array, Array) and array.value is not None and array.shape == ():
        return whole(array.value.item())
    return None


def _upper(s: Specializer, plan: Plan, given: dict[str, Given], edge: Edge) -> tuple[int | None, bool]:
    """An upper bound, and whether it is the value itself."""
    node = plan.nodes[edge.node]
    if CONSTANT in node.op.traits:
        value = node.attrs["value"].array
        return (whole(value.item()), True) if value.ndim == 0 else (None, False)
    if node.op.upper_rule is not None:
        found = [_upper(s, plan, given, _source(plan, e)) for e in node.inputs]
        return node.op.upper_rule(*(end for end, _ in found)), all(is_exact for _, is_exact in found)
    if edge.node in given and plan.feeds.index(edge.node) >= 0:
        array = given[edge.node]
        known = _known(array)
        if known is not None:
            return known, True
        return (s.upper.get(array) if isinstance(array, Array) else None), False
    return None, False


def _step(loop: Loop, place: int) -> int | None:
    """By how much a counter grows in every iteration."""
    plan = loop.body
    edge = _source(plan, plan.fetches[place])
    node = plan.nodes[edge.node]
    if node.op not in (add, add_v2):
        return None
    first, second = (_source(plan, e) for e in node.inputs)
    if first.node != plan.feeds[place]:
        first, second = second, first
    other = plan.nodes[second.node]
    if first.node != plan.feeds[place] or CONSTANT not in other.op.traits:
        return None
    value = other.attrs["value"].array
    return whole(value.item()) if value.ndim == 0 and value > 0 else None
