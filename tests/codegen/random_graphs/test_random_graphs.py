"""Random graphs: compiled equals reference, whatever is fused with whatever."""

from __future__ import annotations

import os

import numpy as np
import pytest

import headrace as tf
from headrace.runtime.containers import Containers
from tests.codegen.compare import Runner, settled
from tests.codegen.random_graphs.grower import COMPLEX, LOOSE, Grower

pytestmark = pytest.mark.native
FIRST = int(os.environ.get("HEADRACE_SEED", "0"))  # another thousand: HEADRACE_SEED=1000


CHOOSERS = {"Max", "Min", "Maximum", "Minimum", "Relu"}  # either of 0.0 and -0.0


def magnitudes(pool, values):
    """Per tensor: the largest finite number on the way to it, and whether one was not finite."""
    found = {}
    for grown, value in zip(pool, values):
        wide = np.asarray(value)
        if wide.dtype.kind != "c":
            wide = wide.astype(np.float64)
        fine = np.abs(wide[np.isfinite(wide)]).max(initial=0.0)
        above = [found[p] for p in grown.parents if p in found]
        found[grown] = (
            max([fine, *(a[0] for a in above)]),
            not np.isfinite(wide).all() or any(a[1] for a in above),
        )
    return found


def assert_alike(grown, got, want, scale):
    got, want = np.asarray(got), np.asarray(want)
    name = f"{grown.tensor.name} of {grown.dtype.name}"
    assert got.dtype == want.dtype and got.shape == want.shape, (name, got.shape, want.shape)
    if want.dtype.kind in "iub":
        np.testing.assert_array_equal(got, want, err_msg=name)
        return
    if grown.exact:
        was, wanted = got, want
        got, want = flushed(got), flushed(want)
        np.testing.assert_array_equal(got.astype(np.complex128), want.astype(np.complex128), name)
        if want.dtype.kind == "c" or any(g.tensor.op.type in CHOOSERS for g in ancestors(grown)):
            return
        signs = np.signbit(was.astype(float)) == np.signbit(wanted.astype(float))
        assert (signs | (want != 0)).all(), f"{name}: signs of zeros"
        return
    types = {p.dtype.name for p in ancestors(grown)} & set(LOOSE)
    loose = max(LOOSE[t] for t in types)
    if want.dtype.kind != "c":
        got, want = got.astype(np.float64), want.astype(np.float64)
    np.testing.assert_allclose(
        got, want, rtol=loose, atol=loose * max(scale, 1e-30), err_msg=name, equal_nan=True
    )


def flushed(array):
    """Denormals as zeros."""
    return np.where(np.abs(array) < 1.2e-38, np.zeros_like(array), array)


def ancestors(grown):
    found = {grown}
    for parent in grown.parents:
        found |= ancestors(parent)
    return found


def compare(made):
    """Run `made` both ways; everything that it grew is compared, some of it only inside."""
    pool = made.pool
    chosen = [g for g in pool if made.rng.random() < 0.4] or pool[-1:]
    arrays = list(made.feeds.values())
    everything = Runner(made.graph, list(made.feeds), [g.tensor for g in pool])
    values = everything.expected(Containers(), arrays)
    scales = magnitudes(pool, values)
    runner = Runner(made.graph, list(made.feeds), [g.tensor for g in chosen])
    got, _ = settled(runner, arrays)
    for g, value in zip(chosen, got):
        scale, wild = scales[g]
        want = values[pool.index(g)]
        limit = {"float16": 6e4, "bfloat16": 1e38, "float32": 1e38}.get(g.dtype.name, 1e300)
        if wild and scale > limit / 100:
            continue  # whether rounding reaches infinity may differ
        if g.vague:
            continue
        assert_alike(g, value, want, scale)
    return runner


@pytest.mark.parametrize("seed", range(FIRST, FIRST + 120))
def test_random_graph(seed):
    compare(Grower(seed))


@pytest.mark.parametrize("seed", range(FIRST, FIRST + 12))
def test_complex_numbers(seed):
    compare(Grower(seed, [COMPLEX]))


@pytest.mark.slow
@pytest.mark.parametrize("block", range(40))
def test_many_random_graphs(block):
    """Thousands; the message of a failure names the seed."""
    for seed in range(FIRST + 1000 + 100 * block, FIRST + 1100 + 100 * block):
        families = None if seed % 10 else [COMPLEX]
        try:
            compare(Grower(seed, families))
        except Exception as error:
            raise AssertionError(f"seed {seed}") from error


