"""Nodes whose inputs are constants become constants: never what has an effect or would be large.

A constant may wait for the branch it stands on; what is folded from it waits for the same.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from headrace.core.denormals import flushing
from headrace.core.errors import KERNEL_ERRORS
from headrace.core.shapes import make_shape
from headrace.graph.attrs import Literal
from headrace.ops.array.constant import const
from headrace.ops.declaration.building.build import group
from headrace.ops.declaration.traits import CONTROL_FLOW, DIFFERENT_EACH_TIME, HOST
from headrace.plan.plan import Edge, Output, Plan, PlanNode

LIMIT = 10 << 20  # bytes of one folded value


@flushing
def fold_constants(plan: Plan) -> Plan:
    """Replace nodes whose inputs are all constants by their values, in the plan's order, so that one folded
    node folds the next."""
    known: dict[Edge, Any] = {}
    nodes: list[PlanNode] = []
    replaced: dict[Edge, Edge] = {}
    waits: dict[str, tuple[str, ...]] = {}  # control inputs of constants
    feeds = set(plan.feeds)
    for node in plan.nodes.values():
        if node.name in feeds:
            nodes.append(node)
            continue
        if node.op is const:
            known[Edge(node.name, 0)] = node.attrs["value"].array
            waits[node.name] = node.control
            nodes.append(node)
            continue
        node = node.with_inputs([replaced.get(e, e) for e in node.inputs])
        values = _values(plan, node, known)
        if values is None:
            nodes.append(node)
            continue
        node = replace(node, control=_waits(node, waits))
        waits[node.name] = node.control
        if len(values) == 1:
            nodes.append(_constant(node, node.name, values[0], 0))
            known[Edge(node.name, 0)] = values[0]
            continue
        # Several outputs: one constant each, beside the node's own name for control edges.
        for i, value in enumerate(values):
            name = node.name if i == 0 else f"{node.name}/_folded_{i}"
            nodes.append(_constant(node, name, value, i))
            known[Edge(name, 0)] = value
            waits[name] = node.control
            if i:
                replaced[Edge(node.name, i)] = Edge(name, 0)
    fetches = tuple(replaced.get(e, e) for e in plan.fetches)
    return plan.rebuilt(nodes, fetches=fetches)


def _waits(node: PlanNode, waits: dict[str, tuple[str, ...]]) -> tuple[str, ...]:
    inherited = [name for e in node.inputs for name in waits[e.node]]
    return tuple(dict.fromkeys([*node.control, *inherited]))


def _constant(node: PlanNode, name: str, value: Any, index: int) -> PlanNode:
    dtype = node.outputs[index].dtype
    return replace(
        node,
        name=name,
        op=const,
        inputs=(),
        input_types=(),
        attrs={"value": Literal(value, dtype), "dtype": dtype},
        outputs=(Output(dtype, make_shape(value.shape)),),
    )


def _values(plan: Plan, node: PlanNode, known: dict[Edge, Any]) -> list[Any] | None:
    """What the node gives, or None: it may not be folded, fails (in its own place, when it runs), or is too
    large to be kept in a plan."""
    op = node.op
    if (
        op.reference is None
        or op.wants_context
        or node.has_effect
        or not node.outputs
        or op.traits & {CONTROL_FLOW, HOST, DIFFERENT_EACH_TIME}
        or not node.inputs
        or any(e not in known for e in node.inputs)
        or any(o.dtype.kind in "rv" or o.dtype.is_ref for o in node.outputs)
    ):
        return None
    for output in node.outputs:
        count = output.shape.num_elements()
        if count is not None and count * output.dtype.size > LIMIT:
            return None
    try:
        with np.errstate(all="ignore"):
            attrs = dict(node.attrs)
            result = op.compute(group([known[e] for e in node.inputs], op, attrs), attrs)
    except KERNEL_ERRORS:
        return None  # it fails in its own place, with its own line, when it runs
    parts = result if isinstance(result, (tuple, list)) else (result,)
    flat = [x for p in parts for x in (p if isinstance(p, list) else (p,))]
    values = [np.array(v).astype(o.dtype.numpy) for v, o in zip(flat, node.outputs)]
    return values if all(v.nbytes <= LIMIT for v in values) else None
