"""The gradient of a function of the library, as a body: (x..., dy...) -> dx...

It is the function's own gradient function where it has one; otherwise gradient nodes are added to
the function's body, once.  Gradients of conditionals and calls are calls of such gradients.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from headrace.autodiff.gradients import gradients
from headrace.autodiff.halves import argument_like, has_gradient, lock, result
from headrace.core.errors import InvalidArgumentError
from headrace.graph.attrs import FunctionName
from headrace.graph.tensor import Tensor
from headrace.ops.control.function_call import symbolic_gradient
from headrace.ops.declaration import catalog
from headrace.ops.declaration.building.build import make_node
from headrace.ops.declaration.messages.node_def import input_types, type_name
from headrace.ops.declaration.signature import REQUIRED
from headrace.ops.graphdef.function_body import Body
from headrace.ops.graphdef.function_graph import FunctionGraph
from headrace.ops.graphdef.function_library import Function


def gradient_body(f: FunctionName, library: Mapping[str, Any]) -> Body:
    """What a SymbolicGradient of `f` computes.  `f` may also be an op."""
    function = library.get(f.name)
    if function is not None and function.gradient_name:
        return _own_gradient(function, f.attrs, library)
    with lock:
        if function is not None:
            body = function.body_graph(f.attrs)
        elif f.name == symbolic_gradient.name:
            body = gradient_body(dict(f.attrs)["f"], library)
        else:
            body = _op_body(f)
        if body.gradient is None:
            body.gradient = _differentiated(body)
        found: Body = body.gradient
        return found


def _op_body(f: FunctionName) -> Body:
    """A function that applies one op."""
    op = catalog.find(f.name)
    specs = op.signature.attrs
    attrs = {k: s.default for k, s in specs.items() if s.default is not REQUIRED} | dict(f.attrs)
    missing = [k for k in specs if k not in attrs]
    if missing:
        raise InvalidArgumentError(None, None, f"{f.name} needs the attributes {missing}")
    graph = FunctionGraph(f.name)
    types = input_types(op, attrs)
    for dtype in types:
        graph.add_argument(dtype)
    with graph.as_default():
        node = make_node(graph, op, graph.inputs, types, attrs, op.name)
    return Body(graph, graph.inputs, node.outputs)


def _own_gradient(function: Function, attrs: Any, library: Mapping[str, Any]) -> Body:
    body: Body = library[function.gradient_name].body_graph(attrs)  # type: ignore[index]
    wanted = function.body(attrs).inputs
    if len(body.outputs) != len(wanted):
        raise InvalidArgumentError(
            None,
            None,
            f"SymGrad expects to return {len(wanted)} ({_types(wanted)}) result(s), but get "
            f"{len(body.outputs)} ({_types(body.outputs)}) result(s) instead.",
        )
    return body


def _types(tensors: Sequence[Tensor]) -> str:
    return ", ".join(type_name(t.dtype) for t in tensors)


def _differentiated(body: Body) -> Body:
    """Gradient nodes are added to the body's own graph."""
    graph = body.graph
    with graph.as_default(), graph.control_dependencies(None):
        dys = [argument_like(y, graph) for y in body.outputs]
        flows = [(y, dy) for y, dy in zip(body.outputs, dys) if has_gradient(y)]
        ys, given = [y for y, _ in flows], [dy for _, dy in flows]
        dxs = gradients(ys, list(body.inputs), given) if ys else [None] * len(body.inputs)
        results = [result(x, dx) for x, dx in zip(body.inputs, dxs)]
    return Body(graph, [*body.inputs, *dys], results)
