"""Pieces of a plan -> one GraphDef per task, as TF's masters register them.

What the client feeds becomes a Recv, what it fetches a Send, both terminated by the client; their keys are
how the run of a step names its values.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from headrace.distributed.cluster.spec import task_of
from headrace.formats import proto
from headrace.ops.control.transfer import as_attribute, recv, rendezvous_key, send
from headrace.ops.graphdef.import_export import fill_library, plan_node_to_proto
from headrace.partition.split import Piece
from headrace.plan.plan import Edge, Output, PlanNode
from headrace.version import GRAPH_DEF_VERSION


@dataclass(slots=True)
class Part:
    """What one task does in a step."""

    task: str
    graph_def: Any
    feeds: dict[str, int] = field(default_factory=dict)  # key -> place among the step's feeds
    fetches: dict[str, list[int]] = field(default_factory=dict)  # key -> places among its fetches
    handle: str = ""  # once it is registered
    graph_key: int = 0  # of the graph that it is a part of, if that has collectives


def make_parts(pieces: Sequence[Piece], incarnations: Mapping[str, int]) -> list[Part]:
    """The pieces of each task together; its worker cuts them by device again."""
    parts: dict[str, Part] = {}
    for piece in pieces:
        task = task_of(piece.device)
        part = parts.get(task)
        if part is None:
            part = parts[task] = Part(task, proto.GraphDef())
            part.graph_def.versions.producer = GRAPH_DEF_VERSION
            fill_library(part.graph_def, piece.plan.functions.values())
        _add(part, piece, incarnations.get(piece.device, 1))
    return list(parts.values())


def _add(part: Part, piece: Piece, incarnation: int) -> None:
    """A piece's nodes into the part of its task, with a Recv for each feed and a Send for each fetch.
    Fetches of one tensor share a Send."""
    plan = piece.plan
    fed = dict(zip(plan.feeds, piece.feeds))
    nodes: list[PlanNode] = []
    for node in plan.nodes.values():
        if node.name in fed:
            node = _entry(node, piece.device, incarnation)
            part.feeds[rendezvous_key(node.attrs)] = fed[node.name]
        nodes.append(node)
    exits: dict[Edge, str] = {}
    for edge, place in zip(plan.fetches, piece.fetches):
        if edge not in exits:
            node = _exit(plan.nodes[edge.node], edge, piece.device, incarnation)
            nodes.append(node)
            exits[edge] = rendezvous_key(node.attrs)
        part.fetches.setdefault(exits[edge], []).append(place)
    part.graph_def.node.extend(plan_node_to_proto(n) for n in nodes)


def _ends(name: str, device: str, incarnation: int) -> dict[str, Any]:
    return {
        "tensor_name": name,
        "send_device": device,
        "send_device_incarnation": as_attribute(incarnation),
        "recv_device": device,
        "client_terminated": True,
    }


def _entry(node: PlanNode, device: str, incarnation: int) -> PlanNode:
    """A Recv in place of the Placeholder through which a value is fed, under its name."""
    dtype = node.outputs[0].dtype
    attrs = {"tensor_type": dtype} | _ends(f"feed_{node.name}", device, incarnation)
    return PlanNode(node.name, recv, (), (), attrs, node.outputs, (), device, node.origins, node.number)


def _exit(node: PlanNode, edge: Edge, device: str, incarnation: int) -> PlanNode:
    dtype = node.outputs[edge.index].dtype.base
    attrs = {"T": dtype} | _ends(f"fetch_{edge.node}:{edge.index}", device, incarnation)
    name = f"_fetch_{edge.node}_{edge.index}"
    outputs: tuple[Output, ...] = ()
    return PlanNode(name, send, (edge,), (), attrs, outputs, (dtype,), device, node.origins, node.number)
