"""import_graph_def beyond TF's own tests: bad graphs are refused whole, large ones are fast."""

from __future__ import annotations

import random
import time

import numpy as np
import pytest

import headrace as tf
from headrace.formats import proto

FLOAT = "attr { key: 'T' value { type: DT_FLOAT } }"
PLACEHOLDER = "node { name: 'x' op: 'Placeholder' attr { key: 'dtype' value { type: DT_FLOAT } } }"


def graph_def(text: str):
    message = proto.from_text(text, proto.GraphDef())
    message.versions.producer = tf.GRAPH_DEF_VERSION
    return message


def refused(text: str, match: str, error: type[Exception] = ValueError) -> None:
    with tf.Graph().as_default() as graph:
        with pytest.raises(error, match=match):
            tf.import_graph_def(graph_def(text), name="")
        assert graph.get_operations() == []


def test_missing_attribute():
    refused(PLACEHOLDER + "node { name: 'y' op: 'Identity' input: 'x' }", "missing attr 'T' from Op<")


def test_unknown_attribute():
    node = f"node {{ name: 'y' op: 'Identity' input: 'x' {FLOAT} attr {{ key: 'z' value {{ i: 1 }} }} }}"
    refused(PLACEHOLDER + node, "mentions attr 'z' not in Op<name=Identity")


@pytest.mark.parametrize(
    ("value", "match"),
    [
        ("i: 3", "type 'int' when 'type' expected"),
        ("list { type: DT_FLOAT }", "'list\\(type\\)' when 'type' expected"),
        ("type: DT_FLOAT_REF", "reference type value of float_ref"),
        ("type: 77", "77"),
        ("placeholder: 'T'", "unexpected type 'placeholder'"),
    ],
)
def test_attribute_of_a_wrong_kind(value: str, match: str):
    node = f"node {{ name: 'y' op: 'Identity' input: 'x' attr {{ key: 'T' value {{ {value} }} }} }}"
    refused(PLACEHOLDER + node, match)


def test_type_that_is_not_allowed():
    node = "node { name: 'y' op: 'Sqrt' input: 'x' attr { key: 'T' value { type: DT_STRING } } }"
    refused(PLACEHOLDER + node, "of string is not in the list of allowed values")


def test_cycle():
    refused(
        f"node {{ name: 'a' op: 'Identity' input: 'b' {FLOAT} }}"
        f"node {{ name: 'b' op: 'Identity' input: 'a' {FLOAT} }}",
        "2 nodes in a cycle",
    )


def test_control_cycle():
    refused(
        "node { name: 'a' op: 'NoOp' input: '^b' } node { name: 'b' op: 'NoOp' input: '^a' }",
        "2 nodes in a cycle",
    )


def test_merge_with_back_edges_only():
    refused(
        "node { name: 'm' op: 'Merge' input: 'n' attr { key: 'N' value { i: 1 } } " + FLOAT + "}"
        "node { name: 'n' op: 'NextIteration' input: 'm' " + FLOAT + "}",
        "only back edges",
    )


def test_control_input_before_data():
    node = f"node {{ name: 'y' op: 'Identity' input: '^x' input: 'x' {FLOAT} }}"
    refused(PLACEHOLDER + node, "Control dependencies must come after regular")


@pytest.mark.parametrize("name", ["", "_a", "a b", "/a", "é"])
def test_bad_name(name: str):
    refused(f"node {{ name: '{name}' op: 'NoOp' }}", "invalid characters")


def test_unknown_op():
    refused("node { name: 'a' op: 'NoSuchOp' }", "Op type not registered 'NoSuchOp'", tf.errors.NotFoundError)


def test_removed_op():
    refused(
        "node { name: 'a' op: 'PlaceholderV2' attr { key: 'dtype' value { type: DT_FLOAT } } "
        "attr { key: 'shape' value { shape { } } } }",
        "removed in version 23",
        tf.errors.UnimplementedError,
    )


def test_number_of_inputs_that_cannot_be():
    refused(
        "node { name: 'a' op: 'AddN' " + FLOAT + " attr { key: 'N' value { i: 1000000000 } } }",
        "N|number|inputs",
    )


