"""Plan: the nodes that one signature needs, in an order in which they may run.

A plan holds declared ops only.  What is fed enters through Placeholder nodes of its own; `fetches` are
edges, `targets` nodes that must run.  The order is topological but for the back edges of loops; where
data leaves it open, nodes that write state come last, then the order of the graph decides.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field, replace
from typing import Any, NamedTuple

from headrace.core.dtypes import DType
from headrace.core.errors import InvalidArgumentError
from headrace.core.modules import late
from headrace.core.origin import Origin
from headrace.core.records import record
from headrace.core.shapes import Shape
from headrace.ops.declaration.declare import Op
from headrace.ops.declaration.traits import CONTROL_FLOW, MERGE, NEXT_ITERATION, READS, STATEFUL, WRITES

import_export = late("headrace.ops.graphdef.import_export")

_READERS = frozenset({STATEFUL, READS, CONTROL_FLOW})


class Edge(NamedTuple):
    """Output `index` of the node called `node`."""

    node: str
    index: int  # type: ignore[assignment]  # shadows tuple.index, which nobody needs here

    def __str__(self) -> str:
        return self.node if self.index == 0 else f"{self.node}:{self.index}"


def is_handle(dtype: DType) -> bool:
    """A tensor that names state instead of being a value: a reference, or a resource."""
    return dtype.is_ref or dtype.base.kind == "r"


class Output(NamedTuple):
    dtype: DType
    shape: Shape


@record
class PlanNode:
    """One use of an op in a plan."""

    name: str
    op: Op
    inputs: tuple[Edge, ...]
    control: tuple[str, ...]
    attrs: Mapping[str, Any]
    outputs: tuple[Output, ...]
    input_types: tuple[DType, ...] = ()  # a reference type: the kernel gets the variable itself
    device: str = ""
    origins: tuple[Origin, ...] = ()
    number: int = 0  # place in the user's graph

    @property
    def origin(self) -> Origin | None:
        return self.origins[0] if self.origins else None

    @property
    def has_effect(self) -> bool:
        """Must not be merged, folded, repeated or dropped."""
        return STATEFUL in self.op.traits or any(t.is_ref for t in self.input_types)

    @property
    def writes(self) -> bool:
        """Changes state: says so, or takes a reference without saying that it only reads."""
        traits = self.op.traits
        if WRITES in traits:
            return True
        if traits & _READERS:
            return False
        for dtype in self.input_types:
            if dtype.is_ref:
                return True
        return False

    @property
    def node_def(self) -> Any:
        return import_export.plan_node_to_proto(self)

    def with_inputs(self, inputs: Iterable[Edge]) -> PlanNode:
        return replace(self, inputs=tuple(inputs))


@record
class Plan:
    nodes: Mapping[str, PlanNode]  # in running order
    feeds: tuple[str, ...] = ()  # Placeholder nodes, one per fed tensor
    fetches: tuple[Edge, ...] = ()
    targets: tuple[str, ...] = ()
    functions: Mapping[str, Any] = field(default_factory=dict)  # the graph's library

    def dtype(self, edge: Edge) -> DType:
        return self.nodes[edge.node].outputs[edge.index].dtype

    def shape(self, edge: Edge) -> Shape:
        return self.nodes[edge.node].outputs[edge.index].shape

    def consumers(self) -> dict[Edge, list[PlanNode]]:
        out: dict[Edge, list[PlanNode]] = {}
        for node in self.nodes.values():
            for edge in node.inputs:
                out.setdefault(edge, []).append(node)
        return out

    def rebuilt(self, nodes: Iterable[PlanNode], **changes: Any) -> Plan:
        """The same plan with other nodes, pruned to what is needed and put in order."""
        changed = replace(self, nodes={n.name: n for n in nodes}, **changes)
        return replace(changed, nodes=ordered(needed(changed)))


def needed(plan: Plan) -> list[PlanNode]:
    """The nodes that fetches and targets depend on, and the feeds."""
    stack = [e.node for e in plan.fetches] + list(plan.targets)
    seen = set(stack) | set(plan.feeds)
    stack = list(seen)
    while stack:
        node = plan.nodes[stack.pop()]
        for name, _ in node.inputs:
            if name not in seen:
                seen.add(name)
                stack.append(name)
        for name in node.control:
            if name not in seen:
                seen.add(name)
                stack.append(name)
    return [n for n in plan.nodes.values() if n.name in seen]


def ordered(nodes: Sequence[PlanNode]) -> dict[str, PlanNode]:
    """Running order: after what a node needs; writers of state late; then the graph's order."""
    waiting: dict[str, int] = {}
    users: dict[str, list[PlanNode]] = {}
    returns = {n.name for n in nodes if NEXT_ITERATION in n.op.traits}
    ready: list[tuple[bool, int, str, PlanNode]] = []
    for n in nodes:
        sources = {e[0] for e in n.inputs}
        if returns and MERGE in n.op.traits:
            sources -= returns  # the edges on which loops return to their beginning
        sources.update(n.control)
        if not sources:
            ready.append((n.writes, n.number, n.name, n))
            continue
        waiting[n.name] = len(sources)
        for source in sources:
            users.setdefault(source, []).append(n)
    heapq.heapify(ready)
    out: dict[str, PlanNode] = {}
    while ready:
        _, _, name, node = heapq.heappop(ready)
        out[name] = node
        for n in users.get(name, ()):
            left = waiting[n.name] - 1
            if left:
                waiting[n.name] = left
            else:
                heapq.heappush(ready, (n.writes, n.number, n.name, n))
    if len(out) != len(nodes):
        stuck = next(n for n in nodes if n.name not in out)

        raise InvalidArgumentError(
            None, stuck, f"the graph has a cycle that is not a loop, through {stuck.name}"
        )
    return out


def is_back_edge(source: PlanNode, node: PlanNode) -> bool:
    """The edge on which a loop returns to its beginning."""
    return NEXT_ITERATION in source.op.traits and MERGE in node.op.traits
