"""Reductions in kernels: along rows, down columns, over everything, inside larger expressions."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from headrace.codegen.assembly.assemble import assemble
from headrace.codegen.fusion.fusion import Fusion
from headrace.codegen.ir import kernel_ir as ir
from headrace.codegen.ir.kernel_ir import Array, Compute, Var
from headrace.codegen.lowering.lower import Emitter
from tests.codegen.rules import run

pytestmark = pytest.mark.native

ORACLES = {
    "sum": np.sum,
    "prod": np.prod,
    "max": np.max,
    "min": np.min,
    "any": np.any,
    "all": np.all,
    "argmax": np.argmax,
    "argmin": np.argmin,
}


def reduction(kind, axes):
    def rule(e, x):
        kept = [n for axis, n in enumerate(x.shape) if axis not in axes]
        gone = [n for axis, n in enumerate(x.shape) if axis in axes]

        def body(*i):
            def inner(*r):
                own, other = iter(i), iter(r)
                return x[tuple(next(other if a in axes else own) for a in range(len(x.shape)))]

            return e.reduce(kind, gone, inner)

        return e.compute(kept, body)

    return rule


@pytest.mark.parametrize("kind", ["sum", "max", "min", "prod"])
@pytest.mark.parametrize("shape", [(7, 5, 40), (3, 1, 2), (1, 1, 1), (130, 2, 3), (2, 3, 200)])
def test_axes(kind, shape):
    rng = np.random.default_rng(0)
    x = rng.uniform(0.5, 1.5, size=shape).astype(np.float32)
    for count in (1, 2, 3):
        for axes in itertools.combinations(range(3), count):
            got = run(reduction(kind, axes), x)[0]
            want = ORACLES[kind](x.astype(np.float64), axis=axes)
            np.testing.assert_allclose(got, want, rtol=2e-5, err_msg=str(axes))


@pytest.mark.parametrize("dtype", [np.float64, np.int32, np.int64, np.uint8, np.float16])
@pytest.mark.parametrize("kind", ["sum", "max", "min"])
def test_kinds(kind, dtype):
    rng = np.random.default_rng(1)
    x = rng.integers(0, 5, size=(9, 37)).astype(dtype)
    for axis in (0, 1):
        want = ORACLES[kind](x, axis=axis).astype(dtype)
        np.testing.assert_array_equal(run(reduction(kind, (axis,)), x)[0], want)


@pytest.mark.parametrize("kind", ["any", "all"])
def test_logical(kind):
    x = np.random.default_rng(2).integers(0, 8, size=(50, 70)) > 0
    x[3], x[:, 4] = False, True
    for axes in ((0,), (1,), (0, 1)):
        want = ORACLES[kind](x, axis=axes)
        np.testing.assert_array_equal(run(reduction(kind, axes), x)[0], want)


@pytest.mark.parametrize("kind", ["argmax", "argmin"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32, np.int8])
def test_arg(kind, dtype):
    rng = np.random.default_rng(3)
    for shape in ((6, 1), (6, 5), (3, 100), (4, 333), (40, 3)):
        x = rng.integers(-4, 4, size=shape).astype(dtype)  # many ties
        known = x.copy()
        if np.dtype(dtype).kind == "f":  # a NaN does not count
            far = np.inf if kind == "argmin" else -np.inf
            x[1, 0], known[1, 0] = np.nan, far
            x[2] = known[2] = far
        for axis in (0, 1):
            want = ORACLES[kind](known, axis=axis)
            np.testing.assert_array_equal(run(reduction(kind, (axis,)), x)[0], want)


@pytest.mark.parametrize("axis", [0, 1])
def test_nan_and_infinity(axis):
    x = np.ones((20, 20), np.float32)
    x[3, 3], x[5, 6], x[7, 7] = np.nan, np.inf, -np.inf
    with np.errstate(invalid="ignore"):
        for kind in ("sum", "max", "min"):
            got = run(reduction(kind, (axis,)), x)[0]
            np.testing.assert_array_equal(got, ORACLES[kind](x, axis=axis))


def test_empty():
    x = np.zeros((3, 0), np.float32)
    np.testing.assert_array_equal(run(reduction("sum", (1,)), x)[0], np.zeros(3))
    np.testing.assert_array_equal(run(reduction("max", (1,)), x)[0], np.full(3, -np.inf))
    assert run(reduction("sum", (0,)), x)[0].shape == (0,)
    assert run(reduction("prod", (0, 1)), x)[0] == 1


@pytest.mark.parametrize("n", [1 << 15, 100_003, 1 << 20])
def test_large_sum(n):
    x = np.random.default_rng(4).normal(size=n).astype(np.float32)
    want = x.astype(np.float64).sum()
    assert abs(run(reduction("sum", (0,)), x)[0] - want) < 1e-5 * np.abs(x).sum()


def test_nested():
    """A variance in one expression: the inner mean does not depend on the outer loop."""

    def rule(e, x):
        rows, n = x.shape

        def body(i):
            mean = e.reduce("sum", n, lambda j: x[i, j]) / e.size(n, x.dtype)
            return e.reduce("sum", n, lambda j: (x[i, j] - mean) * (x[i, j] - mean))

        return e.compute((rows,), body)

    x = np.random.default_rng(5).normal(size=(11, 77)).astype(np.float32)
    want = ((x - x.mean(1, keepdims=True)) ** 2).sum(1)
    np.testing.assert_allclose(run(rule, x)[0], want, rtol=1e-5)


def test_matrix_product():
    """A dependent pair of indices: reads both arrays many times, in bounds."""

    def rule(e, a, b):
        (m, k), (_, n) = a.shape, b.shape
        return e.compute((m, n), lambda i, j: e.reduce("sum", k, lambda r: a[i, r] * b[r, j]))

    rng = np.random.default_rng(6)
    a, b = rng.normal(size=(13, 21)), rng.normal(size=(21, 34))
    np.testing.assert_allclose(run(rule, a, b)[0], a @ b, rtol=1e-12)
    ints = rng.integers(-9, 9, size=(5, 6)).astype(np.int32)
    np.testing.assert_array_equal(run(rule, ints, ints.T.copy())[0], ints @ ints.T)


@pytest.mark.parametrize("kind", ["sum", "max", "any"])
@pytest.mark.parametrize(
    "shape,axes", [((1 << 17,), (0,)), ((4096, 48), (0,)), ((6, 30000), (1,)), ((32, 7, 9, 40), (0, 1, 2))]
)
def test_long_reductions_are_done_in_parts(kind, shape, axes):
    x = np.random.default_rng(7).normal(size=shape)
    x = x > 2 if kind == "any" else x.astype(np.float32)
    e = Emitter()
    operand = Array(x.shape, x.dtype)
    fusion = Fusion([reduction(kind, axes)(e, operand)], [], [])
    assert len(fusion.items) == 2
    got = run(reduction(kind, axes), x)[0]
    want = ORACLES[kind](x if kind == "any" else x.astype(np.float64), axis=axes)
    np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-3)


@pytest.mark.parametrize("shape", [(4096, 264), (130, 1000), (96, 8, 160), (35, 2000), (8, 9, 10, 200)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16])
def test_long_columns_are_added_row_by_row(shape, dtype):
    x = np.random.default_rng(0).standard_normal(shape).astype(dtype)
    operand = Array(shape, dtype)
    lead = shape[:-1]
    total = Array(shape[-1:], dtype)
    loops = (Var(shape[-1]),)
    body = ir.reduce("sum", lead, lambda *at: operand[(*at, ir.var(loops[0]))])
    total.source = Compute(loops, body)
    program = assemble([operand], [total], [], [])
    assert "columns" in [e.name for e in program.entries]
    got = program.run([x])[0][0]
    want = x.astype(np.float64).sum(axis=tuple(range(len(lead))))
    loose = {np.float16: 2e-2, np.float32: 1e-4, np.float64: 1e-11}[dtype]
    np.testing.assert_allclose(got, want, rtol=loose, atol=loose * 30)
