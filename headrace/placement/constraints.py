"""Which nodes must live together: colocation classes, and nodes that share a variable's state."""

from __future__ import annotations

from collections.abc import Sequence

from headrace.plan.plan import Plan, PlanNode, is_handle


class Groups:
    """Disjoint sets of node names."""

    def __init__(self, names: Sequence[str]) -> None:
        self._parent = {n: n for n in names}

    def find(self, name: str) -> str:
        root = name
        while self._parent[root] != root:
            root = self._parent[root]
        while self._parent[name] != root:
            self._parent[name], name = root, self._parent[name]
        return root

    def join(self, a: str, b: str) -> None:
        self._parent[self.find(a)] = self.find(b)


def uses_state(node: PlanNode) -> bool:
    """Takes a reference or a handle: its place is where that state is, whatever it asks for."""
    return any(map(is_handle, node.input_types))


def colocated(plan: Plan) -> dict[str, list[PlanNode]]:
    """Groups of nodes that need one device, keyed by a member."""
    groups = Groups(list(plan.nodes))
    classes: dict[str, str] = {}
    for node in plan.nodes.values():
        for word in node.attrs.get("_class", ()):
            target = word.removeprefix("loc:@")
            if target in plan.nodes:
                groups.join(node.name, target)
            else:  # the node itself was pruned: its class still holds together
                groups.join(node.name, classes.setdefault(target, node.name))
        for edge, declared in zip(node.inputs, node.input_types):
            if is_handle(declared):  # state is used where it is
                groups.join(node.name, edge.node)
    out: dict[str, list[PlanNode]] = {}
    for node in plan.nodes.values():
        out.setdefault(groups.find(node.name), []).append(node)
    return out
