"""The graph of a function's body while it is built: arguments are placeholders, and a tensor from
outside becomes one more argument (or, by value, is built again inside).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from headrace.core.dtypes import DType
from headrace.core.shapes import UNKNOWN, Shape
from headrace.graph.defaults import get_default_graph
from headrace.graph.graph import Graph
from headrace.graph.node import Node
from headrace.graph.tensor import Tensor
from headrace.ops.array.source import placeholder
from headrace.ops.declaration.building.build import make_node
from headrace.ops.declaration.catalog import find
from headrace.ops.declaration.traits import SOURCE, STATEFUL


class FunctionGraph(Graph):
    """A body.  `inputs` and `outputs` are its own tensors, `extra_inputs` those of other graphs."""

    def __init__(
        self, name: str, outer_graph: Graph | None = None, by_value: bool = False, allowed_stateful: Any = ()
    ) -> None:
        super().__init__()
        self.name = name
        self.outer_graph = outer_graph if outer_graph is not None else get_default_graph()
        self.inputs: list[Tensor] = []
        self.outputs: list[Tensor] = []
        self.extra_inputs: list[Tensor] = []
        self.extra_args: list[Tensor] = []
        self.extra_vars: list[Any] = []
        self.control_returns: list[Node] = []  # run although no output needs them
        self._by_value, self._allowed_stateful = by_value, allowed_stateful
        self._captured: dict[Tensor, Tensor] = {}
        self.is_pruned = False  # what no result needs does not run, even if it has effects
        self.is_traced = False  # by tf.function, where conditionals are stricter than in graphs

    @property
    def building_function(self) -> bool:
        return True

    def add_argument(self, dtype: DType, shape: Shape = UNKNOWN, name: str | None = None) -> Tensor:
        attrs = {"dtype": dtype, "shape": shape}
        with self.control_dependencies(None), self.no_devices():
            node = make_node(self, placeholder, (), (), attrs, name or "Placeholder")
        self.inputs.append(node.outputs[0])
        return node.outputs[0]

    def capture(self, tensor: Tensor, name: str | None = None) -> Tensor:
        """A tensor of another graph, as one of this."""
        found = self._captured.get(tensor)
        if found is not None:
            return found
        if self._by_value:
            return self._copied(tensor)
        self.extra_inputs.append(tensor)
        # The argument must not be caught in a loop or conditional that is being built here.
        with self._in_context(None):
            argument = self.add_argument(tensor.dtype.base, tensor.shape, name)
        argument.handle_data = tensor.handle_data
        self.extra_args.append(argument)
        if _is_guaranteed_constant(tensor):
            with self.control_dependencies(None):
                argument = find("GuaranteeConst")(argument)
        self._captured[tensor] = argument
        return argument

    def _copied(self, tensor: Tensor) -> Tensor:
        """Build the node of a tensor, and all that it needs, again in this graph."""
        for node in _with_sources(tensor.op, self._captured):
            if STATEFUL in node.declaration.traits and node not in self._allowed_stateful:
                raise ValueError(
                    f"Cannot capture a stateful node (name:{node.name}, type:{node.type}) by value."
                )
            if SOURCE in node.declaration.traits:
                raise ValueError(
                    f"Cannot capture a placeholder (name:{node.name}, type:{node.type}) by value."
                )
            copy = make_node(
                self,
                node.declaration,
                [self._captured[t] for t in node.inputs],
                node.inputs.types,
                dict(node.attrs),
                node.name,
            )
            self._captured.update(zip(node.outputs, copy.outputs))
        return self._captured[tensor]

    @contextmanager
    def container(self, container_name: str) -> Iterator[str]:
        """Variables live in the outermost graph, so the container holds there too."""
        outer: Any = self.outer_graph
        while isinstance(outer, FunctionGraph):
            outer = outer.outer_graph
        with super().container(container_name), outer.container(container_name):
            yield container_name


def _with_sources(node: Node, known: dict[Tensor, Tensor]) -> list[Node]:
    """The nodes that `node` needs and that are not known yet, inputs first, itself last."""
    done: dict[Node, None] = {}
    stack = [(node, False)]
    while stack:
        node, entered = stack.pop()
        if entered:
            done[node] = None
        elif node not in done:
            stack.append((node, True))
            stack += [(t.op, False) for t in node.inputs if t not in known and t.op not in done]
    return list(done)


def _is_guaranteed_constant(tensor: Tensor) -> bool:
    """Does the value follow from GuaranteeConst nodes alone?"""
    seen: set[Node] = set()
    stack = [tensor.op]
    while stack:
        node = stack.pop()
        if node.type == "GuaranteeConst" or node in seen:
            continue
        if not node.inputs:
            return False
        seen.add(node)
        stack += [t.op for t in node.inputs]
    return True
