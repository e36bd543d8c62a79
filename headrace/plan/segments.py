"""What lies between nodes that may wait, as single nodes.

In: a plan in which several nodes may wait, each for reasons of its own: queues, values from other
pieces; and primitives of control flow that became no units.  Out: those nodes, and segments of the
others (plan.units).  The nodes of a segment need the same (plan.needs), no more and no less, so that
being together delays none of them, and all are dead or none: an enqueue still happens while a dequeue
beside it has nothing to take.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from headrace.ops.array.source import placeholder
from headrace.ops.control.transfer import SENDS
from headrace.ops.declaration.traits import CONSTANT, CONTROL_FLOW, IDENTITY, READS, VARIABLE
from headrace.plan.delays import delayed, is_heavy
from headrace.plan.needs import WAITS, Needs
from headrace.plan.plan import Edge, Output, Plan, PlanNode
from headrace.plan.units import SEGMENT, Segment, inner_nodes, unit_attrs

_APART = WAITS | {CONTROL_FLOW}


def segmented(plan: Plan) -> Plan | None:
    """The plan with segments; None where a loop or branch waits inside."""
    for node in plan.nodes.values():
        if any(n.op.traits & {CONTROL_FLOW, *WAITS} or n.op in SENDS for n in inner_nodes(node)):
            return None
    return _Segments(plan).run()


class _Segments:
    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.feeds = set(plan.feeds)
        self.place = {name: i for i, name in enumerate(plan.nodes)}
        self.alone: dict[str, PlanNode] = {}  # feeds, transfers, primitives, what may wait
        self.free: dict[str, PlanNode] = {}  # may stand in any segment, in several too
        self.members: dict[int, list[PlanNode]] = {}  # what they need -> nodes
        self.home: dict[str, str] = {}  # a node -> the segment it went to
        self._sort()
        self._delay_reads()

    def _sort(self) -> None:
        """Nodes of one group can run without a break between them."""
        for node in self.plan.nodes.values():
            traits = node.op.traits
            if traits & _APART or node.name in self.feeds or node.op in SENDS:
                self.alone[node.name] = node
            elif not node.control and _is_source(node):
                self.free[node.name] = node
        needs = delayed(self.plan, Needs(self.plan).of, {*self.alone})
        for node in self.plan.nodes.values():
            if node.name not in self.alone and node.name not in self.free:
                self.members.setdefault(needs[node.name], []).append(node)

    def _delay_reads(self) -> None:
        """A variable is read in the segment that uses it, if that one writes it too: then it may
        change in place."""
        group = {n.name: need for need, nodes in self.members.items() for n in nodes}
        users: dict[str, set[int | None]] = {}
        for node in self.plan.nodes.values():
            for source in {*(e.node for e in node.inputs), *node.control}:
                users.setdefault(source, set()).add(group.get(node.name))
        kept = {*self.plan.targets, *(e.node for e in self.plan.fetches)}
        sent = {n.inputs[0].node for n in self.alone.values() if n.op in SENDS}
        for node in self.members.pop(0, []):
            used = users.get(node.name, set())
            if node.name in sent and used == {None} and self._gives_on(node):
                self.alone[node.name] = node
                continue
            needs = used | self._others(node, group) if self._is_read(node) else {0}
            need = needs.pop() if len(needs) == 1 and node.name not in kept else 0
            self.members.setdefault(need or 0, []).append(node)
        for nodes in self.members.values():
            nodes.sort(key=lambda n: self.place[n.name])

    def _is_read(self, node: PlanNode) -> bool:
        return not node.control and [e.node in self.free for e in node.inputs] == [True]

    def _gives_on(self, node: PlanNode) -> bool:
        """Reads a variable, for transfers alone: a program would copy what a kernel only passes on."""
        return self._is_read(node) and bool(node.op.traits & {IDENTITY, READS})

    def _others(self, read: PlanNode, group: dict[str, int]) -> set[int | None]:
        """The segments of the other nodes that touch the variable, but for reads."""
        source = read.inputs[0]
        nodes = (n for n in self.plan.nodes.values() if source in n.inputs)
        return {group.get(n.name) for n in nodes if not self._is_read(n)}

    def run(self) -> Plan:
        """Each group becomes one SEGMENT node, but for a light node alone; edges are renamed to its
        outputs."""
        units = []
        for nodes in self.members.values():
            if len(nodes) > 1 or is_heavy(nodes[0]):
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
        copied = {e.node: self.plan.nodes[e.node] for e in used if _is_source(self.plan.nodes[e.node])}
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
        control = dict.fromkeys(c for n in [*copied.values(), *nodes] for c in n.control if c not in names)
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
        others = {e for e in others if not _is_source(self.plan.nodes[e.node])}
        edges = (Edge(n.name, i) for n in nodes for i in range(len(n.outputs)))
        return [e for e in edges if e in others or e in self.outside]

    def _given(self, label: str, i: int, edge: Edge) -> PlanNode:
        source, output = self.plan.nodes[edge.node], self._output(edge)
        attrs = {"dtype": output.dtype, "shape": output.shape}
        name = f"{label}/_in{i}"
        return PlanNode(name, placeholder, (), (), attrs, (output,), (), source.device, source.origins, i)

    def _output(self, edge: Edge) -> Output:
        return self.plan.nodes[edge.node].outputs[edge.index]


def _is_source(node: PlanNode) -> bool:
    """Costs nothing, and is the same wherever it stands: a constant, a name for state."""
    return not node.inputs and bool(node.op.traits & {CONSTANT, VARIABLE})
