"""Stages that are put into their readers: what is read outside of their shape is 0, not f(0)."""

from __future__ import annotations

import numpy as np
import pytest

import headrace as tf
from headrace.codegen.assembly.assemble import assemble
from headrace.codegen.ir.kernel_ir import Array, Var, var
from headrace.codegen.ir.ranges import interval
from headrace.codegen.lowering.lower import Emitter
from headrace.codegen.onednn import onednn
from tests.codegen.compare import Runner, assert_same, settled

pytestmark = pytest.mark.native
SAME = {"strides": [1, 2, 1, 1], "padding": "SAME"}

# What is put in: cheap, and not 0 where the input is.
EXPRESSIONS = {
    "sum": lambda x: x + 1.0,
    "bias": lambda x: tf.nn.relu(tf.nn.bias_add(x, [1.0, 2.0])),
    "quotient": lambda x: 2.0 / (x - 9.0),
    "turned": lambda x: tf.transpose(3.0 - x, [0, 2, 1, 3]),
    "reshaped": lambda x: tf.reshape(tf.reshape(x, [-1]) + 1.0, tf.shape(x)),
    "bare": lambda x: x,
}
WINDOWS = {
    "Conv2D": lambda x, w: tf.nn.conv2d(x, w, **SAME),
    "dilated": lambda x, w: tf.nn.conv2d(x, w, [1, 1, 1, 1], "SAME", dilations=[1, 2, 2, 1]),
    "filter": lambda x, w: tf.nn.conv2d_backprop_filter(x, [3, 3, 2, 2], x, [1, 1, 1, 1], "SAME"),
    "data": lambda x, w: tf.nn.conv2d_transpose(
        x, w, [2, 2 * x.shape[1], 2 * x.shape[2], 2], [1, 2, 2, 1], "SAME"
    ),
    "depthwise": lambda x, w: tf.nn.depthwise_conv2d(x, w, [1, 1, 1, 1], "SAME"),
    "Conv3D": lambda x, w: tf.nn.conv3d(x[:, None], w[None], [1] * 5, "SAME"),
    "AvgPool": lambda x, w: tf.nn.avg_pool(x, [1, 3, 3, 1], [1, 1, 2, 1], "SAME"),
    "AvgPoolGrad": lambda x, w: tf.gradients(tf.nn.avg_pool(x, [1, 3, 3, 1], [1, 2, 2, 1], "SAME") ** 2, x)[
        0
    ],
    "MaxPool": lambda x, w: tf.nn.max_pool(x, [1, 3, 3, 1], [1, 1, 2, 1], "SAME"),
    "pad": lambda x, w: tf.pad(x, [[0, 1], [2, 0], [1, 1], [0, 0]]),
}


@pytest.mark.parametrize("shape", [(2, 4, 4, 2), (2, 1, 1, 2)], ids=str)
@pytest.mark.parametrize("expression", EXPRESSIONS)
@pytest.mark.parametrize("window", WINDOWS)
def test_padding_is_zero(monkeypatch, window, expression, shape):
    """Without oneDNN, windows are stages that read on beyond the ends of what they look at."""
    monkeypatch.setattr(onednn, "is_available", lambda: False)
    rng = np.random.default_rng(0)
    with tf.Graph().as_default() as graph:
        x, w = tf.placeholder(tf.float32, shape), tf.placeholder(tf.float32, [3, 3, 2, 2])
        y = WINDOWS[window](EXPRESSIONS[expression](x), w)
        runner = Runner(graph, [x, w], [y])
    arrays = [rng.normal(size=s).astype(np.float32) for s in (shape, (3, 3, 2, 2))]
    (got,), state = settled(runner, arrays)
    assert_same(got, runner.expected(state, arrays)[0], 1e-4)
    assert runner.is_whole


def test_every_dimension_is_looked_at():
    """A stage of our own, read along its diagonal to beyond all of its ends."""
    x = np.arange(6, dtype=np.float32).reshape(3, 1, 2)
    e, source = Emitter(), Array(x.shape, np.float32)
    whole = e.compute(x.shape, lambda *at: source[at] + 10.0)
    read = e.compute((5, 3, 4), lambda i, j, k: whole[i - 1, j - 1, k - 1])
    got = assemble([source], [read], [], []).run([x])[0][0]
    np.testing.assert_array_equal(got, np.pad(x + 10, 1))


@pytest.mark.parametrize("length", [2, 5])
def test_rows_of_another_length(length):
    """A stage that shares its kernel with its reader, which goes on where it ends."""
    x = np.arange(72, dtype=np.float32).reshape(24, 3)
    e, source = Emitter(), Array(x.shape, np.float32)
    total = e.compute((24,), lambda i: e.reduce("sum", 3, lambda k: source[i, k]))
    part = e.compute((24, 3), lambda i, k: source[i, k] - total[i])
    most = e.compute((24,), lambda i: e.reduce("max", 3, lambda k: part[i, k]))
    read = e.compute((24, length), lambda i, k: part[i, k] + most[i])
    program = assemble([source], [read], [], [])
    want = x - x.sum(1, keepdims=True)
    want = np.pad(want, [(0, 0), (0, 2)])[:, :length] + want.max(1, keepdims=True)
    np.testing.assert_allclose(program.run([x])[0][0], want, rtol=1e-6)
    assert len(program.entries) == 1


def test_a_quotient_outside_does_not_trap():
    """Where zeros are divided by zeros, a processor would stop the program."""
    x = np.full((3,), 6, np.int32)
    e, source = Emitter(), Array((3,), np.int32)
    whole = e.compute((3,), lambda i: e.truncate_div(source[i] + 1, source[i]))
    read = e.compute((5,), lambda i: whole[i - 1])
    got = assemble([source], [read], [], []).run([x])[0][0]
    np.testing.assert_array_equal(got, [0, 1, 1, 1, 0])


def test_numbers_that_may_be_read_outside():
    """A known table of 5 and 7 gives 0 beyond its ends."""
    table = Array((2,), np.int64, value=np.array([5, 7]))
    i = var(Var(2))
    assert interval(table[i]) == (5, 7)
    assert interval(table[i + 1]) == (0, 7)
