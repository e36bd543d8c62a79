"""What NumPy says of floats while a step runs."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import headrace as tf


def test_kernels_say_nothing_and_functions_of_the_user_hear_it(monkeypatch):
    monkeypatch.setenv("HEADRACE_COMPILE", "0")

    def divide(x):
        return (x / np.float32(0)).astype(np.float32)

    with tf.Graph().as_default(), tf.Session() as sess:
        x = tf.placeholder(tf.float32, [2, 2])
        sum_of_nothing = tf.reduce_sum(tf.matmul(x, x) - tf.matmul(x, x))
        asked = tf.py_func(divide, [x], tf.float32)
        fed = {x: np.full((2, 2), np.inf, np.float32)}
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert np.isnan(sess.run(sum_of_nothing, fed))
        before = np.geterr()
        with pytest.raises(tf.errors.OpError, match="divide by zero"):  # tests raise warnings
            sess.run(asked, {x: np.ones((2, 2))})
        assert np.geterr() == before
