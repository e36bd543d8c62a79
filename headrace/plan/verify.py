"""What is legal in a plan.  Run after every pass where HEADRACE_VERIFY is set, and in tests."""

from __future__ import annotations

from headrace.plan.plan import Plan, PlanNode, is_back_edge


def verify(plan: Plan, after: str = "") -> None:
    """AssertionError, naming the node and the stage, for a plan that breaks a rule."""
    seen: set[str] = set()
    for node in plan.nodes.values():
        problem = _problem(plan, node, seen)
        assert problem is None, f"{after or 'plan'}: node {node.name} ({node.op.name}): {problem}"
        seen.add(node.name)
    for edge in plan.fetches:
        assert edge.node in plan.nodes, f"{after}: the fetch {edge} has no node"
        outputs = plan.nodes[edge.node].outputs
        assert edge.index < len(outputs), f"{after}: the fetch {edge} is not an output"
    for name in plan.feeds + plan.targets:
        assert name in plan.nodes, f"{after}: {name} is fed or targeted and has no node"


def verify_origins(before: Plan, after: Plan, stage: str) -> None:
    """No pass forgets the user's lines: a node keeps those that it had, a new one has some."""
    for node in after.nodes.values():
        old = before.nodes.get(node.name)
        what = f"{stage}: {'node' if old else 'new node'} {node.name} ({node.op.name})"
        lost = set(old.origins if old else ()) - set(node.origins)
        assert not lost, f"{what} has lost {', '.join(str(o).strip() for o in sorted(lost))}"
        assert old or node.origins or not _has_origins(before), f"{what} names no line"


def _has_origins(plan: Plan) -> bool:
    """A plan from a user's graph; one parsed from text has none."""
    return any(n.origins for n in plan.nodes.values())


def _problem(plan: Plan, node: PlanNode, seen: set[str]) -> str | None:
    """What is wrong with the node, or None: inputs exist, have the declared types, and run before
    it."""
    if len(node.inputs) != len(node.input_types):
        return f"{len(node.inputs)} inputs, {len(node.input_types)} types"
    for edge, declared in zip(node.inputs, node.input_types):
        source = plan.nodes.get(edge.node)
        if source is None:
            return f"the input {edge} has no node"
        if edge.index >= len(source.outputs):
            return f"the input {edge} is not an output of its node"
        if source.outputs[edge.index].dtype.base is not declared.base:
            return f"the input {edge} is {source.outputs[edge.index].dtype}, not {declared}"
        if declared.is_ref and not source.outputs[edge.index].dtype.is_ref:
            return f"the input {edge} must be a reference"
        if edge.node not in seen and not is_back_edge(source, node):
            return f"runs before its input {edge}"
    for name in node.control:
        if name not in seen:
            return f"runs before its control input {name}"
    return None
