"""Images with blocks of channels: which arrays get them, and that nothing else changes."""

from __future__ import annotations

import numpy as np
import pytest

import headrace as tf
from headrace.codegen.convolution import layouts
from headrace.codegen.onednn import onednn
from headrace.runtime.containers import Containers
from tests.codegen.compare import Runner, assert_same, settled

pytestmark = [
    pytest.mark.native,
    pytest.mark.skipif(not onednn.is_available(), reason="oneDNN is not installed"),
]
rng = np.random.default_rng(0)


def weights(*shape):
    return (rng.normal(size=shape) / np.sqrt(np.prod(shape[:-1]))).astype("f")


class Net:
    """Variables and what is done with them, in either format."""

    def __init__(self, data_format="NHWC"):
        self.format, self.variables = data_format, []
        self.axis = data_format.index("C")

    def around(self, space):
        return [1, *space, 1] if self.axis == 3 else [1, 1, *space]

    def variable(self, *shape):
        self.variables.append(tf.Variable(weights(*shape)))
        return self.variables[-1]

    def conv(self, x, channels, k, stride=1, bias=True):
        w = self.variable(k, k, x.shape[self.axis].value, channels)
        strides = self.around([stride, stride])
        y = tf.nn.conv2d(x, w, strides, "SAME", data_format=self.format)
        return tf.nn.bias_add(y, self.variable(channels), self.format) if bias else y

    def pool(self, x, k, stride, how=tf.nn.max_pool):
        return how(x, self.around([k, k]), self.around([stride] * 2), "SAME", self.format)


def plain(net, x):
    return tf.nn.relu(net.conv(tf.nn.relu(net.conv(x, 32, 3, 2)), 16, 1))


def inception(net, x):
    x = tf.nn.relu(net.conv(x, 32, 3))
    parts = [net.conv(x, 16, 1), net.conv(tf.nn.relu(net.conv(x, 16, 1)), 48, 5)]
    parts += [net.conv(net.pool(x, 3, 1), 32, 1), net.pool(x, 3, 1, tf.nn.avg_pool)]
    return tf.nn.relu(tf.concat(parts, net.axis))


def residual(net, x):
    x = tf.nn.relu(net.conv(x, 32, 3))
    y = net.conv(tf.nn.tanh(net.conv(x, 32, 3)), 32, 3, bias=False)
    return net.pool(tf.nn.relu(x + y * 0.5), 2, 2)


def odd_channels(net, x):
    return net.conv(tf.nn.relu(net.conv(tf.nn.relu(net.conv(x, 20, 3)), 32, 3)), 16, 3)


def normalized(net, x):
    y = net.conv(x, 32, 3, bias=False)
    y, _, _ = tf.nn.fused_batch_norm(y, net.variable(32), net.variable(32), data_format=net.format)
    return net.conv(tf.nn.relu(y), 16, 1)


def reordered(net, x):
    """A transpose, a slice across blocks, a softmax over channels."""
    x = net.conv(x, 32, 3)
    y = tf.nn.softmax(x, axis=net.axis) + tf.reverse(x, [1])
    start = [0, 0, 0, 3] if net.axis == 3 else [0, 3, 0, 0]
    size = [-1, -1, -1, 24] if net.axis == 3 else [-1, 24, -1, -1]
    return net.conv(tf.slice(y, start, size), 16, 3)


def scaled(net, x):
    """Numbers per channel that are no bias."""
    x = net.conv(x, 32, 3)
    shape = [32] if net.axis == 3 else [32, 1, 1]
    return net.conv(tf.nn.relu(x * tf.reshape(net.variable(32), shape)), 16, 1)


def used_twice(net, x):
    """The convolution is read before its bias, too."""
    w = net.variable(3, 3, x.shape[net.axis].value, 16)
    x = tf.nn.conv2d(x, w, [1, 1, 1, 1], "SAME", data_format=net.format)
    return tf.nn.relu(tf.nn.bias_add(x, net.variable(16), net.format)) + x


def half_blocked(net, x):
    """Pooling of a plain array; its gradient comes with blocks."""
    y = net.pool(tf.cumsum(x, 1), 3, 2)
    return tf.nn.relu(net.conv(tf.nn.relu(net.conv(y, 16, 3)), 16, 3))


NETS = (half_blocked, plain, inception, residual, odd_channels, normalized, reordered, scaled, used_twice)


def training_step(build, data_format):
    with tf.Graph().as_default() as graph:
        shape = [3, 12, 10, 16] if data_format == "NHWC" else [3, 16, 12, 10]  # a whole block
        x = tf.placeholder(tf.float32, shape)
        net = Net(data_format)
        y = build(net, x)
        flat = tf.reshape(y, [3, -1])
        logits = tf.matmul(flat, net.variable(flat.shape[1].value, 5))
        mean = tf.reduce_mean(y, [1, 2] if net.axis == 3 else [2, 3])
        loss = tf.reduce_sum(tf.nn.log_softmax(logits) ** 2) + tf.reduce_sum(mean**2)
        fetches = [loss, mean, *tf.gradients(loss, [x, *net.variables])]
        start = tf.global_variables_initializer()
    resources = Containers()
    Runner(graph, [], [], [start]).expected(resources, [])
    return Runner(graph, [x], fetches, improved=True), shape, fetches, resources


@pytest.mark.parametrize("data_format", ["NHWC", "NCHW"])
@pytest.mark.parametrize("build", NETS, ids=lambda f: f.__name__)
def test_gradients(build, data_format, monkeypatch):
    chosen = []
    rewriting = layouts._Rewriting.__init__

    def note(self, choice):
        chosen.append(len(choice.arrays))
        rewriting(self, choice)

    monkeypatch.setattr(layouts._Rewriting, "__init__", note)
    runner, shape, fetches, resources = training_step(build, data_format)
    arrays = [rng.normal(size=shape).astype("f")]
    got, _ = settled(runner, arrays, lambda: resources)
    for a, b, t in zip(got, runner.expected(resources, arrays), fetches):
        assert_same(a, b, 2e-4, t.name)
    if build in (plain, inception, residual) and runner.is_whole:
        assert max(chosen, default=0) >= 4, "nothing got blocks"


def test_a_fetched_array_stays_plain():
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [2, 6, 6, 8])
        w, u = tf.constant(weights(3, 3, 8, 16)), tf.constant(weights(1, 1, 16, 8))
        y = tf.nn.relu(tf.nn.conv2d(x, w, [1, 1, 1, 1], "SAME"))
        z = tf.nn.conv2d(y, u, [1, 1, 1, 1], "SAME")
        given = {x: rng.normal(size=(2, 6, 6, 8)).astype("f")}
        whole, alone = session.run([y, z], given), session.run(z, given)
    assert whole[0].shape == (2, 6, 6, 16)
    np.testing.assert_allclose(whole[1], alone, rtol=1e-4, atol=1e-5)
