"""NaN and infinities: which elements of a result are NaN or infinite is the same with oneDNN, without it (a
process of its own) and on the reference, for layers, activations, reductions and their gradients."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import headrace as tf
from headrace.codegen.onednn import onednn
from headrace.runtime.containers import Containers
from tests.codegen.compare import Runner

pytestmark = pytest.mark.native
ACTIVATIONS = (
    tf.nn.relu, tf.nn.relu6, tf.nn.elu, tf.nn.selu, tf.nn.leaky_relu, tf.nn.softplus, tf.nn.softsign, tf.tanh,
    tf.sigmoid,
)  # fmt: skip
REDUCTIONS = (tf.reduce_sum, tf.reduce_mean, tf.reduce_max, tf.reduce_min, tf.reduce_logsumexp)


def values(*shape):
    rng = np.random.default_rng(0)
    x = rng.normal(size=shape).astype("f")
    for value in (np.nan, np.inf, -np.inf):
        x.flat[rng.integers(0, x.size, 1 + x.size // 500)] = value
    return x


def results(images, rows):
    """What is looked at, by name."""
    rng = np.random.default_rng(1)
    filters = rng.normal(size=(3, 3, 16, 32)).astype("f")
    matrix = rng.normal(size=(64, 64)).astype("f")
    conv = tf.nn.conv2d(images, filters, 1, "SAME")
    yield "convolution", conv
    for f in ACTIVATIONS:
        yield f"{f.__name__} of a convolution", f(tf.nn.bias_add(conv, np.ones(32, "f")))
        yield f"{f.__name__} of a product", f(tf.matmul(rows, matrix) + 1.0)
    for axis in (0, 1, None):
        for f in REDUCTIONS:
            yield f"{f.__name__} along {axis}", f(rows, axis)
    around = [1, 3, 3, 1], [1, 2, 2, 1], "SAME"
    yield "max_pool", tf.nn.max_pool(tf.nn.relu(conv), *around)
    yield "avg_pool", tf.nn.avg_pool(images, *around)
    yield "lrn", tf.nn.lrn(images, 3)
    yield "depthwise", tf.nn.depthwise_conv2d(images, filters[..., :1], [1, 1, 1, 1], "SAME")
    yield "batch norm", tf.nn.fused_batch_norm(images, np.ones(16, "f"), np.ones(16, "f"))[0]
    yield "softmax", tf.nn.softmax(rows)
    yield "log_softmax", tf.nn.log_softmax(rows)
    yield "product", tf.matmul(rows, rows, transpose_a=True)
    yield "segments", tf.unsorted_segment_max(rows, np.arange(60) % 7, 9)
    yield "sums of segments", tf.unsorted_segment_sum(rows, np.arange(60) % 7, 9)
    yield "clip", tf.clip_by_value(rows, -1.0, 1.0)


def kinds(x):
    """NaN, infinity, -infinity, or a number."""
    return np.isnan(x) * 1 + np.isposinf(x) * 2 + np.isneginf(x) * 3


def check():
    arrays = [values(4, 12, 12, 16), values(60, 64)]
    with tf.Graph().as_default() as graph:
        feeds = [tf.placeholder(tf.float32, a.shape) for a in arrays]
        named = []
        for name, y in results(*feeds):
            grads = [g for g in tf.gradients(y * y, feeds) if g is not None]
            named += [(name, y), *((f"gradient of {name}", g) for g in grads)]
        runner = Runner(graph, feeds, [y for _, y in named])
    got, want = (f(Containers(), arrays) for f in (runner.run, runner.expected))
    assert runner.was_compiled
    for (name, _), a, b in zip(named, got, want):
        np.testing.assert_array_equal(kinds(a), kinds(b), name)


def test_the_reference_and_compiled_code_agree():
    check()


@pytest.mark.skipif(not onednn.is_available(), reason="oneDNN is missing anyway")
def test_so_does_code_without_onednn():
    root = str(Path(__file__).parents[3])
    given = {"HEADRACE_WITHOUT": "onednn", "PYTHONPATH": root, "HEADRACE_FAULTS": "raise"}
    program = "from tests.codegen.numbers.test_not_finite import check; check()"
    subprocess.run([sys.executable, "-c", program], env=os.environ | given, check=True, cwd=root)


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
def test_powers_of_complex_numbers(dtype, monkeypatch):
    parts = (np.inf, -np.inf, np.nan, 0.0, -0.0, 1.0, -2.0, 0.5)
    bases = np.array([complex(re, im) for re in parts for im in parts], dtype)
    x, y = (a.ravel() for a in np.meshgrid(bases, np.array([-2, -1, 0, 0.5, 1, 2, 1j, 1j - 1], dtype)))
    found = []
    for mode in ("0", "always"):
        monkeypatch.setenv("HEADRACE_COMPILE", mode)
        with tf.Graph().as_default(), tf.Session() as session:
            base, exponent = tf.placeholder(dtype, x.shape), tf.placeholder(dtype, y.shape)
            found.append(session.run(tf.pow(base, exponent), {base: x, exponent: y}))
    for part in (np.real, np.imag):
        np.testing.assert_allclose(part(found[1]), part(found[0]), rtol=1e-4, atol=1e-6)
