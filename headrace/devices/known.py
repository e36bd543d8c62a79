"""Which values, not shapes alone, programs are made for."""

from __future__ import annotations

from headrace.plan.plan import Edge

VARIANTS = 16  # programs of a region for different values of its inputs
MANY = 32  # such values, of which each may have come once


class KnownInputs:
    """Edges whose values, not shapes alone, programs are made for: small integers on which the
    shapes of other values depend."""

    def __init__(self) -> None:
        self.asked: dict[str, list[Edge]] = {}  # a node -> the edges that might decide
        self.certain: set[Edge] = set()  # their values follow from shapes
        self.edges: frozenset[Edge] = frozenset()

    def follows(self, edge: Edge) -> None:
        if edge not in self.certain:
            self.certain.add(edge)
            self._changed()

    def ask(self, node: str, edges: list[Edge]) -> bool:
        """Whether knowing these may help the node: it was not tried yet."""
        before = self.asked.pop(node, None)
        is_new = before is None and not set(edges) <= self.edges
        if is_new:
            self.asked[node] = edges
        self._changed()
        return is_new

    def give_up(self, edges: set[Edge]) -> dict[str, str]:
        """These values change too often: the nodes that depend on them go to the host."""
        nodes = [n for n, asked in self.asked.items() if not edges.isdisjoint(asked)]
        for n in nodes:
            del self.asked[n]
        self._changed()
        return dict.fromkeys(nodes, "depends on values that are different in every step")

    def _changed(self) -> None:
        asked = (e for edges in self.asked.values() for e in edges)
        self.edges = frozenset({*asked, *self.certain})
