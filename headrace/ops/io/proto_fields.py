"""Fields of serialized messages as tensors, and tensors as fields.

A message type is one of TF's own ("local://"), or of a FileDescriptorSet that is given as bytes
("bytes://...") or lies in a file.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory, text_format
from google.protobuf.descriptor import FieldDescriptor as Field
from google.protobuf.message import DecodeError

from headrace.core.dtypes import bool_, float32, float64, int32, int64, string, uint32, uint64
from headrace.core.errors import DataLossError, InvalidArgumentError, require
from headrace.core.shapes import UNKNOWN, make_shape
from headrace.core.text import as_bytes
from headrace.formats import files, proto, wire
from headrace.ops.declaration.declare import op
from headrace.ops.declaration.samples import ErrorSample, Sample
from headrace.ops.declaration.shape_checks import merge
from headrace.ops.declaration.signature import String, Strings, Types
from headrace.ops.declaration.text import strings
from headrace.ops.declaration.traits import FILES

# Which types of tensors a field may become.
_TYPES = {
    Field.TYPE_DOUBLE: (float64,), Field.TYPE_FLOAT: (float32, float64), Field.TYPE_BOOL: (bool_,),
    Field.TYPE_INT64: (int64,), Field.TYPE_SINT64: (int64,), Field.TYPE_SFIXED64: (int64,),
    Field.TYPE_UINT64: (uint64,), Field.TYPE_FIXED64: (uint64,),
    Field.TYPE_INT32: (int32, int64), Field.TYPE_SINT32: (int32, int64),
    Field.TYPE_SFIXED32: (int32, int64), Field.TYPE_ENUM: (int32,),
    Field.TYPE_UINT32: (uint32, uint64), Field.TYPE_FIXED32: (uint32, uint64),
    Field.TYPE_STRING: (string,), Field.TYPE_BYTES: (string,), Field.TYPE_MESSAGE: (string,),
    Field.TYPE_GROUP: (string,),
}  # fmt: skip
_MESSAGES = (Field.TYPE_MESSAGE, Field.TYPE_GROUP)


_OURS = (b"", b"local://")


# -- descriptors ---------------------------------------------------------------------------------
@lru_cache(maxsize=64)
def _message_class(name: str, source: bytes):
    refusal = f"No descriptor found for message type {name}"
    if source in _OURS:
        found = _of_ours(name)
        require(found is not None, refusal)
        return found
    if source.startswith(b"bytes://"):
        data = source.removeprefix(b"bytes://")
    else:
        data = files.read_bytes(source)
    pool = descriptor_pool.DescriptorPool()
    try:
        for file in descriptor_pb2.FileDescriptorSet.FromString(data).file:
            pool.AddSerializedFile(file.SerializeToString())
        return message_factory.GetMessageClass(pool.FindMessageTypeByName(name))
    except (DecodeError, KeyError, TypeError) as error:
        raise InvalidArgumentError(None, None, f"{refusal}: {error}") from None


def _of_ours(name):
    """The class of one of TF's messages, which may stand inside of another."""
    try:
        found = proto.find(name)
        return found if hasattr(found, "DESCRIPTOR") and hasattr(found, "FromString") else None
    except KeyError:
        outer, _, own = name.rpartition(".")
        return getattr(_of_ours(outer), own, None) if outer else None


def _fields(kind, message_type, names):
    found = []
    for name in names:
        field = kind.DESCRIPTOR.fields_by_name.get(name)
        if field is None and name in kind.DESCRIPTOR.file.extensions_by_name:
            field = kind.DESCRIPTOR.file.extensions_by_name[name]
        require(field is not None, f"Unknown field: {name} in message type {message_type}")
        found.append(field)
    return found


def _is_repeated(field) -> bool:
    if hasattr(field, "is_repeated"):
        return bool(field.is_repeated)
    return field.label == Field.LABEL_REPEATED  # before protobuf 6.31


def _default(field, dtype):
    if _is_repeated(field) or field.type in _MESSAGES:
        return b"" if dtype is string else 0
    value = field.default_value
    return value.encode() if isinstance(value, str) else value


# -- DecodeProtoV2 -------------------------------------------------------------------------------
def decoded_shapes(bytes, *, output_types):
    varies = bytes.concatenate([None])
    return [bytes.concatenate([len(output_types)]), *[varies] * len(output_types)]


