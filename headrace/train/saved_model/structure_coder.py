"""Python structures <-> StructuredValue messages: how SavedModels note arguments and results."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

from headrace.core.dtypes import DType, as_dtype
from headrace.core.shapes import Shape, as_shape
from headrace.formats import proto
from headrace.functions.values.tensor_spec import TensorSpec
from headrace.functions.values.type_spec import TypeSpec
from headrace.graph.tensor import Tensor

# Descriptions of values that are no plain tensors: number in messages -> their class.
_SPECS = {
    1: ("headrace.functions.sparse.tensor", "SparseTensorSpec"),
    2: ("headrace.functions.sparse.indexed_slices_spec", "IndexedSlicesSpec"),
    3: ("headrace.functions.ragged.spec", "RaggedTensorSpec"),
    4: ("headrace.functions.control.tensor_array_list", "TensorArraySpec"),
}


class NotEncodable(TypeError):
    """A value that has no form in messages."""


# -- out ------------------------------------------------------------------------------------------
def encode(value: Any) -> Any:
    """The message of a structure of lists, tuples, dicts, numbers, text, types, shapes and specs.

    Raises:
      NotEncodable: something else is in it.
    """
    message = proto.StructuredValue()
    _fill(message, value)
    return message


def _fill(message: Any, value: Any) -> None:
    match value:
        case None:
            message.none_value.SetInParent()
        case bool():
            message.bool_value = value
        case int():
            message.int64_value = value
        case float():
            message.float64_value = value
        case str():
            message.string_value = value
        case Shape():
            message.tensor_shape_value.CopyFrom(value.as_proto())
        case DType():
            message.tensor_dtype_value = value.as_datatype_enum
        case Tensor():
            _fill(message, TensorSpec(value.shape, value.dtype))
        case TensorSpec():
            spec = message.tensor_spec_value
            spec.name, spec.dtype = value.name or "", value.dtype.as_datatype_enum
            spec.shape.CopyFrom(value.shape.as_proto())
        case TypeSpec():
            _fill_spec(message.type_spec_value, value)
        case tuple() if hasattr(value, "_fields"):
            message.named_tuple_value.name = type(value).__name__
            for key, item in zip(value._fields, value):
                pair = message.named_tuple_value.values.add(key=key)
                _fill(pair.value, item)
        case list() | tuple():
            kind = message.list_value if isinstance(value, list) else message.tuple_value
            kind.SetInParent()
            for item in value:
                _fill(kind.values.add(), item)
        case Mapping():
            message.dict_value.SetInParent()
            for key in value:
                _fill(message.dict_value.fields[str(key)], value[key])
        case _:
            raise NotEncodable(f"No encoder for object [{value}] of type [{type(value)}].")


def _fill_spec(message: Any, value: TypeSpec) -> None:
    for number, (_, name) in _SPECS.items():
        if type(value).__name__ == name:
            message.type_spec_class, message.type_spec_class_name = number, name
            _fill(message.type_state, value._serialize())
            return
    raise NotEncodable(f"No encoder for object [{value}] of type [{type(value)}].")


# -- in -------------------------------------------------------------------------------------------
def decode(message: Any) -> Any:
    """The structure of a message.

    Raises:
      ValueError: it has a part that is not known here.
    """
    kind = message.WhichOneof("kind")
    read = _READ.get(kind)
    if read is None:
        raise ValueError(f"a structure of a SavedModel has a part of kind {kind!r}")
    return read(getattr(message, kind))


def _named_tuple(message: Any) -> Any:
    kind = namedtuple(message.name, [p.key for p in message.values], rename=True)  # type: ignore[misc]
    return kind(*(decode(p.value) for p in message.values))


def _spec(message: Any) -> Any:
    if message.type_spec_class not in _SPECS:
        raise ValueError(f"values of type {message.type_spec_class_name!r} are not known here")
    module, name = _SPECS[message.type_spec_class]
    return getattr(import_module(module), name)._deserialize(decode(message.type_state))


def _tensor_spec(message: Any) -> TensorSpec:
    return TensorSpec(as_shape(message.shape), as_dtype(message.dtype), message.name or None)


_READ: dict[str | None, Callable[[Any], Any]] = {
    "none_value": lambda m: None,
    "bool_value": bool,
    "int64_value": int,
    "float64_value": float,
    "string_value": str,
    "tensor_shape_value": as_shape,
    "tensor_dtype_value": as_dtype,
    "tensor_spec_value": _tensor_spec,
    "bounded_tensor_spec_value": _tensor_spec,
    "type_spec_value": _spec,
    "named_tuple_value": _named_tuple,
    "list_value": lambda m: [decode(v) for v in m.values],
    "tuple_value": lambda m: tuple(decode(v) for v in m.values),
    "dict_value": lambda m: {key: decode(m.fields[key]) for key in m.fields},
}