def test_shape_that_overflows():
    refused(
        "node { name: 'c' op: 'Const' attr { key: 'dtype' value { type: DT_FLOAT } } attr { key: "
        "'value' value { tensor { dtype: DT_FLOAT tensor_shape { dim { size: 4611686018427387904 } "
        "dim { size: 16 } } float_val: 1 } } } }",
        "tensor",
    )


def test_shapes_that_contradict_each_other():
    refused(
        PLACEHOLDER.replace("} } }", "} } attr { key: 'shape' value { shape { dim { size: 2 } } } } }")
        + f"node {{ name: 'y' op: 'Identity' input: 'x' {FLOAT} attr {{ key: '_output_shapes' "
        "value { list { shape { dim { size: 3 } } } } } }",
        "inconsistent with the GraphDef for output #0",
    )


def test_random_changes_never_crash():
    """Whatever a message says, the answer is a graph or one of a few errors."""
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [None, 3], name="x")
        y = tf.matmul(x, tf.constant(np.ones((3, 2), np.float32)), name="y")
        tf.while_loop(lambda i, a: i < 3, lambda i, a: (i + 1, a + y), [0, y])
    data = graph.as_graph_def().SerializeToString()
    rng = random.Random(7)
    for _ in range(300):
        changed = bytearray(data)
        for _ in range(rng.randint(1, 4)):
            changed[rng.randrange(len(changed))] = rng.randrange(256)
        message = proto.GraphDef()
        try:
            message.ParseFromString(bytes(changed))
        except Exception:
            continue
        with tf.Graph().as_default():
            try:
                tf.import_graph_def(message)
            except (ValueError, TypeError, tf.errors.OpError):
                pass


def test_ten_thousand_nodes():
    with tf.Graph().as_default() as graph:
        y = tf.placeholder(tf.float32, [None], name="x")
        for _ in range(5000):
            y = tf.identity(y + 1.0)
    message = graph.as_graph_def()
    start = time.process_time()
    with tf.Graph().as_default() as other:
        tf.import_graph_def(message, name="")
    assert time.process_time() - start < 4  # about 1 s on an idle machine
    assert other.as_graph_def() == message


def test_round_trip_of_devices_groups_and_control():
    with tf.Graph().as_default() as graph:
        with tf.device("/job:ps/task:1"):
            a = tf.constant(1.0, name="a")
        with tf.colocate_with(a.op), tf.control_dependencies([tf.no_op(name="first")]):
            tf.identity(a, name="b")
    message = graph.as_graph_def()
    with tf.Graph().as_default() as other:
        tf.import_graph_def(message, name="")
    assert other.as_graph_def() == message


def test_messages_of_another_library():
    """A GraphDef class that is not ours is taken by its bytes."""
    from google.protobuf import descriptor_pool, message_factory

    pool = descriptor_pool.DescriptorPool()
    names = ["types", "tensor_shape", "resource_handle", "tensor", "attr_value", "full_type", "node_def",
             "op_def", "function", "versions"]  # fmt: skip
    places = [*(f"framework/{name}" for name in names), "protobuf/graph_debug_info", "framework/graph"]
    for place in places:
        described = proto.contents(f"tensorflow/core/{place}.proto")["DESCRIPTOR"]
        pool.AddSerializedFile(described.serialized_pb)
    other = message_factory.GetMessageClass(pool.FindMessageTypeByName("tensorflow.GraphDef"))
    foreign = other.FromString(graph_def(PLACEHOLDER).SerializeToString())
    with tf.Graph().as_default():
        (node,) = tf.import_graph_def(foreign, return_elements=["x"])
        assert node.type == "Placeholder"


def test_create_op():
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [2])
        node = graph.create_op("Identity", [x], [tf.float32], name="y")
        assert (node.name, node.outputs[0].shape.as_list()) == ("y", [2])
        with pytest.raises(TypeError, match="Input #0 is not a tensor"):
            graph.create_op("Identity", [1.0])
        with pytest.raises(ValueError, match="expected inputs 'float' do not match 0 inputs"):
            graph.create_op("Identity", [], attrs={"T": tf.float32})
        with pytest.raises(tf.errors.NotFoundError, match="NoSuchOp"):
            graph.create_op("NoSuchOp", [])
