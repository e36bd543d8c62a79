"""Max pooling and its gradients by our own kernels: windows that overlap or leave gaps, all paddings, layouts
and types; NaN and infinities."""

from __future__ import annotations

import numpy as np
import pytest

import headrace as tf
from headrace.codegen.convolution import pools
from headrace.codegen.onednn import onednn
from headrace.runtime.containers import Containers
from tests.codegen.compare import Runner, assert_same

pytestmark = pytest.mark.native
CASES = [  # image, channels, window, stride
    ((9, 9), 16, 3, 1),
    ((10, 11), 16, 3, 2),
    ((8, 8), 48, 2, 2),
    ((7, 7), 16, 2, 3),
    ((12, 9), 32, 5, 3),
    ((6, 4), 5, 3, 2),
    ((9, 8), 1, 7, 1),
]


@pytest.mark.parametrize("padding", ["SAME", "VALID"])
@pytest.mark.parametrize("is_blocked", [False, True])
@pytest.mark.parametrize("size, channels, window, stride", CASES)
def test_the_gradient_goes_to_the_first_maximum(
    monkeypatch, size, channels, window, stride, is_blocked, padding
):
    own = []
    monkeypatch.setattr(pools, "instructions", lambda *a, real=pools.instructions: own.append(1) or real(*a))
    if is_blocked and not onednn.is_available():
        pytest.skip("blocks of channels are oneDNN's")
    rng = np.random.default_rng(0)
    # Many equal values: only the first of them gets a gradient.
    x = np.maximum(rng.integers(-3, 4, (3, *size, channels)), 0).astype("f")
    with tf.Graph().as_default() as graph:
        fed = tf.placeholder(tf.float32, x.shape)
        y = fed
        if is_blocked:
            eye = np.eye(channels, dtype="f")[None, None]
            y = tf.nn.conv2d(y, tf.constant(eye), 1, "SAME") * 2.0
        around = [1, window, window, 1], [1, stride, stride, 1]
        y = tf.nn.max_pool(y, *around, padding)
        if is_blocked:
            y = tf.nn.conv2d(y, tf.constant(eye), 1, "SAME")
        loss = tf.reduce_sum(y**2)
        (grad,) = tf.gradients(loss, [fed])
        runner = Runner(graph, [fed], [grad, loss], improved=True)
    got, want = (f(Containers(), [x]) for f in (runner.run, runner.expected))
    assert runner.is_whole
    for a, b in zip(got, want):
        assert_same(a, b, 1e-5)
    assert len(own) == 2


def holed(shape, seed=0):
    """Numbers with NaN and both infinities among them, and whole windows of -inf."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=shape).astype("f")
    for value in (np.nan, np.inf, -np.inf):
        x.flat[rng.integers(0, x.size, x.size // 30)] = value
    x[0] = -np.inf
    return x


@pytest.mark.parametrize("dtype", [tf.float16, tf.bfloat16, tf.float32, tf.float64])
@pytest.mark.parametrize("order", ["NHWC", "NCHW"])
@pytest.mark.parametrize("size, channels, window, stride", CASES)
def test_nan_and_infinities_stay(size, channels, window, stride, order, dtype):
    x = holed((3, *size, channels)).transpose((0, 1, 2, 3) if order == "NHWC" else (0, 3, 1, 2))
    with tf.Graph().as_default() as graph:
        fed = tf.placeholder(dtype, x.shape)
        around = ([1, n, n, 1] if order == "NHWC" else [1, 1, n, n] for n in (window, stride))
        y = tf.nn.max_pool(fed, *around, "SAME", data_format=order)
        weight = tf.cast(tf.reshape(tf.range(y.shape.num_elements()) % 7, y.shape), dtype)
        (grad,) = tf.gradients(y, [fed], weight)
        runner = Runner(graph, [fed], [y, grad])
    values = [x.astype(dtype.as_numpy_dtype)]
    got, want = (f(Containers(), values) for f in (runner.run, runner.expected))
    assert runner.is_whole
    np.testing.assert_array_equal(got[0].astype("d"), want[0].astype("d"))
    np.testing.assert_array_equal(got[1].astype("d"), want[1].astype("d"))


@pytest.mark.parametrize("dtype", [tf.float16, tf.bfloat16, tf.float32])
@pytest.mark.parametrize("order", ["NDHWC", "NCDHW"])
@pytest.mark.parametrize(
    "channels, window, stride", [(16, 2, 2), (20, 3, 2), (3, 3, 1), (8, 2, 3), (2, 5, 1)]
)
def test_volumes(channels, window, stride, order, dtype):
    x = holed((2, 5, 7, 6, channels)).transpose((0, 1, 2, 3, 4) if order == "NDHWC" else (0, 4, 1, 2, 3))
    with tf.Graph().as_default() as graph:
        fed = tf.placeholder(dtype, x.shape)
        around = ([1, n, n, n, 1] if order == "NDHWC" else [1, 1, n, n, n] for n in (window, stride))
        y = tf.nn.max_pool3d(fed, *around, "SAME", data_format=order)
        weight = tf.cast(tf.reshape(tf.range(y.shape.num_elements()) % 7, y.shape), dtype)
        (grad,) = tf.gradients(y, [fed], weight)
        runner = Runner(graph, [fed], [y, grad])
    values = [x.astype(dtype.as_numpy_dtype)]
    got, want = (f(Containers(), values) for f in (runner.run, runner.expected))
    assert runner.is_whole
    for a, b in zip(got, want):
        np.testing.assert_array_equal(a.astype("d"), b.astype("d"))


def test_a_gradient_without_its_pooling_finds_the_maxima_itself():
    x = holed((2, 9, 8, 20))
    with tf.Graph().as_default() as graph:
        fed = tf.placeholder(tf.float32, x.shape)
        given = tf.placeholder(tf.float32, [2, 5, 4, 20])
        options = {"ksize": [1, 3, 3, 1], "strides": [1, 2, 2, 1], "padding": "SAME"}
        grad = tf.raw_ops.MaxPoolGrad(orig_input=fed, orig_output=given, grad=given, **options)
        runner = Runner(graph, [fed, given], [grad])
    values = [x, np.arange(2 * 5 * 4 * 20, dtype="f").reshape(2, 5, 4, 20)]
    got, want = (f(Containers(), values) for f in (runner.run, runner.expected))
    assert runner.is_whole
    np.testing.assert_array_equal(got[0], want[0])
