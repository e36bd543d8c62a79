"""Fields in protobuf's wire format: what protobuf itself reads from them."""

from __future__ import annotations

import numpy as np
import pytest
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from google.protobuf.descriptor import FieldDescriptor as Field

import headrace as tf
from headrace.formats import wire

INTEGERS = {
    name: getattr(Field, f"TYPE_{name}")
    for name in ("INT32", "INT64", "UINT32", "UINT64", "SINT32", "SINT64", "FIXED32", "FIXED64",
                 "SFIXED32", "SFIXED64")
}  # fmt: skip


@pytest.fixture(scope="module")
def message():
    """A message with a repeated field of every type of number, plain and packed."""
    file = descriptor_pb2.FileDescriptorProto(name="wire_test.proto", package="t", syntax="proto2")
    kind = file.message_type.add(name="All")
    types = [*INTEGERS.values(), Field.TYPE_BOOL, Field.TYPE_FLOAT, Field.TYPE_DOUBLE]
    for k, (number, packed) in enumerate((t, p) for t in types for p in (False, True)):
        added = kind.field.add(name=f"f{number}_{packed}", number=3 * k + 1, type=number, label=3)
        added.options.packed = packed
    kind.field.add(name="text", number=500, type=Field.TYPE_STRING, label=3)
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("t.All"))


def survives(message, name, values):
    data = wire.field(message.DESCRIPTOR.fields_by_name[name], values)
    return list(getattr(message.FromString(data), name)), data


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("name", list(INTEGERS))
def test_integers(message, name, packed):
    bits = 32 if name.endswith("32") else 64
    low = 0 if name.startswith(("U", "FIXED")) else -(1 << (bits - 1))
    values = [0, 1, 127, 128, low, low + (1 << bits) - 1, *([-1, -300] if low else [])]
    found, data = survives(message, f"f{INTEGERS[name]}_{packed}", values)
    assert found == values
    assert data == message(**{f"f{INTEGERS[name]}_{packed}": values}).SerializeToString()


@pytest.mark.parametrize("packed", [False, True])
def test_other_values(message, packed):
    for kind, values in (
        (Field.TYPE_BOOL, [False, True]),
        (Field.TYPE_FLOAT, [0.0, -1.5]),
        (Field.TYPE_DOUBLE, [0.1, float("inf")]),
    ):
        assert survives(message, f"f{kind}_{packed}", values)[0] == values
    assert survives(message, "text", ["é".encode(), b""])[0] == ["é", ""]


def test_a_default_value_is_written():
    """What TensorFlow 1.15 and 2.21 give; a message of proto3 would leave it out."""
    with tf.Graph().as_default(), tf.Session() as sess:
        data = tf.io.encode_proto(
            sizes=np.ones((1, 1), np.int32),
            values=[np.array([[False]])],
            field_names=["unknown_rank"],
            message_type="tensorflow.TensorShapeProto",
        )
        assert sess.run(data).tolist() == [b"\x18\x00"]
