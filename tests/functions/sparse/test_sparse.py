"""Sparse tensors in a session: operators, feeds, maps; sets."""

import numpy as np
import pytest

import headrace as tf
from headrace.functions.sparse import io as sparse_io


def matrix():
    return tf.SparseTensor([[0, 0], [1, 2]], [1.0, 2.0], [2, 3])


def run(fetches, feeds=None):
    with tf.Session() as session:
        return session.run(fetches, feeds)


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default():
        yield


def test_operators_beside_dense_tensors():
    x = matrix()
    assert run((x * [[2.0], [3.0]]).values).tolist() == [2, 6]
    assert run((tf.constant([[2.0], [3.0]]) * x).values).tolist() == [2, 6]
    halves = run((x / 2.0).values)
    assert halves.tolist() == [0.5, 1.0]


def test_placeholder_takes_a_value_or_a_tuple():
    x = tf.sparse_placeholder(tf.float32)
    dense = tf.sparse.to_dense(x)
    parts = np.array([[0, 1]]), np.array([5.0], np.float32), np.array([1, 2])
    assert run(dense, {x: tf.SparseTensorValue(*parts)}).tolist() == [[0, 5]]
    assert run(dense, {x: parts}).tolist() == [[0, 5]]


def test_known_shape_survives():
    assert tf.sparse.reorder(matrix()).shape == (2, 3)
    assert tf.sparse.reshape(matrix(), [3, -1]).shape == (3, 2)
    with pytest.raises(ValueError, match="Cannot reshape a tensor with 6 elements"):
        tf.sparse.reshape(matrix(), [4, 2])


def test_map_keeps_and_forgets():
    handles = sparse_io.add_many_sparse_to_tensors_map(matrix(), shared_name="kept")
    again = sparse_io.take_many_sparse_from_tensors_map(handles.op, handles, rank=2)
    with tf.Session() as session:
        value = session.run(again)
        assert value.values.tolist() == [1, 2]
        assert value.indices.tolist() == [[0, 0], [1, 2]]
        taken = sparse_io.take_many_sparse_from_tensors_map(handles.op, np.array([0]))
        with pytest.raises(tf.errors.InvalidArgumentError, match="Unable to find SparseTensor: 0"):
            session.run(taken)


def test_serialized_rows_become_one_tensor():
    rows = tf.io.serialize_many_sparse(matrix())
    again = run(tf.io.deserialize_many_sparse(rows, tf.float32, rank=2))
    assert again.values.tolist() == [1, 2]
    assert again.dense_shape.tolist() == [2, 3]


def test_difference_of_a_sparse_and_a_dense_set():
    sparse = tf.SparseTensor([[0, 0], [0, 1]], [1, 2], [1, 2])
    dense = tf.constant([[2, 3]])
    assert run(tf.sets.difference(sparse, dense)).values.tolist() == [1]
    assert run(tf.sets.difference(sparse, dense, aminusb=False)).values.tolist() == [3]
