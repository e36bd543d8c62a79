"""Examples on the wire: what protobuf writes is read; what nobody wrote is refused, never a crash."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import headrace as tf
from headrace.core.errors import InvalidArgumentError
from headrace.formats import proto
from headrace.formats.records import example as wire

VALUES = st.one_of(
    st.tuples(st.just(wire.BYTES), st.lists(st.binary(max_size=200), max_size=4)),
    st.tuples(st.just(wire.FLOAT), st.lists(st.floats(width=32), max_size=40)),
    st.tuples(st.just(wire.INT64), st.lists(st.integers(-(2**63), 2**63 - 1), max_size=40)),
    st.tuples(st.just(wire.NONE), st.just([])),
)
FIELDS = {wire.BYTES: "bytes_list", wire.FLOAT: "float_list", wire.INT64: "int64_list"}


class All:
    def __contains__(self, key):
        return True


def message(features):
    example = proto.Example()
    for name, (kind, values) in features.items():
        feature = example.features.feature[name]
        if kind != wire.NONE:
            getattr(feature, FIELDS[kind]).SetInParent()
            getattr(feature, FIELDS[kind]).value.extend(values)
    return example


def read(data):
    found = {}
    for name, span in wire.features(data, All()).items():
        kind, values = wire.payload(data, *span)
        decoded = {wire.FLOAT: wire.floats, wire.INT64: wire.integers}.get(kind, list)(values)
        assert wire.count(kind, values) == len(decoded)
        found[name.decode()] = kind, list(decoded)
    return found


@given(st.dictionaries(st.text(max_size=20), VALUES, max_size=6))
def test_reads_what_protobuf_writes(features):
    found = read(message(features).SerializeToString())
    assert found.keys() == features.keys()
    for name, (kind, values) in features.items():
        assert found[name][0] == kind
        if kind == wire.FLOAT:
            np.testing.assert_array_equal(np.array(found[name][1], np.float32), np.array(values, np.float32))
        else:
            assert found[name][1] == values


def test_numbers_that_are_not_packed():
    numbers = b"\x08\x01\x08\x96\x01"  # 1 and 150, each under its own tag
    feature = b"\x1a" + bytes([len(numbers)]) + numbers
    kind, packed = wire.payload(feature, 0, len(feature))
    assert (kind, wire.integers(packed).tolist()) == (wire.INT64, [1, 150])
    numbers = b"\x0d\x00\x00\x80\x3f"
    feature = b"\x12" + bytes([len(numbers)]) + numbers
    kind, packed = wire.payload(feature, 0, len(feature))
    assert (kind, wire.floats(packed).tolist()) == (wire.FLOAT, [1.0])


def test_examples_may_be_joined():
    first = message({"a": (wire.INT64, [1]), "b": (wire.INT64, [2])}).SerializeToString()
    second = message({"a": (wire.INT64, [3])}).SerializeToString()
    unknown = b"\x7a\x03abc\x10\x05"
    assert read(first + unknown + second) == {"a": (wire.INT64, [3]), "b": (wire.INT64, [2])}


@given(st.binary(max_size=60))
def test_other_bytes_are_malformed_or_empty(data):
    try:
        read(data)
    except (wire.Malformed, UnicodeDecodeError):
        pass


@given(st.data())
def test_damaged_examples(data):
    good = message({"a": (wire.FLOAT, [1.0] * 40), "b": (wire.BYTES, [b"x" * 150, b""])})
    raw = bytearray(good.SerializeToString())
    for _ in range(data.draw(st.integers(1, 3))):
        raw[data.draw(st.integers(0, len(raw) - 1))] = data.draw(st.integers(0, 255))
    try:
        read(bytes(raw))
    except (wire.Malformed, UnicodeDecodeError):
        pass


def test_a_length_of_the_sky():
    for data in (b"\x0a\xff\xff\xff\xff\xff\xff\xff\xff\x7f", b"\x0a" + b"\xff" * 20, b"\x0a"):
        with pytest.raises(wire.Malformed):
            wire.features(data, All())


FEATURES = {
    "a": tf.io.FixedLenFeature([], tf.int64),
    "b": tf.io.VarLenFeature(tf.float32),
    "c": tf.io.FixedLenSequenceFeature([2], tf.string, allow_missing=True),
}


@given(st.data())
def test_the_ops_refuse_what_is_damaged(data):
    good = message({"a": (wire.INT64, [7]), "b": (wire.FLOAT, [1.0]), "c": (wire.BYTES, [b"x", b"y"])})
    raw = bytearray(good.SerializeToString())
    at = data.draw(st.integers(0, len(raw) - 1))
    raw[at] = data.draw(st.integers(0, 255))
    cut = bytes(raw[: data.draw(st.integers(0, len(raw)))])
    from headrace.ops.io.example_columns import Place, Reader, dense_columns

    for text in (bytes(raw), cut):
        dense = dense_columns(
            [b"a", b"c"],
            [tf.int64, tf.string],
            [tf.TensorShape([]), tf.TensorShape([None, 2])],
            [np.zeros(0, np.int64), np.array(b"", object)],
        )
        reader = Reader([b"b"], [tf.float32], dense)
        try:
            reader.read(text, Place("in", 0))
            [c.array() for c in (*reader.dense_columns, *reader.sparse_columns)]
        except InvalidArgumentError:
            pass


def test_batches_and_singles_agree():
    examples = [
        message({"a": (wire.INT64, [i]), "b": (wire.FLOAT, [0.5] * i)}).SerializeToString() for i in range(4)
    ]
    with tf.Graph().as_default(), tf.Session() as sess:
        batch = sess.run(tf.io.parse_example(examples, FEATURES))
        assert batch["a"].tolist() == [0, 1, 2, 3]
        assert batch["b"].dense_shape.tolist() == [4, 3]
        assert batch["c"].shape == (4, 0, 2)
        for i, text in enumerate(examples):
            one = sess.run(tf.io.parse_single_example(text, FEATURES))
            assert one["a"] == i and one["b"].values.tolist() == [0.5] * i
