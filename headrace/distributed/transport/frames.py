"""Messages between our own tasks as bytes.  Pure: messages in, buffers out, and back.

A frame is a head of 32 bytes, texts, values.  A value is a head, its sizes, and the array itself, or the
number of a segment of shared memory that has it (`segments.py`).  No protobuf: a scalar costs microseconds.

    head    bytes that follow, kind, number of texts, number of values, number of the call, step
    texts   their lengths, then all of them; padded to 16
    value   how, element type, rank, bytes; sizes; padded to 16; the bytes; padded to 16

Whatever comes in is checked: bytes that are no frame are a `Malformed`.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

import numpy as np
from google.protobuf.message import DecodeError

from headrace.core import dtypes
from headrace.distributed.wire.values import from_message, to_message
from headrace.formats import proto
from headrace.ops.control.transfer import labelled
from headrace.runtime.frames import DEAD

HEAD = struct.Struct("<QBxHIQQ")
_VALUE = struct.Struct("<BBHIQ")
_SEGMENT = struct.Struct("<Q")
MOST = 1 << 48  # bytes of a frame
SMALL = 4096  # bytes that are rather copied than sent in parts
_RANKS = 32


class Kind(IntEnum):
    HELLO = 1  # who calls, and with which token
    WELCOME = 2
    RUN = 3  # a registered graph: session, graph, keys of the values given, keys of those wanted
    DONE = 4  # the answer to a call, with values
    ERROR = 5  # or why there is none: a code of TF's (as the step), a text
    VALUE = 6  # for a step of the receiver, unasked: the key
    ASK = 7  # for a value of a step: the key
    CLEAN = 8  # a step has ended
    PING = 9
    PONG = 10
    SEGMENT = 11  # shared memory: `number` of it, its size as the step; a descriptor comes along
    RELEASE = 12  # a segment may be used again
    DROP = 13  # a segment will not be


class How(IntEnum):
    DEAD = 0
    INLINE = 1
    SHARED = 2
    MESSAGE = 3  # text and the like, as TF's TensorProto


class Malformed(ValueError):
    """Bytes that are no frame."""


@dataclass(slots=True)
class Message:
    kind: int
    number: int = 0
    step: int = 0
    texts: Sequence[str] = ()
    values: Sequence[Any] = ()


Lend = Callable[[Any], int | None]  # an array -> the segment that has it now; None: it goes inline
Borrow = Callable[[int, int], Any]  # segment, bytes -> a read-only array of bytes

_ENUMS: dict[Any, int] = {}  # of TF, by NumPy's type: known after the first use
_PADS = [b"\0" * n for n in range(16)]


def _enum(dtype: np.dtype[Any]) -> int:
    found = _ENUMS.get(dtype)
    if found is None:
        known = dtypes.as_dtype(dtype)
        found = _ENUMS[dtype] = 0 if known.kind in "srv" else known.as_datatype_enum
    return found


# -- out -----------------------------------------------------------------------------------------
def encode(message: Message, lend: Lend | None = None) -> list[Any]:
    """Buffers whose bytes, in order, are the frame.  Large arrays are not copied."""
    texts = [t.encode() for t in message.texts]
    out: list[Any] = [b""]
    size = 0
    if texts:
        joined = struct.pack(f"<{len(texts)}I", *map(len, texts)) + b"".join(texts)
        size = len(joined) + (-len(joined) & 15)
        out.append(joined + _PADS[size - len(joined)])
    for value in message.values:
        size += _encode_value(value, out, lend)
    out[0] = HEAD.pack(size, message.kind, len(texts), len(message.values), message.number, message.step)
    return out if size > SMALL else [b"".join(out)]


def _encode_value(value: Any, out: list[Any], lend: Lend | None) -> int:
    """Append a value's parts to a frame: an array that is lent by its segment, a large one as it lies in
    memory, without a copy.  Returns their length, which is a multiple of 16, so that arrays stay aligned."""
    if value is DEAD:
        out.append(_VALUE.pack(How.DEAD, 0, 0, 0, 0))
        return 16
    enum = _enum(value.dtype) if isinstance(value, (np.ndarray, np.generic)) else 0
    if not enum:  # text; or nothing that can leave the process, which raises
        data: Any = to_message(value).SerializeToString()
        out.append(_VALUE.pack(How.MESSAGE, 0, 0, 0, len(data)) + data + _PADS[-len(data) & 15])
        return 16 + len(data) + (-len(data) & 15)
    array = np.ascontiguousarray(value)
    shape = value.shape
    segment = None if lend is None else lend(array)
    how = How.INLINE if segment is None else How.SHARED
    head = _VALUE.pack(how, enum, len(shape), 0, array.nbytes)
    if shape:
        head += struct.pack(f"<{len(shape)}Q", *shape) + _PADS[-8 * len(shape) & 15]
    if segment is not None:
        out.append(head + _SEGMENT.pack(segment) + _PADS[8])
        return len(head) + 16
    pad = _PADS[-array.nbytes & 15]
    if array.nbytes <= SMALL:
        out.append(head + array.tobytes() + pad)
    else:
        out += [head, array.reshape(-1).view(np.uint8).data, pad]
    return len(head) + array.nbytes + len(pad)


# -- in ------------------------------------------------------------------------------------------
def length(head: bytes | memoryview) -> int:
    """How many bytes follow a head."""
    size, kind, texts, values, _, _ = HEAD.unpack(head)
    if size > MOST or size & 15 or not Kind.HELLO <= kind <= Kind.DROP:
        raise Malformed(f"a head of kind {kind} and {size} bytes")
    if texts * 4 + values * 16 > size:
        raise Malformed(f"{texts} texts and {values} values in {size} bytes")
    return int(size)


def decode(head: bytes | memoryview, body: Any, borrow: Borrow) -> Message:
    """The message of a frame.  Arrays are views of `body`, which nobody writes any more."""
    try:
        return _decode(HEAD.unpack(head), body, borrow)
    except (struct.error, ValueError, TypeError, KeyError, IndexError, OverflowError, DecodeError) as error:
        raise Malformed(f"not a frame: {error}") from error


def _decode(head: tuple[int, ...], body: Any, borrow: Borrow) -> Message:
    """Texts, then values.  Every length is compared with what is left, before anything is taken."""
    _, kind, count, values, number, step = head
    place = 0
    texts: list[str] = []
    if count:
        lengths = struct.unpack_from(f"<{count}I", body)
        place = 4 * count
        for one in lengths:
            if one > len(body) - place:
                raise Malformed("a text that is longer than its frame")
            texts.append(str(body[place : place + one], "utf-8"))
            place += one
        place += -place & 15
    found = []
    for _ in range(values):
        value, place = _decode_value(body, place, borrow)
        found.append(value)
    return Message(kind, number, step, texts, found)


def _decode_value(body: Any, place: int, borrow: Borrow) -> tuple[Any, int]:
    """A value, and where the next one begins."""
    how, enum, rank, _, size = _VALUE.unpack_from(body, place)
    place += 16
    if how == How.DEAD:
        return DEAD, place
    shape: tuple[int, ...] = ()
    if rank:
        if rank > _RANKS:
            raise Malformed(f"an array of {rank} dimensions")
        shape = struct.unpack_from(f"<{rank}Q", body, place)
        place += 8 * rank + (-8 * rank & 15)
    if how == How.SHARED:
        (segment,) = _SEGMENT.unpack_from(body, place)
        return _typed(borrow(segment, size), enum, shape, size), place + 16
    if size > len(body) - place:
        raise Malformed(f"a value of {size} bytes in a frame that has {len(body) - place} left")
    after = place + size + (-size & 15)
    if how == How.MESSAGE:
        return from_message(proto.TensorProto.FromString(bytes(body[place : place + size]))), after
    if how != How.INLINE:
        raise Malformed(f"a value of kind {how}")
    return _typed(np.frombuffer(body, np.uint8, size, place), enum, shape, size), after


def _typed(data: Any, enum: int, shape: tuple[int, ...], size: int) -> Any:
    """Bytes as an array; they have the size that its shape says."""
    dtype = dtypes.as_dtype(enum)
    if dtype.kind in "srv" or math.prod(shape) * dtype.numpy.itemsize != size:
        raise Malformed(f"{size} bytes as {dtype.name} of shape {shape}")
    array = data.view(dtype.numpy).reshape(shape) if size else np.zeros(shape, dtype.numpy)
    return labelled(array, dtype)
