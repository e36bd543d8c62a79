"""group, tuple, with_dependencies."""

import numpy as np
import pytest

import headrace as tf


def test_tuple_takes_tensors_arrays_nodes_slices_and_none():
    with tf.Graph().as_default(), tf.Session() as session:
        count = tf.get_variable("count", initializer=0)
        add = count.assign_add(1).op
        rows = tf.IndexedSlices(tf.constant([[5.0]]), tf.constant([2]))
        array, number, node, slices, nothing = tf.tuple(
            [np.array([1.0, 2.0], np.float32), tf.constant(3.0), add, rows, None]
        )
        assert isinstance(node, tf.Operation) and nothing is None
        session.run(count.initializer)
        np.testing.assert_array_equal(session.run(array), [1.0, 2.0])
        assert session.run(number) == 3.0
        np.testing.assert_array_equal(session.run(slices.values), [[5.0]])
        assert session.run(node) is None
        assert session.run(count) == 4, "each of them waits for all"


def test_a_tuple_of_nothing():
    with tf.Graph().as_default(), pytest.raises(ValueError, match="Must have at least one Tensor"):
        tf.tuple([None])
