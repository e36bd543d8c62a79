"""Functions of a graph: a name, a FunctionDef, a body, and perhaps a gradient.

`graph._functions` maps names to `Function`.  Calling one adds a node whose op is the function's own
(`Function.op`); a plan replaces such nodes by the body (plan.inline), or the node runs the body.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headrace.core.errors import InvalidArgumentError
from headrace.core.fields import reads
from headrace.core.shapes import UNKNOWN, Shape
from headrace.graph.attrs import FunctionName
from headrace.graph.graph import Graph
from headrace.graph.node import Node
from headrace.ops.control.function_call import symbolic_gradient_of
from headrace.ops.declaration.declare import Op
from headrace.ops.declaration.messages.op_def import to_signature
from headrace.ops.declaration.traits import HOST, STATEFUL
from headrace.ops.graphdef import function_def
from headrace.ops.graphdef.function_body import Body, effects
from headrace.ops.graphdef.function_graph import FunctionGraph


class FunctionOp(Op):
    """The op of a call.  Its kernel runs the body; a plan usually puts the body in its place."""

    def __init__(self, function: Function) -> None:
        def reference(ctx: Any, *inputs: Any) -> Any:
            flat = [x for part in inputs for x in (part if isinstance(part, list) else [part])]
            results = ctx.run_function(function, flat)
            return results[0] if is_single else tuple(results)

        signature = to_signature(function.definition.signature)
        is_single = len(signature.outputs) == 1 and not signature.outputs[0].is_list
        traits = {HOST, STATEFUL} if function.definition.signature.is_stateful else {HOST}
        super().__init__(function.name, signature, reference, _unknown_shapes(signature), frozenset(traits))
        self.function = function

    op_def: Any = reads("function.definition.signature")

    def function_gradient(self, node: Node, *dys: Any) -> Any:
        """The gradient of a call: the user's Python rule, or a node that stands for it."""
        if self.function.python_gradient is not None:
            return self.function.python_gradient(node, *dys)

        return symbolic_gradient_of(node, FunctionName(node.type), dys)


def _unknown_shapes(signature: Any) -> Callable[..., Any]:
    """A call's results have any shape: TF 1.15 does not look into the body, and neither do tests."""

    def shapes(*inputs: Any, **attrs: Any) -> list[Shape]:
        return [UNKNOWN for arg in signature.outputs for _ in arg.types(attrs)]

    return shapes


class Function:
    """One function.  `graph` is its body where Python built it; else it is made from `definition`."""

    def __init__(
        self,
        definition: Any,
        graph: FunctionGraph | None = None,
        gradient_name: str | None = None,
        python_gradient: Callable[..., Any] | None = None,
        library: dict[str, Any] | None = None,
    ) -> None:
        self.definition, self.gradient_name = definition, gradient_name
        self.python_gradient = python_gradient
        self.name: str = definition.signature.name
        self._library = {} if library is None else library
        self._graphs: dict[Any, FunctionGraph] = {} if graph is None else {(): graph}
        self._bodies: dict[FunctionGraph, Body] = {}
        self.op = FunctionOp(self)
        if graph is not None:
            self.body_graph()  # gradients may be added to the graph later

    @property
    def is_inlined(self) -> bool:
        attrs = self.definition.attr
        return not ("_noinline" in attrs and attrs["_noinline"].b)

    def body(self, attrs: Any = ()) -> FunctionGraph:
        """The graph of the body for these attributes."""
        key = tuple(sorted(dict(attrs).items())) if attrs and self.definition.signature.attr else ()
        graph = self._graphs.get(key)
        if graph is None:
            bound = function_def.bound_attributes(self.definition, dict(attrs))
            graph = function_def.to_graph(self.definition, self._library, bound)
            self._graphs[key] = graph
        return graph

    def body_graph(self, attrs: Any = ()) -> Body:
        """The body as something that runs."""
        graph = self.body(attrs)
        found = self._bodies.get(graph)
        if found is None:
            found = self._bodies[graph] = Body(graph, graph.inputs, graph.outputs, effects(graph))
        return found

    def add_to_graph(self, graph: Graph) -> None:
        """Add this function and those that its body calls."""
        if add_function(graph, self) and () in self._graphs:
            for other in list(self._graphs[()]._functions.values()):
                other.add_to_graph(graph)

    def __repr__(self) -> str:
        return f"<function {self.name}>"


def add_function(graph: Graph, function: Function) -> bool:
    """Add to the library; False if the same is there already."""
    known = graph._functions.get(function.name)
    if known is function:
        return False
    if known is not None:
        if not _same(known.definition, function.definition):
            raise InvalidArgumentError(
                None,
                None,
                f"Cannot add function '{function.name}' because a different function with the same "
                "name already exists.",
            )
        if function.gradient_name and known.gradient_name != function.gradient_name:
            known.gradient_name = known.gradient_name or function.gradient_name
        return False
    graph._functions[function.name] = function
    return True


def _same(a: Any, b: Any) -> bool:
    if a == b:
        return True
    x, y = type(a)(), type(b)()
    x.CopyFrom(a)
    y.CopyFrom(b)
    for copy in (x, y):
        copy.signature.description = ""
        nodes = sorted(copy.node_def, key=lambda n: str(n.name))
        del copy.node_def[:]
        copy.node_def.extend(nodes)
    return bool(x == y)


def add_library(graph: Graph, library: Any) -> list[str]:
    """The functions of a FunctionDefLibrary; returns the names that are new."""
    known = {f.signature.name for f in library.function}
    for gradient in library.gradient:
        for name in (gradient.function_name, gradient.gradient_func):
            if name not in known and name not in graph._functions:
                raise InvalidArgumentError(
                    None, None, f"FunctionDefLibrary missing '{name}' FunctionDef\n{library}"
                )
    gradients = {g.function_name: g.gradient_func for g in library.gradient}
    added = []
    for definition in library.function:
        copy = type(definition)()
        copy.CopyFrom(definition)
        name = definition.signature.name
        function = Function(copy, None, gradients.get(name), None, graph._functions)
        if add_function(graph, function):
            added.append(name)
    return added
