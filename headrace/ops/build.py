"""Op + Python arguments -> node.  Binds arguments, converts them to tensors, infers the attributes
that follow from them, checks the rest, runs the shape rule, and adds the node to the graph.

Messages follow TF's: its users and tests match them.
"""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext
from functools import cache
from typing import Any

import numpy as np

from headrace.core import origin
from headrace.core.dtypes import DType, as_dtype
from headrace.core.errors import BuildError, OpError
from headrace.core.shapes import Shape, as_shape
from headrace.graph.attrs import FunctionName, Literal
from headrace.graph.defaults import get_default_graph
from headrace.graph.graph import Graph
from headrace.graph.node import Node
from headrace.graph.tensor import Tensor
from headrace.ops import declare, operators
from headrace.ops.convert import convert_to_tensor, graph_from_inputs
from headrace.ops.declare import Op, wanted
from headrace.ops.shape_rules import Input
from headrace.ops.signature import REQUIRED, Arg, Attr


def apply(op: Op, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """What calling an op does."""
    values = _bind(op, args, kwargs)
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
        inputs, types = _convert_inputs(op, values, attrs)
        _fill_attrs(op, values, attrs)
        # Inside of the scope: what a conditional adds in front of the node is named after it.
        with _beside_references(graph, op, inputs):
            node = make_node(graph, op, inputs, types, attrs, scope)
    return _result(op, node, attrs)


def _beside_references(
    graph: Graph, op: Op, inputs: Sequence[Tensor]
) -> AbstractContextManager[Any]:
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
    """A node from complete attributes: checks reference types, infers shapes."""
    outputs = [d for arg in op.signature.outputs for d in arg.types(attrs)]
    shapes = infer_shapes(op, inputs, attrs, len(outputs), name, made)
    node = graph.add_node(
        op, name, inputs, types, attrs, list(zip(outputs, shapes)), made, waits_for
    )
    _carry_handle_data(node)
    return node


def _bind(op: Op, args: Sequence[Any], kwargs: dict[str, Any]) -> dict[str, Any]:
    names = op.parameters
    if len(args) > len(names):
        raise TypeError(f"{op.name} takes at most {len(names)} arguments, {len(args)} given")
    values = dict(zip(names, args))
    known = names if op.signature.inferred.isdisjoint(kwargs) else (*names, *op.signature.inferred)
    for key, value in kwargs.items():
        key = key if key in known else key.removesuffix("_")
        if key not in known:
            raise TypeError(f"apply_op() got unexpected keyword arguments: {key}")
        if key in values:
            raise TypeError(f"{op.name} got two values for argument '{key}'")
        values[key] = value
    return values


# -- inputs -------------------------------------------------------------------------------------
def _convert_inputs(
    op: Op, values: dict[str, Any], attrs: dict[str, Any]
) -> tuple[list[Tensor], list[DType]]:
    inputs: list[Tensor] = []
    types: list[DType] = []
    inferred_from: dict[str, str] = {}
    for name in op.signature.inferred:
        if values.get(name) is not None:
            attrs[name] = convert_attr(op, name, op.signature.attrs[name], values[name])
    for arg in op.signature.inputs:
        if arg.name not in values:
            raise TypeError(f"No argument for input {arg.name}")
        if arg.is_list:
            tensors = _convert_list(op, arg, values[arg.name], attrs)
        else:
            tensors = [_convert_one(op, arg, values[arg.name], attrs, inferred_from)]
        _infer(op, arg, tensors, attrs, inferred_from)
        inputs += tensors
        types += [t.dtype if arg.is_ref else t.dtype.base for t in tensors]
    return inputs, types


def _convert_one(
    op: Op, arg: Arg, value: Any, attrs: dict[str, Any], inferred_from: dict[str, str]
) -> Tensor:
    expected, preferred = arg.dtype, None
    if arg.type_attr is not None:
        expected = attrs.get(arg.type_attr)
        default = op.signature.attrs[arg.type_attr].default
        if expected is None and default is not REQUIRED:
            preferred = default
    try:
        tensor = convert_to_tensor(
            value, expected, name=arg.name, as_ref=arg.is_ref, preferred_dtype=preferred
        )
    except TypeError as error:
        if expected is None:
            raise
        raise _mismatch(op, arg, value, expected, inferred_from, error) from None
    except ValueError as error:
        if expected is None or not isinstance(value, Tensor):
            raise
        raise _mismatch(op, arg, value, expected, inferred_from, error) from None
    if expected is not None and tensor.dtype.base is not expected.base:
        raise _mismatch(op, arg, tensor, expected, inferred_from, None)
    return tensor


def _mismatch(
    op: Op, arg: Arg, value: Any, expected: DType, inferred_from: dict[str, str], error: Any
) -> TypeError:
    if isinstance(value, Tensor) or (hasattr(value, "dtype") and not isinstance(value, np.ndarray)):
        observed = as_dtype(value.dtype).base.name
    else:
        try:
            observed = convert_to_tensor(value, name=arg.name).dtype.base.name
        except (TypeError, ValueError) as other:
            return TypeError(
                f"Tried to convert '{arg.name}' to a tensor and failed. Error: {other}"
            )
    prefix = f"Input '{arg.name}' of '{op.name}' Op has type {observed} that does not match"
    if arg.type_attr is not None and arg.type_attr in inferred_from:
        source = inferred_from[arg.type_attr]
        return TypeError(f"{prefix} type {expected.name} of argument '{source}'.")
    return TypeError(f"{prefix} expected type of {expected.name}.")


def _convert_list(op: Op, arg: Arg, value: Any, attrs: dict[str, Any]) -> list[Tensor]:
    if not isinstance(value, (list, tuple)):
        raise TypeError(f"Expected list for '{arg.name}' argument to '{op.name}' Op, not {value}.")
    wanted: list[Any] = [None] * len(value)
    if arg.dtype is not None:
        wanted = [arg.dtype] * len(value)
    elif arg.type_attr is not None:
        wanted = [_common_type(arg, value, attrs)] * len(value)
    elif arg.list_attr in attrs and len(attrs[arg.list_attr]) == len(value):
        wanted = list(attrs[arg.list_attr])
    try:
        tensors = [
            convert_to_tensor(v, w, name=f"{arg.name}_{i}", as_ref=arg.is_ref)
            for i, (v, w) in enumerate(zip(value, wanted))
        ]
    except (TypeError, ValueError):
        found = _list_types(arg, value)
        prefix = f"Tensors in list passed to '{arg.name}' of '{op.name}' Op have types {found}"
        if arg.list_attr is not None:
            raise TypeError(f"{prefix} that are invalid.") from None
        if wanted and wanted[0] is not None and arg.dtype is None:
            raise TypeError(f"{prefix} that don't all match.") from None
        raise TypeError(f"{prefix} that do not match expected type.") from None
    kinds = {t.dtype.base for t in tensors}
    if arg.type_attr is not None and len(kinds) > 1:
        found = _list_types(arg, tensors)
        raise TypeError(
            f"Tensors in list passed to '{arg.name}' of '{op.name}' Op have types {found} that "
            "don't all match."
        )
    return tensors


def _list_types(arg: Arg, values: Sequence[Any]) -> str:
    names = []
    for value in values:
        try:
            names.append(convert_to_tensor(value, name=arg.name).dtype.base.name)
        except (TypeError, ValueError):
            names.append("<NOT CONVERTIBLE TO TENSOR>")
    return "[" + ", ".join(names) + "]"


def _common_type(arg: Arg, values: Sequence[Any], attrs: dict[str, Any]) -> DType | None:
    """The type that a list of values converts to: known already, or that of its first tensor."""
    if arg.type_attr in attrs:
        return attrs[arg.type_attr]
    for value in values:
        if isinstance(value, Tensor) or hasattr(value, "_as_graph_element"):
            return as_dtype(value.dtype).base
    for value in values:
        if isinstance(value, (list, tuple)):
            nested = _common_type(arg, value, {})
            if nested is not None:
                return nested
    if values:
        return (
            convert_to_tensor(values[0], name=f"{arg.name}_0").dtype.base
            if not _plain(values)
            else None
        )
    return None


def _plain(values: Sequence[Any]) -> bool:
    return len({type(v) for v in values}) == 1


def _infer(
    op: Op, arg: Arg, tensors: list[Tensor], attrs: dict[str, Any], inferred_from: dict[str, str]
) -> None:
    """Attributes that follow from an argument: its type, its types, how many there are."""
    specs = op.signature.attrs
    if arg.number_attr is not None:
        count = len(tensors)
        if attrs.setdefault(arg.number_attr, count) != count:
            raise ValueError(
                f"List argument '{arg.name}' to '{op.name}' Op with length {count} must match "
                f"length {attrs[arg.number_attr]} of argument '{inferred_from.get(arg.number_attr)}'."
            )
        inferred_from.setdefault(arg.number_attr, arg.name)
        minimum = specs[arg.number_attr].min
        if minimum is not None and count < minimum:
            raise ValueError(
                f"List argument '{arg.name}' to '{op.name}' Op with length {count} shorter than "
                f"minimum length {minimum}."
            )
    if arg.list_attr is not None:
        found = tuple(t.dtype.base for t in tensors)
        if attrs.setdefault(arg.list_attr, found) != found:
            raise TypeError(
                f"Input '{arg.name}' of '{op.name}' Op has type list of {', '.join(d.name for d in found)} "
                f"that does not match type list {', '.join(d.name for d in attrs[arg.list_attr])} of "
                f"argument '{inferred_from.get(arg.list_attr, arg.list_attr)}'."
            )
        inferred_from.setdefault(arg.list_attr, arg.name)
        minimum = specs[arg.list_attr].min
        if minimum is not None and len(found) < minimum:
            raise ValueError(
                f"List argument '{arg.name}' to '{op.name}' Op with length {len(found)} shorter "
                f"than minimum length {minimum}."
            )
        for dtype in found:
            _check_allowed(op, arg.name, specs[arg.list_attr], dtype)
    if arg.type_attr is not None:
        if arg.type_attr not in attrs:
            if tensors:
                attrs[arg.type_attr] = tensors[0].dtype.base
                inferred_from[arg.type_attr] = arg.name
            elif specs[arg.type_attr].default is not REQUIRED:
                attrs[arg.type_attr] = specs[arg.type_attr].default
            else:
                raise TypeError(
                    f"Don't know how to infer type variable from empty input list passed to input "
                    f"'{arg.name}' of '{op.name}' Op."
                )
        _check_allowed(op, arg.name, specs[arg.type_attr], attrs[arg.type_attr])


def _check_allowed(op: Op, argument: str, spec: Attr, dtype: DType) -> None:
    if spec.allowed is not None and dtype.base not in spec.allowed:
        names = ", ".join(sorted(d.name for d in spec.allowed))
        raise TypeError(
            f"Value passed to parameter '{argument}' has DataType {dtype.base.name} not in list of "
            f"allowed values: {names}"
        )


# -- attributes ---------------------------------------------------------------------------------
def _fill_attrs(op: Op, values: dict[str, Any], attrs: dict[str, Any]) -> None:
    ordered: dict[str, Any] = {}
    for name, spec in op.signature.attrs.items():
        if name in attrs:
            ordered[name] = attrs[name]
        elif values.get(name) is not None:
            ordered[name] = convert_attr(op, name, spec, values[name])
        elif spec.default is not REQUIRED:
            ordered[name] = spec.default
        elif name in values and spec.kind == "shape":
            ordered[name] = Shape(None)
        else:
            raise TypeError(f"No argument for attr {name}")
    attrs.clear()
    attrs.update(ordered)


def convert_attr(op: Op, name: str, spec: Attr, value: Any) -> Any:
    """A Python value as an attribute of the declared kind, checked."""
    if spec.is_list:
        if not isinstance(value, (list, tuple, np.ndarray, Shape)):
            raise TypeError(f"Expected list for attr {name}")
        value = tuple(_convert_scalar(name, spec.element, v) for v in value)
        if spec.min is not None and len(value) < spec.min:
            raise ValueError(
                f"Attr '{name}' of '{op.name}' Op passed list of length {len(value)} less than "
                f"minimum {spec.min}."
            )
        items: Sequence[Any] = value
    else:
        value = _convert_scalar(name, spec.kind, value)
        items = (value,)
        if spec.kind == "int" and spec.min is not None and value < spec.min:
            raise ValueError(
                f"Attr '{name}' of '{op.name}' Op passed {value} less than minimum {spec.min}."
            )
    if spec.allowed is not None:
        for item in items:
            if item not in spec.allowed:
                raise _not_allowed(op, name, spec, item)
    return value


def _not_allowed(op: Op, name: str, spec: Attr, item: Any) -> Exception:
    assert spec.allowed is not None
    if spec.element == "type":
        names = ", ".join(sorted(d.name for d in spec.allowed))
        return TypeError(
            f"Value passed to parameter '{name}' has DataType {item.name} not in list of allowed "
            f"values: {names}"
        )
    choices = '", "'.join(spec.allowed)
    return ValueError(
        f"Attr '{name}' of '{op.name}' Op passed string '{item}' not in: \"{choices}\"."
    )


def _convert_scalar(name: str, kind: str, value: Any) -> Any:
    match kind:
        case "string":
            if isinstance(value, bytes):
                try:
                    return value.decode()
                except UnicodeDecodeError:
                    return value
            if isinstance(value, str):
                return value
            raise TypeError(f"Expected string for argument '{name}' not {value!r}.")
        case "int":
            return _integer(name, value)
        case "float":
            try:
                return float(value)
            except (TypeError, ValueError):
                raise TypeError(f"Expected float for argument '{name}' not {value!r}.") from None
        case "bool":
            if isinstance(value, (bool, np.bool_)):
                return bool(value)
            raise TypeError(f"Expected bool for argument '{name}' not {value!r}.")
        case "type":
            try:
                return as_dtype(value).base
            except TypeError:
                raise TypeError(f"Expected DataType for argument '{name}' not {value!r}.") from None
        case "shape":
            try:
                return as_shape(value)
            except TypeError as error:
                raise TypeError(f"Error converting {name} to a TensorShape: {error}") from None
        case "tensor":
            return _literal(value)
        case "func":
            return _function(value)
    raise AssertionError(f"unknown kind of attribute {kind}")


def _integer(name: str, value: Any) -> int:
    if hasattr(value, "__index__") and not isinstance(value, bool):
        return int(value.__index__())
    try:
        number = int(value)
    except (TypeError, ValueError):
        raise TypeError(f"Expected int for argument '{name}' not {value!r}.") from None
    if isinstance(value, (str, bytes)):
        raise TypeError(f"Expected int for argument '{name}' not {value!r}.")
    return number


def _literal(value: Any) -> Literal:
    if isinstance(value, Literal):
        return value
    if hasattr(value, "tensor_shape"):  # a TensorProto
        from headrace.formats.tensor_proto import from_proto

        return Literal(from_proto(value), as_dtype(value.dtype))
    array = np.array(value)
    return Literal(array, as_dtype(array.dtype))


def _function(value: Any) -> FunctionName:
    if isinstance(value, FunctionName):
        return value
    if isinstance(value, (str, bytes)):
        return FunctionName(value.decode() if isinstance(value, bytes) else value)
    if hasattr(value, "add_to_graph"):
        value.add_to_graph(get_default_graph())
    return FunctionName(value.name)


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
        message = error.message if isinstance(error, OpError) else str(error)
        raise BuildError(None, _Unmade(op, name, made), f"{op.name}: {message}") from None
    if isinstance(found, Shape):
        found = [found]
    found = [s if type(s) is Shape else as_shape_plain(s) for s in found]
    if len(found) != count:
        raise AssertionError(
            f"shape rule of {op.name} gives {len(found)} shapes for {count} outputs"
        )
    return found


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


def _carry_handle_data(node: Node) -> None:
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
    if not args:
        return node
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


declare._apply = apply
assert operators.OPERATORS  # imported so that every tensor has its operators
