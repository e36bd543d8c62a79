"""Cut a placed plan at device borders.  In: a Plan with a device on every node.  Out: one Piece per
device; every crossing tensor became one Send and one Recv with the same key, however many nodes of the
other device use it; a crossing control edge became a transfer of an empty constant.

Pieces meet at the rendezvous alone.  A Send leaves a dead value as such, and its Recv gives it on; inside
a loop both run once in every iteration (see control_loops), and the key says in which.  A Recv says
under which conditions its value is alive (plan.guards): so a device can tell which of its loops and
branches are whole, without seeing the other pieces.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from headrace.core import dtypes, options
from headrace.core.dtypes import DType
from headrace.core.shapes import make_shape
from headrace.graph.attrs import Literal
from headrace.ops.array.constant import const
from headrace.ops.control.transfer import as_attribute, recv, send
from headrace.partition.control_loops import ControlLoops, check_crossing, localized, loops_of, slug
from headrace.plan.frames import Path, frames_of
from headrace.plan.guards import ALIVE_IF, SAME_AS, Guard, Guards, to_text
from headrace.plan.plan import Edge, Output, Plan, PlanNode, ordered


@dataclass(frozen=True, slots=True)
class Piece:
    """The part of a plan on one device, with the places of its feeds and fetches in the whole."""

    device: str
    plan: Plan
    feeds: tuple[int, ...]
    fetches: tuple[int, ...]


def split(plan: Plan, incarnations: Mapping[str, int] | None = None) -> list[Piece]:
    """One piece per device; a plan on one device is the only piece, as it is.  `incarnations` of devices in
    other processes are part of the keys: a value for a task that has gone reaches nobody else."""
    pieces = _pieces(plan, incarnations or {})
    if "pieces" in options.shown():
        options.show("pieces", describe(pieces))
    return pieces


def describe(pieces: list[Piece]) -> str:
    """Each device with its number of nodes, and the transfers that leave and reach it."""
    lines = []
    for piece in pieces:
        nodes = list(piece.plan.nodes.values())
        lines.append(f"{piece.device or 'no device'}: {len(nodes)} nodes")
        lines += [f"  {n.name} = {n.op.name}" for n in nodes if n.op in (send, recv)]
    return "\n".join(lines)


def _pieces(plan: Plan, incarnations: Mapping[str, int]) -> list[Piece]:
    devices = list(dict.fromkeys(n.device for n in plan.nodes.values()))
    if len(devices) <= 1:
        device = devices[0] if devices else ""
        everything = tuple(range(len(plan.feeds))), tuple(range(len(plan.fetches)))
        return [Piece(device, plan, *everything)]
    return _Cutter(localized(plan), incarnations).pieces()


class _Cutter:
    def __init__(self, plan: Plan, incarnations: Mapping[str, int]) -> None:
        self.plan, self.incarnations = plan, incarnations
        self.frames = frames_of(plan)
        self.guards = Guards(is_lenient=True)
        for node in plan.nodes.values():
            self.guards.add(node)
        self.nodes: dict[str, dict[str, PlanNode]] = {}  # by device
        self.received: dict[tuple[Edge, str], Edge] = {}  # (edge, device) -> what arrives there
        self.signals: dict[tuple[str, str], str] = {}  # (node, device) -> Recv of its signal
        self.sends: dict[str, list[str]] = {}
        self.loops = loops_of(plan, self.frames)
        self.control = ControlLoops(self.loops, self._add, self._local)

    def pieces(self) -> list[Piece]:
        for node in self.plan.nodes.values():
            self.nodes.setdefault(node.device, {})
        for node in self.plan.nodes.values():
            inputs = tuple(self._arriving(edge, node) for edge in node.inputs)
            control = tuple(self._signal(name, node.device) for name in node.control)
            self._add(replace(node, inputs=inputs, control=control))
        self._run_iterations()
        return [self._piece(device) for device in self.nodes]

    def _run_iterations(self) -> None:
        """A device with a part of a loop runs its iterations, too; the owner of the condition does
        so in any case."""
        taking_part: set[tuple[Path, str]] = set()
        for node in self.plan.nodes.values():
            longest = max(self.frames.takes[node.name], self.frames.gives[node.name], key=len)
            taking_part |= {(longest[: i + 1], node.device) for i in range(len(longest))}
        for path, device in sorted(taking_part):
            owner = self.loops[path].condition
            alone = sum(p == path for p, _ in taking_part) == 1
            if not alone and (owner is None or owner.device != device):
                self.control.beat(path, device)

    def _add(self, node: PlanNode) -> None:
        self.nodes.setdefault(node.device, {})[node.name] = node

    def _arriving(self, edge: Edge, node: PlanNode) -> Edge:
        source = self.plan.nodes[edge.node]
        if source.device != node.device:
            check_crossing(source, node)
        return self._local(edge, node.device)

    def _local(self, edge: Edge, device: str) -> Edge:
        source = self.plan.nodes[edge.node]
        if source.device == device:
            return edge
        waits = self._beat(edge.node, device)
        if (edge, device) not in self.received:
            guard = self.guards.of_edge(edge)
            self.received[edge, device] = self._transfer(edge, source, device, waits, guard)
        return self.received[edge, device]

    def _signal(self, name: str, device: str) -> str:
        source = self.plan.nodes[name]
        if source.device == device:
            return name
        if (name, device) not in self.signals:
            empty = Literal(np.zeros(0, np.float32), dtypes.float32)
            marker = PlanNode(
                f"{name}/_signal",
                const,
                (),
                (name,),
                {"value": empty, "dtype": dtypes.float32},
                (Output(dtypes.float32, make_shape((0,))),),
                (),
                source.device,
                source.origins,
                source.number,
            )
            self._add(marker)
            waits = self._beat(name, device)
            guard = self.guards.of[name]
            arrived = self._transfer(Edge(marker.name, 0), marker, device, waits, guard)
            self.signals[name, device] = arrived.node
        return self.signals[name, device]

    def _beat(self, name: str, device: str) -> tuple[str, ...]:
        """What makes a Recv of this node's value run in every iteration of its frame."""
        path = self.frames.gives[name]
        return (self.control.beat(path, device),) if path else ()

    def _transfer(
        self, edge: Edge, source: PlanNode, device: str, waits: tuple[str, ...], guard: Guard
    ) -> Edge:
        """A Send on the source's device, a Recv on the other; returns what arrives."""
        output = source.outputs[edge.index]
        dtype = output.dtype.base
        label = f"{edge.node}_{edge.index}/_to_{slug(device)}"
        ends = {
            "tensor_name": f"edge_{edge.node}_{edge.index}",
            "send_device": source.device,
            "send_device_incarnation": as_attribute(self.incarnations.get(source.device, 1)),
            "recv_device": device,
            "client_terminated": False,
        }
        sender = PlanNode(
            f"{label}_send",
            send,
            (edge,),
            (),
            {"T": dtype} | ends,
            (),
            (dtype,),
            source.device,
            source.origins,
            source.number,
        )
        receiver = PlanNode(
            f"{label}_recv",
            recv,
            (),
            waits,
            {"tensor_type": dtype, ALIVE_IF: to_text(guard)} | self._same(edge, dtype) | ends,
            (Output(dtype, output.shape),),
            (),
            device,
            source.origins,
            source.number,
        )
        self._add(sender)
        self._add(receiver)
        self.sends.setdefault(source.device, []).append(sender.name)
        return Edge(receiver.name, 0)

    def _same(self, edge: Edge, dtype: DType) -> dict[str, str]:
        """Which predicate a truth value is, past identities."""
        if not dtype.is_bool:
            return {}
        found = self.guards.predicate(edge)
        return {SAME_AS: f"{found.node}:{found.index}"}

    def _piece(self, device: str) -> Piece:
        nodes = self.nodes[device]
        plan = self.plan
        feeds = tuple(i for i, name in enumerate(plan.feeds) if name in nodes)
        fetches = tuple(i for i, edge in enumerate(plan.fetches) if edge.node in nodes)
        part = Plan(
            nodes=ordered(list(nodes.values())),
            feeds=tuple(plan.feeds[i] for i in feeds),
            fetches=tuple(plan.fetches[i] for i in fetches),
            targets=tuple(t for t in plan.targets if t in nodes) + tuple(self.sends.get(device, ())),
            functions=plan.functions,
        )
        return Piece(device, part, feeds, fetches)
