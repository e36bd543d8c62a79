"""Max pooling passes NaN over, in every mode: by the reference, oneDNN and kernels of our own."""

from __future__ import annotations

import numpy as np
import pytest

import headrace as tf
from tests.ops.answers import mode

pytestmark = pytest.mark.native
FORMATS = [(tf.nn.max_pool, 2, "NHWC"), (tf.nn.max_pool, 2, "NCHW"), (tf.nn.max_pool3d, 3, "NDHWC")]


def pooled(pool, x, data_format, compile):
    window = [2] * (x.ndim - 2)
    window = [1, 1, *window] if data_format.startswith("NC") else [1, *window, 1]
    with mode(compile), tf.Graph().as_default():
        fed = tf.placeholder(tf.as_dtype(x.dtype), x.shape)
        y = pool(fed, window, window, "SAME", data_format=data_format)
        with tf.Session() as session:
            return session.run(y, {fed: x})


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
@pytest.mark.parametrize("channels", [1, 16])
@pytest.mark.parametrize("pool, rank, data_format", FORMATS)
def test_nan_and_minus_infinity(pool, rank, data_format, channels, dtype):
    rng = np.random.default_rng(0)
    space = (5,) * rank
    shape = (2, channels, *space) if data_format.startswith("NC") else (2, *space, channels)
    drawn = rng.random(shape)
    x = np.where(drawn < 0.3, np.nan, np.where(drawn < 0.6, -np.inf, rng.normal(size=shape)))
    x = x.astype(tf.as_dtype(dtype).as_numpy_dtype)
    wanted = pooled(pool, x, data_format, "0")
    assert not np.isnan(wanted.astype(np.float32)).any()
    np.testing.assert_array_equal(pooled(pool, x, data_format, "always"), wanted)


@pytest.mark.parametrize("compile", ["0", "always"])
def test_a_window_of_nothing_else(compile):
    """It starts with the lowest number, as TensorFlow 1.15's does."""
    x = np.array([np.nan, np.nan, -np.inf, np.nan, 1, np.nan], np.float32).reshape(1, 1, 6, 1)
    lowest = np.finfo(np.float32).min
    assert pooled(tf.nn.max_pool, x, "NHWC", compile).ravel().tolist() == [lowest, lowest, 1]
