"""A declared op as TF's OpDef message, and attribute values as AttrValue messages (both ways)."""

from __future__ import annotations

from typing import Any

from headrace.core.dtypes import as_dtype
from headrace.core.shapes import Shape, as_shape
from headrace.formats import proto
from headrace.formats.tensor_proto import from_proto, to_proto
from headrace.graph.attrs import FunctionName, Literal
from headrace.ops.declaration.signature import REQUIRED, Arg, Attr, Signature
from headrace.ops.declaration.traits import Trait


def to_op_def(op: Any) -> Any:
    message = proto.OpDef(name=op.name)
    for args, field in ((op.signature.inputs, message.input_arg), (op.signature.outputs, message.output_arg)):
        for arg in args:
            _fill_arg(field.add(name=arg.name, is_ref=arg.is_ref), arg)
    for name, attr in op.signature.attrs.items():
        _fill_attr(message.attr.add(name=name, type=attr.kind), attr)
    message.is_stateful = Trait.STATEFUL in op.traits
    message.is_commutative = Trait.COMMUTATIVE in op.traits
    message.is_aggregate = Trait.AGGREGATE in op.traits
    message.allows_uninitialized_input = Trait.ALLOWS_UNINITIALIZED in op.traits
    if op.deprecated:
        message.deprecation.version, message.deprecation.explanation = op.deprecated
    return message


def to_signature(message: Any) -> Signature:
    """The signature that an OpDef message describes: of a function, or of somebody else's op."""
    attrs = {a.name: _to_attr(a) for a in message.attr}
    inputs = tuple(_to_arg(a) for a in message.input_arg)
    outputs = tuple(_to_arg(a) for a in message.output_arg)
    inferred = {a for i in inputs for a in (i.type_attr, i.list_attr, i.number_attr) if a}
    return Signature(inputs, outputs, attrs, frozenset(inferred))


def _to_arg(message: Any) -> Arg:
    return Arg(
        message.name,
        as_dtype(message.type) if message.type else None,
        message.type_attr or None,
        message.type_list_attr or None,
        message.number_attr or None,
        message.is_ref,
    )


def _to_attr(message: Any) -> Attr:
    return Attr(
        message.type,
        read(message.default_value) if message.HasField("default_value") else REQUIRED,
        message.minimum if message.has_minimum else None,
        read(message.allowed_values) if message.HasField("allowed_values") else None,
    )


def _fill_arg(message: Any, arg: Arg) -> None:
    if arg.dtype is not None:
        message.type = arg.dtype.as_datatype_enum
    message.type_attr = arg.type_attr or ""
    message.type_list_attr = arg.list_attr or ""
    message.number_attr = arg.number_attr or ""


def _fill_attr(message: Any, attr: Attr) -> None:
    if attr.default is not REQUIRED:
        fill(message.default_value, attr.kind, attr.default)
    if attr.min is not None:
        message.has_minimum, message.minimum = True, attr.min
    if attr.allowed is not None:
        fill(message.allowed_values, f"list({attr.element})", attr.allowed)


def fill(message: Any, kind: str, value: Any) -> None:
    """Write an attribute value of a known kind into an AttrValue."""
    if kind.startswith("list("):
        message.list.SetInParent()
        for item in value:
            _add_to_list(message.list, kind[5:-1], item)
        return
    match kind:
        case "string":
            message.s = value if isinstance(value, bytes) else value.encode()
        case "int":
            message.i = value
        case "float":
            message.f = value
        case "bool":
            message.b = value
        case "type":
            message.type = as_dtype(value).as_datatype_enum
        case "shape":
            message.shape.CopyFrom(as_shape(value).as_proto())
        case "tensor":
            message.tensor.CopyFrom(to_proto(value.array, value.dtype.as_datatype_enum))
        case "func":
            _fill_function(message.func, value)
        case _:
            raise ValueError(f"unknown kind of attribute {kind}")


def _add_to_list(message: Any, kind: str, value: Any) -> None:
    match kind:
        case "string":
            message.s.append(value if isinstance(value, bytes) else value.encode())
        case "int":
            message.i.append(value)
        case "float":
            message.f.append(value)
        case "bool":
            message.b.append(value)
        case "type":
            message.type.append(as_dtype(value).as_datatype_enum)
        case "shape":
            message.shape.add().CopyFrom(as_shape(value).as_proto())
        case "tensor":
            message.tensor.add().CopyFrom(to_proto(value.array, value.dtype.as_datatype_enum))
        case "func":
            _fill_function(message.func.add(), value)


def _fill_function(message: Any, value: FunctionName) -> None:
    message.name = value.name
    for name, attr in value.attrs:
        fill(message.attr[name], kind_of(attr), attr)


def kind_of(value: Any) -> str:
    """The kind of an attribute that no declaration names (`_class`, attributes of functions)."""
    if isinstance(value, (tuple, list)) and not isinstance(value, FunctionName):
        return f"list({kind_of(value[0]) if value else 'int'})"
    for types, kind in _KINDS:
        if isinstance(value, types):
            return kind
    return "type"


_KINDS: tuple[tuple[Any, str], ...] = (
    ((str, bytes), "string"),
    (bool, "bool"),
    (int, "int"),
    (float, "float"),
    (Shape, "shape"),
    (Literal, "tensor"),
    (FunctionName, "func"),
)


def read(message: Any) -> Any:
    """The plain value of an AttrValue."""
    kind = message.WhichOneof("value")
    match kind:
        case "s":
            return _text(message.s)
        case "i" | "f" | "b":
            return getattr(message, kind)
        case "type":
            return as_dtype(message.type)
        case "shape":
            return Shape(message.shape)
        case "tensor":
            return _literal(message.tensor)
        case "func":
            return _function(message.func)
        case "list":
            return _read_list(message.list)
        case "placeholder":
            raise ValueError(f"the attribute is a placeholder: {message.placeholder}")
    return None


def _read_list(message: Any) -> tuple[Any, ...]:
    readers: dict[str, Any] = {
        "s": _text,
        "i": int,
        "f": float,
        "b": bool,
        "type": as_dtype,
        "shape": Shape,
        "tensor": _literal,
        "func": _function,
    }
    for name, reader in readers.items():
        items = getattr(message, name)
        if items:
            return tuple(reader(x) for x in items)
    return ()


def _text(data: bytes) -> str | bytes:
    try:
        return data.decode()
    except UnicodeDecodeError:
        return data


def _literal(message: Any) -> Literal:
    return Literal(from_proto(message), as_dtype(message.dtype))


def _function(message: Any) -> FunctionName:
    return FunctionName(message.name, tuple((k, read(v)) for k, v in sorted(message.attr.items())))
