"""Bounds of floats: sound, never assumed of data, and functions that use them stay as exact."""

from __future__ import annotations

import math

import numpy as np
import pytest

from headrace.codegen.ir.float_ranges import ANYTHING, BOUNDED, FloatRanges, coarse
from headrace.codegen.ir.kernel_ir import F32, INDEX, Array, const, var
from headrace.codegen.ir.kernel_ir import Var as Loop
from headrace.codegen.lowering.lower import Emitter
from headrace.core import dtypes
from tests.codegen.emit.test_math import BOUNDS, ORACLES, arguments, ulps
from tests.codegen.rules import elements, run

pytestmark = pytest.mark.native


def loaded(value=None):
    known = None if value is None else np.array([value], np.float32)
    return Array((1,), dtypes.float32, value=known)[const(0, INDEX)]


def bounds(x):
    return FloatRanges().of(x)


# -- bounds ------------------------------------------------------------------------------------
def test_nothing_is_assumed_of_data():
    e = Emitter()
    x = loaded()
    for made in (x, x * 2.0, -x, x + 1.0, e.select(x > 0.0, x, 0.0 - x), e.log(x), x / x):
        low, high = bounds(made)
        assert low == -math.inf and high == math.inf, made
    large = Array((100,), dtypes.float32, value=np.ones(100, np.float32))
    assert bounds(large[var(Loop(100))]) == ANYTHING


def test_constants_of_the_plan_are_known():
    low, high = bounds(Emitter().tanh(loaded()) * loaded(1.5) + loaded(0.25))
    assert -1.26 < low <= -1.25 and 1.75 <= high < 1.76
    assert bounds(loaded(math.nan)) == ANYTHING
    assert bounds(loaded(math.inf))[1] == math.inf


def test_infinity_times_zero_is_nothing_known():
    e = Emitter()
    assert bounds(e.exp(loaded()) * loaded(0.0)) == ANYTHING
    assert bounds(e.exp(loaded()) - e.exp(loaded())) == ANYTHING
    assert bounds(e.tanh(loaded()) / e.sigmoid(loaded())) == ANYTHING


def test_overflow_of_a_narrow_type():
    e = Emitter()
    fits = const(3e4, F32) * e.tanh(loaded())
    assert bounds(e.cast(fits, dtypes.float16))[1] < math.inf
    assert bounds(e.cast(fits * 3.0, dtypes.float16))[1] == math.inf
    assert bounds(fits * 1e34)[1] == math.inf


def test_bits_of_a_mantissa():
    e = Emitter()
    word = Array((1,), dtypes.uint32)[const(0, INDEX)]
    mantissa = (word & e.const(0x7FFFFF, dtypes.uint32)) | e.const(0x3F800000, dtypes.uint32)
    low, high = bounds(e.bitcast(mantissa, dtypes.float32))
    assert low == 1.0 and 1.9999 < high < 2.0
    signed = (word & e.const(0x7FFFFF, dtypes.uint32)) | e.const(0xBF800000, dtypes.uint32)
    assert bounds(e.bitcast(signed, dtypes.float32)) == ANYTHING


def test_coarse():
    assert coarse(ANYTHING) is None
    assert coarse((0.3, 3.1)) == (0.25, 4.0)
    assert coarse((-3.1, -0.3)) == (-4.0, -0.25)
    assert coarse((-1.0, 1.0)) == (-1.0, 1.0)
    assert coarse((-math.inf, 5.0)) == (-math.inf, 8.0)
    low, high = coarse((-1e-36, 0.0))
    assert low <= -1e-36 and high == 0.0


STEPS = {
    "exp": lambda e, x: e.exp(x), "tanh": lambda e, x: e.tanh(x), "log": lambda e, x: e.log(x),
    "sigmoid": lambda e, x: e.sigmoid(x), "erf": lambda e, x: e.erf(x), "erfc": lambda e, x: e.erfc(x),
    "expm1": lambda e, x: e.expm1(x), "log1p": lambda e, x: e.log1p(x), "abs": lambda e, x: e.abs(x),
    "sqrt": lambda e, x: e.sqrt(x), "square": lambda e, x: x * x, "neg": lambda e, x: -x,
    "relu": lambda e, x: e.max(x, 0.0), "sin": lambda e, x: e.sin(x), "inverse": lambda e, x: 1.0 / x,
    "atan": lambda e, x: e.atan(x), "less": lambda e, x: e.select(x < 1.0, x, e.const(1.0, x.dtype)),
    "shift": lambda e, x: x * 1.1 + 0.1,
}  # fmt: skip


