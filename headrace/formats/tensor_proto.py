"""NumPy array <-> TensorProto, by TF 1.15's rules.

Written: raw little-endian bytes for more than one value of the types in RAW, else the typed field.
Read: either; a typed field may stop early, its last value then fills the rest.  Strings are object
arrays of bytes, quantized types plain integers, resources and variants object arrays of messages.
What does not describe a tensor raises ValueError."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from headrace.core import dtypes
from headrace.core.dtypes import DType
from headrace.core.text import as_bytes
from headrace.formats import proto

Array = np.ndarray[Any, np.dtype[Any]]

# TF 1.15 writes these as raw bytes; uint16, half, bfloat16, bool and complex always in their field.
RAW = frozenset("float32 float64 int32 uint8 int16 int8 int64 uint32 uint64".split()) | frozenset(
    dtype.name for dtype in dtypes.QUANTIZED
)
FIELDS = {
    "float32": "float_val",
    "float64": "double_val",
    "float16": "half_val",
    "bfloat16": "half_val",
    "int64": "int64_val",
    "uint32": "uint32_val",
    "uint64": "uint64_val",
    "bool": "bool_val",
    "complex64": "scomplex_val",
    "complex128": "dcomplex_val",
    "string": "string_val",
    "resource": "resource_handle_val",
    "variant": "variant_val",
}  # every other type: int_val
MESSAGES = {"resource": "ResourceHandleProto", "variant": "VariantTensorDataProto"}
HALVES = ("float16", "bfloat16")
MAX_RANK = 64  # NumPy's; TF's own is 254
MAX_CONTENT = 2**31  # what a message may hold
MAX_BYTES = 2**36  # a few bytes of message may ask for any size: refuse what cannot be meant


def to_proto(array: Any, dtype_enum: Any, shape: Sequence[int] | None = None) -> Any:
    """The TensorProto of array.  A larger shape than the array's repeats its last value."""
    dtype = dtypes.as_dtype(dtype_enum)
    if dtype.is_ref:
        raise TypeError(f"Element type not supported in TensorProto: {dtype.name}")
    array = _stored(array, dtype)
    dims = array.shape if shape is None else tuple(int(dim) for dim in shape)
    size = math.prod(dims)
    if array.size > size:
        raise ValueError(f"Too many elements provided. Needed at most {size}, but received {array.size}")
    tensor = proto.TensorProto(dtype=dtype.as_datatype_enum)
    tensor.tensor_shape.SetInParent()
    for dim in dims:
        tensor.tensor_shape.dim.add(size=dim)
    if dtype.name in RAW and size > 1 and size == array.size:
        if array.nbytes >= MAX_CONTENT:
            raise ValueError("Cannot create a tensor proto whose content is larger than 2GB.")
        tensor.tensor_content = array.astype(_little(array.dtype), copy=False).tobytes()
    else:
        getattr(tensor, _field(dtype)).extend(_field_values(array, dtype))
    return tensor


def from_proto(tensor: Any) -> Array:
    """The array of a TensorProto, writable and in C order."""
    if tensor.dtype not in proto.DataType.values() or tensor.dtype == 0:
        raise _bad(f"unknown element type {tensor.dtype}")
    dtype = dtypes.as_dtype(tensor.dtype)
    if dtype.is_ref:
        raise _bad(f"a value cannot have the reference type {dtype.name}")
    shape = _shape(tensor.tensor_shape)
    size = math.prod(shape)
    if size * dtype.numpy.itemsize > MAX_BYTES:
        raise _bad(f"shape {list(shape)} of {dtype.name} is too large")
    content = tensor.tensor_content
    flat = _from_content(content, dtype, size) if content else _from_field(tensor, dtype, size)
    return flat.reshape(shape)


def typed_values(tensor: Any, dtype: DType) -> Array:
    """All that stands in the typed field of dtype, whatever the message says of type and shape."""
    return _values(getattr(tensor, _field(dtype)), dtype)


def set_typed_values(tensor: Any, array: Any, dtype: DType) -> None:
    """Fill the typed field of dtype, and nothing else."""
    getattr(tensor, _field(dtype)).extend(_field_values(_stored(array, dtype), dtype))


def _bad(reason: str) -> ValueError:
    return ValueError(f"Cannot parse tensor from proto: {reason}")


def _little(dtype: np.dtype[Any]) -> np.dtype[Any]:
    little: np.dtype[Any] = dtype.newbyteorder("<")
    return little


def _field(dtype: DType) -> str:
    return FIELDS.get(dtype.name, "int_val")


# -- writing ------------------------------------------------------------------------------------


def _stored(array: Any, dtype: DType) -> Array:
    """The array in the type that stands for dtype; a different type is a caller's mistake."""
    # NumPy's own string type would drop trailing zero bytes
    is_object = dtype.kind in "srv" and not isinstance(array, (np.ndarray, np.generic))
    stored: Array = np.asarray(array, object if is_object else None)
    if dtype.kind == "s" and stored.dtype.kind in "SU":
        stored = stored.astype(object)
    elif dtype.is_quantized and stored.dtype == dtype.as_numpy_dtype:
        stored = stored.view(dtype.numpy)
    if stored.dtype.newbyteorder("=") != dtype.numpy:
        raise TypeError(f"Incompatible types: {dtype} vs. {stored.dtype}. Value is {stored}")
    return stored


