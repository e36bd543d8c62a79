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
from dataclasses import replace

import numpy as np

from headrace.core import dtypes, options
from headrace.core.dtypes import DType
from headrace.core.records import record
from headrace.core.shapes import Shape, make_shape
from headrace.graph.attrs import Literal
from headrace.ops.array.constant import const
from headrace.ops.control.transfer import as_attribute, recv, send
from headrace.ops.declaration.traits import BLOCKING, CONSTANT, CONTROL_FLOW, DEFERRED, ENTER
from headrace.ops.math.cast import cast
from headrace.partition.control_loops import ControlLoops, check_crossing, localized, loops_of, slug, undriven
from headrace.plan.frames import Path, frames_of
from headrace.plan.guards import ALIVE_IF, AT_ONCE, SAME_AS, Guard, Guards, to_text
from headrace.plan.plan import Edge, Output, Plan, PlanNode, ordered


@record
class Piece:
    """The part of a plan on one device, with the places of its feeds and fetches in the whole."""

    device: str
    plan: Plan
    feeds: tuple[int, ...]
    fetches: tuple[int, ...]


def split(plan: Plan, incarnations: Mapping[str, int] | None = None, halves: bool = False) -> list[Piece]:
    """One piece per device; a plan on one device is the only piece, as it is.  `incarnations` of devices in
    other processes are part of the keys: a value for a task that has gone reaches nobody else.  `halves`:
    float32 goes from task to task as bfloat16, its lower bits cut off, as in TF."""
    pieces = _pieces(plan, incarnations or {}, halves)
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


def _pieces(plan: Plan, incarnations: Mapping[str, int], halves: bool) -> list[Piece]:
    devices = list(dict.fromkeys(n.device for n in plan.nodes.values()))
    if len(devices) <= 1:
        device = devices[0] if devices else ""
        everything = tuple(range(len(plan.feeds))), tuple(range(len(plan.fetches)))
        return [Piece(device, plan, *everything)]
    return _Cutter(localized(plan), incarnations, halves).pieces()


