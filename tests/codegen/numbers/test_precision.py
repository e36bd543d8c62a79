"""How exact sums and products are, compiled: within a few units in the last place per doubling of what
is added up.

The truth is the same sum of longer numbers.  A bound of `FEW` units times log2(n) holds for any n, whether
or not something divides it, along any axes.
"""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

import headrace as tf
from headrace.codegen.onednn import onednn

pytestmark = pytest.mark.native

FEW = 2


@pytest.fixture(autouse=True)
def compiled_at_once(monkeypatch):
    monkeypatch.setenv("HEADRACE_COMPILE", "always")


def run(build, *arrays):
    """The second step: the first one may run on the reference."""
    with tf.Graph().as_default(), tf.Session() as session:
        places = [tf.placeholder(a.dtype, a.shape) for a in arrays]
        made = build(*places)
        feed = dict(zip(places, arrays))
        session.run(made, feed)
        return session.run(made, feed)


def assert_exact(got, want, size, n, note="", few=FEW):
    """`want` and `size`, the sum of absolute values, are of longer numbers."""
    unit = np.finfo(got.dtype).eps
    bound = few * max(np.log2(max(n, 2)), 1) * unit * np.asarray(size, np.longdouble)
    error = np.abs(got.astype(np.longdouble) - want)
    assert np.shape(got) == np.shape(want), note
    assert np.all(error <= bound), f"{note}: {float(np.max(error / bound))} of the bound"


def numbers(rng, shape, dtype):
    """Equal ones are the worst: every addition is rounded the same way."""
    kind = rng.integers(3)
    x = np.full(shape, 0.1) if kind == 0 else rng.random(shape)
    return (x if kind < 2 else rng.normal(size=shape)).astype(dtype)


def shape_of(rng, most):
    """Random extents, some of them prime, or 1, or 0."""
    rank = int(rng.integers(1, 5))
    shares = rng.dirichlet(np.full(rank, 0.7)) * rng.uniform(1, np.log10(most))
    shape = [int(round(10**share)) for share in shares]
    if rng.random() < 0.3:
        shape[rng.integers(rank)] = int(rng.integers(0, 2))
    return shape


def rows_of(x, axes):
    """What is added up as contiguous rows of longer numbers: these NumPy adds in pairs."""
    kept = [a for a in range(x.ndim) if a not in axes]
    moved = np.transpose(x, [*kept, *axes]).astype(np.longdouble)
    return np.ascontiguousarray(moved).reshape([x.shape[a] for a in kept] + [-1])


# How it is written, and what it adds up.
SUMS = {
    "sum": (tf.reduce_sum, lambda x: x),
    "mean": (tf.reduce_mean, lambda x: x / x.shape[-1]),
    "squares": (lambda x, axes: tf.reduce_sum(x * x + 1.0, axes), lambda x: x * x + 1),
}


def check_sums(seed, cases, most):
    rng = np.random.default_rng(seed)
    for _ in range(cases):
        shape = shape_of(rng, most)
        axes = [a for a in range(len(shape)) if rng.random() < 0.6] or [0]
        name = str(rng.choice(list(SUMS)))
        n = int(np.prod([shape[a] for a in axes]))
        if n == 0 and name == "mean":
            continue
        x = numbers(rng, shape, rng.choice([np.float32, np.float32, np.float64]))
        function, terms = SUMS[name]
        got = run(lambda p, axes=axes, function=function: function(p, axes), x)
        exact = terms(rows_of(x, axes)) if x.size else np.zeros((*got.shape, 0))
        assert_exact(got, exact.sum(-1), np.abs(exact).sum(-1), n, f"{name} of {shape} along {axes}")


def test_sums():
    check_sums(0, 40, 1e6)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1, 21))
def test_many_sums(seed):
    check_sums(seed, 100, 1e7)


@pytest.mark.parametrize(
    "shape, axes",
    [
        ((9_999_991,), [0]),
        ((1_000_003, 7), [0]),
        ((2, 1_000_003), [1]),
        ((100_003, 64), [0]),
        ((65_537, 130), [0]),
        ((65_536, 1000), [0]),
        ((4096, 8, 64), [0]),
        ((33, 57, 59, 200), [0, 1, 2]),
        ((101, 103, 107), [0, 2]),
        ((3, 50_021, 70), [1]),
        ((17, 100_003), [0, 1]),
    ],
)
def test_long_sums_of_equal_numbers(shape, axes):
    x = np.full(shape, 0.1, np.float32)
    n = int(np.prod([shape[a] for a in axes]))
    got = run(lambda p: tf.reduce_mean(p, axes), x)
    assert_exact(got, np.full(got.shape, np.longdouble(x.flat[0])), 0.1, n)


# rows, terms, columns: single numbers, rows and columns times a matrix, few results, very long sums
SIZES = [
    (1, 100_003, 1),
    (1, 200_003, 64),
    (2, 70_001, 130),
    (64, 100_003, 1),
    (130, 70_001, 2),
    (5, 140_009, 7),
    (33, 4099, 35),
    (100, 1568, 10),
    (20, 1300, 600),
    (16, 131_101, 3),
]
OWN = 4  # units: 256 terms are added up one after the other
PLAIN = 12  # of float32 matrices by oneDNN: 2,048 terms


@pytest.mark.parametrize("size", SIZES, ids=str)
@pytest.mark.parametrize("turned", [(False, False), (True, False), (False, True)], ids=str)
def test_products_of_equal_numbers(size, turned):
    m, k, n = size
    for dtype in (np.float32, np.float64):
        a = np.full((k, m) if turned[0] else (m, k), 0.1, dtype)
        b = np.full((n, k) if turned[1] else (k, n), 0.3, dtype)
        got = run(lambda a, b: tf.matmul(a, b, *turned), a, b)
        want = np.full((m, n), np.longdouble(a.flat[0]) * np.longdouble(b.flat[0]) * k)
        few = PLAIN if onednn.is_available() and dtype == np.float32 else OWN
        assert_exact(got, want, want, k, f"{size} {turned} {dtype.__name__}", few)


def test_stretches_of_a_product():
    """Whether the right terms meet: of stacks, transposed, with terms that are left over."""
    rng = np.random.default_rng(0)
    for k in (65_539, 98_304):
        a, b = rng.normal(size=(2, 3, k)).astype("f"), rng.normal(size=(2, k, 5)).astype("f")
        want = a.astype(np.float64) @ b
        got = run(tf.matmul, a, b)
        np.testing.assert_allclose(got, want, atol=1e-5 * k**0.5)
        turned = [np.ascontiguousarray(x.swapaxes(1, 2)) for x in (a, b)]
        got = run(lambda a, b: tf.matmul(a, b, transpose_a=True, transpose_b=True), *turned)
        np.testing.assert_allclose(got, want, atol=1e-5 * k**0.5)
        got = run(lambda a, b: tf.matmul(a, b[0]), a[0], b[:1])
        np.testing.assert_allclose(got, want[0], atol=1e-5 * k**0.5)


@pytest.mark.process
def test_without_the_library():
    env = {**os.environ, "HEADRACE_WITHOUT": "onednn kept", "HEADRACE_THREADS": "1"}
    chosen = ["-k", "products or stretches or test_sums", "-m", "not slow"]
    command = [sys.executable, "-m", "pytest", "-q", __file__, *chosen]
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stdout
