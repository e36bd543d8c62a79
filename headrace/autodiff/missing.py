"""Why a tensor has no gradient: it does not matter for the result, or every path ends in a node that
gradients do not pass."""

from __future__ import annotations

from typing import Any

from headrace.graph.node import Node
from headrace.ops.declaration.declare import GRADIENTS


def why(y: Any, x: Any) -> str:
    """A sentence about dy/dx that is None."""
    result, source = _node(y), _node(x)
    between = _ancestors(result)
    if source not in between:
        return f"{y.op.name} does not depend on {x.op.name}"
    for node in _passed(result, _users(source) & between):
        if GRADIENTS.get(node.type, ...) is None:
            return f"{node.type} has no gradient: {node.name} ({node.origin.place})"
        if not any(t.dtype.is_floating or t.dtype.is_complex for t in node.outputs):
            return f"integers have no gradient: {node.name} ({node.origin.place})"
    return f"no path from {x.op.name} to {y.op.name} has a gradient"


def _node(value: Any) -> Node:
    convert = getattr(value, "_as_graph_element", None)
    node: Node = (convert() if convert is not None else value).op
    return node


def _ancestors(node: Node) -> set[Node]:
    found, waiting = {node}, [node]
    while waiting:
        for tensor in waiting.pop().inputs:
            if tensor.op not in found:
                found.add(tensor.op)
                waiting.append(tensor.op)
    return found


def _users(node: Node) -> set[Node]:
    found, waiting = {node}, [node]
    while waiting:
        for user in waiting.pop().users:
            if user not in found:
                found.add(user)
                waiting.append(user)
    return found


def _passed(result: Node, on_the_way: set[Node]) -> list[Node]:
    """The nodes on the way, from the result on: what blocks a gradient comes first."""
    found, waiting = [], [result]
    seen = {result}
    while waiting:
        node = waiting.pop(0)
        found.append(node)
        for tensor in node.inputs:
            if tensor.op in on_the_way and tensor.op not in seen:
                seen.add(tensor.op)
                waiting.append(tensor.op)
    return found
