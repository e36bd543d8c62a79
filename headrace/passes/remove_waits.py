"""Waiting for a computation without effect means waiting for the effects it depends on, no more.

    y ^f(g(read))  ->  y ^read          f and g are pure: nobody can see whether they ran

TF's optimizers gate every gradient by all gradients of the same node; without this pass a step
computes the gradients of its inputs for nobody.  Plans with branches or loops keep their edges: there
a control edge also says whether a node runs at all.
"""

from __future__ import annotations

from dataclasses import replace

from headrace.ops.declaration.traits import CONTROL_FLOW
from headrace.plan.plan import Plan, PlanNode

LIMIT = 16  # effects behind one edge: more are not worth the new edges


def remove_waits(plan: Plan) -> Plan:
    if not any(n.control for n in plan.nodes.values()):
        return plan
    if any(CONTROL_FLOW in n.op.traits for n in plan.nodes.values()):
        return plan
    behind: dict[str, frozenset[str] | None] = {}  # None: too many
    for node in plan.nodes.values():
        behind[node.name] = _effects(plan, node, behind)
    nodes = []
    for node in plan.nodes.values():
        control = _control(node, behind)
        nodes.append(node if control == node.control else replace(node, control=control))
    return plan.rebuilt(nodes)


def _effects(plan: Plan, node: PlanNode, behind: dict[str, frozenset[str] | None]) -> frozenset[str] | None:
    """What waiting for this node really waits for."""
    if node.has_effect or any(plan.dtype(e).is_ref for e in node.inputs):
        return frozenset({node.name})
    found: frozenset[str] = frozenset()
    for name in {*(e.node for e in node.inputs), *node.control}:
        more = behind[name]
        if more is None:
            return None
        found |= more
    return found if len(found) <= LIMIT else None


def _control(node: PlanNode, behind: dict[str, frozenset[str] | None]) -> tuple[str, ...]:
    direct = {e.node for e in node.inputs}
    out: dict[str, None] = {}
    for name in node.control:
        effects = behind[name]
        for effect in [name] if effects is None else sorted(effects):
            if effect not in direct:
                out[effect] = None
    return tuple(out)
