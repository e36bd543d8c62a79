"""The nodes of one frame as a straight sequence: what hangs on a condition moves into branches.

Nodes that one condition guards are taken together as far as their operands allow; a second group with
the same condition follows where something between them needs the first and the second needs that (the
gradient of a conditional does).
"""

from __future__ import annotations

import heapq
from collections import ChainMap
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from headrace.core import dtypes
from headrace.core.shapes import SCALAR
from headrace.graph.attrs import Literal
from headrace.ops.array.constant import const
from headrace.ops.array.source import no_op, placeholder
from headrace.ops.declaration.traits import CONTROL_FLOW, MERGE, SWITCH
from headrace.plan.guards import Guards, Unstructured
from headrace.plan.plan import Edge, Output, Plan, PlanNode, is_handle
from headrace.plan.units import BRANCH, Branch, unit_attrs

Base = frozenset[tuple[Edge, int]]


class Block:
    """The nodes of one frame.  `outer` are nodes outside whose values some of them use."""

    def __init__(
        self,
        nodes: Sequence[PlanNode],
        guards: Guards,
        outer: dict[str, PlanNode],
        renamed: dict[Edge, Edge],
        fetches: Sequence[Edge] = (),
    ) -> None:
        """`renamed`: ends of loops, which became outputs of nodes."""
        self.nodes = {n.name: n for n in nodes}
        self.known: ChainMap[str, PlanNode] = ChainMap({}, self.nodes, outer)  # the units made here, first
        self.guards, self.fetches = guards, set(fetches)
        self.alias: dict[Edge, Edge] = {}
        self.unit: dict[str, str] = {}  # a node -> the branch that it is in
        self._renamed = renamed
        self._aliases: dict[Edge, list[Edge]] = {}  # `alias`, backwards

    # -- names -------------------------------------------------------------------------------
    def resolve(self, edge: Edge) -> Edge:
        """Where a value comes from, past Switches and out of branches."""
        while True:
            node = self.nodes.get(edge.node)
            if edge in self.alias:
                edge = self.alias[edge]
            elif edge in self._renamed:
                edge = self._renamed[edge]
            elif node is not None and SWITCH in node.op.traits:
                edge = node.inputs[0]
            else:
                return edge

    def rename(self, edge: Edge, to: Edge) -> None:
        self.alias[edge] = to
        self._aliases.setdefault(to, []).append(edge)

    @cached_property
    def _data_users(self) -> dict[Edge, list[str]]:
        """Who has an edge as an input, by its name in the graph."""
        found: dict[Edge, list[str]] = {}
        for node in self.nodes.values():
            for edge in node.inputs:
                found.setdefault(edge, []).append(node.name)
        return found

    @cached_property
    def _users(self) -> dict[Edge, list[tuple[int, Edge, str]]]:
        """Who needs a value, as an input or to know whether it runs: (place in the block, edge, node), by
        where the value comes from before any branch is made."""
        found: dict[Edge, list[tuple[int, Edge, str]]] = {}
        place = 0
        for node in self.nodes.values():
            if SWITCH in node.op.traits:
                continue
            conditions = [p for p, _ in self.guards.of.get(node.name, ())]
            conditions += [self.guards.merged[node.name]] if node.name in self.guards.merged else []
            for edge in (*node.inputs, *conditions):
                place += 1
                found.setdefault(self._first_source(edge), []).append((place, edge, node.name))
        return found

    def _first_source(self, edge: Edge) -> Edge:
        """`resolve` while there is no branch."""
        while True:
            node = self.nodes.get(edge.node)
            if edge in self._renamed:
                edge = self._renamed[edge]
            elif node is not None and SWITCH in node.op.traits:
                edge = node.inputs[0]
            else:
                return edge

    def sources(self, node: PlanNode) -> set[str]:
        """The nodes and branches that must have run."""
        found: set[str] = set()
        stack = [*(e.node for e in node.inputs), *node.control]
        while stack:
            name = stack.pop()
            name = self.unit.get(name, name)
            source = self.nodes.get(name)
            if source is not None and SWITCH in source.op.traits:
                stack += [*(e.node for e in source.inputs), *source.control]
            else:
                found.add(name)
        return found

    # -- order -------------------------------------------------------------------------------
    def straight(self, names: Sequence[str], base: Base = frozenset()) -> list[PlanNode]:
        """These nodes, alive under `base`, in an order in which they may run."""
        return _Order(self, [n for n in names if SWITCH not in self.nodes[n].op.traits], base).run()

    def emitted(self, node: PlanNode, present: set[str]) -> PlanNode:
        inputs = tuple(map(self.resolve, node.inputs))
        data = {e.node for e in inputs}
        control = tuple(sorted((self.sources(node) - data) & present))
        if CONTROL_FLOW in node.op.traits:  # a trigger
            return replace(node, op=no_op, inputs=(), control=control, attrs={}, input_types=())
        return replace(node, inputs=inputs, control=control)

    # -- branches ----------------------------------------------------------------------------
    def branch(self, predicate: Edge, names: Sequence[str], base: Base, done: set[str]) -> PlanNode:
        """The nodes that one predicate guards, as a single conditional node with a plan for each
        side.  Its outputs are the Merges, and values that escape from one side to nodes behind
        the same predicate further on: the other side gives nothing for these."""
        inner, merges = self._sides(predicate, names, base)
        label = f"{names[0]}/_branch"
        while label in self.known:
            label += "_"  # of the branch around
        self.known[label] = self.nodes[names[0]]
        sides = [self.straight(inner[k], base | {(predicate, k)}) for k in (0, 1)]
        outer = set().union(*(self.sources(self.nodes[n]) for n in names)) & done
        members = set(names)
        wanted: list[list[Edge]] = [[], []]
        gives: list[list[int | None]] = [[], []]
        outputs: list[Output] = []
        for merge in merges:
            values = self._merged(merge, predicate)
            for index, output in enumerate(merge.outputs):
                if index and not self._is_used(Edge(merge.name, index), members):
                    continue
                for k in (0, 1):
                    edge = values[k]
                    if index:
                        edge = self._position(label, sides[k], k, merge.inputs.index(values[k]))
                    gives[k].append(len(wanted[k]))
                    wanted[k].append(self.resolve(edge))
                self.rename(Edge(merge.name, index), Edge(label, len(outputs)))
                outputs.append(output)
        for k in (0, 1):
            for edge in self._escaping(sides[k], members):
                gives[k].append(len(wanted[k]))
                gives[1 - k].append(None)
                wanted[k].append(edge)
                self.rename(edge, Edge(label, len(outputs)))
                outputs.append(self._output(edge))
        plans, captured = zip(*(self.closed(f"{label}{k}", sides[k], wanted[k]) for k in (0, 1)))
        self.unit |= dict.fromkeys(names, label)
        inputs = (self.resolve(predicate), *captured[0], *captured[1])
        unit = Branch(plans, (tuple(gives[0]), tuple(gives[1])))
        first = self.nodes[names[0]]
        made = PlanNode(
            label,
            BRANCH,
            inputs,
            tuple(sorted(outer - {e.node for e in inputs})),
            unit_attrs(unit),
            tuple(outputs),
            tuple(self._output(e).dtype for e in inputs),
            first.device,
            first.origins,
            first.number,
        )
        self.known[label] = made
        return made

    def _sides(
        self, predicate: Edge, names: Sequence[str], base: Base
    ) -> tuple[list[list[str]], list[PlanNode]]:
        sides: list[list[str]] = [[], []]
        merges = []
        for name in names:
            guard = self.own(name, base)
            if guard:
                sides[guard[0][1]].append(name)
            else:
                merges.append(self.nodes[name])
        return sides, merges

    def own(self, name: str, base: Base) -> list[tuple[Edge, int]]:
        return [g for g in self.guards.of[name] if g not in base]

    def _merged(self, merge: PlanNode, predicate: Edge) -> list[Edge]:
        sides = [dict(self.guards.of_edge(e))[predicate] for e in merge.inputs]
        return [merge.inputs[sides.index(k)] for k in (0, 1)]

    def _position(self, label: str, side: list[PlanNode], k: int, position: int) -> Edge:
        """Which input a Merge took, as a constant of the side."""
        name = f"{label}{k}/_position{position}"
        if name not in self.known:
            value = Literal(np.array(position, np.int32), dtypes.int32)
            attrs = {"value": value, "dtype": dtypes.int32}
            made = PlanNode(name, const, (), (), attrs, (Output(dtypes.int32, SCALAR),))
            self.known[name] = made
            side.append(made)
        return Edge(name, 0)

    def _is_used(self, edge: Edge, inside: set[str]) -> bool:
        return edge in self.fetches or any(name not in inside for name in self._data_users.get(edge, ()))

    def _escaping(self, side: Sequence[PlanNode], inside: set[str]) -> list[Edge]:
        """Values of a side that somebody else uses: under the same condition, as its guard says."""
        found: list[tuple[int, Edge]] = []
        for node in side:
            for index in range(len(node.outputs)):
                stack = [value := Edge(node.name, index)]
                while stack:
                    edge = stack.pop()
                    stack += self._aliases.get(edge, ())
                    for place, used, name in self._users.get(edge, ()):
                        if name not in inside and name not in self.unit and self.resolve(used) == value:
                            found.append((place, value))
        return list(dict.fromkeys(value for _, value in sorted(found)))

    def _output(self, edge: Edge) -> Output:
        return self.known[edge.node].outputs[edge.index]

    # -- plans -------------------------------------------------------------------------------
    def closed(
        self, label: str, nodes: Sequence[PlanNode], wanted: Sequence[Edge], feeds: Sequence[Edge] = ()
    ) -> tuple[Plan, list[Edge]]:
        """A plan of these nodes: what they use from elsewhere is fed, `feeds` first."""
        captured = list(dict.fromkeys([*feeds, *free(nodes, wanted)]))
        inside: dict[Edge, Edge] = {}
        made: dict[str, PlanNode] = {}
        for i, edge in enumerate(captured):
            name, output, source = f"{label}/_in{i}", self._output(edge), self.known[edge.node]
            attrs = {"dtype": output.dtype, "shape": output.shape}
            made[name] = PlanNode(
                name, placeholder, (), (), attrs, (output,), (), source.device, source.origins, i
            )
            inside[edge] = Edge(name, 0)
        names = {n.name for n in nodes}
        for n in nodes:
            control = tuple(c for c in n.control if c in names)
            inputs = tuple(inside.get(e, e) for e in n.inputs)
            made[n.name] = replace(n, inputs=inputs, control=control)
        fetches = tuple(inside.get(e, e) for e in wanted)
        return Plan(made, tuple(made)[: len(captured)], fetches), captured


