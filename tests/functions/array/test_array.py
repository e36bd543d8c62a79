"""What functions of arrays decide while the graph is built."""

from __future__ import annotations

import numpy as np
import pytest

import headrace as tf


@pytest.fixture
def session():
    with tf.Graph().as_default(), tf.Session() as session:
        yield session


def types(graph):
    return [n.type for n in graph.get_operations()]


def test_known_shapes_are_constants(session):
    known, unknown = tf.placeholder(tf.float32, [2, 3]), tf.placeholder(tf.float32, [None, 3])
    assert [f(known).op.type for f in (tf.shape, tf.size, tf.rank)] == ["Const"] * 3
    assert [f(unknown).op.type for f in (tf.shape, tf.size, tf.rank)] == ["Shape", "Size", "Const"]
    assert tf.zeros_like(known).op.type == "Const"
    assert tf.zeros_like(unknown).op.type == "ZerosLike"
    assert tf.ones_like(unknown).shape.as_list() == [None, 3]


def test_small_constants_are_in_the_graph_and_large_ones_are_filled(session):
    assert tf.zeros([10, 10]).op.type == "Const"
    assert tf.ones([100, 100]).op.type == "Fill"
    assert session.run(tf.zeros([2], tf.string)).tolist() == [b"", b""]


def test_one_tensor_is_concatenated_by_identity(session):
    assert tf.concat([[1, 2]], 0).op.type == "Identity"


def test_static_values(session):
    size = tf.placeholder(tf.int32, [])
    assert tf.get_static_value(tf.stack([1, size])) is None
    partly = tf.get_static_value(tf.stack([1, size]), partial=True)
    assert partly[0] == 1 and partly[1] is None
    assert tf.get_static_value(tf.shape(tf.zeros([2, 3]))).tolist() == [2, 3]
    assert tf.get_static_value(5) == 5
    value = tf.get_static_value(tf.constant([1.0, 2.0]))
    value[0] = 9  # it is the caller's own


def test_a_value_that_was_used_can_not_be_fed(session):
    x = tf.constant(1)
    tf.get_static_value(x)
    with pytest.raises(ValueError, match="may not be fed"):
        session.run(x + 1, {x: 2})


@pytest.mark.parametrize("side", ["left", "right"])
def test_searchsorted_is_numpys(session, side):
    rows = np.sort(np.random.default_rng(0).integers(0, 9, (3, 7)), axis=1)
    wanted = np.arange(12).reshape(3, 4)
    found = session.run(tf.searchsorted(rows, wanted, side))
    for row, values, places in zip(rows, wanted, found):
        assert places.tolist() == np.searchsorted(row, values, side).tolist()


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_sort_and_argsort_are_numpys(session, axis):
    x = np.random.default_rng(0).normal(size=(3, 4, 5))
    np.testing.assert_array_equal(session.run(tf.sort(x, axis)), np.sort(x, axis))
    places = session.run(tf.argsort(x, axis, "DESCENDING"))
    np.testing.assert_array_equal(places, np.argsort(-x, axis))


def test_repeat_is_numpys(session):
    x = np.arange(6).reshape(2, 3)
    for repeats, axis in ((2, 0), ([1, 0, 2], 1), (3, None), ([2, 1], -2)):
        found = session.run(tf.repeat(x, repeats, axis))
        np.testing.assert_array_equal(found, np.repeat(x, repeats, axis))


def test_gather_nd_with_batches(session):
    x = np.arange(24).reshape(2, 3, 4)
    index = np.array([[[0, 1], [2, 3]], [[1, 1], [0, 0]]])
    found = session.run(tf.gather_nd(x, index, batch_dims=1))
    np.testing.assert_array_equal(found, [[x[0, 0, 1], x[0, 2, 3]], [x[1, 1, 1], x[1, 0, 0]]])


def test_tensor_protos(session):
    proto = tf.make_tensor_proto([1.0, 2.0], shape=[2, 2])
    assert tf.make_ndarray(proto).tolist() == [[1, 2], [2, 2]]
    with pytest.raises(TypeError, match="Expected Tensor's shape"):
        tf.make_tensor_proto([1.0, 2.0], shape=[2, 2], verify_shape=True)
    assert tf.make_tensor_proto(3, shape=[2], allow_broadcast=True).int_val == [3]
