"""Values that are no arrays, as messages: handles of resources, and lists of tensors in variants.

A handle may travel through any task, but leads to its resource only in the process that has it: there a
number in it (`hash_code`) names the resource.  Elsewhere it can be passed on, not used.
"""

from __future__ import annotations

import itertools
import weakref
from typing import Any

import numpy as np
from google.protobuf.message import DecodeError

from headrace.core import dtypes
from headrace.core.errors import InvalidArgumentError, UnimplementedError
from headrace.core.shapes import make_shape
from headrace.formats import proto, tensor_proto
from headrace.formats.coding import Damaged, read_varint, varint
from headrace.ops.control.tensor_list_value import TensorList
from headrace.ops.declaration.resources import Handle

_LIST = "tensorflow::TensorList"
_ALL_BITS = (1 << 64) - 1
_numbers = itertools.count(0x68EAD)
_targets: weakref.WeakValueDictionary[int, Any] = weakref.WeakValueDictionary()
_number_of: weakref.WeakKeyDictionary[Any, int] = weakref.WeakKeyDictionary()


class DistantHandle(Handle):
    """A handle of a resource of another process, with the message that it came as."""

    __slots__ = ("message",)

    def __init__(self, message: Any) -> None:
        super().__init__(message.container, message.name, message.maybe_type_name, message.device, None)
        self.message = message

    def get(self, kind: Any) -> Any:
        raise InvalidArgumentError(
            None,
            None,
            f"Trying to access resource {self.name} located in device {self.device} from another task",
        )


# -- handles -------------------------------------------------------------------------------------
def handle_to_message(handle: Handle) -> Any:
    """A TensorProto."""
    if isinstance(handle, DistantHandle):
        one = handle.message
    else:
        one = proto.ResourceHandleProto(
            device=handle.device, container=handle.container, name=handle.name, maybe_type_name=handle.kind
        )
        one.hash_code = _number(handle.target)
    made = proto.TensorProto(dtype=dtypes.resource.as_datatype_enum, resource_handle_val=[one])
    made.tensor_shape.SetInParent()
    return made


def handle_from_message(message: Any) -> Handle:
    """One of this process finds its resource again."""
    one = tensor_proto.from_proto(message).reshape(-1)[0]
    target = _targets.get(one.hash_code)
    if target is None or getattr(target, "name", one.name) != one.name:
        return DistantHandle(one)
    return Handle(one.container, one.name, one.maybe_type_name, one.device, target)


def _number(target: Any) -> int:
    if target is None:
        return 0
    number = _number_of.get(target)
    if number is None:
        number = _number_of[target] = next(_numbers)
        _targets[number] = target
    return number


# -- variants ------------------------------------------------------------------------------------
def variants_to_message(array: np.ndarray[Any, Any]) -> Any:
    """A TensorProto of an array of lists."""
    made = proto.TensorProto(dtype=dtypes.variant.as_datatype_enum)
    made.tensor_shape.SetInParent()
    for size in array.shape:
        made.tensor_shape.dim.add(size=size)
    made.variant_val.extend(map(_list_to_message, array.reshape(-1)))
    return made


def variants_from_message(message: Any) -> np.ndarray[Any, Any]:
    """Raises:
    ValueError: the message holds no lists, or not whole ones.
    """
    array = tensor_proto.from_proto(message)
    made = np.empty(array.shape, object)
    for index, one in np.ndenumerate(array):
        try:
            made[index] = _list_from_message(one)
        except (Damaged, DecodeError, TypeError) as error:
            raise ValueError(f"no list of tensors: {error}") from error
    return made


def _list_to_message(value: Any) -> Any:
    if not isinstance(value, TensorList):
        raise UnimplementedError(None, None, f"a {type(value).__name__} can not leave its process")
    absent = [i for i, item in enumerate(value.items) if item is None]
    words = [len(absent), *absent, value.dtype.as_datatype_enum, value.max_size & _ALL_BITS]
    shape = value.element_shape.as_proto().SerializeToString()
    tensors = [tensor_proto.to_proto(item, value.dtype) for item in value.items if item is not None]
    return proto.VariantTensorDataProto(
        type_name=_LIST, metadata=b"".join(map(varint, words)) + shape, tensors=tensors
    )


def _list_from_message(message: Any) -> Any:
    """A TensorList."""
    if message.type_name != _LIST:
        raise UnimplementedError(None, None, f"a variant of the type {message.type_name!r}")
    data = memoryview(message.metadata)
    count, place = read_varint(data, 0)
    absent = set()
    for _ in range(min(count, len(data))):
        index, place = read_varint(data, place)
        absent.add(index)
    dtype, place = read_varint(data, place)
    most, place = read_varint(data, place)
    described = proto.TensorShapeProto.FromString(bytes(data[place:]))
    shape = make_shape(
        None if described.unknown_rank else [d.size if d.size >= 0 else None for d in described.dim]
    )
    total, given = len(message.tensors) + len(absent), iter(message.tensors)
    if len(absent) != count or any(index >= total for index in absent):
        raise ValueError("a list of tensors whose absent elements are not its own")
    items = [None if i in absent else tensor_proto.from_proto(next(given)) for i in range(total)]
    limit = most - (1 << 64) if most >> 63 else most
    return TensorList(items, dtypes.as_dtype(dtype), shape, limit)  # type: ignore[no-untyped-call]
