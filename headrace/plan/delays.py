"""Which nodes wait longer than they must, so that segments are larger.

In: what each node of a plan needs (plan.needs).  Out: the same, with more for some nodes.  Nobody else
waits longer for that: a node is delayed only until those run who use it.

Light nodes go to the segment that uses them, if it is one: it computes them in passing.

Tensor arrays and stacks: all that use one are put into one segment, where it is plain memory of a
compiled program.  The weights of a recurrent network may come from another device, and what fills the
arrays that its loop reads need not wait for them, but may:

    array = TensorArray   needs nothing     ->  needs a Recv
    loop(array, weights)  needs a Recv          needs a Recv

What an array's users do to it nobody sees after the step: so it does not matter that, where the last of
them is dead, none of them runs.
"""

from __future__ import annotations

from collections.abc import Mapping

from headrace.ops.declaration.traits import TEMPORARY
from headrace.plan.plan import Plan, PlanNode, is_handle
from headrace.plan.units import inner_nodes, is_unit


def delayed(plan: Plan, needs: Mapping[str, int], apart: set[str]) -> dict[str, int]:
    """What each node waits for, those in `apart` for no more than they must."""
    found = dict(needs)
    users = _users(plan)
    kept = apart.union(plan.targets, (e.node for e in plan.fetches))
    _gather_arrays(plan, users, kept, found)
    _sink(plan, users, kept, found)
    return found


def is_heavy(node: PlanNode) -> bool:
    """Worth a program of its own, and worth beginning early: a loop, a matrix product, an update of a
    variable."""
    return is_unit(node) or bool(node.op.library_rules) or node.writes


# -- light nodes ----------------------------------------------------------------------------------
def _sink(plan: Plan, users: Mapping[str, set[str]], kept: set[str], needs: dict[str, int]) -> None:
    for node in reversed(list(plan.nodes.values())):
        name = node.name
        if name in kept or is_heavy(node) or node.has_effect:
            continue
        if any(is_handle(plan.dtype(e)) for e in node.inputs):
            continue  # when a variable is read matters
        using = users.get(name, set())
        places = {needs[u] for u in using}
        if len(places) == 1 and using.isdisjoint(kept):
            needs[name] = places.pop()


# -- arrays ---------------------------------------------------------------------------------------
def _gather_arrays(plan: Plan, users: Mapping[str, set[str]], kept: set[str], needs: dict[str, int]) -> None:
    """Users of an array wait for what the last of them waits for, if it waits for all that."""
    arrays = _arrays(plan)
    made_by = {n: maker for maker, members in arrays.items() for n in members}
    lasting = {n.name for n in plan.nodes.values() if _has_lasting_effect(plan, n, made_by)}
    for members in arrays.values():
        last = 0
        for name in members:
            last |= needs[name]
        if any(needs[name] == last for name in members):
            early = _earlier(members, users, needs, last)
            if early.isdisjoint(kept) and early.isdisjoint(lasting):
                needs |= dict.fromkeys(early, last)


def _arrays(plan: Plan) -> dict[str, list[str]]:
    """The users of each array or stack, by the node that makes it."""
    made_by: dict[str, str] = {}
    users: dict[str, list[str]] = {}
    for node in plan.nodes.values():
        makers = [made_by[e.node] for e in node.inputs if e.node in made_by and plan.dtype(e).kind == "r"]
        if TEMPORARY in node.op.traits:
            makers.append(node.name)
        for maker in dict.fromkeys(makers):
            users.setdefault(maker, []).append(node.name)
        if makers and any(o.dtype.kind == "r" for o in node.outputs):
            made_by[node.name] = makers[0]
    return users


def _has_lasting_effect(plan: Plan, node: PlanNode, made_by: Mapping[str, str]) -> bool:
    """Whether it does more than to compute and to use arrays: it must run, wherever that is."""
    if any(is_handle(plan.dtype(e)) and e.node not in made_by for e in node.inputs):
        return True
    nodes = inner_nodes(node) if is_unit(node) else (node,)
    return any(n.has_effect and not _uses_resource(n) for n in nodes)


def _uses_resource(node: PlanNode) -> bool:
    return TEMPORARY in node.op.traits or any(t.kind == "r" for t in node.input_types)


def _earlier(
    members: list[str], users: Mapping[str, set[str]], needs: Mapping[str, int], last: int
) -> set[str]:
    """The members that would not wait for all of `last`, and who comes behind them."""
    found: set[str] = set()
    stack = [name for name in members if needs[name] != last]
    while stack:
        name = stack.pop()
        if name not in found:
            found.add(name)
            stack += [u for u in users.get(name, ()) if needs[u] & last != last]
    return found


def _users(plan: Plan) -> dict[str, set[str]]:
    users: dict[str, set[str]] = {}
    for node in plan.nodes.values():
        for source in {*(e.node for e in node.inputs), *node.control}:
            users.setdefault(source, set()).add(node.name)
    return users