@op(
    "DecodeProtoV2",
    "bytes: string -> sizes: int32, values: output_types",
    message_type=String(),
    field_names=Strings(),
    output_types=Types(min=0),
    descriptor_source="local://",
    message_format="binary",
    sanitize=False,
    shape=decoded_shapes,
    traits={FILES},
)
def decode_proto_v2(
    bytes, *, message_type, field_names, output_types, descriptor_source, message_format, sanitize
):
    """Fields of serialized messages: how many values each message has of every field, and the values,
    filled up with the field's default to the longest, and to one at least."""
    kind = _message_class(message_type, as_bytes(descriptor_source))
    require(
        len(field_names) == len(output_types),
        "field_names and output_types attributes must have the same length",
    )
    require(message_format in ("binary", "text"), "format must be one of binary or text")
    require(bytes.size > 0, "Bufs argument must contain at least one value")
    fields = _fields(kind, message_type, field_names)
    for field, dtype in zip(fields, output_types):
        require(
            dtype in _TYPES[field.type],
            f"Unexpected output type for {field.full_name}: {field.cpp_type} to {dtype.name}",
        )
    messages = [_parsed(kind, data, message_format) for data in bytes.reshape(-1)]
    rows = [[_values(message, field) for message in messages] for field in fields]
    sizes = np.array([[len(v) for v in row] for row in rows], np.int32).reshape(len(fields), -1).T
    tensors = [
        _column(row, dtype, _default(field, dtype)).reshape(*bytes.shape, -1)
        for row, dtype, field in zip(rows, output_types, fields)
    ]
    return sizes.reshape(*bytes.shape, len(fields)), tensors


def _parsed(kind, data, message_format):
    message = kind()
    try:
        if message_format == "binary":
            message.ParseFromString(data)
        else:
            text_format.Parse(data.decode(), message)
    except (DecodeError, text_format.ParseError, UnicodeDecodeError, RecursionError) as error:
        text = f"Unable to parse contents as a {message_format} protobuf: {error}"
        raise DataLossError(None, None, text) from None
    return message


def _values(message, field) -> list:
    if _is_repeated(field):
        found = list(getattr(message, field.name))
    elif field.has_presence and not message.HasField(field.name):
        return []
    else:
        found = [getattr(message, field.name)]
        if not field.has_presence and found[0] == field.default_value:
            return []
    if field.type in _MESSAGES:
        return [value.SerializeToString() for value in found]
    return [value.encode() if isinstance(value, str) else value for value in found]


def _column(row, dtype, default):
    longest = max(1, *map(len, row))
    out = np.full((len(row), longest), default, dtype.numpy)
    for place, values in zip(out, row):
        place[: len(values)] = strings(values) if dtype is string else values
    return out


# -- EncodeProto ---------------------------------------------------------------------------------
def encoded_shape(sizes, values):
    out = UNKNOWN
    for value in values:
        require(value.rank is None or value.rank >= 2, "Shape must be at least rank 2")
        out = merge(out, UNKNOWN if value.rank is None else make_shape(value.sizes[:-1]))
    return out


@op(
    "EncodeProto",
    "sizes: int32, values: Tinput_types -> bytes: string",
    field_names=Strings(),
    message_type=String(),
    descriptor_source="local://",
    Tinput_types=Types(min=1),
    shape=encoded_shape,
    traits={FILES},
)
def encode_proto(sizes, values, *, field_names, message_type, descriptor_source, Tinput_types):
    """Serialized messages whose fields have the first `sizes[..., i]` of `values[i]`."""
    kind = _message_class(message_type, as_bytes(descriptor_source))
    fields = _fields(kind, message_type, field_names)
    require(len(values) == len(fields), "Length of inputs list must match field_names")
    batch = values[0].shape[:-1]
    for field, value, dtype in zip(fields, values, Tinput_types):
        require(
            dtype in _TYPES[field.type],
            f"Incompatible type for field {field.name}.  Saw dtype: {dtype.name} but field type is: "
            f"{field.type}",
        )
        require(
            value.ndim >= 2,
            f"Invalid shape for field {field.name}.  Saw shape {list(value.shape)} but it should be "
            "at least a matrix.",
        )
        require(
            value.shape[:-1] == batch,
            f"Values must match up to the last dimension: {list(value.shape)}, {list(batch)}",
        )
    require(
        sizes.shape == (*batch, len(fields)),
        f"sizes should be batch_size + [len(field_names)]: it has shape {list(sizes.shape)}",
    )
    many = math.prod(batch)
    rows = [value.reshape(many, value.shape[-1]) for value in values]
    counts = sizes.reshape(many, len(fields))
    for field, row, count in zip(fields, rows, counts.T):
        require(
            ((count >= 0) & (count <= row.shape[1])).all(),
            f"Size of field {field.name} is not between 0 and {row.shape[1]}",
        )
    order = sorted(range(len(fields)), key=lambda f: fields[f].number)
    is_ours = as_bytes(descriptor_source) in _OURS
    messages = []
    for i in range(len(counts)):
        given = [(fields[f], rows[f][i, : counts[i, f]].tolist()) for f in order]
        parts = [wire.field(f, v, is_ours and _is_repeated(f)) for f, v in given if v]
        messages.append(b"".join(parts))
    return strings(messages, batch)


