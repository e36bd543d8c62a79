"""Scalar operations of kernels against NumPy: every kind, edge values, odd lengths,
broadcasting."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from tests.codegen.rules import elements, run

pytestmark = pytest.mark.native

FLOATS = (np.float32, np.float64, np.float16, ml_dtypes.bfloat16)
INTEGERS = (np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64)


def values(dtype, seed=0, n=203):
    rng = np.random.default_rng(seed)
    dtype = np.dtype(dtype)
    if dtype.kind == "b":
        return rng.integers(0, 2, n).astype(bool)
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        edges = np.array([info.min, info.max, 0, 1, info.max // 2, info.min // 2], dtype)
        x = rng.integers(info.min, info.max, n, dtype=dtype, endpoint=True)
        x[:6] = rng.permutation(edges)
        return x
    edges = [0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0, 1e-30, 0.5, 1.5, 2.5]
    x = rng.normal(size=n) * 3
    x[: len(edges)] = rng.permutation(edges)
    return x.astype(dtype)


def same(got, want):
    assert got.dtype == want.dtype and got.shape == want.shape
    if got.dtype.kind in "fV":
        got, want = got.astype(np.float64), want.astype(np.float64)
    np.testing.assert_array_equal(got, want)
    if got.dtype.kind == "f":
        number = ~np.isnan(want)
        np.testing.assert_array_equal(np.signbit(got)[number], np.signbit(want)[number])


ARITHMETIC = {
    "add": (lambda e, x, y: x + y, np.add),
    "sub": (lambda e, x, y: x - y, np.subtract),
    "mul": (lambda e, x, y: x * y, np.multiply),
    "max": (lambda e, x, y: e.max(x, y), np.maximum),
    "min": (lambda e, x, y: e.min(x, y), np.minimum),
    "lt": (lambda e, x, y: x < y, np.less),
    "ge": (lambda e, x, y: x >= y, np.greater_equal),
    "eq": (lambda e, x, y: x == y, np.equal),
    "ne": (lambda e, x, y: x != y, np.not_equal),
}


@pytest.mark.parametrize("dtype", FLOATS + INTEGERS)
@pytest.mark.parametrize("name", ARITHMETIC)
def test_binary(name, dtype):
    rule, oracle = ARITHMETIC[name]
    x, y = values(dtype, 1), values(dtype, 2)
    y[20:40] = x[20:40]
    with np.errstate(all="ignore"):
        want = oracle(x, y)
    got = elements(rule, x, y)
    if name in ("max", "min"):  # which zero wins is open
        got, want = got + got.dtype.type(0), want + want.dtype.type(0)
    same(got, want)


@pytest.mark.parametrize("dtype", FLOATS)
def test_float_division_and_rounding(dtype):
    x, y = values(dtype, 1), values(dtype, 2)
    with np.errstate(all="ignore"):
        same(elements(lambda e, x, y: x / y, x, y), x / y)
        for name in ("floor", "ceil", "trunc", "rint", "sqrt", "abs"):
            want = getattr(np, name)(x)
            same(elements(lambda e, x, name=name: getattr(e, name)(x), x), want.astype(dtype))
        known = np.where(np.isnan(x), dtype(0), x)  # of NaN, 0
        same(elements(lambda e, x: e.sign(x), x), np.sign(known) + dtype(0))
        same(elements(lambda e, x: -x, x), -x)


@pytest.mark.parametrize("dtype", INTEGERS)
def test_integer_division(dtype):
    x, y = values(dtype, 1), values(dtype, 2)
    y[50:60] = 0
    if np.dtype(dtype).kind == "i":
        x[60:70], y[60:70] = np.iinfo(dtype).min, -1
    with np.errstate(all="ignore"):
        same(elements(lambda e, x, y: x // y, x, y), x // y)
        same(elements(lambda e, x, y: x % y, x, y), x % y)
        want = np.where(y == 0, 0, np.fmod(x, np.where(y == 0, 1, y))).astype(dtype)
        same(elements(lambda e, x, y: e.truncate_mod(x, y), x, y), want)


@pytest.mark.parametrize("dtype", INTEGERS)
def test_bits(dtype):
    x, y = values(dtype, 1), values(dtype, 2)
    same(elements(lambda e, x, y: x & y, x, y), x & y)
    same(elements(lambda e, x, y: x | y, x, y), x | y)
    same(elements(lambda e, x, y: x ^ y, x, y), x ^ y)
    same(elements(lambda e, x: ~x, x), ~x)
    bits = np.iinfo(dtype).bits
    count = (y % dtype(bits)).astype(dtype)
    same(elements(lambda e, x, y: x << y, x, count), x << count)
    same(elements(lambda e, x, y: x >> y, x, count), x >> count)
    far = np.full(x.shape, np.iinfo(dtype).max, dtype)
    same(elements(lambda e, x, y: x >> y, x, far), x >> dtype(bits - 1))


def test_bool():
    x, y = values(bool, 1), values(bool, 2)
    same(elements(lambda e, x, y: x & y, x, y), x & y)
    same(elements(lambda e, x, y: ~(x | y) ^ x, x, y), ~(x | y) ^ x)
    odd = np.array([0, 1, 2, 255], np.uint8).view(bool)  # not only 0 and 1 in memory
    same(elements(lambda e, x: ~x, odd), np.array([True, False, False, False]))


@pytest.mark.parametrize("source", FLOATS + INTEGERS + (bool,))
@pytest.mark.parametrize("target", FLOATS + INTEGERS + (bool,))
def test_cast(source, target):
    x = values(source, 4)
    if np.dtype(target).kind in "iu" and np.dtype(source).kind in "fV":
        top = min(np.iinfo(target).max, 100)
        x = np.abs(x) if np.dtype(target).kind == "u" else x
        wide = x.astype(np.float64)
        x = np.clip(np.where(np.isfinite(wide), wide, 0), -100, top).astype(source)
    with np.errstate(all="ignore"):
        want = x.astype(target)
    same(elements(lambda e, x: e.cast(x, np.dtype(target)), x), want)


@pytest.mark.parametrize("source", (np.float32, np.float64))
def test_cast_of_what_does_not_fit(source):
    x = np.array([np.nan, np.inf, -np.inf, 3e9, -3e9, 1e20, 2147483648.0, -2147483648.0], source)
    low32, low64 = np.iinfo(np.int32).min, np.iinfo(np.int64).min
    want32 = [low32] * 8
    want64 = [low64, low64, low64, 3000000000, -3000000000, low64, 2147483648, -2147483648]
    assert elements(lambda e, x: e.cast(x, np.int32), x).tolist() == want32
    assert elements(lambda e, x: e.cast(x, np.int64), x).tolist() == want64


def test_bitcast():
    x = values(np.float32)
    same(elements(lambda e, x: e.bitcast(x, np.int32), x), x.view(np.int32))
    h = values(np.float16)
    got = elements(lambda e, x: e.bitcast(x, np.int16), h)
    number = ~np.isnan(h)
    assert np.array_equal(got[number], h.view(np.int16)[number])


@pytest.mark.parametrize("n", [0, 1, 2, 15, 16, 17, 31, 63, 64, 65, 127, 128, 129, 1000])
def test_lengths(n):
    x = np.arange(n, dtype=np.float32)
    same(elements(lambda e, x: x * 3 + 1, x), x * 3 + 1)


@pytest.mark.parametrize(
    "shapes",
    [
        [(3, 4), (4,)],
        [(3, 4), (3, 1)],
        [(2, 3, 4), (3, 1)],
        [(1,), (5, 1)],
        [(), (2, 2)],
        [(2, 1, 4), (1, 3, 1)],
        [(5, 0), (1,)],
        [(1, 1), (1, 1)],
        [(7, 1, 6), (7, 5, 1), (6,)],
        [(2, 3, 4, 5, 6), (4, 1, 6)],
        [(40, 33), (33,)],
    ],
)
def test_broadcasting(shapes):
    rng = np.random.default_rng(0)
    arrays = [rng.normal(size=s).astype(np.float32) for s in shapes]
    want = arrays[0]
    for a in arrays[1:]:
        want = want * a
    same(elements(lambda e, x, *ys: _product(x, ys), *arrays), want)


def _product(x, ys):
    for y in ys:
        x = x * y
    return x


def test_select_and_predicates():
    x = values(np.float32)
    same(elements(lambda e, x: e.select(x > 0, x, 0), x), np.where(x > 0, x, np.float32(0)))
    same(elements(lambda e, x: e.is_nan(x), x), np.isnan(x))
    same(elements(lambda e, x: e.is_inf(x), x), np.isinf(x))
    same(elements(lambda e, x: e.is_finite(x), x), np.isfinite(x))


def test_python_truth_is_refused():
    with pytest.raises(TypeError, match=r"e\.select"):
        elements(lambda e, x: x if x > 0 else -x, np.ones(3, np.float32))


def test_mixed_kinds_are_refused():
    with pytest.raises(TypeError, match="cast one of them"):
        elements(lambda e, x, y: x + y, np.ones(3, np.float32), np.ones(3, np.float64))


def test_index_as_data():
    got = run(lambda e: e.compute((3, 4), lambda i, j: e.cast(i * 10 + j, np.float32)))[0]
    same(got, (np.arange(3)[:, None] * 10 + np.arange(4)).astype(np.float32))
