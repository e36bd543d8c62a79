"""The order of a variable's reads and writes, where edges leave it open, becomes edges.

In: a plan in its running order.  Out: the same plan, in which an access of a variable waits for those
before it that it could disturb: a read for the last write, a write for that and for the reads since.
A straight plan on one device runs in its order anyway and is left alone.  Elsewhere (pieces beside one
another, nodes that wait for a queue) the result would depend on who is quicker.

Two kinds of pairs stay open.  Nodes on branches or in loops: a control edge would also say whether they
run.  And a pair whose first waits for a queue while the second leads to one: it may be what the first
waits for.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from headrace.ops.declaration.traits import BLOCKING, CONTROL_FLOW, DEFERRED, VARIABLE
from headrace.plan.plan import Edge, Plan, PlanNode, is_handle

Variable = tuple[str, ...]  # names what a reference or a handle leads to
_IS_VARIABLE = 3  # device, container, name; of a queue, say, it is the node alone
_WAITS = frozenset({BLOCKING, DEFERRED})


def variables_of(plan: Plan) -> dict[Edge, Variable]:
    """The variable that every reference and every handle of the plan leads to."""
    found: dict[Edge, Variable] = {}
    for node in plan.nodes.values():
        for i, output in enumerate(node.outputs):
            if is_handle(output.dtype):
                found[Edge(node.name, i)] = _variable(node, found)
    return found


def _variable(node: PlanNode, known: dict[Edge, Variable]) -> Variable:
    if VARIABLE in node.op.traits:
        return node.device, node.attrs["container"], node.attrs["shared_name"] or node.name
    return next((known[e] for e in node.inputs if e in known), (node.name,))


def order_state(plan: Plan) -> Plan:
    several = len({n.device for n in plan.nodes.values()}) > 1
    if not several and not any(n.op.traits & _WAITS for n in plan.nodes.values()):
        return plan
    variables = variables_of(plan)
    certain = _certain(plan)
    late, early = _around_waits(plan)
    writes: dict[Variable, str] = {}
    reads: dict[Variable, list[str]] = {}
    nodes = []
    for node in plan.nodes.values():
        before: list[str] = []
        if node.name in certain and VARIABLE not in node.op.traits:
            used = dict.fromkeys(variables[e] for e in node.inputs if e in variables)
            for variable in (v for v in used if len(v) == _IS_VARIABLE):
                last = [writes[variable]] if variable in writes else []
                if node.writes:
                    before += [*last, *reads.pop(variable, [])]
                    writes[variable] = node.name
                else:
                    before += last
                    reads.setdefault(variable, []).append(node.name)
        if node.name in early:
            before = [name for name in before if name not in late]
        nodes.append(_behind(node, before))
    return plan if nodes == list(plan.nodes.values()) else plan.rebuilt(nodes)


def _behind(node: PlanNode, before: Iterable[str]) -> PlanNode:
    known = {*node.control, *(e.node for e in node.inputs)}
    news = tuple(name for name in dict.fromkeys(before) if name not in known)
    return replace(node, control=(*node.control, *news)) if news else node


def _certain(plan: Plan) -> set[str]:
    """The nodes that run once in every step, whatever conditions say."""
    found: set[str] = set()
    for node in plan.nodes.values():
        if CONTROL_FLOW not in node.op.traits and _sources(node) <= found:
            found.add(node.name)
    return found


def _around_waits(plan: Plan) -> tuple[set[str], set[str]]:
    """The nodes behind one that may wait, and those that lead to one."""
    late: set[str] = set()
    for node in plan.nodes.values():
        if node.op.traits & _WAITS or not _sources(node).isdisjoint(late):
            late.add(node.name)
    early: set[str] = set()
    for node in reversed(list(plan.nodes.values())):
        if node.op.traits & _WAITS or node.name in early:
            early |= _sources(node)
    return late, early


def _sources(node: PlanNode) -> set[str]:
    return {*(e.node for e in node.inputs), *node.control}
