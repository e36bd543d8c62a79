"""Conditionals around nothing but an assertion of their own predicate are opened: a true assertion
does nothing, so it may as well run always.

    tf.Assert(p, floats):   Switch(p) -> Assert(p, ...) on the false side -> Merge
    becomes                 Assert(p, ...) -> Identity(p)

Such plans are straight again where nothing else branches, and can be compiled as a whole.
"""

from __future__ import annotations

from dataclasses import replace

from headrace.ops.array.constant import const
from headrace.ops.array.source import identity, no_op
from headrace.ops.control.control_flow import merge, switch
from headrace.ops.math.checks import assert_
from headrace.plan.plan import Edge, Plan, PlanNode

_INSIDE = frozenset({identity, no_op, const, assert_})


def open_guards(plan: Plan) -> Plan:
    if not any(n.op is assert_ for n in plan.nodes.values()):
        return plan
    work = _Guards(plan)
    for node in plan.nodes.values():
        if node.op is merge:
            work.visit(node)
    if not work.changed:
        return plan
    return plan.rebuilt(work.nodes.values())


class _Guards:
    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.nodes = dict(plan.nodes)
        self.changed = False
        self.users: dict[str, set[str]] = {}
        self.kept = {e.node for e in plan.fetches} | set(plan.targets)
        for node in plan.nodes.values():
            for name in (*(e.node for e in node.inputs), *node.control):
                self.users.setdefault(name, set()).add(node.name)

    def visit(self, merge: PlanNode) -> None:
        """Open the conditional that ends in this Merge, if it only guards assertions: they run anyway."""
        pred = self._merged_pred(merge)
        if pred is None:
            return
        cone = self._cone(merge, pred)
        if cone is None or not any(self.nodes[n].op is assert_ for n in cone):
            return
        self.changed = True
        for name in cone:
            node = self.nodes[name]
            if node.op is not switch:
                inputs = [self._past_switch(e, cone) for e in node.inputs]
                self.nodes[name] = node.with_inputs(inputs)
        first, *rest = merge.inputs
        self.nodes[merge.name] = replace(
            merge,
            op=identity,
            inputs=(self._past_switch(first, cone),),
            control=(*merge.control, *dict.fromkeys(e.node for e in rest)),
            attrs={"T": merge.attrs["T"]},
            outputs=merge.outputs[:1],
            input_types=merge.input_types[:1],
        )

    def _past_switch(self, edge: Edge, cone: set[str]) -> Edge:
        node = self.nodes[edge.node]
        return node.inputs[0] if edge.node in cone and node.op is switch else edge

    def _merged_pred(self, merge: PlanNode) -> Edge | None:
        """The predicate, where both sides of a Merge are the predicate itself."""
        sources = [self._root(e) for e in merge.inputs]
        switches = [self.nodes[e.node] for e in sources]
        if any(s.op is not switch for s in switches) or {e.index for e in sources} != {0, 1}:
            return None
        roots = {self._root(e) for s in switches for e in s.inputs}
        index_used = (
            any(
                e == Edge(merge.name, 1)
                for user in self.users.get(merge.name, ())
                for e in self.nodes[user].inputs
            )
            or Edge(merge.name, 1) in self.plan.fetches
        )
        return None if len(roots) != 1 or index_used else roots.pop()

    def _root(self, edge: Edge) -> Edge:
        """Where a value comes from, past identities."""
        node = self.nodes[edge.node]
        while node.op is identity:
            edge = node.inputs[0]
            node = self.nodes[edge.node]
        return edge

    def _cone(self, merge: PlanNode, pred: Edge) -> set[str] | None:
        """All nodes of both branches; None where something else is among them, or leads outside."""
        found: set[str] = set()
        stack = [*(e.node for e in merge.inputs), *merge.control]
        while stack:
            name = stack.pop()
            node = self.nodes[name]
            if name in found:
                continue
            if node.op is switch:
                if self._root(node.inputs[1]) != pred:
                    return None
                found.add(name)
                continue
            if node.op not in _INSIDE or name in self.kept:
                return None
            if node.op is assert_ and not self._asserts(node, pred):
                return None
            found.add(name)
            stack += [*(e.node for e in node.inputs), *node.control]
        inner = found | {merge.name}
        return found if all(self.users.get(n, set()) <= inner for n in found) else None

    def _asserts(self, node: PlanNode, pred: Edge) -> bool:
        source = self._root(node.inputs[0])
        node = self.nodes[source.node]
        return node.op is switch and self._root(node.inputs[0]) == pred
