"""Batch normalisation and sums per channel, block by block of channels, against the reference."""

from __future__ import annotations

import numpy as np
import pytest

import headrace as tf
from headrace.codegen.fusion import schedule
from headrace.codegen.machine.target import host
from headrace.codegen.onednn import onednn
from headrace.runtime.containers import Containers
from tests.codegen.compare import Runner, assert_same

pytestmark = [
    pytest.mark.native,
    pytest.mark.skipif(not onednn.is_available(), reason="oneDNN is not installed"),
]
SIZES = [(3, 5, 6), (1, 8, 8), (2, 1, 6), (7, 1, 1), (5, 3, 1)]  # batch, rows, columns


class Net:
    """Layers that take all they need from one generator."""

    def __init__(self, channels, data_format):
        self.rng = np.random.default_rng(0)
        self.channels, self.format = channels, data_format

    def constant(self, *shape, low=0.0):
        return tf.constant((low + 0.3 * self.rng.normal(size=shape)).astype("f"))

    def conv(self, x, k):
        w = self.constant(k, k, self.channels, self.channels)
        return tf.nn.conv2d(x, w, [1, 1, 1, 1], "SAME", data_format=self.format)

    def norm(self, x):
        scale, offset = self.constant(self.channels, low=1), self.constant(self.channels)
        return tf.nn.fused_batch_norm(x, scale, offset, data_format=self.format)


def normalized(net, x):
    y, mean, variance = net.norm(net.conv(x, 1))
    z, _, _ = net.norm(net.conv(tf.nn.relu(y), 3))
    return [net.conv(tf.nn.relu(z + y), 1), mean, variance]


def biased(net, x):
    b = net.constant(net.channels)
    y = tf.nn.relu(tf.nn.bias_add(net.conv(x, 3), b, net.format))
    out = net.conv(y, 3)
    (grad,) = tf.gradients(tf.reduce_sum(out**2), [b])
    return [out, grad]


def without_relu(net, x):
    y, mean, variance = net.norm(net.conv(x, 3))
    return [net.conv(tf.tanh(y), 1), mean * 2.0, variance]


def summed_otherwise(net, x):
    """Beside the sums, a maximum per channel and a sum over rows alone."""
    y, mean, _ = net.norm(net.conv(x, 3))
    y = tf.nn.relu(y) * 2.0
    axes = [0, 1, 2] if net.format == "NHWC" else [0, 2, 3]
    found = [tf.reduce_max(y, axes), tf.reduce_sum(y, axes), tf.reduce_sum(y, axes[1])]
    return [net.conv(y, 1), mean, *found]


@pytest.mark.parametrize("data_format", ["NHWC", "NCHW"])
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("build", [normalized, biased, without_relu, summed_otherwise])
def test_sums_and_what_follows_from_them(monkeypatch, build, size, data_format):
    made = []
    first = schedule.ChannelSchedule.kernel
    monkeypatch.setattr(
        schedule.ChannelSchedule, "kernel", lambda self, name: made.append(1) or first(self, name)
    )
    channels = 9 * host().lanes(32)
    n, h, w = size
    shape = (n, h, w, channels) if data_format == "NHWC" else (n, channels, h, w)
    x = np.random.default_rng(1).normal(1, 2, shape).astype("f")
    with tf.Graph().as_default() as graph:
        fed = tf.placeholder(tf.float32, shape)
        outputs = build(Net(channels, data_format), fed)
        outputs += tf.gradients(tf.reduce_sum(outputs[0] ** 2), [fed])
        runner = Runner(graph, [fed], outputs, improved=True)
    got, want = (f(Containers(), [x]) for f in (runner.run, runner.expected))
    assert runner.is_whole
    for a, b in zip(got, want):
        assert np.isfinite(b).all()
        assert_same(a, b, 2e-4)
    assert made


def test_few_channels_are_summed_in_parts():
    """Fewer blocks than threads may have: those kernels are shared along the images instead."""
    x = np.random.default_rng(1).normal(size=(4, 9, 9, 16)).astype("f")
    with tf.Graph().as_default() as graph:
        fed = tf.placeholder(tf.float32, x.shape)
        y = normalized(Net(16, "NHWC"), fed)
        runner = Runner(graph, [fed], y, improved=True)
    got, want = (f(Containers(), [x]) for f in (runner.run, runner.expected))
    for a, b in zip(got, want):
        assert_same(a, b, 2e-4)


def test_a_large_mean_costs_no_digits():
    """The spread is summed around the mean."""
    channels = 8 * host().lanes(32)
    x = (1000 + np.random.default_rng(1).normal(size=(4, 16, 16, channels))).astype("f")
    with tf.Graph().as_default() as graph:
        fed = tf.placeholder(tf.float32, x.shape)
        net = Net(channels, "NHWC")
        eye = tf.constant(np.eye(channels, dtype="f")[None, None])
        y = tf.nn.conv2d(fed, eye, 1, "SAME")
        y, mean, variance = net.norm(y)
        runner = Runner(graph, [fed], [net.conv(y, 1), mean, variance], improved=True)
    _, mean, variance = runner.run(Containers(), [x])
    np.testing.assert_allclose(mean, x.mean((0, 1, 2), dtype="d"), rtol=1e-6)
    np.testing.assert_allclose(variance, x.var((0, 1, 2), dtype="d", ddof=1), rtol=1e-4)


@pytest.mark.filterwarnings("ignore:invalid value")
def test_nan_and_infinity_reach_the_results():
    channels = 8 * host().lanes(32)
    x = np.random.default_rng(1).normal(size=(2, 4, 4, channels)).astype("f")
    x[0, 1, 2, 3], x[1, 0, 0, 5] = np.nan, np.inf
    with tf.Graph().as_default() as graph:
        fed = tf.placeholder(tf.float32, x.shape)
        net = Net(channels, "NHWC")
        eye = tf.constant(np.eye(channels, dtype="f")[None, None])
        y, mean, variance = net.norm(tf.nn.conv2d(fed, eye, 1, "SAME"))
        outputs = [tf.nn.relu(y) + 1.0, mean, variance]
        runner = Runner(graph, [fed], outputs, improved=True)
    got, want = (f(Containers(), [x]) for f in (runner.run, runner.expected))
    for a, b in zip(got, want):
        assert (np.isnan(a) == np.isnan(b)).all()


def test_arrays_that_only_look_like_blocks():
    """Five dimensions, the last as long as a vector: fed, not made by anybody."""
    lanes = host().lanes(32)
    x = np.random.default_rng(1).normal(size=(3, 12, 5, 4, lanes)).astype("f")
    with tf.Graph().as_default() as graph:
        fed = tf.placeholder(tf.float32, x.shape)
        total = tf.reduce_sum(fed * 3.0 + 1.0, [0, 2, 3])
        scaled = fed / total[None, :, None, None, :]
        runner = Runner(graph, [fed], [total, scaled, tf.reduce_sum(scaled, [0, 2, 3])])
    got, want = (f(Containers(), [x]) for f in (runner.run, runner.expected))
    for a, b in zip(got, want):
        assert_same(a, b, 1e-4)
