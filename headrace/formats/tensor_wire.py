"""TensorProto as bytes, without a message: numbers are copied once going out, and not at all coming in.

A TensorProto with `tensor_content` is a few bytes of head and then the array.  Whatever else a
TensorProto may hold (strings, resources, lists of values) goes by the message classes.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from headrace.core import dtypes
from headrace.core.dtypes import DType
from headrace.formats import proto, tensor_proto
from headrace.formats.coding import read_varint, varint

_DTYPE, _SHAPE, _CONTENT = b"\x08", b"\x12", b"\x22"  # fields 1, 2 and 4 with their wire types


def parts(value: Any, dtype: DType) -> list[Any]:
    """A TensorProto in pieces of bytes, to be joined."""
    array = np.asarray(value)
    if dtype.kind in "srv":
        return [tensor_proto.to_proto(array, dtype).SerializeToString()]
    array = np.ascontiguousarray(array.astype(array.dtype.newbyteorder("<"), copy=False))
    dims = b"".join(_dimension(n) for n in np.shape(value))
    head = _DTYPE + varint(dtype.as_datatype_enum) + _SHAPE + varint(len(dims)) + dims
    data = array.reshape(-1).view(np.uint8).data
    return [head + _CONTENT + varint(len(data)), data] if len(data) else [head]


def _dimension(size: int) -> bytes:
    inner = b"\x08" + varint(size)  # proto3 leaves out a size of 0; writing it means the same
    return b"\x12" + varint(len(inner)) + inner


def length(pieces: list[Any]) -> int:
    return sum(map(len, pieces))


def parse(data: memoryview) -> np.ndarray[Any, np.dtype[Any]]:
    """The array of a TensorProto; of numbers, a read-only view of `data`."""
    dtype, content = 0, None
    dims: tuple[int, ...] = ()
    for number, payload in fields(data):
        if number == 1 and isinstance(payload, int):
            dtype = payload
        elif number == 2 and not isinstance(payload, int):
            shape = _shape(payload)
            if shape is None:
                break
            dims = shape
        elif number == 4 and not isinstance(payload, int):
            content = payload
        elif number != 3:  # TF's version of the message
            break
    else:
        if content is not None:
            known = dtypes.as_dtype(dtype)
            if known.kind not in "srv" and math.prod(dims) * known.numpy.itemsize == len(content):
                return np.frombuffer(content, known.numpy).reshape(dims)
    return tensor_proto.from_proto(proto.TensorProto.FromString(bytes(data)))


def _shape(data: memoryview) -> tuple[int, ...] | None:
    """The sizes; None where something else is in the message."""
    sizes = []
    for number, payload in fields(data):
        if number != 2 or isinstance(payload, int):
            return None
        size = 0
        for inner, value in fields(payload):
            if inner == 1 and isinstance(value, int):
                size = value
        if not 0 <= size < 1 << 40:
            return None
        sizes.append(size)
    return tuple(sizes)


def fields(data: memoryview) -> Any:
    """(number, value) of every field: an int, or the bytes of a text or message.

    Raises:
      ValueError: the bytes are no message, or hold a field of another kind.
    """
    place, end = 0, len(data)
    while place < end:
        tag, place = read_varint(data, place)
        if tag & 7 == 0:
            value, place = read_varint(data, place)
            yield tag >> 3, value
        elif tag & 7 == 2:
            size, place = read_varint(data, place)
            if size > end - place:
                raise ValueError(f"a field of {size} bytes in a message that has {end - place} left")
            yield tag >> 3, data[place : place + size]
            place += size
        elif tag & 7 in (1, 5):
            size = 8 if tag & 7 == 1 else 4
            yield tag >> 3, data[place : place + size]
            place += size
        else:
            raise ValueError(f"a field of wire type {tag & 7}")
