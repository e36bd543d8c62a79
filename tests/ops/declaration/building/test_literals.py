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


ONE = np.float64(1)


@pytest.mark.parametrize(
    "value, dtype",
    [
        (ONE, tf.float64),
        (np.array([1.0]), tf.float64),
        ([ONE], tf.float32),
        ([[ONE], (2,)], tf.float32),
        ([ONE, True], tf.float32),
        ([np.float16(1)], tf.float16),
        ([np.float16(1), 1.0], tf.float32),
        ([np.float32(1), ONE], tf.float32),
        ([np.array(1.0), 1.0], tf.float32),
        ([np.int64(1)], tf.int32),
        ([np.int64(1 << 40)], tf.int64),
        ([np.int64(1), 2.0], tf.float32),
        ([np.int32(1), np.int64(1)], tf.int32),
        ([np.uint8(1), np.int8(1)], tf.int16),
        ([np.bool_(True), 1], tf.int32),
        ([True, 1], tf.int32),
        ([np.complex128(1)], tf.complex128),
    ],
)
def test_scalars_of_numpy_in_a_list_are_plain_numbers(value, dtype):
    with tf.Graph().as_default():
        for make in (tf.constant, tf.convert_to_tensor, tf.identity, lambda v: tf.Variable(v).value()):
            assert make(value).dtype.base_dtype is dtype


@pytest.mark.parametrize(
    "value, dtype", [([ONE], tf.int32), ([np.bool_(True)], tf.float32), ([1j], tf.float32)]
)
def test_they_lose_nothing(value, dtype):
    with tf.Graph().as_default(), pytest.raises(TypeError, match=f"Expected {dtype.name}"):
        tf.constant(value, dtype)
