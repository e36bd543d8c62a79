"""Python values -> attributes of a node, of the declared kind and within the declared limits.

Messages follow TF's: its users and tests match them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from headrace.core.dtypes import as_dtype
from headrace.core.modules import late
from headrace.core.shapes import Shape, as_shape
from headrace.graph.attrs import FunctionName, Literal
from headrace.graph.defaults import get_default_graph
from headrace.ops.declaration.declare import Op
from headrace.ops.declaration.signature import REQUIRED, Attr

tensor_proto = late("headrace.formats.tensor_proto")


def fill_attrs(op: Op, values: dict[str, Any], attrs: dict[str, Any]) -> None:
    """Add to `attrs` what the caller gave and what has a default, in the declared order."""
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
            raise ValueError(f"Attr '{name}' of '{op.name}' Op passed {value} less than minimum {spec.min}.")
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
    return ValueError(f"Attr '{name}' of '{op.name}' Op passed string '{item}' not in: \"{choices}\".")


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
                # A NodeDef holds 32 bits: a node computes what it would after a journey through one.
                with np.errstate(over="ignore"):
                    return float(np.float32(float(value)))
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
        value = int(value.__index__())
    try:
        number = int(value)
    except (TypeError, ValueError):
        raise TypeError(f"Expected int for argument '{name}' not {value!r}.") from None
    if isinstance(value, (str, bytes)):
        raise TypeError(f"Expected int for argument '{name}' not {value!r}.")
    if not -(2**63) <= number < 2**63:
        raise ValueError(f"Value out of range for argument '{name}': {number}")
    return number


def _literal(value: Any) -> Literal:
    if isinstance(value, Literal):
        return value
    if hasattr(value, "tensor_shape"):  # a TensorProto
        return Literal(tensor_proto.from_proto(value), as_dtype(value.dtype))
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
