"""Which nodes lie between xs and ys.  Inside of a function that is being built, an argument that
stands for a tensor of an outer graph counts as that tensor, unless it is itself one of xs."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from typing import Any

from headrace.graph.graph import Graph
from headrace.graph.node import Node
from headrace.graph.tensor import Tensor
from headrace.ops.graphdef.function_graph import FunctionGraph


class Reach:
    """What `gradients` sees from `graph`: it and, for a function's body, the graphs around."""

    def __init__(self, graph: Graph, xs: Sequence[Tensor]) -> None:
        self.xs = xs
        self.graphs: list[Any] = [graph]
        self._outside: dict[Tensor, Tensor] = {}  # argument of a body -> tensor that it stands for
        self._arguments: dict[Tensor, list[Tensor]] = {}  # the same, backwards
        wanted = set(xs)
        while isinstance(self.graphs[-1], FunctionGraph):
            body = self.graphs[-1]
            for tensor, argument in body._captured.items():
                if argument not in wanted:
                    self._outside[argument] = tensor
                    self._arguments.setdefault(tensor, []).append(argument)
            self.graphs.append(body.outer_graph)

    def inputs_of(self, node: Node) -> Sequence[Tensor]:
        """The inputs through which gradients flow."""
        if not self._outside:
            return node.inputs
        return [self._resolved(t) for t in node.inputs]

    def _resolved(self, tensor: Tensor) -> Tensor:
        while tensor in self._outside:
            tensor = self._outside[tensor]
        return tensor

    def between(self, ys: Sequence[Tensor]) -> dict[Node, None]:
        """The nodes on a differentiable path from xs to ys, latest first."""
        forward = self._forward()
        found: dict[Node, None] = {}
        queue = deque(y.op for y in ys)
        while queue:
            node = queue.popleft()
            if node in found or node not in forward:
                continue
            found[node] = None
            queue += [t.op for t in self.inputs_of(node)]
        return found

    def nearest_x(self, node: Node) -> Node:
        """The first x that is found behind a node."""
        wanted = {x.op for x in self.xs}
        seen: set[Node] = set()
        queue = deque([node])
        while queue:
            node = queue.popleft()
            if node in wanted:
                break
            if node not in seen:
                seen.add(node)
                queue += [t.op for t in self.inputs_of(node)]
        return node

    def _forward(self) -> set[Node]:
        """Everything that depends on xs through values that can have a gradient."""
        reached = {x.op for x in self.xs}
        stack = list(reached)
        while stack:
            for node in self._users(stack.pop()):
                if node not in reached:
                    reached.add(node)
                    stack.append(node)
        return reached

    def _users(self, node: Node) -> Iterator[Node]:
        """The nodes that take such a value, in its graph or inside of a function's body."""
        pending = [t for t in node.outputs if has_gradient_type(t)]
        while pending:
            tensor = pending.pop()
            yield from _uses(tensor)
            pending += self._arguments.get(tensor, ())


def _uses(tensor: Tensor) -> Iterator[Node]:
    """Tensor.consumers, without a look at each of the many inputs that a user may have."""
    users = tensor.op.users
    yield from users if len(tensor.op.outputs) == 1 else tensor.consumers()


def has_gradient_type(tensor: Tensor) -> bool:
    """Floats and complex numbers; handles and variants, which lead to some."""
    base = tensor.dtype.base
    return base.is_floating or base.is_complex or base.kind in "rv"
