"""The attributes of a NodeDef, checked against the op's declaration.

In: an op and the messages of its attributes.  Out: plain values (graph.attrs), complete, in the
order of the declaration, then those that no declaration names (`_class`, ...).  What does not fit
is refused with InvalidArgumentError, in TF's words.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from headrace.core.dtypes import DType
from headrace.core.errors import InvalidArgumentError, UnimplementedError
from headrace.ops.declaration.declare import Op
from headrace.ops.declaration.messages.op_def import read
from headrace.ops.declaration.signature import REQUIRED, Arg, Attr

# The field of AttrValue (and of its lists) that holds each kind.
FIELDS = {
    "string": "s",
    "int": "i",
    "float": "f",
    "bool": "b",
    "type": "type",
    "shape": "shape",
    "tensor": "tensor",
    "func": "func",
}
_KINDS = {field: kind for kind, field in FIELDS.items()}
_TYPE_NAMES = {"float32": "float", "float64": "double", "float16": "half"}


def attributes(op: Op, messages: Mapping[str, Any], name: str) -> dict[str, Any]:
    """The attributes of the node called `name`, with the op's defaults where a message lacks."""
    found: dict[str, Any] = {}
    missing: list[str] = []
    declared = op.signature.attrs
    for key, spec in declared.items():
        if key in messages:
            found[key] = _checked(op, key, spec, messages[key], name)
        elif spec.default is not REQUIRED:
            found[key] = spec.default
        else:
            missing.append(key)
    if len(messages) > len(found):
        for key in messages:
            if key in declared:
                continue
            if not key.startswith("_") and not _is_function(op):
                raise _refused(
                    f"NodeDef mentions attr '{key}' not in {summary(op)}; NodeDef: {{{{node "
                    f"{name}}}}}. (Check whether your GraphDef-interpreting binary is up to date "
                    "with your GraphDef-generating binary.)."
                )
            found[key] = _read(messages[key], name, op)
    if missing:
        plural = "s" if len(missing) > 1 else ""
        listed = "', '".join(missing)
        raise _refused(
            f"NodeDef missing attr{plural} '{listed}' from {summary(op)}; NodeDef: {{{{node {name}}}}}"
        )
    return found


def _is_function(op: Op) -> bool:
    """A function takes any attribute: they are notes to the runtime (`experimental_...`)."""
    return getattr(op, "function", None) is not None


def _refused(message: str) -> InvalidArgumentError:
    return InvalidArgumentError(None, None, message)


def _checked(op: Op, key: str, spec: Attr, message: Any, name: str) -> Any:
    try:
        _check_kind(spec, message)
        value = read(message)
        _check_value(key, spec, value)
    except (ValueError, TypeError) as error:
        raise _refused(f"{error} for attr '{key}'\n\t; NodeDef: {{{{node {name}}}}}; {summary(op)}") from None
    return value


def _read(message: Any, name: str, op: Op) -> Any:
    try:
        return read(message)
    except (ValueError, TypeError) as error:
        raise _refused(f"{error}\n\t; NodeDef: {{{{node {name}}}}}; {summary(op)}") from None


def _check_kind(spec: Attr, message: Any) -> None:
    field = message.WhichOneof("value")
    if field == FIELDS.get(spec.kind):
        return
    if field is None:
        raise ValueError(f"AttrValue missing value with expected type '{spec.kind}'")
    if field == "placeholder":
        raise ValueError("AttrValue had value with unexpected type 'placeholder'")
    if field != "list":
        raise ValueError(f"AttrValue had value with type '{_KINDS[field]}' when '{spec.kind}' expected")
    held = [f.name for f, _ in message.list.ListFields()]
    for other in held:
        if not spec.is_list or other != FIELDS[spec.element]:
            raise ValueError(
                f"AttrValue had value with type 'list({_KINDS[other]})' when '{spec.kind}' expected"
            )
    if not spec.is_list:
        raise ValueError(f"AttrValue missing value with expected type '{spec.kind}'")


