"""Matrix products and convolutions through libraries, against NumPy; and which code does them."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from headrace.codegen.assembly.assemble import assemble
from headrace.codegen.convolution import library
from headrace.codegen.ir.kernel_ir import Array
from headrace.codegen.ir.stages import Called
from headrace.codegen.lowering import fallback
from headrace.codegen.lowering.lower import Emitter
from headrace.codegen.onednn import onednn
from headrace.core import dtypes
from headrace.ops.declaration.emit import LibraryCall, View, transposed, view
from tests.codegen.rules import operand

pytestmark = pytest.mark.native
rng = np.random.default_rng(0)
needs_onednn = pytest.mark.skipif(not onednn.is_available(), reason="oneDNN is not installed")


def call(make, arrays, shape, dtype, writes="dst"):
    """Run one library call.  make(*operands, out) describes it."""
    operands = [operand(a) for a in arrays]
    out = Array(shape, dtypes.as_dtype(dtype))
    described = make(*operands, out)
    out.source = Called(described, tuple(operands))
    program = assemble(operands, [out], [], [])
    return described, program.run(arrays)[0][0]


def matmul(ta, tb):
    def make(a, b, out):
        return LibraryCall("matmul", src=transposed(a, ta), weights=transposed(b, tb), dst=view(out))

    return make


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("sizes", [(3, 4, 5), (100, 784, 10), (1, 7, 1), (64, 1, 33), (17, 200, 129)])
def test_matmul(dtype, sizes):
    m, k, n = sizes
    for ta, tb in itertools.product((False, True), repeat=2):
        a = rng.normal(size=(k, m) if ta else (m, k)).astype(dtype)
        b = rng.normal(size=(n, k) if tb else (k, n)).astype(dtype)
        _, got = call(matmul(ta, tb), [a, b], (m, n), dtype)
        want = (a.T if ta else a).astype(np.float64) @ (b.T if tb else b).astype(np.float64)
        scale = 1e-6 if dtype == np.float32 else 1e-14
        np.testing.assert_allclose(got, want, rtol=0, atol=scale * 20 * np.sqrt(k))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_batch_matmul(dtype):
    a, b = rng.normal(size=(2, 3, 4, 5)).astype(dtype), rng.normal(size=(2, 3, 6, 5)).astype(dtype)
    _, got = call(matmul(False, True), [a, b], (2, 3, 4, 6), dtype)
    np.testing.assert_allclose(got, a @ b.swapaxes(-1, -2), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("sizes", [(0, 4, 5), (3, 0, 5), (3, 4, 0)])
def test_empty_product(sizes):
    m, k, n = sizes
    a, b = np.ones((m, k), np.float32), np.ones((k, n), np.float32)
    np.testing.assert_array_equal(call(matmul(False, False), [a, b], (m, n), np.float32)[1], a @ b)


# -- convolution ---------------------------------------------------------------------------------
def convolve(x, w, strides, dilations, pads):
    """NHWC by HWIO, straight from the definition."""
    x = np.pad(x, [(0, 0), *pads, (0, 0)])
    size = [
        (n - (k - 1) * d - 1) // s + 1 for n, k, s, d in zip(x.shape[1:3], w.shape[:2], strides, dilations)
    ]
    out = np.zeros((x.shape[0], *size, w.shape[3]))
    for i, j in np.ndindex(*w.shape[:2]):
        rows = slice(i * dilations[0], i * dilations[0] + (size[0] - 1) * strides[0] + 1, strides[0])
        cols = slice(j * dilations[1], j * dilations[1] + (size[1] - 1) * strides[1] + 1, strides[1])
        out += x[:, rows, cols] @ w[i, j]
    return out


CASES = [  # image, filter, strides, dilations, pads
    ((2, 8, 9, 3), (3, 3, 3, 4), (1, 1), (1, 1), ((1, 1), (1, 1))),
    ((2, 8, 9, 3), (3, 2, 3, 4), (2, 2), (1, 1), ((0, 1), (0, 0))),
    ((1, 10, 10, 16), (3, 3, 16, 32), (1, 1), (2, 2), ((2, 2), (2, 2))),
    ((3, 7, 7, 64), (1, 1, 64, 16), (1, 1), (1, 1), ((0, 0), (0, 0))),
    ((2, 23, 23, 3), (11, 11, 3, 64), (4, 4), (1, 1), ((1, 2), (1, 2))),
]
NCHW, OIHW = (0, 3, 1, 2), (3, 2, 0, 1)


def described(kind, src, weights, dst, case):
    _, _, strides, dilations, pads = case
    return LibraryCall(
        kind,
        src=view(src, NCHW),
        weights=view(weights, OIHW),
        dst=view(dst, NCHW),
        strides=strides,
        dilations=dilations,
        pads=pads,
    )


@needs_onednn
@pytest.mark.parametrize("case", CASES)
def test_convolution(case):
    image, filters, *geometry = case
    x, w = rng.normal(size=image).astype("f"), rng.normal(size=filters).astype("f")
    want = convolve(x.astype(float), w.astype(float), *geometry)
    made, got = call(
        lambda a, b, out: described("convolution", a, b, out, case), [x, w], want.shape, np.float32
    )
    np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-3)
    assert_fast(made)


@needs_onednn
@pytest.mark.parametrize("case", CASES)
def test_convolution_gradients(case):
    image, filters, *geometry = case
    x, w = rng.normal(size=image), rng.normal(size=filters)
    y = convolve(x, w, *geometry)
    dy = rng.normal(size=y.shape)
    made, dx = call(
        lambda b, c, out: described("convolution_data", out, b, c, case),
        [w.astype("f"), dy.astype("f")],
        image,
        np.float32,
    )
    assert_fast(made)
    made, dw = call(
        lambda a, c, out: described("convolution_weights", a, out, c, case),
        [x.astype("f"), dy.astype("f")],
        filters,
        np.float32,
    )
    assert_fast(made)
    # <dy, conv(x, w)> is linear in each: its derivative in a direction is known exactly.
    v, u = rng.normal(size=image), rng.normal(size=filters)
    np.testing.assert_allclose((dx * v).sum(), (dy * convolve(v, w, *geometry)).sum(), rtol=1e-3, atol=0.05)
    np.testing.assert_allclose((dw * u).sum(), (dy * convolve(x, u, *geometry)).sum(), rtol=1e-3, atol=0.05)


def assert_fast(made):
    names = [e.implementation for e in onednn.executions(made)]
    assert names and not any(n.startswith("ref") for n in names), names


@needs_onednn
def test_choice():
    def product(dtype):
        a, b, c = (Array(s, dtype) for s in ((3, 4), (4, 5), (3, 5)))
        return LibraryCall("matmul", src=view(a), weights=view(b), dst=view(c))

    assert library.choose(product(np.float32)) == "onednn"
    assert library.choose(product(np.float64)) == "own"
    assert library.choose(product(np.int32)) is None


def test_views():
    x = Array((2, 3, 4), np.float32)
    assert view(x).shape == (2, 3, 4)
    assert transposed(x, True) == View(x, (0, 2, 1))
    assert view(x, (2, 0, 1)).shape == (4, 2, 3)


# -- without libraries ---------------------------------------------------------------------------
def fallback_call(made_call, operands, out):
    """The same call in stages of our own."""
    e = Emitter()
    result = fallback.lower(e, made_call)
    program = assemble(operands, [result], e.updates, e.checks)
    return lambda arrays: program.run(arrays)[0][0]


@pytest.mark.parametrize("case", CASES[:3])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_fallback_convolution(case, dtype):
    image, filters, *geometry = case
    x, w = rng.normal(size=image).astype(dtype), rng.normal(size=filters).astype(dtype)
    y = convolve(x.astype(float), w.astype(float), *geometry)
    dy, v, u = rng.normal(size=y.shape), rng.normal(size=image), rng.normal(size=filters)
    a, b, c = operand(x), operand(w), Array(y.shape, dtypes.as_dtype(dtype))
    loose = {"rtol": 1e-3, "atol": 0.05} if dtype == np.float32 else {"rtol": 1e-9, "atol": 1e-9}
    got = fallback_call(described("convolution", a, b, c, case), [a, b], c)([x, w])
    np.testing.assert_allclose(got, y, **loose)
    dx = fallback_call(described("convolution_data", a, b, c, case), [b, c], a)([w, dy.astype(dtype)])
    np.testing.assert_allclose((dx * v).sum(), (dy * convolve(v, w, *geometry)).sum(), **loose)
    dw = fallback_call(described("convolution_weights", a, b, c, case), [a, c], b)([x, dy.astype(dtype)])
    np.testing.assert_allclose((dw * u).sum(), (dy * convolve(x, u, *geometry)).sum(), **loose)


@pytest.mark.parametrize("dtype", [np.float32, np.int32, np.float16])
def test_fallback_product(dtype):
    a, b = (rng.integers(-9, 9, size=s).astype(dtype) for s in ((2, 5, 7), (2, 7, 6)))
    left, right = operand(a), operand(b)
    out = Array((2, 5, 6), dtypes.as_dtype(dtype))
    made = LibraryCall("matmul", src=view(left), weights=view(right), dst=view(out))
    np.testing.assert_array_equal(fallback_call(made, [left, right], out)([a, b]), a @ b)


def test_everything_works_without_libraries(monkeypatch):
    monkeypatch.setattr(onednn, "is_available", lambda: False)
    a, b, c = (Array(s, np.float32) for s in ((3, 4), (4, 5), (3, 5)))
    made = LibraryCall("matmul", src=view(a), weights=view(b), dst=view(c))
    assert library.choose(made) == "own"
