"""The gradient of a functional While: the loop is run again as frames, whose gradient is known.

As in the gradient of a function's call, the forward values are computed a second time; what the body
gives on unchanged (captured tensors and variables) becomes a constant of the new loop.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headrace.functions.while_loop import while_loop
from headrace.graph.attrs import FunctionName
from headrace.graph.node import Node
from headrace.graph.tensor import Tensor
from headrace.ops.function_body import Body
from headrace.ops.function_call import (
    partitioned_call,
    stateful_partitioned_call,
    stateless_while,
    while_,
)
from headrace.ops.source import identity
from headrace.ops.traits import STATEFUL


def _while_grad(node: Node, *dys: Any) -> list[Any]:
    from headrace.autodiff.gradients import gradients

    inputs = [x if x.dtype.base.kind == "r" else identity(x) for x in node.inputs]
    body = _body(node, node.attrs["body"])
    varies = [i for i, (x, y) in enumerate(zip(body.inputs, body.outputs)) if x is not y]
    exits = dict(zip(varies, _as_frames(node, inputs, varies)))
    flows = [(exits.get(i, inputs[i]), dy) for i, dy in enumerate(dys) if dy is not None]
    return gradients([y for y, _ in flows], inputs, [dy for _, dy in flows])


def _body(node: Node, f: FunctionName) -> Body:
    body: Body = node.graph._functions[f.name].body_graph(f.attrs)
    return body


def _as_frames(node: Node, inputs: Sequence[Tensor], varies: Sequence[int]) -> list[Tensor]:
    """The values after the loop of the inputs that vary."""

    def everything(values: Sequence[Tensor]) -> list[Tensor]:
        given = list(inputs)
        for i, value in zip(varies, values):
            given[i] = value
        return given

    def condition(*values: Tensor) -> Tensor:
        return _call(node, node.attrs["cond"], everything(values))[0]

    def step(*values: Tensor) -> list[Tensor]:
        results = _call(node, node.attrs["body"], everything(values))
        for i, shape in zip(varies, shapes):
            results[i].set_shape(shape)
        return [results[i] for i in varies]

    shapes = [inputs[i].shape.most_specific_compatible_shape(node.outputs[i].shape) for i in varies]

    found: list[Tensor] = while_loop(
        condition, step, [inputs[i] for i in varies], name=node.name.rpartition("/")[2],
        shape_invariants=shapes,
        parallel_iterations=node.attrs["parallel_iterations"], return_same_structure=True,
    )  # fmt: skip
    return found


def _call(node: Node, f: FunctionName, values: Sequence[Tensor]) -> list[Tensor]:
    body = _body(node, f)
    op = stateful_partitioned_call if STATEFUL in node.declaration.traits else partitioned_call
    results: list[Tensor] = op(list(values), Tout=[t.dtype.base for t in body.outputs], f=f)
    for result, known in zip(results, body.outputs):
        result.set_shape(known.shape)
    return list(results)


for _op in (while_, stateless_while):
    _op.gradient(_while_grad)
