"""Values that are too large for one message, in parts.  Between our own tasks, over gRPC.

Who asks for a value says that it knows parts (`accept`); the answer may then be type, shape and a number, by
which the bytes are asked for (`Held` at the sender, `assemble` at the receiver).  So no message is as large
as the value, and a task that sends gigabytes still answers others meanwhile.
"""

from __future__ import annotations

import itertools
import math
import struct
import threading
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import Future, InvalidStateError
from dataclasses import dataclass
from typing import Any

import numpy as np

from headrace.core import dtypes
from headrace.core.errors import AbortedError, DataLossError, ResourceExhaustedError
from headrace.core.shapes import make_shape
from headrace.formats import proto, shape_proto, tensor_wire
from headrace.ops.control.transfer import labelled

TYPE = "headrace/parts"
LARGE = 64 << 20  # bytes from which a value goes in parts
PART = 4 << 20
AT_ONCE = 2  # parts that are asked for before the first has come
KEPT = 64  # values that somebody has begun to fetch
_NUMBERS = struct.Struct("<QQ")  # of the value; its size, or the place of a part


def accept(request: Any) -> None:
    """Tell in a RecvTensorRequest that parts are welcome."""
    request.transport_options.type_url = TYPE


def are_welcome(request: Any, value: Any) -> bool:
    if request.transport_options.type_url != TYPE or not isinstance(value, np.ndarray):
        return False
    return value.dtype != object and value.nbytes > LARGE


@dataclass(frozen=True, slots=True)
class Parts:
    """What is told of a value in place of its bytes."""

    number: int
    size: int
    dtype: dtypes.DType
    shape: tuple[int, ...]


# -- the sender ------------------------------------------------------------------------------------
class Held:
    """Values that are being fetched; what nobody goes on with is forgotten in favour of others."""

    def __init__(self) -> None:
        self._values: OrderedDict[int, Any] = OrderedDict()
        self._numbers = itertools.count(1)
        self._lock = threading.Lock()

    def hold(self, value: Any) -> bytes:
        """A RecvTensorResponse that tells of the value."""
        array = np.ascontiguousarray(value)
        with self._lock:
            number = next(self._numbers)
            self._values[number] = array.reshape(-1).view(np.uint8)
            while len(self._values) > KEPT:
                self._values.popitem(last=False)
        response = proto.RecvTensorResponse()
        response.tensor.dtype = dtypes.as_dtype(value.dtype).as_datatype_enum
        response.tensor.tensor_shape.CopyFrom(shape_proto.to_proto(make_shape(value.shape)))
        response.transport_options.type_url = TYPE
        response.transport_options.value = _NUMBERS.pack(number, array.nbytes)
        made: bytes = response.SerializeToString()
        return made

    def part(self, question: bytes) -> bytes:
        """The bytes from one place on.  With the last ones the value is forgotten."""
        if len(question) != _NUMBERS.size:
            raise ValueError("no question for a part")
        number, place = _NUMBERS.unpack(question)
        with self._lock:
            value = self._values.get(number)
            if value is None or place >= len(value):
                raise AbortedError(None, None, f"Value {number} is not held here at {place}.")
            self._values.move_to_end(number)
            if place + PART >= len(value):
                del self._values[number]
        found: bytes = value[place : place + PART].tobytes()
        return found


# -- the receiver ----------------------------------------------------------------------------------
def told(options: memoryview, tensor: memoryview) -> Parts | None:
    """What the options of a RecvTensorResponse say; None where they are not ours."""
    fields = dict(tensor_wire.fields(options))
    if bytes(fields.get(1, b"")) != TYPE.encode():
        return None
    number, size = _NUMBERS.unpack(bytes(fields.get(2, b"")))
    message = proto.TensorProto.FromString(bytes(tensor))
    dtype, shape = dtypes.as_dtype(message.dtype), tuple(d.size for d in message.tensor_shape.dim)
    if dtype.kind in "srv" or min(shape, default=0) < 0 or math.prod(shape) * dtype.numpy.itemsize != size:
        raise ValueError(f"{size} bytes as {dtype.name} of shape {shape}")
    return Parts(number, size, dtype, shape)


Ask = Callable[[bytes, Any], "Future[Any]"]  # a question, and memory into which its answer may be read


def assemble(parts: Parts, ask: Ask) -> Future[Any]:
    """The value, once all of its parts have come.  The last one is asked for last: then all are there."""
    return _Assembly(parts, ask).value


class _Assembly:
    def __init__(self, parts: Parts, ask: Ask) -> None:
        self._parts, self._ask = parts, ask
        self.value: Future[Any] = Future()
        self._lock = threading.Lock()
        self._places = iter(range(0, max(parts.size - PART, 0), PART))
        self._open = 0
        try:
            self._bytes = np.empty(parts.size, np.uint8)
        except MemoryError:
            text = f"no memory for {parts.size} bytes"
            self.value.set_exception(ResourceExhaustedError(None, None, text))
            return
        for _ in range(AT_ONCE):
            self._next()

    def _next(self) -> None:
        with self._lock:
            place = next(self._places, None)
            if place is None:
                if self._open or self._places is _NONE:
                    return
                self._places = _NONE
                place = (self._parts.size - 1) // PART * PART
            self._open += 1
        asked = self._ask(_NUMBERS.pack(self._parts.number, place), self._bytes[place : place + PART])
        asked.add_done_callback(lambda done: self._come(place, done))

    def _come(self, place: int, done: Future[Any]) -> None:
        """A part has come: put it in its place, unless it is there, and ask for another; the last one makes
        the value whole."""
        error = done.exception()
        size = min(PART, self._parts.size - place)
        if error is None and len(done.result()) != size:
            error = DataLossError(None, None, f"a part of {len(done.result())} bytes in place of {size}")
        try:
            if error is not None:
                self.value.set_exception(error)
                return
            if type(done.result()) is bytes:
                self._bytes[place : place + size] = np.frombuffer(done.result(), np.uint8)
            with self._lock:
                self._open -= 1
                is_whole = place + size == self._parts.size
            if is_whole:
                self._bytes.flags.writeable = False
                array = self._bytes.view(self._parts.dtype.numpy).reshape(self._parts.shape)
                self.value.set_result(labelled(array, self._parts.dtype))
            else:
                self._next()
        except InvalidStateError:
            pass  # another part has failed


_NONE: Any = iter(())
