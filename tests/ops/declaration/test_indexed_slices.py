"""IndexedSlices: what Gather's gradient is, and how it becomes dense."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import headrace as tf
from headrace.ops.declaration import indexed_slices
from headrace.ops.declaration.indexed_slices import IndexedSlices


@pytest.fixture
def session():
    with tf.Graph().as_default(), tf.Session() as session:
        yield session


def test_the_gradient_of_a_gather_stays_as_small_as_what_was_gathered(session):
    params = tf.placeholder(tf.float32, [1_000_000, 4])
    (gradient,) = tf.gradients(tf.gather(params, [3, 5, 3]), params)
    assert isinstance(gradient, IndexedSlices)
    assert gradient.values.shape.as_list() == [3, 4]
    assert not [n for n in session.graph.get_operations() if n.type == "UnsortedSegmentSum"]


def test_rows_with_equal_indices_add_up(session):
    slices = IndexedSlices(tf.constant([[1.0], [2.0], [4.0]]), tf.constant([2, 0, 2]), tf.constant([3, 1]))
    np.testing.assert_array_equal(session.run(tf.convert_to_tensor(slices)), [[2], [0], [5]])
    np.testing.assert_array_equal(session.run((-slices).values), [[-1], [-2], [-4]])


def test_a_large_or_unknown_dense_shape_is_warned_of(session):
    rows, places = tf.ones([1, 1]), tf.constant([0])
    with pytest.warns(UserWarning, match="with 100000000 elements"):
        tf.convert_to_tensor(IndexedSlices(rows, places, tf.constant([100_000_000, 1])))
    unknown = IndexedSlices(rows, places, tf.placeholder(tf.int32, [2]))
    with pytest.warns(UserWarning, match="unknown shape"):
        tf.convert_to_tensor(unknown)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        indexed_slices.dense(unknown)


def test_without_a_dense_shape_there_is_no_dense_tensor(session):
    with pytest.raises(ValueError, match="without dense_shape"):
        tf.convert_to_tensor(IndexedSlices(tf.ones([1, 1]), tf.constant([0])))


def test_a_concatenation_splits_them(session):
    a, b = tf.placeholder(tf.float32, [2, 3]), tf.placeholder(tf.float32, [4, 3])
    da, db = tf.gradients(tf.gather(tf.concat([a, b], 0), [5, 1, 2]), [a, b])
    feeds = {a: np.zeros((2, 3)), b: np.zeros((4, 3))}
    assert session.run(da.indices, feeds).tolist() == [1]
    assert session.run(db.indices, feeds).tolist() == [3, 0]
