"""Graph + signature -> Plan: only what the fetches need, with feeds in place of what computes them."""

from __future__ import annotations

from collections.abc import Sequence

from headrace.core.errors import InvalidArgumentError
from headrace.core.shapes import Shape, show
from headrace.graph.graph import Graph
from headrace.graph.node import Node
from headrace.graph.tensor import Tensor
from headrace.ops.array.source import placeholder
from headrace.ops.declaration.traits import SOURCE
from headrace.plan.plan import Edge, Output, Plan, PlanNode, ordered


def prune(graph: Graph, feeds: Sequence[Tensor], fetches: Sequence[Tensor], targets: Sequence[Node]) -> Plan:
    """A plan that computes `fetches` and runs `targets`, given values for `feeds`."""
    fed = {tensor: f"_arg_{tensor.op.name}_{tensor.value_index}" for tensor in feeds}
    nodes = [_arg_node(tensor, name, i) for i, (tensor, name) in enumerate(fed.items())]
    nodes += [_plan_node(n, fed) for n in _reached(fed, fetches, targets)]
    return Plan(
        nodes=ordered(nodes),
        feeds=tuple(fed.values()),
        fetches=tuple(_edge(t, fed) for t in fetches),
        targets=tuple(n.name for n in targets),
        functions=graph._functions,
    )


def _reached(fed: dict[Tensor, str], fetches: Sequence[Tensor], targets: Sequence[Node]) -> list[Node]:
    stack = [t.op for t in fetches if t not in fed] + list(targets)
    seen: dict[Node, Node | None] = dict.fromkeys(stack)  # who needs it
    while stack:
        node = stack.pop()
        if SOURCE in node.declaration.traits:
            raise unfed(node, seen)
        for source in [t.op for t in node.inputs if t not in fed] + node._control_inputs:
            if source not in seen and not _fully_fed(source, fed):
                seen[source] = node
                stack.append(source)
    return sorted(seen, key=lambda n: n.number)


def _fully_fed(node: Node, fed: dict[Tensor, str]) -> bool:
    """A fed placeholder has nothing left to run, even as a control input."""
    return SOURCE in node.declaration.traits and node.outputs[0] in fed


def unfed(node: Node, needed_by: dict[Node, Node | None]) -> InvalidArgumentError:
    """The error for a placeholder that is needed and not fed."""
    dtype, shape = node.outputs[0].dtype, node.outputs[0].shape
    known = f" and shape {_bracketed(shape)}" if shape.rank is not None and shape.rank > 0 else ""
    error = InvalidArgumentError(
        None,
        node,
        f"You must feed a value for placeholder tensor '{node.name}' with dtype "
        f"{_TF_NAMES.get(dtype.name, dtype.name)}{known}",
    )
    error.hint = _need(node, needed_by)
    return error


def _need(node: Node, needed_by: dict[Node, Node | None]) -> str:
    """Who needs it, up to what is fetched."""
    path = [node]
    while (user := needed_by[path[-1]]) is not None:
        path.append(user)
    feed = f"feed_dict={{{node.name + ':0'!r}: ...}}"
    if len(path) == 1:
        return f"it is fetched itself: {feed}"
    need = f"{path[1].name} needs it ({path[1].origin.place})"
    return f"{need}, for {path[-1].name}: {feed}" if len(path) > 2 else f"{need}: {feed}"


_TF_NAMES = {"float32": "float", "float64": "double", "float16": "half"}


def _bracketed(shape: object) -> str:
    assert isinstance(shape, Shape)
    return show(shape)


def _edge(tensor: Tensor, fed: dict[Tensor, str]) -> Edge:
    name = fed.get(tensor)
    return Edge(tensor.op.name, tensor.value_index) if name is None else Edge(name, 0)


def _arg_node(tensor: Tensor, name: str, number: int) -> PlanNode:
    dtype = tensor.dtype.base
    return PlanNode(
        name,
        placeholder,
        (),
        (),
        {"dtype": dtype, "shape": tensor.shape},
        (Output(dtype, tensor.shape),),
        (),
        tensor.op.device,
        (tensor.op.origin,),
        number,
    )


def _plan_node(node: Node, fed: dict[Tensor, str]) -> PlanNode:
    control = tuple(c.name for c in dict.fromkeys(node._control_inputs) if not _fully_fed(c, fed))
    return PlanNode(
        name=node.name,
        op=node.declaration,
        inputs=tuple(_edge(t, fed) for t in node.inputs),
        control=control,
        attrs=node.attrs,
        outputs=tuple(Output(t.dtype, t.shape) for t in node.outputs),
        input_types=tuple(node.inputs.types),
        device=node.device,
        origins=(node.origin,),
        number=node.number,
    )
