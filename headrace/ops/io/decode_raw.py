"""Bytes as tensors and back: raw numbers, compressed strings, serialized TensorProtos."""

from __future__ import annotations

import zlib

import numpy as np
from google.protobuf.message import DecodeError

from headrace.core.dtypes import as_dtype, bool_, float64, int16, int32, named, string
from headrace.core.errors import DataLossError, InvalidArgumentError, require
from headrace.formats import proto
from headrace.formats.tensor_proto import from_proto, to_proto
from headrace.ops.declaration.declare import op
from headrace.ops.declaration.samples import ErrorSample, Sample
from headrace.ops.declaration.shape_rules import same, scalar, unknown
from headrace.ops.declaration.signature import Type
from headrace.ops.declaration.text import each, shown, strings

PADDABLE = named("float16 float32 float64 int32 uint16 uint8 int16 int8 int64")
RAW = (*PADDABLE, *named("complex64 complex128 bool"))
_C_NAMES = {"float32": "float", "float64": "double", "float16": "half"}


def _ordered(dtype, little_endian):
    """The NumPy type of numbers that were stored in this byte order.  TF reverses whole elements, so
    the halves of a complex number change places too."""
    return dtype.numpy.newbyteorder("<" if little_endian else ">")


def _from_bytes(joined, dtype, little_endian, shape):
    if dtype is bool_:  # any byte is taken as it is; only zero is false
        return (np.frombuffer(joined, np.uint8) != 0).reshape(shape)
    if dtype.kind == "c" and not little_endian:
        width = dtype.size
        reversed_bytes = np.frombuffer(joined, np.uint8).reshape(-1, width)[:, ::-1]
        joined = reversed_bytes.tobytes()
        little_endian = True
    values = np.frombuffer(joined, _ordered(dtype, little_endian))
    return values.astype(dtype.numpy).reshape(shape)


