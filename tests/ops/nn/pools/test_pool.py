"""Max pooling keeps NaN and -inf, in every mode."""

from __future__ import annotations

import numpy as np
import pytest

import headrace as tf
from tests.ops.calls.answers import mode

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
    assert np.isnan(wanted.astype(np.float32)).any()
    found = pooled(pool, x, data_format, "always")
    np.testing.assert_array_equal(found.astype(np.float32), wanted.astype(np.float32))


@pytest.mark.parametrize("compile", ["0", "always"])
def test_a_window_of_nothing_else(compile):
    x = np.array([np.nan, np.nan, -np.inf, np.nan, 1, np.nan], np.float32).reshape(1, 1, 6, 1)
    found = pooled(tf.nn.max_pool, x, "NHWC", compile).ravel()
    np.testing.assert_array_equal(found, [np.nan, np.nan, np.nan])
    np.testing.assert_array_equal(pooled(tf.nn.max_pool, x[:, :, 2:3], "NHWC", compile).ravel(), [-np.inf])
