"""The gradient of max pooling by our own kernel: windows that overlap or leave gaps, all paddings."""

from __future__ import annotations

import numpy as np
import pytest

import headrace as tf
from headrace.codegen.convolution import pools
from headrace.codegen.onednn import onednn
from headrace.runtime.containers import Containers
from tests.codegen.compare import Runner, assert_same

pytestmark = [
    pytest.mark.native,
    pytest.mark.skipif(not onednn.is_available(), reason="oneDNN is not installed"),
]
CASES = [  # image, channels, window, stride
    ((9, 9), 16, 3, 1),
    ((10, 11), 16, 3, 2),
    ((8, 8), 48, 2, 2),
    ((7, 7), 16, 2, 3),
    ((12, 9), 32, 5, 3),
    ((6, 4), 5, 3, 2),  # no whole vectors: the library's
]


@pytest.mark.parametrize("padding", ["SAME", "VALID"])
@pytest.mark.parametrize("is_blocked", [False, True])
@pytest.mark.parametrize("size, channels, window, stride", CASES)
def test_the_gradient_goes_to_the_first_maximum(
    monkeypatch, size, channels, window, stride, is_blocked, padding
):
    own = []
    monkeypatch.setattr(pools, "instructions", lambda *a, real=pools.instructions: own.append(1) or real(*a))
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
    assert bool(own) == (channels % 16 == 0)