def free(nodes: Sequence[PlanNode], wanted: Sequence[Edge]) -> list[Edge]:
    """What is used here and made elsewhere."""
    names = {n.name for n in nodes}
    used = [*(e for n in nodes for e in n.inputs), *wanted]
    return list(dict.fromkeys(e for e in used if e.node not in names))


@dataclass(slots=True)
class _Group:
    """The nodes that hang on one condition, as far as they are not in a branch yet."""

    predicate: Edge
    is_known: bool  # the condition has a value by now
    places: list[int] = field(default_factory=list)  # of all its nodes, the last ones first
    ready: list[int] = field(default_factory=list)  # heap: of those whose operands are there
    is_queued: bool = False


class _Order:
    """One call of `straight`.

    A node's place is that in `names`.  How many operands each still waits for is counted, so that every
    edge is looked at once, however many branches are made.
    """

    def __init__(self, block: Block, names: list[str], base: Base) -> None:
        """Count what each node waits for, and find its condition."""
        self.block, self.names, self.base = block, names, base
        self.place = {name: i for i, name in enumerate(names)}
        self.done: set[str] = set()
        self.out: list[PlanNode] = []
        self.present: set[str] = set()  # the names of `out`
        self.missing: list[int] = []
        self.users: dict[str, list[int]] = {}
        self.free: list[int] = []  # heap: unconditional nodes whose operands are there
        self.writers: list[int] = []  # heap: of these, writers that earlier nodes hold back
        self.holders: list[int] = []  # places of unconditional and other nodes that touch state, in order
        self.first_holder = 0
        self.groups: dict[Edge, _Group] = {}
        self.group: list[_Group | None] = []
        self.known_by: dict[str, list[_Group]] = {}  # groups whose condition this node computes
        self.branches: list[tuple[int, Edge]] = []  # heap: groups that can make a branch, by their first node
        for place, name in enumerate(names):
            self._add(place, name)
        for group in self.groups.values():
            group.places.reverse()
            self._queue(group)

    def _add(self, place: int, name: str) -> None:
        node = self.block.nodes[name]
        sources = [s for s in self.block.sources(node) if s in self.place]
        self.missing.append(len(sources))
        for source in sources:
            self.users.setdefault(source, []).append(place)
        if any(map(self._is_state, node.inputs)):
            self.holders.append(place)
        group = self._group(name)
        self.group.append(group)
        if group is not None:
            group.places.append(place)
        if not sources:
            heapq.heappush(self.free if group is None else group.ready, place)

    def _group(self, name: str) -> _Group | None:
        """The condition whose branch a node goes to."""
        guard = self.block.own(name, self.base)
        predicate = guard[0][0] if guard else self.block.guards.merged.get(name)
        if predicate is None:
            return None
        if predicate not in self.groups:
            source = self.block.resolve(predicate).node
            group = self.groups[predicate] = _Group(predicate, source not in self.place)
            if not group.is_known:
                self.known_by.setdefault(source, []).append(group)
        return self.groups[predicate]

    def _is_state(self, edge: Edge) -> bool:
        """A reference or a handle: who has it as an input reads or writes state."""
        source = self.block.known.get(edge.node)
        return source is not None and is_handle(source.outputs[edge.index].dtype)

    # -- what may run ------------------------------------------------------------------------
    def run(self) -> list[PlanNode]:
        while len(self.done) < len(self.names):
            if self.free:
                self._take(heapq.heappop(self.free))
            elif self.writers and self.writers[0] <= self._held_from():
                self._emit(heapq.heappop(self.writers))
            elif not self._take_branch():
                if not self.writers:
                    raise Unstructured(f"{self._stuck()} waits for itself")
                self._let_go()
        return self.out

    def _let_go(self) -> None:
        """Writers that wait for nodes that wait for them: they, and what they were in the way of."""
        while self.writers or self.free:
            heap = min(filter(None, (self.writers, self.free)), key=lambda places: places[0])
            self._emit(heapq.heappop(heap))

    def _stuck(self) -> str:
        return next(name for name in self.names if name not in self.done)

    def _take(self, place: int) -> None:
        """Emit a node, but for a writer of state that earlier nodes hold back."""
        if place > self._held_from() and self.block.nodes[self.names[place]].writes:
            heapq.heappush(self.writers, place)
        else:
            self._emit(place)

    def _held_from(self) -> int:
        """The place of the first node that touches state and has not run."""
        while self.first_holder < len(self.holders):
            place = self.holders[self.first_holder]
            if self.names[place] not in self.done:
                return place
            self.first_holder += 1
        return len(self.names)

    def _emit(self, place: int) -> None:
        name = self.names[place]
        self._put(self.block.emitted(self.block.nodes[name], self.present))
        self.done.add(name)
        self._arrived(name)

    def _put(self, node: PlanNode) -> None:
        self.out.append(node)
        self.present.add(node.name)

    def _arrived(self, name: str) -> None:
        """The value of a node is there, for everybody."""
        for place in self.users.pop(name, ()):
            self._count(place)
        for group in self.known_by.pop(name, ()):
            group.is_known = True
            self._queue(group)

    def _count(self, place: int) -> None:
        self.missing[place] -= 1
        if not self.missing[place]:
            self._ready(place)

    def _ready(self, place: int) -> None:
        group = self.group[place]
        if group is None:
            heapq.heappush(self.free, place)
            return
        heapq.heappush(group.ready, place)
        self._queue(group)

    def _queue(self, group: _Group) -> None:
        if group.ready and group.is_known and not group.is_queued:
            group.is_queued = True
            heapq.heappush(self.branches, (group.places[-1], group.predicate))

    # -- branches ----------------------------------------------------------------------------
    def _take_branch(self) -> bool:
        if not self.branches:
            return False
        group = self.groups[heapq.heappop(self.branches)[1]]
        taken = self._gather(group)
        self._put(self.block.branch(group.predicate, taken, self.base, self.present))
        self.done.update(taken)
        while group.places and self.names[group.places[-1]] in self.done:
            group.places.pop()
        group.is_queued = False
        for name in taken:
            self._arrived(name)
        return True

    def _gather(self, group: _Group) -> list[str]:
        """All nodes of a group that can be in one branch: they wait for nothing but each other."""
        taken: list[int] = []
        while group.ready:
            place = heapq.heappop(group.ready)
            taken.append(place)
            name = self.names[place]
            merges = MERGE in self.block.nodes[name].op.traits
            if merges and not self.block.own(name, self.base):
                continue  # a merged value exists only after the branch
            others = []
            for user in self.users.pop(name, ()):
                if self.group[user] is group:
                    self._count(user)
                else:
                    others.append(user)
            if others:
                self.users[name] = others
        return [self.names[place] for place in sorted(taken)]
