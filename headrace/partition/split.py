"""Cut a placed plan at device borders.  In: a Plan with a device on every node.  Out: one Piece per
device; every crossing tensor became one Send and one Recv with the same key, however many nodes of the
other device use it; a crossing control edge became a transfer of an empty constant.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from headrace.core import dtypes
from headrace.core.shapes import make_shape
from headrace.graph.attrs import Literal
from headrace.ops.constant import const
from headrace.ops.traits import CONTROL_FLOW
from headrace.ops.transfer import recv, send
from headrace.plan.plan import Edge, Output, Plan, PlanNode, ordered


@dataclass(frozen=True, slots=True)
class Piece:
    """The part of a plan on one device, with the places of its feeds and fetches in the whole."""

    device: str
    plan: Plan
    feeds: tuple[int, ...]
    fetches: tuple[int, ...]


def split(plan: Plan) -> list[Piece]:
    devices = list(dict.fromkeys(n.device for n in plan.nodes.values()))
    if len(devices) <= 1 or _has_frames(plan):
        device = devices[0] if devices else ""
        everything = tuple(range(len(plan.feeds))), tuple(range(len(plan.fetches)))
        return [Piece(device, plan, *everything)]
    return _Cutter(plan).pieces(devices)


def _has_frames(plan: Plan) -> bool:
    """Frames stay whole: the devices of one process share memory, so one executor may run them."""
    return any(CONTROL_FLOW in n.op.traits for n in plan.nodes.values())


class _Cutter:
    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.nodes: dict[str, dict[str, PlanNode]] = {}  # by device
        self.received: dict[tuple[Edge, str], Edge] = {}  # (edge, device) -> what arrives there
        self.signals: dict[tuple[str, str], str] = {}  # (node, device) -> Recv of its signal
        self.sends: dict[str, list[str]] = {}

    def pieces(self, devices: list[str]) -> list[Piece]:
        for node in self.plan.nodes.values():
            inputs = tuple(self._local(edge, node.device) for edge in node.inputs)
            control = tuple(self._signal(name, node.device) for name in node.control)
            self._add(replace(node, inputs=inputs, control=control))
        return [self._piece(device) for device in devices]

    def _add(self, node: PlanNode) -> None:
        self.nodes.setdefault(node.device, {})[node.name] = node

    def _local(self, edge: Edge, device: str) -> Edge:
        source = self.plan.nodes[edge.node]
        if source.device == device:
            return edge
        if (edge, device) not in self.received:
            self.received[edge, device] = self._transfer(edge, source, device)
        return self.received[edge, device]

    def _signal(self, name: str, device: str) -> str:
        source = self.plan.nodes[name]
        if source.device == device:
            return name
        if (name, device) not in self.signals:
            empty = Literal(np.zeros(0, np.float32), dtypes.float32)
            marker = PlanNode(
                f"{name}/_signal", const, (), (name,), {"value": empty, "dtype": dtypes.float32},
                (Output(dtypes.float32, make_shape((0,))),), (), source.device, source.origins,
                source.number,
            )  # fmt: skip
            self._add(marker)
            self.signals[name, device] = self._transfer(Edge(marker.name, 0), marker, device).node
        return self.signals[name, device]

    def _transfer(self, edge: Edge, source: PlanNode, device: str) -> Edge:
        """A Send on the source's device, a Recv on the other; returns what arrives."""
        output = source.outputs[edge.index]
        dtype = output.dtype.base
        label = f"{edge.node}_{edge.index}/_to_{device.rsplit(':', 1)[-1]}_{device.count('/')}"
        ends = {
            "tensor_name": f"edge_{edge.node}_{edge.index}",
            "send_device": source.device,
            "send_device_incarnation": 1,
            "recv_device": device,
            "client_terminated": False,
        }
        sender = PlanNode(
            f"{label}_send", send, (edge,), (), {"T": dtype} | ends, (), (dtype,), source.device,
            source.origins, source.number,
        )  # fmt: skip
        receiver = PlanNode(
            f"{label}_recv", recv, (), (), {"tensor_type": dtype} | ends,
            (Output(dtype, output.shape),), (), device, source.origins, source.number,
        )  # fmt: skip
        self._add(sender)
        self._add(receiver)
        self.sends.setdefault(source.device, []).append(sender.name)
        return Edge(receiver.name, 0)

    def _piece(self, device: str) -> Piece:
        nodes = self.nodes[device]
        plan = self.plan
        feeds = tuple(i for i, name in enumerate(plan.feeds) if name in nodes)
        fetches = tuple(i for i, edge in enumerate(plan.fetches) if edge.node in nodes)
        part = Plan(
            nodes=ordered(list(nodes.values())),
            feeds=tuple(plan.feeds[i] for i in feeds),
            fetches=tuple(plan.fetches[i] for i in fetches),
            targets=tuple(t for t in plan.targets if t in nodes)
            + tuple(self.sends.get(device, ())),
            functions=plan.functions,
        )
        return Piece(device, part, feeds, fetches)