def _check_value(key: str, spec: Attr, value: Any) -> None:
    items = value if spec.is_list else (value,)
    if spec.element == "type":
        for item in items:
            if item.is_ref:
                raise ValueError(f"AttrValue must not have reference type value of {type_name(item)}")
    if spec.min is not None:
        if spec.is_list and len(value) < spec.min:
            raise ValueError(f"Length for attr '{key}' of {len(value)} must be at least minimum {spec.min}")
        if not spec.is_list and value < spec.min:
            raise ValueError(f"Value for attr '{key}' of {value} must be at least minimum {spec.min}")
    if spec.allowed is not None:
        for item in items:
            if item not in spec.allowed:
                quote = '"' if spec.element == "string" else ""
                listed = ", ".join(f"{quote}{_shown(a)}{quote}" for a in spec.allowed)
                raise ValueError(
                    f"Value for attr '{key}' of {quote}{_shown(item)}{quote} is not in the list of "
                    f"allowed values: {listed}"
                )


def _shown(value: Any) -> str:
    return type_name(value) if isinstance(value, DType) else str(value)


def type_name(dtype: DType) -> str:
    """TF's name of a type in messages of its runtime: float, double, half, int32_ref."""
    name = _TYPE_NAMES.get(dtype.base.name, dtype.base.name)
    return name + "_ref" if dtype.is_ref else name


def input_types(op: Op, attrs: Mapping[str, Any]) -> list[DType]:
    """What a node of these attributes takes."""
    return _types(op.signature.inputs, attrs)


def output_types(op: Op, attrs: Mapping[str, Any]) -> list[DType]:
    return _types(op.signature.outputs, attrs)


def _types(args: tuple[Arg, ...], attrs: Mapping[str, Any]) -> list[DType]:
    found: list[DType] = []
    for arg in args:
        if arg.number_attr is not None:
            count = attrs[arg.number_attr]
            if not 0 <= count < 1 << 24:
                raise _refused(f"Value for number_attr() {count} < 0 or too large")
        found += arg.types(attrs)
    return found


def check_inputs(op: Op, types: list[DType], count: int, name: str) -> None:
    if len(types) != count:
        listed = ", ".join(type_name(t) for t in types)
        raise _refused(
            f"NodeDef expected inputs '{listed}' do not match {count} inputs specified; "
            f"{summary(op)}; NodeDef: {{{{node {name}}}}}"
        )


def check_deprecation(op: Op, version: int) -> None:
    """Refuse an op that graphs of this version may no longer hold."""
    if op.deprecated and version >= op.deprecated[0]:
        removed, why = op.deprecated
        raise UnimplementedError(
            None,
            None,
            f"Op {op.name} is not available in GraphDef version {version}. It has been removed in "
            f"version {removed}. {why}.",
        )


def summary(op: Op) -> str:
    """One line about an op: Op<name=Neg; signature=x:T -> y:T; attr=T:type,...>."""
    inputs = ", ".join(map(_arg_text, op.signature.inputs))
    outputs = ", ".join(map(_arg_text, op.signature.outputs))
    text = f"Op<name={op.name}; signature={inputs} -> {outputs}"
    for key, spec in op.signature.attrs.items():
        text += f"; attr={key}:{spec.kind}"
        if spec.default is not REQUIRED:
            text += f",default={_shown(spec.default)}"
        if spec.min is not None:
            text += f",min={spec.min}"
        if spec.allowed is not None:
            text += f",allowed=[{', '.join(_shown(a) for a in spec.allowed)}]"
    return text + ("; is_stateful=true>" if op.is_stateful else ">")


def _arg_text(arg: Arg) -> str:
    kind = type_name(arg.dtype) if arg.dtype is not None else arg.type_attr or arg.list_attr
    if arg.number_attr:
        kind = f"{arg.number_attr}*{kind}"
    return f"{arg.name}:Ref({kind})" if arg.is_ref else f"{arg.name}:{kind}"
