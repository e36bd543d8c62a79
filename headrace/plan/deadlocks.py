"""Would one more edge make a step wait for itself?

In: a plan with nodes that wait (a queue is full or empty, a client has not fed yet), who uses whom, and what
handles lead to.  An edge `source -> name` is risky where the source is behind a wait that the name is not
behind, and the name leads to what that wait may be for: to an enqueue where it is a dequeue that waits,
perhaps by way of other queues.  What a Python function or the client waits for, or does, nobody knows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from headrace.ops.control.transfer import SENDS
from headrace.ops.declaration.traits import BLOCKING, DEFERRED
from headrace.plan.plan import Edge, Plan, PlanNode

WAITS = frozenset({BLOCKING, DEFERRED})
Place = tuple[str, ...]
_ANYWHERE: Place = ()  # where a function waits, and what it may do


class Deadlocks:
    """The waits of one plan.  `users` grows with every edge that is added."""

    def __init__(self, plan: Plan, users: dict[str, set[str]], places: Mapping[Edge, Place]) -> None:
        self.plan, self.users, self.places = plan, users, places
        self.waiting = [n for n in plan.nodes.values() if n.op.traits & WAITS]
        self.behind: dict[str, int] = {}  # the waits that a node is, or is behind, as bits
        self.waiters: dict[Place, list[str]] = {}  # who waits at a queue
        for i, node in enumerate(self.waiting):
            self._put_behind(node.name, 1 << i)
            for place in self._touched(node):
                self.waiters.setdefault(place, []).append(node.name)

    def add(self, source: str, name: str) -> None:
        """The edge is there now."""
        self.users.setdefault(source, set()).add(name)
        self._put_behind(name, self.behind.get(source, 0))

    def _put_behind(self, name: str, waits: int) -> None:
        """A node, and with it all that are behind it."""
        stack = [name]
        while stack:
            current = stack.pop()
            known = self.behind.get(current, 0)
            if known | waits != known:
                self.behind[current] = known | waits
                stack += self.users.get(current, ())

    def is_risky(self, source: str, name: str) -> bool:
        pending = self.behind.get(source, 0) & ~self.behind.get(name, 0)
        if not pending:
            return False
        waiting = (n for i, n in enumerate(self.waiting) if pending >> i & 1)
        awaited = {place for node in waiting for place in self._touched(node)}
        anywhere = _ANYWHERE in awaited
        return any(anywhere or place == _ANYWHERE or place in awaited for place in self._opened(name))

    def _opened(self, name: str) -> Iterator[Place]:
        """The queues that are touched once a node runs: by itself, by those behind it, and by those
        behind who has waited at such a queue."""
        stack, seen = [name], {name}
        while stack:
            current = stack.pop()
            news = set(self.users.get(current, ()))
            for place in self._touched(self.plan.nodes[current]):
                yield place
                news.update(self.waiters.get(place, ()))
            stack += news - seen
            seen |= news

    def _touched(self, node: PlanNode) -> set[Place]:
        """The queues, and whatever else makes nodes wait, that a node touches."""
        found = {_queue(self.plan.nodes[self.places[e][0]]) for e in node.inputs if self._leads_to_node(e)}
        is_open = node.op.traits & WAITS or node.op in SENDS
        return found or ({_ANYWHERE} if is_open else set())

    def _leads_to_node(self, edge: Edge) -> bool:
        """Variables, which make nobody wait, have longer names."""
        return len(self.places.get(edge, ())) == 1


def _queue(root: PlanNode) -> Place:
    """Two nodes may make the same queue."""
    shared = root.attrs.get("shared_name")
    return (root.attrs.get("container", ""), shared) if shared else (root.name,)
