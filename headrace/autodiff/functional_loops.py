"""The gradient of a functional While: a While that runs as many iterations, backwards.

The forward node is made to count its iterations and to keep, in lists, what the gradient of its body
needs of each: more loop variables at its end.  The backward loop takes the lists apart.  What the body
gives on unchanged (captured tensors and variables) is kept once.  Nothing is computed again, and
gradients of any order are the gradients of such nodes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from headrace.autodiff import halves
from headrace.autodiff.loops import without_waiting
from headrace.autodiff.registry import SAVERS
from headrace.core import dtypes
from headrace.core.errors import UnimplementedError
from headrace.core.modules import late
from headrace.core.shapes import SCALAR, Shape
from headrace.functions.control.tensor_lists import described
from headrace.graph.attrs import FunctionName
from headrace.graph.defaults import get_default_graph
from headrace.graph.node import Node
from headrace.graph.tensor import Tensor
from headrace.ops.array.constant import constant
from headrace.ops.array.source import identity
from headrace.ops.control import tensor_list
from headrace.ops.control.function_call import (
    partitioned_call,
    stateful_partitioned_call,
    stateless_while,
    while_,
)
from headrace.ops.declaration.traits import STATEFUL
from headrace.ops.graphdef.function_body import Body
from headrace.ops.graphdef.function_graph import FunctionGraph
from headrace.ops.graphdef.function_library import Function
from headrace.ops.math import arithmetic, comparison

gradients = late("headrace.autodiff.gradients")


@dataclass
class Saving:
    """What a loop hands on to its gradient."""

    outputs: int  # the gradients of the first ones are asked for
    is_shared: bool  # another gradient may use what is saved, too
    count: Tensor
    lists: list[Tensor]
    items: list[Tensor]  # what the lists hold: tensors of the body
    kept: list[int]  # loop variables that never change and that the gradient takes
    flows: list[int]  # loop variables that have a gradient
    handles: list[int]  # handles of variables that get one
    body: Body  # what the node calls now
    cond: Body
    step: Function  # (items..., kept..., dys...) -> (dxs of flows..., of handles...)


def _while_grad(node: Node, *dys: Any) -> list[Any]:
    with halves.lock:
        saving: Saving | None = node.saving
        if saving is None or any(dy is not None for dy in dys[saving.outputs :]):
            saving = node.saving = _extended(node, len(dys))
        elif not saving.is_shared:
            saving = node.saving = _extended(node, saving.outputs)
    given = [halves.result(node.outputs[i], dys[i]) for i in saving.flows]
    found: list[Any] = [None] * len(node.inputs)
    if not saving.flows:
        return found
    results = _backward(node, saving, given)
    for i, dx in zip((*saving.flows, *saving.handles), results):
        found[i] = dx
    return found


# -- forward --------------------------------------------------------------------------------------
def _body(node: Node, f: FunctionName) -> Body:
    body = halves.find(node.graph, f)
    if body is None:
        raise UnimplementedError(None, node, f"gradient of a loop over the function {f.name}")
    return body


def _extended(node: Node, count: int) -> Saving:
    known: Saving | None = node.saving
    body = _body(node, node.attrs["body"]) if known is None else known.body
    part = halves.of(body, count)
    handles = [i for i, dx in enumerate(part.dxs) if dx is not None and body.inputs[i].dtype.base.kind == "r"]
    part.fill(part.flows)
    results: list[Any] = [part.dxs[i] for i in (*part.flows, *handles)]
    needed = part.needed(results)
    places = {t: i for i, t in enumerate(body.inputs)}
    kept = [places[t] for t in needed if t in places and _is_kept(body, places[t])]
    items = [t for t in needed if t not in places or places[t] not in kept]
    inputs = [*items, *(body.inputs[i] for i in kept)]
    name = node.attrs["body"].name
    step = halves.as_function(part.later(inputs, results), f"{name}_gradient")
    cond = _body(node, node.attrs["cond"]) if known is None else known.cond
    body, cond = _with_lists(body, items), _with_lists(cond, items, False)
    *lists, total = _given_more(node, body, cond, items)
    return Saving(count, part.is_shared, total, lists, items, kept, part.flows, handles, body, cond, step)


def _is_kept(body: Body, place: int) -> bool:
    """Does the body give this argument on as it is?"""
    tensor = body.outputs[place]
    while tensor.op.declaration is identity:
        tensor = tensor.op.inputs[0]
    return tensor is body.inputs[place]


def _with_lists(body: Body, items: Sequence[Tensor], pushes: bool = True) -> Body:
    """The body with a list for each item and a counter: its last arguments and, if it pushes, results."""
    graph = body.graph
    with graph.as_default(), graph.control_dependencies(None):
        lists = [halves.argument(graph, dtypes.variant, SCALAR, "saved") for _ in items]
        count = halves.argument(graph, dtypes.int32, SCALAR, "count")
        results = []
        if pushes:
            for held, item in zip(lists, map(halves.live, items)):
                dtype = item.dtype.base
                results.append(tensor_list.tensor_list_push_back(held, item, element_dtype=dtype))
            results.append(arithmetic.add(count, 1))
    return halves.widened(body, [*lists, count], results)


def _given_more(node: Node, body: Body, cond: Body, items: Sequence[Tensor]) -> list[Tensor]:
    """Make the node call these bodies; returns what lists and counter end with."""
    attrs: dict[str, Any] = {}
    for key, part in (("body", body), ("cond", cond)):
        old = node.graph._functions[node.attrs[key].name]
        function = halves.as_function(halves.whole(part), f"{old.name}_forward", old)
        function.add_to_graph(node.graph)
        attrs[key] = FunctionName(function.name)
    context = node._get_control_flow_context()
    with node.graph.as_default(), without_waiting(node.graph, context):
        first: list[Tensor] = [
            tensor_list.empty_tensor_list(_item_shape(t), -1, element_dtype=t.dtype.base) for t in items
        ]
        first.append(constant(0, dtypes.int32))
    attrs["T"] = (*node.attrs["T"], *(t.dtype.base for t in first))
    if node.attrs.get("output_shapes"):
        attrs["output_shapes"] = (*node.attrs["output_shapes"], *[SCALAR] * len(first))
    return halves.extended(node, first, first, [SCALAR] * len(first), attrs)


def _item_shape(tensor: Tensor) -> Any:
    """The shape of a list's items.  What a handle's op says of its shape is not the value's."""
    return described(None if tensor.dtype.base.kind == "r" else tensor.shape)


