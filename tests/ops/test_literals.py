"""Python values as constants: an integer never wraps unasked, a bool is one, a tensor beside it decides."""

from __future__ import annotations

import numpy as np
import pytest

import headrace as tf


@pytest.mark.parametrize(
    "dims, dtype",
    [
        ([3], tf.int32),
        (np.array([3]), tf.int32),
        ([1 << 40], tf.int64),
        (np.array([1 << 40]), tf.int64),
        ([2, 1 << 40], tf.int64),
        ([np.int64(1 << 40)], tf.int64),
    ],
)
def test_a_type_that_is_only_the_default_gives_way(dims, dtype):
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32)
        assert tf.raw_ops.Reshape(tensor=x, shape=dims).op.inputs[1].dtype is dtype
        assert tf.constant([1 << 40], tf.int32).dtype is tf.int32  # it was asked for


@pytest.mark.parametrize("dtype", ["int32", "uint8", "float32", "complex64"])
def test_a_bool_is_a_number(dtype):
    with tf.Graph().as_default(), tf.Session() as session:
        assert session.run(tf.constant([True, False], dtype)).tolist() == [1, 0]
        with pytest.raises(TypeError, match="Expected bool"):
            tf.constant(1, tf.bool)


@pytest.mark.parametrize("kind", ["int32", "int64"])
def test_a_plain_number_takes_the_type_of_a_tensor_beside_it(kind):
    x = np.arange(12.0).reshape(3, 4)
    with tf.Graph().as_default(), tf.Session() as session:
        one = tf.constant(1, kind)
        for pair in ((1, one), (one, 1), (one, one), (np.dtype(kind).type(1), one)):
            assert session.run(tf.matrix_band_part(x, *pair)).sum() == 46
        with pytest.raises(TypeError, match="that does not match type"):
            tf.matrix_band_part(x, tf.constant(1, tf.int32), tf.constant(1, tf.int64))