class _Cutter:
    def __init__(self, plan: Plan, incarnations: Mapping[str, int], halves: bool) -> None:
        """What is known of the whole plan, and what has been made so far."""
        self.plan, self.incarnations, self.halves = plan, incarnations, halves
        self.frames = frames_of(plan)
        self.guards = Guards(is_lenient=True)
        for node in plan.nodes.values():
            self.guards.add(node)
        self.nodes: dict[str, dict[str, PlanNode]] = {}  # by device
        self.received: dict[tuple[Edge, str], Edge] = {}  # (edge, device) -> what arrives there
        self.signals: dict[tuple[str, str], str] = {}  # (node, device) -> Recv of its signal
        self.sends: dict[str, list[str]] = {}
        self.loops = loops_of(plan, self.frames)
        self.undriven = undriven(plan, self.frames, _is_copied)
        self.origins = _origins(plan)
        self.stands_for: dict[str, str] = {}  # a new node -> the plan's node that it tells of
        self.carriers = _carriers(plan)
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
        if _is_copied(source):
            return self._copy(source, device)
        waits = self._beat(edge.node, device)
        if (edge, device) not in self.received:
            guard = self.guards.of_edge(edge)
            self.received[edge, device] = self._transfer(edge, source, device, waits, guard)
        return self.received[edge, device]

    def _copy(self, constant: PlanNode, device: str) -> Edge:
        """A small constant has no need to travel."""
        name = f"{constant.name}/_on_{slug(device)}"
        self._add(replace(constant, name=name, device=device))
        return Edge(name, 0)

    def _signal(self, name: str, device: str) -> str:
        """The node on `device` for whose end a node there waits: an empty value travels.  A value that
        travels anyway (a carrier) says it as well."""
        source = self.plan.nodes[name]
        if source.device == device:
            return name
        carrier = self.carriers.get((name, device))
        if carrier is not None:
            return self._local(carrier, device).node
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
            self.stands_for[marker.name] = name
            waits = self._beat(name, device)
            guard = self.guards.of[name]
            arrived = self._transfer(Edge(marker.name, 0), marker, device, waits, guard)
            self.signals[name, device] = arrived.node
        return self.signals[name, device]

    def _beat(self, name: str, device: str) -> tuple[str, ...]:
        """What makes a Recv of this node's value run in every iteration of its frame."""
        path = self.frames.gives[name]
        return (self.control.beat(path, device),) if path else ()

    def _beat_of_sender(self, name: str) -> tuple[str, ...]:
        """What makes the iterations exist in which a Send repeats what entered a loop (a reference, or what
        is read of it): that value needs none of them."""
        name = self.stands_for.get(name, name)
        if name not in self.undriven:
            return ()
        device = self.plan.nodes[name].device
        condition = self.loops[self.frames.gives[name]].condition
        if condition is not None and condition.device == device:
            return ()
        return self._beat(name, device)

    def _transfer(
        self, edge: Edge, source: PlanNode, device: str, waits: tuple[str, ...], guard: Guard
    ) -> Edge:
        """A Send on the source's device, a Recv on the other; returns what arrives."""
        output = source.outputs[edge.index]
        dtype = output.dtype.base
        label = f"{edge.node}_{edge.index}/_to_{slug(device)}"
        is_value = edge.node in self.plan.nodes and ENTER not in source.op.traits
        if self.halves and dtype is dtypes.float32 and is_value:
            if _task(source.device) != _task(device):
                return self._halved(edge, source, device, waits, guard, label)
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
            self._beat_of_sender(edge.node),
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
            {"tensor_type": dtype, ALIVE_IF: to_text(guard)}
            | self._same(edge, dtype)
            | self._promptness(edge, source, device, waits, guard)
            | ends,
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

    def _halved(
        self, edge: Edge, source: PlanNode, device: str, waits: tuple[str, ...], guard: Guard, label: str
    ) -> Edge:
        """The same by way of bfloat16."""
        shape = source.outputs[edge.index].shape
        narrow = self._cast(f"{label}_narrow", edge, shape, dtypes.float32, dtypes.bfloat16, source)
        self.stands_for[narrow.name] = edge.node
        arrived = self._transfer(Edge(narrow.name, 0), narrow, device, waits, guard)
        there = replace(source, device=device)
        wide = self._cast(f"{label}_wide", arrived, shape, dtypes.bfloat16, dtypes.float32, there)
        return Edge(wide.name, 0)

    def _cast(self, name: str, edge: Edge, shape: Shape, old: DType, new: DType, like: PlanNode) -> PlanNode:
        attrs = {"SrcT": old, "DstT": new, "Truncate": new is dtypes.bfloat16}
        outputs = (Output(new, shape),)
        node = PlanNode(
            name, cast, (edge,), (), attrs, outputs, (old,), like.device, like.origins, like.number
        )
        self._add(node)
        return node

    def _promptness(
        self, edge: Edge, source: PlanNode, device: str, waits: tuple[str, ...], guard: Guard
    ) -> dict[str, bool]:
        """Whether a value of another task waits for nothing, and needs no task but its own.  One that needs a
        third task may come to wait for the receiver: what waits for several such values waits for all of
        them, and two tasks that send each other what they have after the first would never begin (a sharded
        restore)."""
        sender = _task(source.device)
        needed = self.origins.get(self.stands_for.get(edge.node, edge.node), _LATER)
        if waits or guard or sender == _task(device) or needed != {sender}:
            return {}
        return {AT_ONCE: True}

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


def _task(device: str) -> str:
    return device.partition("/device:")[0]


def _is_copied(node: PlanNode) -> bool:
    if CONSTANT not in node.op.traits or node.inputs or node.control:
        return False
    value = node.attrs.get("value")
    return isinstance(value, Literal) and value.array.nbytes <= COPIED and value.array.dtype.kind != "O"


def _carriers(plan: Plan) -> dict[tuple[str, str], Edge]:
    """(node, device) -> a value of the node that goes there: who waits there for the node waits for that."""
    found: dict[tuple[str, str], Edge] = {}
    for node in plan.nodes.values():
        for edge in node.inputs:
            source = plan.nodes[edge.node]
            crosses = source.device != node.device and not _is_copied(source)
            if crosses and CONTROL_FLOW not in source.op.traits:
                found.setdefault((edge.node, node.device), edge)
    return found


def _origins(plan: Plan) -> dict[str, frozenset[str | None]]:
    """The tasks that each node depends on; None among them: it may wait, or be dead, or come again."""
    found: dict[str, frozenset[str | None]] = {}
    for node in plan.nodes.values():
        sources = {*(e.node for e in node.inputs), *node.control}
        own = {_task(node.device)} | ({None} if node.op.traits & _UNSURE else set())
        found[node.name] = frozenset(own).union(*(found.get(s, _LATER) for s in sources))
    return found


COPIED = 1024  # bytes of a constant that is rather copied than sent
_UNSURE = frozenset({BLOCKING, DEFERRED, CONTROL_FLOW})
_LATER: frozenset[str | None] = frozenset({None})  # the end of a loop, which its beginning needs