@pytest.mark.parametrize("first", STEPS)
def test_results_are_inside(first):
    """Whatever goes in, what two or three steps make of it is inside of their bounds."""
    x = arguments(np.float32)
    chains = [(first, second) for second in STEPS] + [(first, "shift", "tanh"), (first, "sin", "exp")]

    def rule(e, v):
        made = []
        for chain in chains:
            y = v
            for step in chain:
                y = STEPS[step](e, y)
            made.append(y)
        return made

    found = [bounds(y) for y in rule(Emitter(), loaded())]

    def whole(e, t):
        return [e.compute(t.shape, lambda i, k=k: rule(e, t[i])[k]) for k in range(len(chains))]

    for chain, (low, high), got in zip(chains, found, run(whole, x)):
        inside = np.isnan(got) | ((got >= low) & (got <= high))
        assert inside.all(), (chain, low, high, x[~inside][:3], got[~inside][:3])


# -- functions ---------------------------------------------------------------------------------
SPANS = [(-0.5, 0.5), (0.3, 3.1), (-8.0, 8.0), (-64.0, 0.0), (-100.0, 88.0), (1e-3, 1e6)]


def limited(e, x, low, high):
    return e.min(e.max(x, e.const(low, x.dtype)), e.const(high, x.dtype))


@pytest.mark.parametrize("name", sorted(BOUNDED))
@pytest.mark.parametrize("place,dtype", [(0, np.float32), (1, np.float64)])
def test_as_exact_where_bounds_are_known(name, place, dtype):
    """Within and at the ends of spans that leave something out; NaN stays NaN."""
    tiny = np.finfo(dtype).tiny
    for low, high in SPANS:
        inside = np.random.default_rng(5).uniform(low, high, 3000).astype(dtype)
        ends = np.array([low, high, 0, -0.0, np.nan, np.inf, -np.inf, tiny, -tiny], dtype)
        near = np.concatenate([np.nextafter(dtype(v), dtype([-9e9, 9e9])) for v in (low, high)])
        x = np.concatenate([inside, ends, near, arguments(dtype)])
        x[np.abs(x) < tiny] *= 0
        got = elements(lambda e, v: getattr(e, name)(limited(e, v, low, high)), x)
        oracle = ORACLES.get(name) or getattr(np, name)
        with np.errstate(all="ignore"):
            clipped = np.clip(x, dtype(low), dtype(high))
            want = oracle(clipped.astype(np.longdouble)).astype(np.longdouble)
            errors = np.where((np.abs(want) < tiny) & (got == 0), 0, ulps(got, want, dtype))
        worst = int(np.argmax(errors))
        assert errors[worst] <= BOUNDS[name][place], (low, high, x[worst], got[worst], want[worst])
        assert np.isnan(got[np.isnan(x)]).all()


def test_one_text_never_carries_the_bounds_of_another_use():
    """The same rule with another constant: what held for the first does not hold for the second."""
    x = np.linspace(-3, 3, 1000).astype(np.float32)

    def rule(e, x, scale):
        return e.compute(x.shape, lambda i: e.exp(e.tanh(x[i]) * scale[0]))

    for scale in (1.0, 50.0, 1.5, 200.0, -200.0, math.nan):
        got = run(rule, x, np.array([scale], np.float32), known=(1,))[0]
        with np.errstate(all="ignore"):
            want = np.exp(np.tanh(x.astype(np.float64)) * scale).astype(np.float32)
        tiny = np.abs(want) < np.finfo(np.float32).tiny
        np.testing.assert_allclose(got[~tiny], want[~tiny], rtol=abs(scale) * 1e-6)
        assert (got[tiny] < 1.2e-38).all()


@pytest.mark.parametrize("size", (1, 7, 64, 97, 4096))
@pytest.mark.parametrize("copies", (1, 5))
def test_chain_of_functions(copies, size):
    """Long chains run in many copies: every element is right, the last ones too."""
    x = np.random.default_rng(size).normal(size=size).astype(np.float32)

    def rule(e, v):
        for _ in range(copies):
            v = e.exp(e.tanh(v * 1.1 + 0.1))
        return v

    want = x.astype(np.float64)
    for _ in range(copies):
        want = np.exp(np.tanh(want * 1.1 + 0.1))
    np.testing.assert_allclose(elements(rule, x), want, rtol=1e-6)
