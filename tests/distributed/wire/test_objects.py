"""Handles and lists of tensors as messages, and over tasks."""

from __future__ import annotations

import numpy as np
import pytest

import headrace as tf
from headrace.core.shapes import make_shape
from headrace.distributed.wire import recv_response
from headrace.distributed.wire.objects import DistantHandle
from headrace.distributed.wire.values import from_message, to_message
from headrace.formats import proto
from headrace.ops.control.tensor_list_value import TensorList, boxed
from headrace.ops.declaration.resources import Handle, Slot
from tests.distributed.clusters import cluster
from tests.tensorflow_peer import needs_tensorflow, tensorflow

VARIANT = 21  # TF's number
ITEMS = [np.array([1.0, 2.0], np.float32), None, np.array([3.0, 4.0], np.float32)]


def a_list(items=ITEMS, shape=(None,), most=-1):
    return boxed(TensorList(items, tf.float32, make_shape(shape), most))


def same(a: TensorList, b: TensorList) -> bool:
    return (
        (a.dtype, a.element_shape, a.max_size, len(a)) == (b.dtype, b.element_shape, b.max_size, len(b))
        and all((x is None) == (y is None) for x, y in zip(a.items, b.items))
        and all(x is None or np.array_equal(x, y) for x, y in zip(a.items, b.items))
    )


@pytest.mark.parametrize(
    "value", [a_list(), a_list([]), a_list(shape=None, most=7), a_list([ITEMS[0]], (2,))]
)
def test_lists_there_and_back(value):
    for back in (from_message(to_message(value)), recv_response.decode(recv_response.encode(value)).value):
        assert back.shape == () and same(back[()], value[()])


def test_handles_there_and_back():
    slot = Slot("v", tf.float32, make_shape(()))
    back = recv_response.decode(recv_response.encode(Handle("c", "v", "Var", "/d:0", slot))).value
    assert back.target is slot and (back.container, back.name, back.device) == ("c", "v", "/d:0")
    message = to_message(back)
    del slot, back
    lost = from_message(message)  # as in another process: the number says nothing there
    assert isinstance(lost, DistantHandle) and to_message(lost) == message
    with pytest.raises(tf.errors.InvalidArgumentError, match="located in device /d:0"):
        lost.variable()


@pytest.mark.parametrize(
    "message",
    [
        proto.VariantTensorDataProto(type_name="tensorflow::TensorList"),
        proto.VariantTensorDataProto(type_name="tensorflow::TensorList", metadata=b"\x05\x01"),
        proto.VariantTensorDataProto(type_name="tensorflow::TensorList", metadata=b"\xff" * 12),
        proto.VariantTensorDataProto(type_name="tensorflow::TensorList", metadata=b"\x01\x07\x01\x00"),
        proto.VariantTensorDataProto(type_name="somebody's"),
    ],
)
def test_hostile_lists(message):
    with pytest.raises((ValueError, tf.errors.UnimplementedError)):
        from_message(proto.TensorProto(dtype=VARIANT, variant_val=[message]))


@needs_tensorflow
def test_lists_are_tensorflows(tmp_path):
    (tmp_path / "ours").write_bytes(to_message(a_list()).SerializeToString())
    found = tensorflow(
        tmp_path,
        """
        from tensorflow.python.ops import list_ops
        from tensorflow.core.framework import tensor_pb2
        text = open("ours", "rb").read()
        handle = tf.io.parse_tensor(text, tf.variant)
        items = [list_ops.tensor_list_get_item(handle, i, tf.float32, [2]).numpy().tolist() for i in (0, 2)]
        made = list_ops.tensor_list_from_tensor(tf.constant([[5., 6.]]), [2])
        open("theirs", "wb").write(tf.io.serialize_tensor(made).numpy())
        print(json.dumps([int(list_ops.tensor_list_length(handle)), items]))
        """,
    )
    assert found == [3, [[1.0, 2.0], [3.0, 4.0]]]
    message = proto.TensorProto.FromString((tmp_path / "theirs").read_bytes())
    assert [x.tolist() for x in from_message(message)[()].items] == [[5.0, 6.0]]


@pytest.mark.process
@pytest.mark.parametrize("by_link", [True, False])
def test_over_tasks(by_link, monkeypatch):
    with cluster(ps=1, worker=2) as servers, tf.Graph().as_default():
        if not by_link:
            monkeypatch.setattr("headrace.distributed.transport.links.Links.to", lambda self, task: None)
        with tf.device("/job:ps/task:0"):
            v = tf.get_variable("v", [2], initializer=tf.ones_initializer(), use_resource=True)
            fed = tf.placeholder(tf.float32, [2, 3])
            made = tf.raw_ops.TensorListFromTensor(tensor=fed, element_shape=tf.constant([3]))
        with tf.device("/job:worker/task:1"):
            more = tf.raw_ops.TensorListPushBack(input_handle=made, tensor=tf.reduce_sum(fed, 0))
            passed = tf.identity(v.handle)
        with tf.device("/job:ps/task:0"):
            back = tf.raw_ops.ReadVariableOp(resource=passed, dtype=tf.float32)
        with tf.device("/job:worker/task:0"):
            stacked = tf.raw_ops.TensorListStack(
                input_handle=more, element_shape=tf.constant([3]), element_dtype=tf.float32
            )
        with tf.Session(servers["worker"][0].target) as session:
            session.run(v.initializer)
            value = session.run(stacked, {fed: np.arange(6.0).reshape(2, 3)})
            assert value.tolist() == [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0], [3.0, 5.0, 7.0]]
            assert session.run(back).tolist() == [1.0, 1.0]
