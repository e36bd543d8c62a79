"""Max pooling with channels first equals max pooling with channels last, bit by bit, for any size of rows."""

import ml_dtypes
import numpy as np
import pytest

import headrace as tf

pytestmark = pytest.mark.native


def _pooled(x, window, strides, padding, layout):
    """Results and gradients, with channels last."""
    to = {"NCHW": (0, 3, 1, 2), "NHWC": (0, 1, 2, 3)}[layout]
    back = [to.index(i) for i in range(4)]

    def sizes(pair):
        full = (1, *pair, 1)
        return [full[i] for i in to]

    with tf.Graph().as_default():
        fed = tf.placeholder(tf.as_dtype(x.dtype), [x.shape[i] for i in to])
        y = tf.nn.max_pool(fed + 0, sizes(window), sizes(strides), padding, data_format=layout)
        # Every window's gradient is a number of its own.
        grads = tf.reshape(tf.cast(tf.range(1, 1 + tf.size(y)) % 61, y.dtype), tf.shape(y))
        if layout == "NHWC":  # numbered as with channels first
            first = tf.transpose(y, (0, 3, 1, 2))
            grads = tf.reshape(tf.cast(tf.range(1, 1 + tf.size(y)) % 61, y.dtype), tf.shape(first))
            grads = tf.transpose(grads, (0, 2, 3, 1))
        (gradient,) = tf.gradients(y, fed, grads)
        with tf.Session() as session:
            for _ in range(2):  # the second step is compiled
                found = session.run([y, gradient], {fed: x.transpose(to)})
    return [a.transpose(back) for a in found]


@pytest.mark.parametrize("width", [1, 2, 3, 7, 8, 15, 16, 17, 31, 33, 56])
@pytest.mark.parametrize("strides", [(1, 1), (2, 2), (1, 2), (3, 3)])
@pytest.mark.parametrize("padding", ["SAME", "VALID"])
def test_rows_of_any_length(width, strides, padding):
    rng = np.random.RandomState(width)
    x = rng.randint(-3, 4, (2, 5, width, 3)).astype(np.float32)
    x[rng.rand(*x.shape) < 0.05] = np.nan
    x[rng.rand(*x.shape) < 0.3] = -np.inf
    for window in [(2, 2), (3, 3), (1, 4), (4, 1)]:
        if padding == "VALID" and window[1] > width:
            continue
        case = (x, window, strides, padding)
        for first, last in zip(_pooled(*case, "NCHW"), _pooled(*case, "NHWC")):
            np.testing.assert_array_equal(first, last, err_msg=f"window {window}")


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16, np.float64])
def test_other_floats(dtype):
    x = np.random.RandomState(0).randint(-3, 4, (2, 6, 37, 3)).astype(dtype)
    for strides in [(1, 1), (2, 2)]:
        case = (x, (3, 3), strides, "SAME")
        for first, last in zip(_pooled(*case, "NCHW"), _pooled(*case, "NHWC")):
            np.testing.assert_array_equal(first.astype(np.float64), last.astype(np.float64))
