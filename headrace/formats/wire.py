"""Fields of messages in protobuf's wire format, exactly as given: a value that is the field's default is
written too, which messages of proto3 leave out."""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from google.protobuf.descriptor import FieldDescriptor as Field

from headrace.formats.coding import varint

_VARINT, _FIXED64, _BYTES, _GROUP, _END_GROUP, _FIXED32 = range(6)


def field(descriptor: Any, values: Sequence[Any], packed: bool = False) -> bytes:
    """All values of one field; numbers in one piece where the field is declared packed, or said to be
    (our tables of TF's messages leave out that TF packs their lists)."""
    number, kind = descriptor.number, descriptor.type
    if kind == Field.TYPE_GROUP:
        return b"".join(_tag(number, _GROUP) + v + _tag(number, _END_GROUP) for v in values)
    if kind in (Field.TYPE_STRING, Field.TYPE_BYTES, Field.TYPE_MESSAGE):
        return b"".join(_tag(number, _BYTES) + _delimited(v) for v in values)
    wire, encode = _NUMBERS[kind]
    written = [encode(v) for v in values]
    if descriptor.GetOptions().packed or packed:
        return _tag(number, _BYTES) + _delimited(b"".join(written))
    return b"".join(_tag(number, wire) + w for w in written)


def _tag(number: int, wire: int) -> bytes:
    return varint(number << 3 | wire)


def _delimited(data: bytes) -> bytes:
    return varint(len(data)) + data


def _as_varint(width: Any) -> Callable[[int], bytes]:
    """Numbers are cut to the field's width; negative ones take ten bytes, of whatever width."""
    return lambda value: varint(int(np.int64(value).astype(width)) & (1 << 64) - 1)


def _unsigned(width: Any) -> Callable[[int], bytes]:
    return lambda value: varint(int(np.uint64(value).astype(width)))


def _zigzag(width: Any) -> Callable[[int], bytes]:
    """0, -1, 1, -2, ... as 0, 1, 2, 3: small in both directions."""

    def encode(value: int) -> bytes:
        n = int(np.int64(value).astype(width))
        return varint(2 * n if n >= 0 else -2 * n - 1)

    return encode


def _fixed(code: str, width: Any, through: Any) -> Callable[[Any], bytes]:
    return lambda value: struct.pack(code, through(value).astype(width).item())


_NUMBERS: dict[int, tuple[int, Callable[[Any], bytes]]] = {
    Field.TYPE_INT32: (_VARINT, _as_varint(np.int32)),
    Field.TYPE_INT64: (_VARINT, _as_varint(np.int64)),
    Field.TYPE_ENUM: (_VARINT, _as_varint(np.int32)),
    Field.TYPE_BOOL: (_VARINT, _as_varint(np.bool_)),
    Field.TYPE_UINT32: (_VARINT, _unsigned(np.uint32)),
    Field.TYPE_UINT64: (_VARINT, _unsigned(np.uint64)),
    Field.TYPE_SINT32: (_VARINT, _zigzag(np.int32)),
    Field.TYPE_SINT64: (_VARINT, _zigzag(np.int64)),
    Field.TYPE_FIXED32: (_FIXED32, _fixed("<I", np.uint32, np.uint64)),
    Field.TYPE_FIXED64: (_FIXED64, _fixed("<Q", np.uint64, np.uint64)),
    Field.TYPE_SFIXED32: (_FIXED32, _fixed("<i", np.int32, np.int64)),
    Field.TYPE_SFIXED64: (_FIXED64, _fixed("<q", np.int64, np.int64)),
    Field.TYPE_FLOAT: (_FIXED32, _fixed("<f", np.float32, np.float64)),
    Field.TYPE_DOUBLE: (_FIXED64, _fixed("<d", np.float64, np.float64)),
}
