"""The client as one more device: a placed plan that receives what is fed and sends what is fetched.

In: a plan with feeds and fetches.  Out: the same plan without them; a value that the client leaves at the
step's rendezvous under a feed's key reaches the nodes that need it, whenever it comes, and a fetched value
waits for the client under its own key.  So a step may be under way while its feeds arrive.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from headrace.core.dtypes import DType
from headrace.ops.control.transfer import recv, rendezvous_key, send
from headrace.plan.guards import ALIVE_IF
from headrace.plan.plan import Edge, Plan, PlanNode, ordered

_CLIENT = "client"


def served(plan: Plan) -> Plan:
    feeds = set(plan.feeds)
    nodes = [_received(n) if n.name in feeds else n for n in plan.nodes.values()]
    sends = [_sent(plan, edge) for edge in dict.fromkeys(plan.fetches)]
    targets = dict.fromkeys([*plan.targets, *plan.feeds, *(n.name for n in sends)])
    return replace(plan, nodes=ordered([*nodes, *sends]), feeds=(), fetches=(), targets=tuple(targets))


def feed_key(name: str, device: str) -> str:
    """Where the client leaves the value of a plan's feed."""
    return rendezvous_key(_ends(name, _CLIENT, device))


def fetch_key(edge: Edge, device: str) -> str:
    """Where the client finds the value of a plan's fetch."""
    return rendezvous_key(_ends(f"{edge.node}_{edge.index}", device, _CLIENT))


def _ends(name: str, sender: str, receiver: str) -> dict[str, Any]:
    return {
        "tensor_name": f"edge_{name}",
        "send_device": sender,
        "send_device_incarnation": 1,
        "recv_device": receiver,
        "client_terminated": True,
    }


def _received(feed: PlanNode) -> PlanNode:
    dtype: DType = feed.outputs[0].dtype
    attrs = {"tensor_type": dtype, ALIVE_IF: ""} | _ends(feed.name, _CLIENT, feed.device)
    return replace(feed, op=recv, attrs=attrs)


def _sent(plan: Plan, edge: Edge) -> PlanNode:
    source, dtype = plan.nodes[edge.node], plan.dtype(edge).base
    attrs = {"T": dtype} | _ends(f"{edge.node}_{edge.index}", source.device, _CLIENT)
    name = f"{edge.node}_{edge.index}/_to_{_CLIENT}"
    return PlanNode(
        name, send, (edge,), (), attrs, (), (dtype,), source.device, source.origins, source.number
    )
