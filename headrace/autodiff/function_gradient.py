"""The gradient of a function of the library, as a body: (x..., dy...) -> dx...

It is the function's own gradient function where it has one; otherwise gradient nodes are added to
the function's body, once.  Gradients of conditionals and calls are calls of such gradients.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from typing import Any

from headrace.autodiff.gradients import gradients
from headrace.core.errors import InvalidArgumentError
from headrace.graph.tensor import Tensor
from headrace.ops import array
from headrace.ops.build import make_node
from headrace.ops.convert import convert_to_tensor
from headrace.ops.function_body import Body
from headrace.ops.function_graph import FunctionGraph
from headrace.ops.function_library import Function
from headrace.ops.node_def import type_name
from headrace.ops.source import placeholder

_lock = threading.RLock()


def gradient_body(function: Function, attrs: Any, library: Mapping[str, Any]) -> Body:
    """What a SymbolicGradient of `function` computes."""
    if function.gradient_name:
        return _own_gradient(function, attrs, library)
    graph = function.body(attrs)
    with _lock:
        found: Body | None = graph._scoped.get("gradient")
        if found is None:
            found = graph._scoped["gradient"] = _differentiated(graph)
    return found


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


def _differentiated(graph: FunctionGraph) -> Body:
    with graph.as_default(), graph.control_dependencies(None):
        dys = [_argument(graph, y) for y in graph.outputs]
        flows = [(y, dy) for y, dy in zip(graph.outputs, dys) if _has_gradient(y)]
        ys, given = [y for y, _ in flows], [dy for _, dy in flows]
        dxs = gradients(ys, graph.inputs, given) if ys else [None] * len(graph.inputs)
        results = [_result(x, dx) for x, dx in zip(graph.inputs, dxs)]
    return Body(graph, [*graph.inputs, *dys], results)


def _argument(graph: FunctionGraph, y: Tensor) -> Tensor:
    attrs = {"dtype": y.dtype.base, "shape": y.shape}
    with graph.no_devices():
        return make_node(graph, placeholder, (), (), attrs, f"gradients/d_{y.op.name}").outputs[0]


def _has_gradient(y: Tensor) -> bool:
    base = y.dtype.base
    return base.is_floating or base.is_complex


def _result(x: Tensor, dx: Any) -> Tensor:
    if dx is not None:
        return convert_to_tensor(dx)
    if x.handle_data is not None:
        from headrace.autodiff.gradients import _zeros_of

        found: Tensor = _zeros_of(x)
        return found
    zeros: Tensor = array.zeros_like(x)
    return zeros
