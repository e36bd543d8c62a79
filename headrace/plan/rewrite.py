"""Rules over plans: a pattern, and a small function that says what stands in its place.

    @rule("Identity")                         # indexed by the op at the root
    def drop(match):
        '''identity(x) -> x'''
        return match.inputs[0]

A rule gets a Match (the node and a view of the plan) and returns None (declines), an Edge that replaces
output 0, a list of Edges (one per output), or a PlanNode that replaces the node under its own name.
`apply_rules` runs a set of rules to a fixed point; origins of what disappears go to what replaces it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from headrace.ops.traits import CONSTANT
from headrace.plan.plan import Edge, Plan, PlanNode, needed, ordered

Action = Callable[["Match"], Any]


@dataclass(frozen=True, slots=True)
class Rule:
    roots: tuple[str, ...]  # op names; () means any
    action: Action

    @property
    def name(self) -> str:
        return self.action.__name__


def rule(*roots: str) -> Callable[[Action], Rule]:
    return lambda action: Rule(roots, action)


class Match:
    """A node that a rule looks at, and what surrounds it."""

    __slots__ = ("node", "_rewriter")

    def __init__(self, node: PlanNode, rewriter: Rewriter) -> None:
        self.node, self._rewriter = node, rewriter

    @property
    def inputs(self) -> tuple[Edge, ...]:
        return self.node.inputs

    def producer(self, edge: Edge) -> PlanNode:
        return self._rewriter.nodes[edge.node]

    def constant(self, edge: Edge) -> Any:
        """The value of an edge that comes from a constant, else None."""
        node = self._rewriter.nodes[edge.node]
        return node.attrs["value"].array if CONSTANT in node.op.traits else None

    def dtype(self, edge: Edge) -> Any:
        return self._rewriter.nodes[edge.node].outputs[edge.index].dtype

    def shape(self, edge: Edge) -> Any:
        return self._rewriter.nodes[edge.node].outputs[edge.index].shape


class Rewriter:
    """The nodes of a plan while rules change them."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.nodes = dict(plan.nodes)
        self.renamed: dict[Edge, Edge] = {}
        self.protected = set(plan.feeds) | set(plan.targets)
        self.changed = False

    def final(self, edge: Edge) -> Edge:
        while edge in self.renamed:
            edge = self.renamed[edge]
        return edge

    def run(self, rules: Sequence[Rule]) -> None:
        index: dict[str, list[Rule]] = {}
        for r in rules:
            for root in r.roots or ("*",):
                index.setdefault(root, []).append(r)
        anywhere = index.get("*", [])
        for name in list(self.nodes):
            node = self.nodes[name]
            current = self._current(node)
            if current is not node:
                node = self.nodes[name] = current
            if name in self.protected:
                continue
            for r in index.get(node.op.name, []) + anywhere:
                result = r.action(Match(node, self))
                if result is not None:
                    self._replace(node, result)
                    break

    def _current(self, node: PlanNode) -> PlanNode:
        renamed = self.renamed
        if not renamed or not any(e in renamed for e in node.inputs):
            return node
        return replace(node, inputs=tuple(self.final(e) for e in node.inputs))

    def _replace(self, node: PlanNode, result: Any) -> None:
        self.changed = True
        if isinstance(result, PlanNode):
            self.nodes[node.name] = replace(result, origins=_united(node, result))
            return
        edges = [result] if isinstance(result, Edge) else list(result)
        for i, edge in enumerate(edges):
            self.renamed[Edge(node.name, i)] = edge
            target = self.nodes[edge.node]
            self.nodes[edge.node] = replace(target, origins=_united(target, node))

    def finish(self) -> Plan:
        """What is needed of the nodes; new ones stand last."""
        nodes = {n.name: self._current(n) for n in self.nodes.values()}
        fetches = tuple(self.final(e) for e in self.plan.fetches)
        plan = replace(self.plan, nodes=nodes, fetches=fetches)
        return replace(plan, nodes={n.name: n for n in needed(plan)})


def _united(kept: PlanNode, gone: PlanNode) -> Any:
    return tuple(dict.fromkeys(kept.origins + gone.origins))


def apply_rules(plan: Plan, rules: Sequence[Rule], limit: int = 10) -> Plan:
    """Run rules until nothing changes (at most `limit` rounds), then put the nodes in order."""
    before = plan
    for _ in range(limit):
        rewriter = Rewriter(plan)
        rewriter.run(rules)
        if not rewriter.changed:
            break
        plan = rewriter.finish()
    return plan if plan is before else replace(plan, nodes=ordered(list(plan.nodes.values())))
