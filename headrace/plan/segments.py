"""What lies between nodes that may wait, as single nodes.

In: a plan without control flow in which several nodes may wait, each for reasons of its own: queues,
values from other pieces.  Out: those nodes, and segments of the others (plan.units).  The nodes of a
segment need the same waits, no more and no fewer, so that being together delays none of them: an
enqueue still happens while a dequeue beside it has nothing to take.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from headrace.ops.array.source import placeholder
from headrace.ops.control.transfer import send
from headrace.ops.declaration.traits import BLOCKING, CONSTANT, CONTROL_FLOW, DEFERRED, VARIABLE
from headrace.plan.plan import Edge, Output, Plan, PlanNode
from headrace.plan.units import SEGMENT, Segment, inner_nodes, unit_attrs

_WAITS = frozenset({BLOCKING, DEFERRED})


def segmented(plan: Plan) -> Plan | None:
    """The plan with segments; None where control flow is left, or a loop waits inside."""
    for node in plan.nodes.values():
        if CONTROL_FLOW in node.op.traits:
            return None
        if any(n.op.traits & {CONTROL_FLOW, *_WAITS} for n in inner_nodes(node)):
            return None
    return _Segments(plan).run()


class _Segments:
    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.feeds = set(plan.feeds)
        self.place = {name: i for i, name in enumerate(plan.nodes)}
        self.alone: dict[str, PlanNode] = {}  # feeds, sends (of dead values too), what may wait
        self.free: dict[str, PlanNode] = {}  # may stand in any segment, in several too
        self.members: dict[int, list[PlanNode]] = {}  # what they wait for, as bits -> nodes
        self.home: dict[str, str] = {}  # a node -> the segment it went to
        self._sort()
        self._delay_reads()

    def _sort(self) -> None:
        """Group nodes by the set of waiting nodes (as bits) that they depend on: nodes of one group
        can run without a break between them."""
        needs: dict[str, int] = {}
        bits: dict[str, int] = {}
        for node in self.plan.nodes.values():
            sources = [*(e.node for e in node.inputs), *node.control]
            need = 0
            for source in sources:
                need |= needs[source] | bits.get(source, 0)
            needs[node.name] = need
            waits = bool(node.op.traits & _WAITS)
            if waits or node.name in self.feeds or node.op is send:
                self.alone[node.name] = node
                bits[node.name] = int(waits) << len(bits)
            elif not sources and node.op.traits & {CONSTANT, VARIABLE}:
                self.free[node.name] = node
            else:
                self.members.setdefault(need, []).append(node)

    def _delay_reads(self) -> None:
        """A variable is read in the segment that uses it, if that one writes it too: then it may
        change in place."""
        group = {n.name: need for need, nodes in self.members.items() for n in nodes}
        users: dict[str, set[int | None]] = {}
        for node in self.plan.nodes.values():
            for source in {*(e.node for e in node.inputs), *node.control}:
                users.setdefault(source, set()).add(group.get(node.name))
        kept = {*self.plan.targets, *(e.node for e in self.plan.fetches)}
        for node in self.members.pop(0, []):
            used = users.get(node.name, set())
            needs = used | self._others(node, group) if self._is_read(node) else {0}
            need = needs.pop() if len(needs) == 1 and node.name not in kept else 0
            self.members.setdefault(need or 0, []).append(node)
        for nodes in self.members.values():
            nodes.sort(key=lambda n: self.place[n.name])

    def _is_read(self, node: PlanNode) -> bool:
        return not node.control and [e.node in self.free for e in node.inputs] == [True]

    def _others(self, read: PlanNode, group: dict[str, int]) -> set[int | None]:
        """The segments of the other nodes that touch the variable, but for reads."""
        source = read.inputs[0]
        nodes = (n for n in self.plan.nodes.values() if source in n.inputs)
        return {group.get(n.name) for n in nodes if not self._is_read(n)}

    def run(self) -> Plan:
        """Each group of several nodes becomes one SEGMENT node; edges are renamed to its outputs."""
        units = []
        for nodes in self.members.values():
            if len(nodes) > 1:
                units.append(nodes)
                self.home |= dict.fromkeys((n.name for n in nodes), f"{nodes[-1].name}/_segment")
            else:
                self.alone[nodes[0].name] = nodes[0]
        self.outside = {e for n in self.alone.values() for e in n.inputs} | set(self.plan.fetches)
        renamed: dict[Edge, Edge] = {}
        segments = [self._segment(nodes, renamed) for nodes in units]
        nodes = [*self.free.values(), *self.alone.values(), *segments]
        moved = [self._moved(n, renamed) for n in nodes]
        fetches = tuple(renamed.get(e, e) for e in self.plan.fetches)
        targets = tuple(dict.fromkeys(self.home.get(t, t) for t in self.plan.targets))
        return self.plan.rebuilt(moved, fetches=fetches, targets=targets)

    def _moved(self, node: PlanNode, renamed: dict[Edge, Edge]) -> PlanNode:
        control = dict.fromkeys(self.home.get(c, c) for c in node.control)
        inputs = tuple(renamed.get(e, e) for e in node.inputs)
        return replace(node, inputs=inputs, control=tuple(control))

    def _segment(self, nodes: list[PlanNode], renamed: dict[Edge, Edge]) -> PlanNode:
        """A group as a node with a plan inside.  Constants and variables' handles are copied into
        it, not captured."""
        names, label = {n.name for n in nodes}, self.home[nodes[0].name]
        used = dict.fromkeys(e for n in nodes for e in n.inputs if e.node not in names)
        copied = {e.node: self.free[e.node] for e in used if e.node in self.free}
        captured = [e for e in used if e.node not in copied]
        wanted = self._wanted(nodes, names)
        made = {f"{label}/_in{i}": self._given(label, i, e) for i, e in enumerate(captured)}
        inside = {e: Edge(f"{label}/_in{i}", 0) for i, e in enumerate(captured)}
        for n in [*copied.values(), *nodes]:
            inputs = tuple(inside.get(e, e) for e in n.inputs)
            made[n.name] = replace(n, inputs=inputs, control=tuple(c for c in n.control if c in names))
        targets = tuple(t for t in self.plan.targets if t in names)
        inner = Plan(made, tuple(inside[e].node for e in captured), tuple(wanted), targets)
        renamed |= {e: Edge(label, i) for i, e in enumerate(wanted)}
        control = dict.fromkeys(c for n in nodes for c in n.control if c not in names)
        return PlanNode(
            label,
            SEGMENT,
            tuple(captured),
            tuple(control),
            unit_attrs(Segment(inner)),
            tuple(self._output(e) for e in wanted),
            tuple(map(self.plan.dtype, captured)),
            nodes[-1].device,
            nodes[-1].origins,
            nodes[-1].number,
        )

    def _wanted(self, nodes: Iterable[PlanNode], names: set[str]) -> list[Edge]:
        """What others use of a segment."""
        others = {
            e for group in self.members.values() for n in group if n.name not in names for e in n.inputs
        }
        edges = (Edge(n.name, i) for n in nodes for i in range(len(n.outputs)))
        return [e for e in edges if e in others or e in self.outside]

    def _given(self, label: str, i: int, edge: Edge) -> PlanNode:
        source, output = self.plan.nodes[edge.node], self._output(edge)
        attrs = {"dtype": output.dtype, "shape": output.shape}
        name = f"{label}/_in{i}"
        return PlanNode(name, placeholder, (), (), attrs, (output,), (), source.device, source.origins, i)

    def _output(self, edge: Edge) -> Output:
        return self.plan.nodes[edge.node].outputs[edge.index]
