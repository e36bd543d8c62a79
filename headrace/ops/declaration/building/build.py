"""Op + Python arguments -> node.  Binds arguments, converts them to tensors and attributes (arguments.py,
attr_values.py), runs the shape rule, and adds the node to the graph."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext
from functools import cache
from typing import Any

from headrace.core import origin
from headrace.core.dtypes import DType
from headrace.core.errors import BuildError, OpError
from headrace.core.shapes import Shape, as_shape, show
from headrace.graph.defaults import get_default_graph
from headrace.graph.graph import Graph
from headrace.graph.node import Node
from headrace.graph.tensor import Tensor
from headrace.ops.declaration.building import operators
from headrace.ops.declaration.building.arguments import convert_inputs
from headrace.ops.declaration.building.attr_values import fill_attrs
from headrace.ops.declaration.convert import graph_from_inputs
from headrace.ops.declaration.declare import Op, wanted
from headrace.ops.declaration.shape_rules import Input


def apply(op: Op, args: Sequence[Any], kwargs: dict[str, Any], called: str | None = None) -> Any:
    """What calling an op does.  `called` is the name under which a user called it."""
    values = _bind(op, args, kwargs, called)
    name = values.pop("name", None)
    graph = graph_from_inputs(op, values) or get_default_graph()
    # Inputs that become constants are named inside the node's own scope, as in TF.
    if graph is not get_default_graph():
        with graph.as_default():
            return _apply_in(graph, op, values, name)
    return _apply_in(graph, op, values, name)


def _apply_in(graph: Graph, op: Op, values: dict[str, Any], name: str | None) -> Any:
    with graph.name_scope(name or op.name) as scope:
        attrs: dict[str, Any] = {}
        inputs, types = convert_inputs(op, values, attrs)
        fill_attrs(op, values, attrs)
        # Inside of the scope: what a conditional adds in front of the node is named after it.
        with _beside_references(graph, op, inputs):
            node = make_node(graph, op, inputs, types, attrs, scope)
    return _result(op, node, attrs)


def _beside_references(graph: Graph, op: Op, inputs: Sequence[Tensor]) -> AbstractContextManager[Any]:
    """A node that takes a reference lives where the variable lives."""
    if not any(arg.is_ref for arg in op.signature.inputs):
        return _ANYWHERE
    stack = ExitStack()
    for arg, tensor in zip(op.signature.inputs, inputs):
        if arg.is_ref:
            stack.enter_context(graph.colocate_with(tensor.op))
    return stack


_ANYWHERE: AbstractContextManager[Any] = nullcontext()


def make_node(
    graph: Graph,
    op: Op,
    inputs: Sequence[Tensor],
    types: Sequence[DType],
    attrs: dict[str, Any],
    name: str | None,
    made: origin.Origin | None = None,
    waits_for: Sequence[Node] = (),
) -> Node:
    """A node from complete attributes: checks reference types, infers shapes.  In eager mode it runs at
    once, and its shapes are those of its values."""
    if graph.runs_at_once:
        return graph.add_node(op, name, inputs, types, attrs, (), made)
    outputs = [d for arg in op.signature.outputs for d in arg.types(attrs)]
    shapes = infer_shapes(op, inputs, attrs, len(outputs), name, made)
    node = graph.add_node(op, name, inputs, types, attrs, list(zip(outputs, shapes)), made, waits_for)
    carry_handle_data(node)
    return node


def _bind(op: Op, args: Sequence[Any], kwargs: dict[str, Any], called: str | None) -> dict[str, Any]:
    names = op.parameters
    values = dict(zip(names, args))
    known = names if op.signature.inferred.isdisjoint(kwargs) else (*names, *op.signature.inferred)
    for key, value in kwargs.items():
        key = key if key in known else key.removesuffix("_")
        if key not in known or key in values:
            raise _misfit(op, args, kwargs, called)
        values[key] = value
    if len(args) > len(names) or not values.keys() >= op.required:
        raise _misfit(op, args, kwargs, called)
    return values


def _misfit(op: Op, args: Sequence[Any], kwargs: dict[str, Any], called: str | None) -> TypeError:
    """What Python says of such a call: "exp() got an unexpected keyword argument 'nmae'"."""
    known, inferred = op.__signature__.parameters, op.signature.inferred
    for key in kwargs:
        if not {key, key.removesuffix("_")} & {*known, *inferred}:
            message = f"got an unexpected keyword argument '{key}'"
            break
    else:
        own = {k.removesuffix("_") if k not in known else k: kwargs[k] for k in kwargs}
        try:
            op.__signature__.bind(*args, **{k: v for k, v in own.items() if k in known})
            message = "got an argument twice"
        except TypeError as error:
            message = str(error)
    return TypeError(f"{called or op.__name__}() {message}")


# -- shapes -------------------------------------------------------------------------------------
def infer_shapes(
    op: Op,
    inputs: Sequence[Tensor],
    attrs: dict[str, Any],
    count: int,
    name: str | None,
    made: origin.Origin | None = None,
) -> list[Shape]:
    """Run the shape rule.  What it refuses is a BuildError that names the node and the line."""
    arguments = group([Input.from_tensor(t) for t in inputs], op, attrs)
    try:
        found = op.shape_rule(*arguments, **{w: attrs[w] for w in op.shape_wants})
    except (OpError, ValueError) as error:
        raise _unbuildable(error, op, inputs, _Unmade(op, name, made)) from None
    if isinstance(found, Shape):
        found = [found]
    found = [s if type(s) is Shape else as_shape_plain(s) for s in found]
    if len(found) != count:
        raise AssertionError(f"shape rule of {op.name} gives {len(found)} shapes for {count} outputs")
    return found


def _unbuildable(error: Exception, op: Op, inputs: Sequence[Tensor], node: _Unmade) -> BuildError:
    """What a shape rule refused, with the shapes that it saw."""
    message = error.message if isinstance(error, OpError) else str(error)
    if inputs and "input shapes" not in message:
        shapes = ", ".join(show(t.shape) for t in inputs)
        message = f"{message.removesuffix('.')} with input shapes: {shapes}."
    refused = BuildError(None, node, f"{op.name}: {message}")
    refused.hint = getattr(error, "hint", None)
    return refused


def as_shape_plain(value: Any) -> Shape:
    """A rule may return one of its inputs, a Shape, or a sequence of sizes."""
    if isinstance(value, Input):
        return value.plain()
    return as_shape(value)


class _Unmade:
    """Stands for a node that could not be made, in an error."""

    def __init__(self, op: Op, name: str | None, made: origin.Origin | None) -> None:
        self.name, self.node_def = (name or op.name).rstrip("/"), None
        self.origin = made or origin.here()


def group(flat: Sequence[Any], op: Op, attrs: Mapping[str, Any]) -> list[Any]:
    """Flat inputs as the arguments of the signature: lists for N*T and lists of types."""
    if not any(arg.is_list for arg in op.signature.inputs):
        return list(flat)
    grouped: list[Any] = []
    at = 0
    for arg in op.signature.inputs:
        if arg.is_list:
            count = arg.count(attrs)
            grouped.append(list(flat[at : at + count]))
            at += count
        else:
            grouped.append(flat[at])
            at += 1
    return grouped


def carry_handle_data(node: Node) -> None:
    """A resource (or a list) knows the type and shape of what it leads to, from node to node."""
    for tensor in node.outputs:
        if tensor.dtype.base.kind not in "rv":
            continue
        if getattr(node.declaration, "handle_rule", None) is not None:
            node.outputs[0].handle_data = _pointed_to(node)
            break
        if _describes_content(node.attrs):
            tensor.handle_data = (node.attrs["dtype"], node.attrs["shape"])
            continue
        tensor.handle_data = _carried(node, tensor.dtype.base)


def _carried(node: Node, kind: DType) -> Any:
    """What the inputs of this kind lead to, as far as they agree.  A loop may end with another list
    than it began with."""
    if kind.kind == "v" and node.type == "Exit":
        return None
    known = [t.handle_data for t in node.inputs if t.dtype.base is kind and t.handle_data]
    if not known or len({dtype for dtype, _ in known}) > 1:
        return None
    dtype, shape = known[0]
    for _, other in known[1:]:
        if other is not shape:
            shape = shape.most_specific_compatible_shape(other)
    return dtype, shape


def _describes_content(attrs: dict[str, Any]) -> bool:
    """Of a variable's handle: the type and shape of its value."""
    dtype, shape = attrs.get("dtype"), attrs.get("shape")
    return isinstance(dtype, DType) and dtype.kind not in "rv" and isinstance(shape, Shape)


def _pointed_to(node: Node) -> Any:
    rule = node.declaration.handle_rule
    arguments = group([Input.from_tensor(t) for t in node.inputs], node.declaration, node.attrs)
    return rule(*arguments, **{w: node.attrs[w] for w in wanted(rule, node.declaration.signature)})


# -- results ------------------------------------------------------------------------------------
def _result(op: Op, node: Node, attrs: dict[str, Any]) -> Any:
    args = op.signature.outputs
    if not args or (op.is_stateful and not node.outputs):  # the node is what can be run
        return None if node.graph.runs_at_once else node
    if len(args) == 1 and not args[0].is_list:
        return node.outputs[0]
    parts: list[Any] = []
    at = 0
    for arg in args:
        if arg.is_list:
            count = arg.count(attrs)
            parts.append(node.outputs[at : at + count])
            at += count
        else:
            parts.append(node.outputs[at])
            at += 1
    return parts[0] if len(parts) == 1 else _tuple_type(op)(*parts)


@cache
def _tuple_type(op: Op) -> Any:
    return namedtuple(op.name, [a.name for a in op.signature.outputs], rename=True)


assert operators.OPERATORS  # imported so that every tensor has its operators
