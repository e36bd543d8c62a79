"""RecvTensorResponse as bytes: the message that carries all tensors between tasks, with the array in it
copied once."""

from __future__ import annotations

import struct
from typing import Any, NamedTuple

import numpy as np
from google.protobuf.message import DecodeError

from headrace.core import dtypes
from headrace.core.dtypes import DType
from headrace.distributed.wire.parts import told
from headrace.distributed.wire.values import from_message, is_variant, to_message
from headrace.formats import proto, tensor_wire
from headrace.formats.coding import Damaged, varint
from headrace.runtime.frames import DEAD

_TENSOR, _IS_DEAD, _ACK = b"\x0a", b"\x10\x01", 5


class Received(NamedTuple):
    value: Any
    wants_ack: bool


def encode(value: Any, dtype: DType | None = None) -> bytes:
    """The message for a value; DEAD is one of a branch that was not taken."""
    if value is DEAD:
        return _TENSOR + b"\x02\x08\x01" + _IS_DEAD  # TF looks at the type even then: an empty float
    if not isinstance(value, (np.ndarray, np.generic)) or value.dtype == object:
        made: bytes = proto.RecvTensorResponse(tensor=to_message(value)).SerializeToString()
        return made
    pieces = tensor_wire.parts(value, dtype or dtypes.as_dtype(value.dtype))
    return b"".join([_TENSOR, varint(tensor_wire.length(pieces)), *pieces])


def decode(data: bytes) -> Received:
    """The value of a message: an array that is a view of `data`, or DEAD; or what is told of it (`parts.py`).

    Raises:
      ValueError: the bytes are no such message.
    """
    try:
        return _decode(memoryview(data))
    except (Damaged, DecodeError, TypeError, struct.error) as error:
        raise ValueError(f"no RecvTensorResponse: {error}") from error


def _decode(data: memoryview) -> Received:
    """Field by field: protobuf's own parser would copy the tensor's bytes."""
    tensor, options, is_dead, wants_ack = None, None, False, False
    for number, payload in tensor_wire.fields(data):
        if number == 1 and not isinstance(payload, int):
            tensor = payload
        elif number == 4 and not isinstance(payload, int):
            options = payload
        elif number == 2:
            is_dead = bool(payload)
        elif number == _ACK:
            wants_ack = bool(payload)
    if is_dead:
        return Received(DEAD, wants_ack)
    if tensor is None:
        raise ValueError("a RecvTensorResponse without a tensor")
    parts = None if options is None else told(options, tensor)
    if parts is not None:
        return Received(parts, wants_ack)
    value: Any = tensor_wire.parse(tensor)
    if is_variant(value):  # or handles: these are messages by now
        value = from_message(proto.TensorProto.FromString(bytes(tensor)))
    return Received(value, wants_ack)
