"""Our elementary functions against NumPy in higher precision: bounds in units of the last place."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tests.codegen.rules import elements

pytestmark = pytest.mark.native

# Largest error in ulp, float32 and float64.
BOUNDS = {
    "exp": (1.5, 1.5), "expm1": (2, 3), "log": (1, 1), "log1p": (1.5, 1.5), "tanh": (3, 4),
    "sigmoid": (3, 3), "sin": (1, 2), "cos": (1, 2), "tan": (1, 4), "asin": (1, 1), "acos": (1, 1),
    "atan": (1, 3), "sinh": (1, 2), "cosh": (1, 2), "asinh": (1, 2), "acosh": (1, 2),
    "atanh": (1, 2), "erf": (4, 1), "erfc": (1, 1), "sqrt": (0.5, 0.5), "rsqrt": (1.5, 1.5),
}  # fmt: skip


def sigmoid(x):
    return np.where(x < 0, np.exp(x) / (1 + np.exp(x)), 1 / (1 + np.exp(-x)))


ORACLES = {
    "sigmoid": sigmoid,
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "asin": np.arcsin,
    "acos": np.arccos,
    "atan": np.arctan,
    "asinh": np.arcsinh,
    "acosh": np.arccosh,
    "atanh": np.arctanh,
    "erf": np.vectorize(lambda v: math.erf(v), otypes=[np.float64]),
    "erfc": np.vectorize(lambda v: math.erfc(v), otypes=[np.float64]),
}


def arguments(dtype):
    rng = np.random.default_rng(7)
    info = np.finfo(dtype)
    wide = 10.0 ** rng.uniform(-30, 30, 2000)
    edges = [
        0.0, -0.0, 1, -1, 0.5, 2, np.inf, -np.inf, np.nan, info.tiny, info.tiny / 4, -info.tiny / 8,
        info.max, -info.max, info.eps, 88.7228, 88.73, -87.4, -103.9, -104.5, 709.7, 710, -745.1,
        -746, 1e-10, 4.9e5, 5.1e5, 1e6, 1e30, 0.8944, 0.8945, 10.06, 20.0, -20.0,
    ]  # fmt: skip
    parts = [rng.normal(size=3000), rng.normal(size=3000) * 20, rng.uniform(-1, 1, 3000), wide]
    with np.errstate(over="ignore", under="ignore"):
        return np.concatenate([*parts, -wide, rng.uniform(-110, -80, 1000), edges]).astype(dtype)


def ulps(got, want, dtype):
    rounded = want.astype(dtype)
    error = np.abs(got.astype(np.longdouble) - want) / np.spacing(np.abs(rounded))
    same = (got == rounded) | (np.isnan(got) & np.isnan(rounded))
    return np.where(same, 0, np.where(np.isfinite(error), error, np.inf))


@pytest.mark.parametrize("name", BOUNDS)
@pytest.mark.parametrize("place,dtype", [(0, np.float32), (1, np.float64)])
def test_error_bound(name, place, dtype):
    x = arguments(dtype)
    tiny = np.finfo(dtype).tiny
    x[np.abs(x) < tiny] *= 0  # such numbers count as zero while a step runs
    got = elements(lambda e, x: getattr(e, name)(x), x)
    oracle = ORACLES.get(name) or getattr(np, name)
    with np.errstate(all="ignore"):
        want = oracle(x.astype(np.longdouble)).astype(np.longdouble)
        errors = np.where((np.abs(want) < tiny) & (got == 0), 0, ulps(got, want, dtype))
    worst = int(np.argmax(errors))
    assert errors[worst] <= BOUNDS[name][place], (x[worst], got[worst], want[worst])
    zero = (got == 0) & (want == 0)
    assert np.array_equal(np.signbit(got[zero]), np.signbit(want[zero])), "sign of zero"


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_pow(dtype):
    rng = np.random.default_rng(3)
    special = np.array([0, -0.0, 1, -1, 2, -2, 0.5, -0.5, 3, -3, np.inf, -np.inf, np.nan, 1e30, 7.5])
    x, y = (a.ravel() for a in np.meshgrid(special, special))
    x = np.concatenate([x, rng.uniform(0, 10, 2000)]).astype(dtype)
    y = np.concatenate([y, rng.normal(size=2000) * 5]).astype(dtype)
    with np.errstate(all="ignore"):
        want = np.power(x.astype(np.longdouble), y.astype(np.longdouble))
        got = elements(lambda e, x, y: e.pow(x, y), x, y)
        small = np.abs(want) < np.finfo(dtype).tiny
        errors = np.where(small & (got == 0), 0, ulps(got, want, dtype))
    worst = int(np.argmax(errors))
    assert errors[worst] <= 1, (x[worst], y[worst], want[worst])
