"""Which values, not shapes alone, programs are made for."""

from __future__ import annotations

from collections.abc import Sequence

from headrace.plan.plan import Edge

VARIANTS = 16  # programs of a region for different values of its inputs
MANY = 32  # such values, of which each may have come once


class KnownInputs:
    """Edges whose values, not shapes alone, programs are made for: small integers on which the
    shapes of other values depend."""

    def __init__(self) -> None:
        self.asked: dict[str, list[Edge]] = {}  # a node -> the edges that might decide
        self.tried: dict[str, int] = {}  # a node -> how many choices of such edges were tried
        self.certain: set[Edge] = set()  # their values follow from shapes
        self.edges: frozenset[Edge] = frozenset()

    def follows(self, edge: Edge) -> None:
        if edge not in self.certain:
            self.certain.add(edge)
            self._changed()

    def ask(self, node: str, choices: Sequence[list[Edge]]) -> bool:
        """Whether knowing more may help the node: there is a choice of edges that was not tried yet, which is
        taken in place of the one before."""
        self.asked.pop(node, None)
        self._changed()
        tried = self.tried.get(node, 0)
        for number in range(tried, len(choices)):
            self.tried[node] = number + 1
            if not set(choices[number]) <= self.edges:
                self.asked[node] = choices[number]
                self._changed()
                return True
        return False

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