def _field_values(array: Array, dtype: DType) -> list[Any]:
    """The values in row-major order, as the typed field takes them."""
    flat = array.astype(dtype.numpy, copy=False).ravel()
    if dtype.name in HALVES:
        flat = flat.view(np.uint16)
    elif dtype.kind == "c":
        flat = flat.view(dtype.real_dtype.numpy)
    elif dtype.kind == "s":
        return [as_bytes(value) for value in flat]
    values: list[Any] = flat.tolist()
    return values


# -- reading ------------------------------------------------------------------------------------


def _shape(shape: Any) -> tuple[int, ...]:
    """The dimensions, all known and with a product that fits 63 bits, zeros left aside."""
    dims = tuple(dim.size for dim in shape.dim)
    if shape.unknown_rank:
        raise _bad("its rank is unknown")
    if len(dims) > MAX_RANK:
        raise _bad(f"rank {len(dims)} is above {MAX_RANK}")
    if any(dim < 0 for dim in dims):
        raise _bad(f"shape {list(dims)} has a negative dimension")
    if math.prod(dim for dim in dims if dim) >= 2**63:
        raise _bad(f"shape {list(dims)} overflows")
    return dims


def _from_content(content: bytes, dtype: DType, size: int) -> Array:
    if dtype.kind == "s":
        return _objects(_split_strings(content, size))
    if dtype.kind in "rv":
        return _objects([_message(dtype, text) for text in _split_strings(content, size)])
    if len(content) != size * dtype.numpy.itemsize:
        raise _bad(
            f"{len(content)} bytes of content for {size} values of {dtype.name}"
            f" ({size * dtype.numpy.itemsize} bytes)"
        )
    if dtype.kind == "b":
        return np.frombuffer(content, np.uint8).astype(np.bool_)
    if dtype.name == "bfloat16":
        return np.frombuffer(content, "<u2").astype(np.uint16).view(dtype.numpy)
    return np.frombuffer(content, _little(dtype.numpy)).astype(dtype.numpy)


def _from_field(tensor: Any, dtype: DType, size: int) -> Array:
    values = _values(getattr(tensor, _field(dtype)), dtype)
    if len(values) >= size:
        return values[:size]  # TF itself writes one value for an empty tensor of strings
    try:
        flat = np.empty(size, dtype.numpy)
    except MemoryError:
        raise _bad(f"no memory for {size} values of {dtype.name}") from None
    flat[: len(values)] = values
    if dtype.kind == "v" or len(values) == 0:
        # TF fills variants with empty ones, never with the last
        flat[len(values) :] = _default(dtype)
    else:
        flat[len(values) :] = values[-1]
    return flat


def _default(dtype: DType) -> Any:
    if dtype.kind == "s":
        return b""
    return _message(dtype, b"") if dtype.kind in "rv" else 0


def _message(dtype: DType, serialized: bytes) -> Any:
    from google.protobuf.message import DecodeError

    try:
        return getattr(proto, MESSAGES[dtype.name]).FromString(serialized)
    except DecodeError:
        raise _bad(f"an element is no {MESSAGES[dtype.name]}") from None


def _values(field: Any, dtype: DType) -> Array:
    """A typed field as an array; integers wrap to their width, as TF's do."""
    if dtype.kind in "srv":
        return _objects(list(field))
    if dtype.kind == "c":
        if len(field) % 2:
            raise _bad(f"{len(field)} numbers are no whole count of complex values")
        real = np.fromiter(field, dtype.real_dtype.numpy, len(field))
        return real.view(dtype.numpy)
    if dtype.name in HALVES:
        return np.fromiter(field, np.int32, len(field)).astype(np.uint16).view(dtype.numpy)
    if _field(dtype) == "int_val":
        return np.fromiter(field, np.int32, len(field)).astype(dtype.numpy, copy=False)
    return np.fromiter(field, dtype.numpy, len(field))


def _objects(values: list[Any]) -> Array:
    # np.array would look into messages and trim nothing-looking strings
    flat = np.empty(len(values), object)
    flat[:] = values
    return flat


def _split_strings(content: bytes, count: int) -> list[bytes]:
    """TF's string list: every length as a varint, then all the bytes."""
    if count > len(content):
        raise _bad(f"{len(content)} bytes of content for {count} strings")
    lengths, at = [], 0
    for _ in range(count):
        length, at = _varint(content, at)
        lengths.append(length)
    if at + sum(lengths) != len(content):
        raise _bad(f"strings of {sum(lengths)} bytes in {len(content) - at} bytes of content")
    strings = []
    for length in lengths:
        strings.append(content[at : at + length])
        at += length
    return strings


def _varint(content: bytes, at: int) -> tuple[int, int]:
    """A 32-bit varint and the place after it."""
    value = 0
    for i in range(5):
        if at + i >= len(content):
            break
        value |= (content[at + i] & 0x7F) << (7 * i)
        if content[at + i] < 0x80:
            return value, at + i + 1
    raise _bad("a string length is cut short")
