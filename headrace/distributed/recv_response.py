"""RecvTensorResponse as bytes: the message that carries all tensors between tasks, with the array in it
copied once."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from google.protobuf.message import DecodeError

from headrace.core import dtypes
from headrace.core.dtypes import DType
from headrace.core.errors import UnimplementedError
from headrace.formats import tensor_wire
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
    if not isinstance(value, (np.ndarray, np.generic)):
        raise UnimplementedError(None, None, f"a {type(value).__name__} can not leave its process")
    pieces = tensor_wire.parts(value, dtype or dtypes.as_dtype(value.dtype))
    return b"".join([_TENSOR, varint(tensor_wire.length(pieces)), *pieces])


def decode(data: bytes) -> Received:
    """The value of a message: an array that is a view of `data`, or DEAD.

    Raises:
      ValueError: the bytes are no such message.
    """
    try:
        return _decode(memoryview(data))
    except (Damaged, DecodeError, TypeError) as error:
        raise ValueError(f"no RecvTensorResponse: {error}") from error


def _decode(data: memoryview) -> Received:
    tensor, is_dead, wants_ack = None, False, False
    for number, payload in tensor_wire.fields(data):
        if number == 1 and not isinstance(payload, int):
            tensor = payload
        elif number == 2:
            is_dead = bool(payload)
        elif number == _ACK:
            wants_ack = bool(payload)
    if is_dead:
        return Received(DEAD, wants_ack)
    if tensor is None:
        raise ValueError("a RecvTensorResponse without a tensor")
    return Received(tensor_wire.parse(tensor), wants_ack)
