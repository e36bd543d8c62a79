"""Rules over plans: a pattern, and a small function that says what stands in its place.

    @rule(identity)                           # what may stand at the root: ops, or a trait of theirs
    def drop(match):
        '''identity(x) -> x'''
        return match.inputs[0]

A rule gets a Match (the node and a view of the plan) and returns None (declines), an Edge that replaces
output 0, a list of Edges (one per output), or a PlanNode that replaces the node under its own name.
`apply_rules` runs a set of rules to a fixed point; origins of what disappears go to what replaces it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from headrace.core.fields import reads
from headrace.core.records import record
from headrace.ops.array.source import identity
from headrace.ops.declaration.declare import Op
from headrace.ops.declaration.traits import CONSTANT, Trait
from headrace.plan.plan import Edge, Plan, PlanNode, needed, ordered

Action = Callable[["Match"], Any]


@record
class Rule:
    roots: tuple[Op | Trait, ...]  # () means any
    action: Action

    @property
    def name(self) -> str:
        return self.action.__name__

    def may_start_at(self, op: Op) -> bool:
        return not self.roots or op in self.roots or not op.traits.isdisjoint(self.roots)


def rule(*roots: Op | Trait) -> Callable[[Action], Rule]:
    return lambda action: Rule(roots, action)


class Match:
    """A node that a rule looks at, and what surrounds it."""

    __slots__ = ("node", "waits", "_rewriter")

    def __init__(self, node: PlanNode, rewriter: Rewriter) -> None:
        self.node, self._rewriter = node, rewriter
        self.waits = list(node.control)  # of the node, and of the constants that a rule looked at

    inputs: tuple[Edge, ...] = reads("node.inputs")

    def producer(self, edge: Edge) -> PlanNode:
        return self._rewriter.nodes[edge.node]

    def constant(self, edge: Edge) -> Any:
        """The value of an edge that comes from a constant, else None.  A constant may be all that
        makes a node wait for an effect: what replaces the node waits for it too."""
        node = self._rewriter.nodes[edge.node]
        if CONSTANT not in node.op.traits:
            return None
        self.waits += node.control
        return node.attrs["value"].array

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
        """Offer each node to the rules for its op, in order; the first that answers replaces it.
        Nodes that rules add are not offered: the list of names is taken before."""
        index: dict[Op, list[Rule]] = {}
        for name in list(self.nodes):
            node = self.nodes[name]
            current = self._current(node)
            if current is not node:
                node = self.nodes[name] = current
            if name in self.protected:
                continue
            offered = index.get(node.op)
            if offered is None:
                offered = index[node.op] = [r for r in rules if r.may_start_at(node.op)]
            for r in offered:
                match = Match(node, self)
                result = r.action(match)
                if result is not None:
                    self._replace(node, result, dict.fromkeys(match.waits))
                    break

    def _current(self, node: PlanNode) -> PlanNode:
        renamed = self.renamed
        if not renamed or not any(e in renamed for e in node.inputs):
            return node
        return replace(node, inputs=tuple(self.final(e) for e in node.inputs))

    def _replace(self, node: PlanNode, result: Any, waits: dict[str, None]) -> None:
        """What replaces a node waits for what the node waited for."""
        self.changed = True
        if isinstance(result, Edge):
            waits |= dict.fromkeys(self._abandoned(node, result))
        if isinstance(result, Edge) and waits.keys() - set(self.nodes[result.node].control):
            result = _waiting_identity(node, result)
        if isinstance(result, PlanNode):
            control = tuple(dict.fromkeys([*result.control, *waits]))
            self.nodes[node.name] = replace(result, origins=_united(node, result), control=control)
            return
        edges = [result] if isinstance(result, Edge) else list(result)
        for i, edge in enumerate(edges):
            self.renamed[Edge(node.name, i)] = edge
            target = self.nodes[edge.node]
            self.nodes[edge.node] = replace(target, origins=_united(target, node))

    def _abandoned(self, node: PlanNode, kept: Edge) -> Iterator[str]:
        """What the inputs that are no longer needed wait for."""
        for edge in node.inputs:
            source = self.nodes[edge.node]
            if edge == kept:
                continue
            if CONSTANT in source.op.traits:
                yield from source.control
            elif self._has_effects(edge.node):
                yield edge.node

    def _has_effects(self, name: str) -> bool:
        """Whether the node, or something that it needs, does more than compute."""
        stack, seen = [name], {name}
        while stack:
            node = self.nodes[stack.pop()]
            if node.has_effect or node.control:
                return True
            news = {e.node for e in node.inputs} - seen
            seen |= news
            stack += news
        return False

    def finish(self) -> Plan:
        """What is needed of the nodes; new ones stand last."""
        nodes = {n.name: self._current(n) for n in self.nodes.values()}
        fetches = tuple(self.final(e) for e in self.plan.fetches)
        plan = replace(self.plan, nodes=nodes, fetches=fetches)
        return replace(plan, nodes={n.name: n for n in needed(plan)})


def _waiting_identity(node: PlanNode, edge: Edge) -> PlanNode:
    """The value of another node, under this node's name."""
    dtype = node.outputs[0].dtype.base
    return replace(node, op=identity, inputs=(edge,), input_types=(dtype,), attrs={"T": dtype}, control=())


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