# -- gradients and updates -------------------------------------------------------------------------
OPTIMIZERS = {
    "sgd": lambda: tf.train.GradientDescentOptimizer(0.1),
    "momentum": lambda: tf.train.MomentumOptimizer(0.1, 0.9, use_nesterov=True),
    "adagrad": lambda: tf.train.AdagradOptimizer(0.1),
    "adadelta": lambda: tf.train.AdadeltaOptimizer(0.1),
    "rmsprop": lambda: tf.train.RMSPropOptimizer(0.01, momentum=0.5),
    "centered": lambda: tf.train.RMSPropOptimizer(0.01, centered=True),
    "adam": lambda: tf.train.AdamOptimizer(0.01),
    "ftrl": lambda: tf.train.FtrlOptimizer(0.1, l1_regularization_strength=0.01),
}


@pytest.mark.parametrize("dtype", [tf.float32, tf.float64], ids=["float32", "float64"])
@pytest.mark.parametrize("name", list(OPTIMIZERS))
@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "sparse"])
def test_updates(name, dtype, sparse):
    """Several steps of every optimizer, rows of an embedding with repeated indices included."""
    rng = np.random.default_rng(3)
    with tf.Graph().as_default() as graph:
        w = tf.Variable(rng.normal(size=(7, 5)), dtype=dtype)
        x = tf.placeholder(tf.int32, [None])
        y = tf.placeholder(dtype, [None, 5])
        rows = tf.nn.embedding_lookup(w, x) if sparse else tf.matmul(tf.one_hot(x, 7, dtype=dtype), w)
        loss = tf.reduce_mean(tf.square(tf.tanh(rows) - y))
        train = OPTIMIZERS[name]().minimize(loss)
        init = tf.global_variables_initializer()
    step, start = Runner(graph, [x, y], [loss], [train]), Runner(graph, [], [], [init])
    ours, theirs = Containers(), Containers()
    start.expected(ours, [])
    start.expected(theirs, [])
    for batch in (4, 4, 9, 0, 4):
        arrays = [
            rng.integers(7, size=batch).astype(np.int32),
            rng.normal(size=(batch, 5)).astype(dtype.as_numpy_dtype),
        ]
        got, want = step.run(ours, arrays), step.expected(theirs, arrays)
        np.testing.assert_allclose(got[0], want[0], rtol=1e-4, atol=1e-5)
    for key, slot in theirs._items.items():
        if key[1] == "variable":
            loose = 2e-5 if dtype is tf.float32 else 1e-9
            np.testing.assert_allclose(ours._items[key].value, slot.value, loose, loose, str(key))


@pytest.mark.parametrize("seed", range(FIRST, FIRST + 30))
def test_images(seed):
    """Convolutions, pools, normalisations and their gradients, of odd sizes."""
    rng = np.random.default_rng(seed)
    n, h, c = int(rng.integers(1, 4)), int(rng.integers(5, 12)), int(rng.integers(1, 9))
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [None, None, None, c])
        value, loss = x, 0.0
        for _ in range(int(rng.integers(1, 4))):
            kind = rng.choice(["conv", "depthwise", "max", "average", "norm", "lrn", "bias"])
            pad = str(rng.choice(["SAME", "VALID"]))
            size, step = int(rng.integers(1, 4)), int(rng.integers(1, 3))
            depth = value.shape[-1].value
            if kind == "conv":
                w = tf.constant(rng.normal(size=(size, size, depth, int(rng.integers(1, 20)))), tf.float32)
                value = tf.nn.conv2d(value, w, [1, step, step, 1], pad)
            elif kind == "depthwise":
                w = tf.constant(rng.normal(size=(size, size, depth, 2)), tf.float32)
                value = tf.nn.depthwise_conv2d(value, w, [1, step, step, 1], pad)
            elif kind in ("max", "average"):
                pool = tf.nn.max_pool if kind == "max" else tf.nn.avg_pool
                value = pool(value, [1, size, size, 1], [1, step, step, 1], "SAME")
            elif kind == "norm":
                scale = tf.constant(rng.normal(size=depth), tf.float32)
                value, _, _ = tf.nn.fused_batch_norm(value, scale, scale)
            elif kind == "lrn":
                value = tf.nn.lrn(value, 2, alpha=0.1)
            else:
                value = tf.nn.relu(tf.nn.bias_add(value, tf.constant(rng.normal(size=depth), tf.float32)))
        loss = tf.reduce_sum(tf.tanh(value))
        (dx,) = tf.gradients(loss, x)
    runner = Runner(graph, [x], [value, dx])
    image = rng.normal(size=(n, h, h + 1, c)).astype(np.float32)
    want = runner.expected(Containers(), [image])
    got, _ = settled(runner, [image])
    for g, w in zip(got, want):
        np.testing.assert_allclose(g, w, rtol=2e-3, atol=2e-3 * max(np.abs(w).max(initial=0), 1e-6))
