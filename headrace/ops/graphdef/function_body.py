"""What a call runs: a graph, its arguments and results, and the nodes that run for their effect."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from headrace.core.errors import InvalidArgumentError
from headrace.core.shapes import Shape
from headrace.formats import proto
from headrace.graph.node import Node
from headrace.graph.tensor import Tensor
from headrace.ops.declaration.traits import STATEFUL
from headrace.ops.graphdef.function_graph import FunctionGraph
from headrace.ops.graphdef.graph_import import Import

MAX_SHAPES = 64  # bodies kept for arguments of different shapes


class Body:
    """Ready to be planned.  The graph may hold other nodes too."""

    def __init__(
        self,
        graph: FunctionGraph,
        inputs: Sequence[Tensor],
        outputs: Sequence[Tensor],
        targets: Sequence[Node] = (),
    ) -> None:
        self.graph, self.inputs, self.outputs = graph, tuple(inputs), tuple(outputs)
        self.targets = tuple(targets)
        self._for_shapes: dict[object, Body] = {}
        self.gradient: Body | None = None  # made by autodiff.function_gradient
        self.halves: Any = None  # made by autodiff.halves

    def for_shapes(self, shapes: Sequence[Shape]) -> Body:
        """The same body, with what follows from the shapes of the arguments inferred again."""
        if all(known.rank is None or known._sizes == t.shape._sizes for known, t in zip(shapes, self.inputs)):
            return self
        key = tuple(s._sizes for s in shapes)
        found = self._for_shapes.get(key)
        if found is None:
            if len(self._for_shapes) >= MAX_SHAPES:
                self._for_shapes.clear()
            try:
                found = self._rebuilt(shapes)
            except (InvalidArgumentError, ValueError):
                found = self  # the step will say what is wrong, naming the user's node
            self._for_shapes[key] = found
        return found

    def _rebuilt(self, shapes: Sequence[Shape]) -> Body:
        merged = [t.shape.merge_with(shape) for t, shape in zip(self.inputs, shapes)]
        places = {t.op for t in self.inputs}
        nodes = [n for n in self.graph.get_operations() if n not in places]
        copy, tensor_of, node_of = copied(self.graph, self.inputs, merged, nodes)
        outputs, targets = map(tensor_of, self.outputs), map(node_of, self.targets)
        return Body(copy, copy.inputs, list(outputs), list(targets))


def copied(
    graph: FunctionGraph,
    inputs: Sequence[Tensor],
    shapes: Sequence[Shape],
    nodes: Sequence[Node],
    has_shapes: bool = True,
) -> tuple[FunctionGraph, Callable[[Tensor], Tensor], Callable[[Node], Node]]:
    """Nodes of a body in a graph of their own, with arguments in place of `inputs`.

    `has_shapes`: what was known of shapes still holds.  Returns the graph and where the old tensors and nodes
    are in it.  What a node waits for and is not among `nodes` is left out.
    """
    copy = FunctionGraph(graph.name, graph.outer_graph)
    copy._functions, copy.seed, copy.is_pruned = graph._functions, graph.seed, graph.is_pruned
    moved: dict[Tensor, Tensor] = {}
    for tensor, shape in zip(inputs, shapes):
        argument = copy.add_argument(tensor.dtype.base, shape, tensor.op.name)
        argument.handle_data = tensor.handle_data
        moved[tensor] = argument
    names = {n.name for n in nodes}
    message = graph.as_graph_def(add_shapes=has_shapes)
    body = proto.GraphDef(versions=message.versions)
    for node in message.node:
        if node.name in names:
            new = body.node.add()
            new.CopyFrom(node)
            del new.input[:]
            new.input.extend(i for i in node.input if i[0] != "^" or i[1:] in names)
            if "_class" in new.attr:
                groups = new.attr["_class"].list.s
                groups[:] = [g for g in groups if g.decode().removeprefix("loc:@") in names]
    mapping = {(t.op.name, t.value_index): argument for t, argument in moved.items()}
    job = Import(copy, body, mapping, "")
    with copy.as_default():
        job.run([])
    for made, node in zip(job.made, body.node):
        assert made is not None
        made.origin = graph._nodes[node.name].origin

    def node_of(node: Node) -> Node:
        made = job.made[job.places[node.name]]  # its name may be another one
        assert made is not None
        return made

    def tensor_of(tensor: Tensor) -> Tensor:
        argument = moved.get(tensor)
        return node_of(tensor.op).outputs[tensor.value_index] if argument is None else argument

    return copy, tensor_of, node_of


def effects(graph: FunctionGraph) -> tuple[Node, ...]:
    """Nodes of a body that run although no result needs them."""
    if graph.is_pruned:
        return tuple(graph.control_returns)
    arguments = {t.op for t in graph.inputs}
    stateful = [n for n in graph.get_operations() if STATEFUL in n.declaration.traits and n not in arguments]
    return tuple(dict.fromkeys([*stateful, *graph.control_returns]))
