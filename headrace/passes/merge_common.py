"""Nodes that compute the same become one: same op, inputs, attributes, device and control inputs."""

from __future__ import annotations

from typing import Any

from headrace.ops.declaration.traits import COMMUTATIVE, CONTROL_FLOW, DIFFERENT_EACH_TIME, HOST, SOURCE
from headrace.plan.plan import Edge, Plan, PlanNode
from headrace.plan.rewrite import Rule, apply_rules, rule

_NEVER = frozenset({CONTROL_FLOW, DIFFERENT_EACH_TIME, HOST, SOURCE})


def merge_common(plan: Plan) -> Plan:
    """Let the first of equal nodes stand for the others."""
    waited_for = {name for n in plan.nodes.values() for name in n.control}
    first: dict[Any, str] = {}

    @rule()
    def merge(match):  # type: ignore[no-untyped-def]
        """f(x), f(x) -> one f(x), used twice"""
        node = match.node
        if node.has_effect or node.op.traits & _NEVER or node.name in waited_for or not node.outputs:
            return None
        key = _key(node)
        if key is None:
            return None
        kept = first.setdefault(key, node.name)
        if kept == node.name:
            return None
        return [Edge(kept, i) for i in range(len(node.outputs))]

    rules: list[Rule] = [merge]
    return apply_rules(plan, rules, limit=1)


def _key(node: PlanNode) -> Any:
    inputs: tuple[Edge, ...] = node.inputs
    if COMMUTATIVE in node.op.traits:
        inputs = tuple(sorted(inputs))
    attrs = tuple((k, v) for k, v in node.attrs.items() if not k.startswith("_"))
    key = (node.op.name, inputs, attrs, node.device, node.control, node.outputs)
    try:
        hash(key)
    except TypeError:
        return None
    return key
