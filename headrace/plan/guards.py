"""Under which conditions each node of one frame is alive.

A guard is a sequence of (predicate, side): what the Switches on the way to a node demand, the outermost
first.  A Merge takes away the condition in which its two inputs differ.

In a piece, what another device sends is alive where its source is: the Recv says where in two
attributes, as text (ALIVE_IF, SAME_AS), in the names of the whole plan.
"""

from __future__ import annotations

from collections.abc import Iterable

from headrace.ops.control.transfer import RECEIVES
from headrace.ops.declaration.traits import CONTROL_FLOW, ENTER, EXIT, IDENTITY, MERGE, NEXT_ITERATION, SWITCH
from headrace.plan.plan import Edge, PlanNode

Guard = tuple[tuple[Edge, int], ...]

ALIVE_IF = "_alive_if"  # of a Recv: the guard of what it receives: "cond/pred_id:0=1 ..."
AT_ONCE = "_at_once"  # of a Recv: what it receives waits for nothing; it is on its way when the step begins
SAME_AS = "_same_as"  # of a Recv: the predicate that it receives: "cond/pred_id:0"
_UNKNOWN = -1  # the output that stands for a node's own, unknown condition


class Unstructured(Exception):
    """These primitives are no loops and conditionals, one inside of the other."""


class Guards:
    """The guards of the nodes that `add` was called with, in running order.  Inside of a loop they
    begin with what guards the loop.  Where no guard can say when a node is alive, `add` raises
    Unstructured, or, if `is_lenient`, gives it a condition of its own that nobody else has."""

    def __init__(self, is_lenient: bool = False) -> None:
        self.is_lenient = is_lenient
        self.of: dict[str, Guard] = {}
        self.merged: dict[str, Edge] = {}  # Merge -> the predicate that it joins
        self._nodes: dict[str, PlanNode] = {}

    def add(self, node: PlanNode) -> None:
        try:
            guard = self._find(node)
        except Unstructured:
            if not self.is_lenient:
                raise
            guard = ((Edge(node.name, _UNKNOWN), 1),)
        self.put(node, guard)

    def put(self, node: PlanNode, guard: Guard) -> None:
        self._nodes[node.name], self.of[node.name] = node, guard

    def _find(self, node: PlanNode) -> Guard:
        """The conditions under which a node runs: those of all that it waits for, except where a Merge ends a
        conditional, or an Exit a loop."""
        traits = node.op.traits
        if CONTROL_FLOW in traits and not node.inputs and not node.outputs:
            return ()  # a trigger runs in any case
        if EXIT in traits:
            return self._of_loop(node)
        if MERGE in traits:
            entered = [e for e in node.inputs if not self._is_back(e)]
            return self.of_edge(entered[0]) if len(entered) == 1 else self._join(node)
        found = [self.of_edge(e) for e in node.inputs]
        found += [self.of.get(c, ()) for c in node.control]
        if ALIVE_IF in node.attrs:
            found.append(from_text(node.attrs[ALIVE_IF]))
        elif self.is_lenient and node.op in RECEIVES:
            raise Unstructured(f"{node.name} comes from a master that does not say when it is alive")
        return united(found)

    def _is_back(self, edge: Edge) -> bool:
        """From the iteration before: such edges come later, as a rule."""
        node = self._nodes.get(edge.node)
        return node is None or NEXT_ITERATION in node.op.traits

    def _of_loop(self, node: PlanNode) -> Guard:
        """What comes out of a loop is as alive as what went in."""
        switch = self._nodes[node.inputs[0].node]
        if SWITCH not in switch.op.traits:
            raise Unstructured(f"{node.name} is no end of a loop's variable")
        return self.of[switch.name]

    def of_edge(self, edge: Edge) -> Guard:
        node = self._nodes.get(edge.node)
        if node is None:
            return ()
        found = self.of[edge.node]
        if SWITCH in node.op.traits:
            return united([found, ((self.predicate(node.inputs[1]), edge.index),)])
        return found

    def predicate(self, edge: Edge) -> Edge:
        """The same predicate, past identities and out of loops in which it is constant."""
        node = self._nodes.get(edge.node)
        while node is not None and (IDENTITY in node.op.traits or _is_constant_enter(node)):
            edge = node.inputs[0]
            node = self._nodes.get(edge.node)
        if node is not None and SAME_AS in node.attrs:
            return _edge(node.attrs[SAME_AS])
        return edge

    def _join(self, node: PlanNode) -> Guard:
        guards = [self.of_edge(e) for e in node.inputs]
        if len(guards) != 2:
            raise Unstructured(f"{node.name} joins {len(guards)} values")
        first, second = map(dict, guards)
        differing = [p for p in first if p in second and first[p] != second[p]]
        if len(differing) != 1 or first.keys() != second.keys():
            raise Unstructured(f"{node.name} does not join the two sides of one condition {guards}")
        self.merged[node.name] = differing[0]
        return tuple(g for g in guards[0] if g[0] != differing[0])


def united(guards: Iterable[Guard]) -> Guard:
    """All conditions at once, the longest chain of them first."""
    chains = sorted(guards, key=len, reverse=True)
    found = dict(chains[0]) if chains else {}
    for chain in chains[1:]:
        for predicate, side in chain:
            if found.setdefault(predicate, side) != side:
                raise Unstructured("a node depends on both sides of one condition")
    return tuple(found.items())


def to_text(guard: Guard) -> str:
    return " ".join(f"{e.node}:{e.index}={side}" for e, side in guard)


def from_text(text: str) -> Guard:
    words = (word.rpartition("=") for word in text.split())
    return tuple((_edge(edge), int(side)) for edge, _, side in words)


def _edge(text: str) -> Edge:
    name, _, index = text.rpartition(":")
    return Edge(name, int(index))


def _is_constant_enter(node: PlanNode) -> bool:
    return ENTER in node.op.traits and bool(node.attrs["is_constant"])
