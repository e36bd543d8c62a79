"""The nodes of one frame as a straight sequence: what hangs on a condition moves into branches.

Nodes that one condition guards are taken together as far as their operands allow; a second group with
the same condition follows where something between them needs the first and the second needs that (the
gradient of a conditional does).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

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
        self.nodes = {n.name: n for n in nodes}
        self.known = outer | self.nodes  # and the units made here
        self.guards, self.fetches = guards, set(fetches)
        self.alias = dict(renamed)
        self.unit: dict[str, str] = {}  # a node -> the branch that it is in

    # -- names -------------------------------------------------------------------------------
    def resolve(self, edge: Edge) -> Edge:
        """Where a value comes from, past Switches and out of branches."""
        while True:
            node = self.nodes.get(edge.node)
            if edge in self.alias:
                edge = self.alias[edge]
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
        work = _Order(self, [n for n in names if SWITCH not in self.nodes[n].op.traits], base)
        while work.pending:
            if not (work.emit() or work.take_branch() or work.emit(is_strict=False)):
                raise Unstructured(f"{work.pending[0]} waits for itself")
        return work.out

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
        wanted: list[list[Edge]] = [[], []]
        gives: list[list[int | None]] = [[], []]
        outputs: list[Output] = []
        for merge in merges:
            values = self._merged(merge, predicate)
            for index, output in enumerate(merge.outputs):
                if index and not self._is_used(Edge(merge.name, index), names):
                    continue
                for k in (0, 1):
                    edge = values[k]
                    if index:
                        edge = self._position(label, sides[k], k, merge.inputs.index(values[k]))
                    gives[k].append(len(wanted[k]))
                    wanted[k].append(self.resolve(edge))
                self.alias[Edge(merge.name, index)] = Edge(label, len(outputs))
                outputs.append(output)
        for k in (0, 1):
            for edge in self._escaping(sides[k], names):
                gives[k].append(len(wanted[k]))
                gives[1 - k].append(None)
                wanted[k].append(edge)
                self.alias[edge] = Edge(label, len(outputs))
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

    def _is_used(self, edge: Edge, inside: Iterable[str]) -> bool:
        left = set(inside)
        return edge in self.fetches or any(
            edge in n.inputs for n in self.nodes.values() if n.name not in left
        )

    def _escaping(self, side: Sequence[PlanNode], inside: Sequence[str]) -> list[Edge]:
        """Values of a side that somebody else uses: under the same condition, as its guard says."""
        made, members = {n.name for n in side}, set(inside)
        used: list[Edge] = []
        for n in self.nodes.values():
            if n.name not in members and n.name not in self.unit and SWITCH not in n.op.traits:
                conditions = [p for p, _ in self.guards.of.get(n.name, ())]
                conditions += [self.guards.merged[n.name]] if n.name in self.guards.merged else []
                used += map(self.resolve, [*n.inputs, *conditions])
        return list(dict.fromkeys(e for e in used if e.node in made))

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


class _Order:
    """One call of `straight`."""

    def __init__(self, block: Block, pending: list[str], base: Base) -> None:
        self.block, self.pending, self.base = block, pending, base
        self.universe = set(pending)
        self.done: set[str] = set()
        self.out: list[PlanNode] = []
        self.group = {name: self._group(name) for name in pending}

    def _group(self, name: str) -> Edge | None:
        """The condition whose branch a node goes to."""
        guard = self.block.own(name, self.base)
        if guard:
            return guard[0][0]
        return self.block.guards.merged.get(name)

    def is_ready(self, name: str, besides: set[str]) -> bool:
        sources = self.block.sources(self.block.nodes[name])
        return all(s in self.done or s in besides or s not in self.universe for s in sources)

    def emit(self, is_strict: bool = True) -> bool:
        """All nodes whose turn it is; `is_strict`: a writer of state waits for earlier nodes."""
        left, is_held = [], False
        for name in self.pending:
            node = self.block.nodes[name]
            waits = is_strict and is_held and node.writes
            if self.group[name] is None and not waits and self.is_ready(name, set()):
                self.out.append(self.block.emitted(node, {n.name for n in self.out}))
                self.done.add(name)
            else:
                left.append(name)
                is_held = is_held or any(map(self._is_state, node.inputs))
        found = len(left) < len(self.pending)
        self.pending = left
        return found

    def _is_state(self, edge: Edge) -> bool:
        """A reference or a handle: who has it as an input reads or writes state."""
        source = self.block.known.get(edge.node)
        return source is not None and is_handle(source.outputs[edge.index].dtype)

    def take_branch(self) -> bool:
        for predicate in dict.fromkeys(self.group[n] for n in self.pending):
            if predicate is None or not self._is_known(predicate):
                continue
            taken = self._gather(predicate)
            if taken:
                made = self.block.branch(predicate, taken, self.base, self.done)
                self.out.append(made)
                self.done |= {*taken, made.name}
                self.universe.add(made.name)
                gone = set(taken)
                self.pending = [n for n in self.pending if n not in gone]
                return True
        return False

    def _is_known(self, predicate: Edge) -> bool:
        source = self.block.resolve(predicate).node
        return source in self.done or source not in self.universe

    def _gather(self, predicate: Edge) -> list[str]:
        taken: dict[str, None] = {}
        inside: set[str] = set()  # of a side: a merged value exists only after the branch
        for name in self.pending:
            if self.group[name] == predicate and self.is_ready(name, inside):
                taken[name] = None
                if self.block.own(name, self.base) or MERGE not in self.block.nodes[name].op.traits:
                    inside.add(name)
        return list(taken)
