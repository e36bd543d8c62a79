"""Places of iterators as messages (VariantTensorDataProto), for checkpoints.

The metadata is JSON: the structure of the place, in which [kind, ...] stands for what JSON lacks; arrays are
the message's tensors.
"""

from __future__ import annotations

import base64
import json
from typing import Any

import numpy as np

from headrace.core.dtypes import as_dtype
from headrace.core.errors import InvalidArgumentError, UnimplementedError
from headrace.core.shapes import as_shape
from headrace.formats import proto, tensor_proto
from headrace.ops.data.pipeline.dataset import Place
from headrace.ops.data.pipeline.elements import Elements
from headrace.ops.declaration.variant import TensorVariant

TYPE = "headrace::IteratorPlace"


def to_message(place: Place) -> Any:
    message = proto.VariantTensorDataProto(type_name=TYPE)
    message.metadata = json.dumps(_plain(place, message)).encode()
    return message


def from_message(message: Any) -> Place:
    """Raises InvalidArgumentError where it is no place."""
    if getattr(message, "type_name", None) != TYPE:
        raise InvalidArgumentError(None, None, "DeserializeIteratorOp: Unable to parse variant tensor.")
    try:
        found: Place = _value(json.loads(message.metadata), message)
    except (ValueError, LookupError, TypeError) as error:
        raise InvalidArgumentError(None, None, f"The position of an iterator is damaged: {error}") from None
    return found


def _plain(value: Any, message: Any) -> Any:
    match value:
        case None | bool() | int() | float() | str():
            return value
        case bytes():
            return ["bytes", base64.b64encode(value).decode()]
        case list():
            return ["list", *(_plain(v, message) for v in value)]
        case tuple():
            return ["tuple", *(_plain(v, message) for v in value)]
        case dict():
            return {key: _plain(v, message) for key, v in value.items()}
        case TensorVariant():
            return ["variant", value.dtype.name, _plain(value.array, message)]
        case Elements():
            shapes = [None if s.rank is None else s.as_list() for s in value.shapes]
            form = [t.name for t in value.types], shapes, value.elements
            return ["elements", *(_plain(v, message) for v in form)]
        case np.ndarray() | np.generic():
            return _array(np.asarray(value), message)
    raise UnimplementedError(
        None, None, f"The position of this iterator can not be saved: it holds a {type(value).__name__}"
    )


def _array(array: Any, message: Any) -> Any:
    if array.dtype.kind == "O" and not all(isinstance(x, bytes) for x in array.reshape(-1)):
        return ["objects", list(array.shape), *(_plain(x, message) for x in array.reshape(-1))]
    dtype = as_dtype("string") if array.dtype.kind == "O" else as_dtype(array.dtype)
    message.tensors.append(tensor_proto.to_proto(array, dtype.as_datatype_enum))
    return ["array", len(message.tensors) - 1]


def _value(plain: Any, message: Any) -> Any:
    if isinstance(plain, dict):
        return {key: _value(v, message) for key, v in plain.items()}
    if not isinstance(plain, list):
        return plain
    kind, *rest = plain
    match kind:
        case "bytes":
            return base64.b64decode(rest[0])
        case "list":
            return [_value(v, message) for v in rest]
        case "tuple":
            return tuple(_value(v, message) for v in rest)
        case "variant":
            return TensorVariant(_value(rest[1], message), as_dtype(rest[0]))
        case "objects":
            shape, *items = rest
            out = np.empty(len(items), object)
            for i, item in enumerate(items):
                out[i] = _value(item, message)
            return out.reshape(shape)
        case "elements":
            names, shapes, elements = (_value(v, message) for v in rest)
            return Elements([as_dtype(n) for n in names], [as_shape(s) for s in shapes], elements)
        case "array":
            return tensor_proto.from_proto(message.tensors[rest[0]])
    raise ValueError(f"unknown kind {kind}")