# -- samples -------------------------------------------------------------------------------------
_SHAPE = "tensorflow.TensorShapeProto"


def _shape(*sizes) -> bytes:
    return proto.TensorShapeProto(dim=[{"size": s} for s in sizes]).SerializeToString()


def _is_file(source):
    return not source.startswith(("bytes://", "local://")) and source != ""


decode_proto_v2.touches_files("descriptor_source", _is_file)


@decode_proto_v2.samples
def _(rng):
    features = [proto.FloatList(value=[1.5, 2]).SerializeToString(), proto.FloatList().SerializeToString()]
    yield Sample(
        strings(features), message_type="tensorflow.FloatList", field_names=["value"], output_types=[float32]
    )
    yield Sample(
        strings([_shape(2, 3), _shape(), _shape(-1)], (3, 1)),
        message_type=_SHAPE,
        field_names=["dim", "unknown_rank"],
        output_types=[string, bool_],
    )
    yield Sample(
        strings([b"dim { size: 3 } unknown_rank: true"]),
        message_type=_SHAPE,
        field_names=["unknown_rank"],
        output_types=[bool_],
        message_format="text",
    )
    yield ErrorSample(
        strings([]),
        message_type=_SHAPE,
        field_names=["dim"],
        output_types=[string],
        raises="at least one value",
    )
    for change, raises in (
        ({"field_names": ["nothing"]}, "Unknown field: nothing"),
        ({"message_type": "tensorflow.Nobody"}, "No descriptor found for message type"),
        ({"output_types": [int32]}, "Unexpected output type"),
        ({"message_format": "xml"}, "format must be one of"),
    ):
        given = {"message_type": _SHAPE, "field_names": ["dim"], "output_types": [string]}
        yield ErrorSample(strings([b""]), **given | change, raises=raises)
    yield ErrorSample(
        strings([b"\x12"]),
        message_type=_SHAPE,
        field_names=["dim"],
        output_types=[string],
        raises="Unable to parse",
    )


encode_proto.touches_files("descriptor_source", _is_file)


@encode_proto.samples
def _(rng):
    yield Sample(
        np.array([[2], [0]], np.int32),
        [np.array([[1.5, 2], [0, 0]], np.float32)],
        field_names=["value"],
        message_type="tensorflow.FloatList",
    )
    nothing = np.zeros((0, 1), np.int32), [np.zeros((0, 0), np.float32)]
    yield Sample(*nothing, field_names=["value"], message_type="tensorflow.FloatList", note="empty")
    parts = strings([proto.TensorShapeProto.Dim(size=7).SerializeToString(), b""], (1, 2))
    yield Sample(
        np.array([[2, 1]], np.int32),
        [parts, np.array([[True]])],
        field_names=["dim", "unknown_rank"],
        message_type=_SHAPE,
    )
    yield Sample(
        np.array([[1, 1]], np.int32),
        [np.array([[False]]), parts[:, 1:]],
        field_names=["unknown_rank", "dim"],
        message_type=_SHAPE,
        note="defaults",
    )
    yield ErrorSample(
        np.array([[2]], np.int32),
        [np.array([[1.0]], np.float32)],
        field_names=["value"],
        message_type="tensorflow.FloatList",
        raises="not between 0 and 1",
    )


for _op in (decode_proto_v2, encode_proto):
    _op.no_gradient()