# -- backward -------------------------------------------------------------------------------------
def _backward(node: Node, saving: Saving, dys: Sequence[Tensor]) -> list[Tensor]:
    """The While that runs the gradient of the body; returns what its flows and handles end with."""
    kept = [node.inputs[i] for i in saving.kept]
    totals = [gradients._zeros_of(node.inputs[i]) for i in saving.handles]
    first = [saving.count, *saving.lists, *kept, *dys, *totals]
    shapes = [SCALAR] * (1 + len(saving.lists)) + [t.shape for t in kept]
    shapes += [_carried_shape(node, i) for i in saving.flows] + [t.shape for t in totals]
    again, step = _backward_functions(node, saving, first, shapes)
    for function in (again, step, saving.step):
        function.add_to_graph(get_default_graph())
    results: list[Tensor] = node.declaration(
        first,
        cond=FunctionName(again.name),
        body=FunctionName(step.name),
        output_shapes=shapes,
        parallel_iterations=node.attrs["parallel_iterations"],
    )
    return results[len(first) - len(dys) - len(totals) :]


def _carried_shape(node: Node, place: int) -> Shape:
    shape = node.inputs[place].shape
    return shape.most_specific_compatible_shape(node.outputs[place].shape)


def _backward_functions(
    node: Node, saving: Saving, first: Sequence[Tensor], shapes: Sequence[Shape]
) -> tuple[Function, Function]:
    name = node.attrs["body"].name
    condition, step = FunctionGraph(f"{name}_again"), FunctionGraph(f"{name}_back")
    for graph in (condition, step):
        for tensor, shape in zip(first, shapes):
            graph.add_argument(tensor.dtype.base, shape).handle_data = tensor.handle_data
        graph.is_pruned = True
    with condition.as_default():
        condition.outputs = [comparison.greater(condition.inputs[0], 0)]
    with step.as_default():
        step.outputs = _one_back(node, saving, step)
    return halves.as_function(condition, condition.name), halves.as_function(step, step.name)


def _one_back(node: Node, saving: Saving, graph: FunctionGraph) -> list[Tensor]:
    count, rest = graph.inputs[0], graph.inputs[1:]
    lists, rest = rest[: len(saving.lists)], rest[len(saving.lists) :]
    kept, rest = rest[: len(saving.kept)], rest[len(saving.kept) :]
    dys, totals = rest[: len(saving.flows)], rest[len(saving.flows) :]
    shorter, values = [], []
    for held, item in zip(lists, saving.items):
        less, value = tensor_list.tensor_list_pop_back(held, _item_shape(item), element_dtype=item.dtype.base)
        value.handle_data = item.handle_data
        if item.dtype.base.kind != "r":
            value.set_shape(item.shape)
        shorter.append(less)
        values.append(value)
    saving.step.add_to_graph(graph)
    call = stateful_partitioned_call if STATEFUL in node.declaration.traits else partitioned_call
    outputs = saving.step.body().outputs
    results = call(
        [*values, *kept, *dys], Tout=[t.dtype.base for t in outputs], f=FunctionName(saving.step.name)
    )
    for result, known in zip(results, outputs):
        result.set_shape(known.shape)
    dxs, more = results[: len(dys)], results[len(dys) :]
    sums = [arithmetic.add(total, dx) for total, dx in zip(totals, more)]
    return [arithmetic.sub(count, 1), *shorter, *kept, *dxs, *sums]


def _save(node: Node) -> None:
    with halves.lock:
        node.saving = _extended(node, len(node.outputs))


for _op in (while_, stateless_while):
    _op.gradient(_while_grad)
    SAVERS[_op.name] = _save
