"""Python values as constants: an integer never wraps around unasked."""

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
