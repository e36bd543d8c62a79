"""What an assertion would say of constants is said in advance: then no text is left in the plan, and
it compiles with its assertions.

    Assert(p, "x must be positive:", x)   becomes   _SaidAssert(p, x) {words=("[x must...]", "")}
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from headrace.ops.declaration.traits import CONSTANT, ENTER, IDENTITY, SWITCH
from headrace.ops.math.checks import assert_, said, said_assert
from headrace.plan.plan import Edge, Plan, PlanNode

_PASSES_ON = {IDENTITY, SWITCH, ENTER}


def build_in_texts(plan: Plan) -> Plan:
    found = [n for n in plan.nodes.values() if n.op is assert_]
    if not found:
        return plan
    changed = {n.name: _said(plan, n) for n in found}
    return plan.rebuilt(changed.get(n.name, n) for n in plan.nodes.values())


def _said(plan: Plan, node: PlanNode) -> PlanNode:
    """The assertion with its constant texts built in; only what changes stays an input."""
    limit = node.attrs["summarize"]
    sources = [_constant(plan, e) for e in node.inputs]
    # The condition stays, even a known one: it is an edge that says whether the node runs at all.
    left = [i for i, source in enumerate(sources) if source is None or i == 0]
    words = [
        "" if i in left or source is None else said(np.asarray(source.attrs["value"].array), limit)
        for i, source in enumerate(sources)
    ]
    return replace(
        node,
        op=said_assert,
        inputs=tuple(node.inputs[i] for i in left),
        input_types=tuple(node.input_types[i] for i in left),
        attrs={
            "T": tuple(node.input_types[i].base for i in left[1:]),
            "words": tuple(words[1:]),
            "places": tuple(i - 1 for i in left[1:]),
            "summarize": limit,
        },
    )


def _constant(plan: Plan, edge: Edge) -> PlanNode | None:
    """The constant that comes in here, through branches and into loops."""
    node = plan.nodes[edge.node]
    while node.op.traits & _PASSES_ON and not plan.dtype(edge).is_ref:
        edge = node.inputs[0]
        node = plan.nodes[edge.node]
    return node if CONSTANT in node.op.traits else None
