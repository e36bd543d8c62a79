"""Which nodes of a plan are inside of loops."""

from __future__ import annotations

from headrace.ops.declaration.traits import ENTER, EXIT
from headrace.plan.plan import Plan


def exits(plan: Plan) -> list[str]:
    return [n.name for n in plan.nodes.values() if EXIT in n.op.traits]


def outside_loops(plan: Plan) -> set[str]:
    """The nodes whose results are not those of one iteration."""
    depth: dict[str, int] = {}
    for node in plan.nodes.values():
        sources = [*(e.node for e in node.inputs), *node.control]
        level = max((depth[s] for s in sources if s in depth), default=0)  # back edges come later
        depth[node.name] = level + (ENTER in node.op.traits) - (EXIT in node.op.traits)
    return {name for name, level in depth.items() if not level}