# -- DecodeRaw -----------------------------------------------------------------------------------
@op(
    "DecodeRaw",
    "bytes: string -> output: out_type",
    out_type=RAW,
    little_endian=True,
    shape=lambda bytes: bytes.concatenate([None]),
)
def decode_raw(bytes, *, out_type, little_endian):
    """The numbers whose bytes the strings are; all strings have one length."""
    flat = bytes.reshape(-1)
    size = len(flat[0]) if flat.size else 0
    for i, value in enumerate(flat):
        require(
            len(value) == size,
            "DecodeRaw requires input strings to all be the same size, but element "
            f"{i} has size {size} != {len(value)}",
        )
    width = out_type.size
    name = _C_NAMES.get(out_type.name, out_type.name)
    require(
        size % width == 0,
        f"Input to DecodeRaw has length {size} that is not a multiple of {width}, the size of {name}",
    )
    shape = (*bytes.shape, size // width)
    return _from_bytes(b"".join(flat), out_type, little_endian, shape)


@decode_raw.samples
def _(rng):
    numbers = rng.normal(size=(2, 3))
    for dtype in (np.float32, np.int16, np.complex64):
        rows = strings(numbers.astype(dtype)[i].tobytes() for i in range(2))
        yield Sample(rows, out_type=as_dtype(np.dtype(dtype)))
        yield Sample(rows, out_type=as_dtype(np.dtype(dtype)), little_endian=False)
    yield Sample(strings([b"\x00\x01\x07"]), out_type=bool_)
    yield Sample(strings([]), out_type=int32, note="empty")
    yield Sample(strings([b"", b""]), out_type=float64, note="empty strings")
    yield ErrorSample(strings([b"abc"]), out_type=int16, raises="not a multiple of 2, the size of")
    yield ErrorSample(strings([b"ab", b"abcd"]), out_type=int16, raises="all be the same size")


# -- DecodePaddedRaw -----------------------------------------------------------------------------
def padded_shape(input_bytes, fixed_length, *, out_type):
    length = fixed_length.value
    if length is None:
        return input_bytes.concatenate([None])
    require(
        int(length) % out_type.size == 0,
        f"Dimension size must be evenly divisible by {out_type.size} but is {int(length)}",
    )
    return input_bytes.concatenate([int(length) // out_type.size])


@op(
    "DecodePaddedRaw",
    "input_bytes: string, fixed_length: int32 -> output: out_type",
    out_type=PADDABLE,
    little_endian=True,
    shape=padded_shape,
)
def decode_padded_raw(input_bytes, fixed_length, *, out_type, little_endian):
    """The numbers in the first `fixed_length` bytes of each string, zeros after its end."""
    require(fixed_length.ndim == 0, f"k must be scalar, got shape [{','.join(map(str, fixed_length.shape))}]")
    length, width = int(fixed_length), out_type.size
    require(
        length % width == 0, f"fixed_length ({length}) must be a multiple of the size of out_type ({width})"
    )
    require(length > 0, f"fixed_length ({length}) must be greater than zero.")
    joined = b"".join(value[:length].ljust(length, b"\0") for value in input_bytes.reshape(-1))
    return _from_bytes(joined, out_type, little_endian, (*input_bytes.shape, length // width))


@decode_padded_raw.samples
def _(rng):
    for little in (True, False):
        rows = strings([b"abcdef", b"a", b""])
        yield Sample(rows, np.int32(4), out_type=int16, little_endian=little)
    yield Sample(strings([]), np.int32(8), out_type=float64, note="empty")
    yield ErrorSample(strings([b"a"]), np.int32(3), out_type=int16, raises="multiple|divisible")
    yield ErrorSample(strings([b"a"]), np.int32(-2), out_type=int16, raises="greater than zero|>= 0")


# -- DecodeCompressed ----------------------------------------------------------------------------
_WINDOWS = {"ZLIB": zlib.MAX_WBITS, "GZIP": zlib.MAX_WBITS | 16}
MAX_OUTPUT = 2**31 - 1  # TF asks for at most this many bytes; a bomb ends here too


@op("DecodeCompressed", "bytes: string -> output: string", compression_type="", shape=same)
def decode_compressed(bytes, *, compression_type):
    """The strings before compression by zlib or gzip."""
    require(compression_type in ("", *_WINDOWS), "Only ZLIB, GZIP or NONE are supported compressions")
    if not compression_type:
        return bytes
    return each(lambda value: _inflate(value, _WINDOWS[compression_type]), bytes)


def _inflate(value, window):
    parts, room = [], MAX_OUTPUT
    while value and room > 0:  # gzip files may follow one another
        stream = zlib.decompressobj(window)
        try:
            part = stream.decompress(value, room)
        except zlib.error as error:
            message = f"inflate() failed with error: {error}"
            raise DataLossError(None, None, message) from None
        parts.append(part)
        room -= len(part)
        value = stream.unused_data if window > zlib.MAX_WBITS else b""
    return b"".join(parts)


@decode_compressed.samples
def _(rng):
    text = b"a" * 1000
    yield Sample(strings([text, b""]))
    yield Sample(strings([zlib.compress(text), zlib.compress(b"")]), compression_type="ZLIB")
    pack = zlib.compressobj(wbits=_WINDOWS["GZIP"])
    yield Sample(strings([pack.compress(text) + pack.flush()], (1, 1)), compression_type="GZIP")
    yield ErrorSample(strings([b"x"]), compression_type="LZ4", raises="Only ZLIB, GZIP or NONE")
    yield ErrorSample(strings([b"nothing"]), compression_type="ZLIB", raises="inflate")


# -- tensors as messages -------------------------------------------------------------------------
@op("ParseTensor", "serialized: string -> output: out_type", out_type=Type(), shape=unknown)
def parse_tensor(serialized, *, out_type):
    """The tensor of a serialized TensorProto."""
    require(
        serialized.ndim == 0,
        f"Expected `serialized` to be a scalar, got shape: [{','.join(map(str, serialized.shape))}]",
    )
    data = serialized.item()
    try:
        message = proto.TensorProto.FromString(data)
        array = from_proto(message)
    except DecodeError:
        text = f"Could not parse `serialized` as TensorProto: '{shown(data)}'"
        raise InvalidArgumentError(None, None, text) from None
    found = as_dtype(message.dtype)
    require(
        found is out_type,
        f"Type mismatch between parsed tensor ({_C_NAMES.get(found.name, found.name)}) and dtype "
        f"({_C_NAMES.get(out_type.name, out_type.name)})",
    )
    return array


@parse_tensor.samples
def _(rng):
    for array in (rng.normal(size=(2, 3)), strings([b"a", b""]), np.array(True)):
        dtype = as_dtype(array.dtype)
        text = to_proto(array, dtype).SerializeToString()
        yield Sample(np.array(text, object), out_type=dtype)
    yield ErrorSample(np.array(text, object), out_type=int32, raises="Type mismatch between parsed")
    yield ErrorSample(np.array(b"bad", object), out_type=int32, raises="Could not parse|unknown")


@op("SerializeTensor", "tensor: T -> serialized: string", T=Type(), shape=scalar)
def serialize_tensor(tensor, *, T):
    """The tensor as a serialized TensorProto."""
    message = proto.TensorProto(dtype=T.as_datatype_enum)
    message.tensor_shape.SetInParent()
    for size in tensor.shape:
        message.tensor_shape.dim.add(size=size)
    if T is string:
        message.string_val.extend(tensor.reshape(-1))
    else:
        little = tensor.dtype.newbyteorder("<") if tensor.dtype.kind in "iufc" else tensor.dtype
        message.tensor_content = np.asarray(tensor, little, order="C").tobytes()
    return message.SerializeToString()


@serialize_tensor.samples
def _(rng):
    for array in (rng.normal(size=(2, 3)), strings([b"a", b""]), np.array(True), np.zeros((0, 2))):
        yield Sample(array, grad=False)


for _op in (decode_raw, decode_padded_raw, decode_compressed, parse_tensor, serialize_tensor):
    _op.no_gradient()
