"""Element-wise comparisons and classifications: bool comes out, gradients end here."""

from __future__ import annotations

import numpy as np

from headrace.core.dtypes import COMPLEX, FLOATS, INDEX, NUMBERS, REALS, named
from headrace.core.shapes import SCALAR, UNKNOWN
from headrace.ops.declaration.declare import Op, op
from headrace.ops.declaration.families import compare, require_broadcast, unary
from headrace.ops.declaration.samples import ErrorSample, Sample
from headrace.ops.declaration.shape_rules import broadcast, merged
from headrace.ops.declaration.traits import COMMUTATIVE, ELEMENTWISE, STATIC

EQUATABLE = (*FLOATS, *named("uint8 int8 int16"), *INDEX, *COMPLEX, *named("quint8 qint8 qint32 string bool"))


def _pairs(rng):
    yield Sample(np.array([[1, 2, 3], [3, 2, 1]], np.int32), np.array([2, 2, 2], np.int32))
    yield Sample(np.array([[1.0], [np.nan]]), np.array([1.0, np.inf, np.nan, -0.0]))
    yield Sample(np.array(0.0), np.array(-0.0), note="scalar")
    yield Sample(np.zeros((0, 3)), np.ones(3), note="empty")
    yield ErrorSample(np.ones((2, 3)), np.ones(4), raises="must be equal|Incompatible shapes")


def _pairs_and_text(rng):
    yield from _pairs(rng)
    yield Sample(np.array([b"a", b"b"], dtype=object), np.array(b"a", dtype=object), note="text")
    yield Sample(np.ones((2, 3)), np.ones(4), incompatible_shape_error=False, note="misfit")


less = compare("Less", np.less, T=REALS, doc="x < y.", emit=lambda e, x, y: x < y, samples=_pairs)
less_equal = compare(
    "LessEqual", np.less_equal, T=REALS, doc="x <= y.", emit=lambda e, x, y: x <= y, samples=_pairs
)
greater = compare("Greater", np.greater, T=REALS, doc="x > y.", emit=lambda e, x, y: x > y, samples=_pairs)
greater_equal = compare(
    "GreaterEqual", np.greater_equal, T=REALS, doc="x >= y.", emit=lambda e, x, y: x >= y, samples=_pairs
)


def equality_shape(x, y, *, incompatible_shape_error):
    if incompatible_shape_error:
        return broadcast(x, y)
    if not (x.is_full and y.is_full):
        return UNKNOWN  # a scalar, if sizes turn out not to fit
    try:
        return broadcast(x, y)
    except ValueError:
        return SCALAR


def _equality(name, meaning, doc, emit, if_misfit) -> Op:
    @op(
        name,
        "x: T, y: T -> z: bool",
        T=EQUATABLE,
        incompatible_shape_error=True,
        shape=equality_shape,
        traits={ELEMENTWISE, COMMUTATIVE, STATIC},
    )
    def declared(x, y, *, incompatible_shape_error):
        if not incompatible_shape_error and not _fits(x.shape, y.shape):
            return np.array(if_misfit)
        require_broadcast(x.shape, y.shape)
        with np.errstate(all="ignore"):
            return meaning(x, y)

    declared.__doc__ = doc
    declared.no_gradient()
    declared.lower(emit)
    declared.samples(_pairs_and_text)
    return declared


def _fits(a, b):
    return all(x == y or 1 in (x, y) for x, y in zip(reversed(a), reversed(b)))


_MISFIT = "With incompatible_shape_error=False, shapes that do not fit are"
equal = _equality(
    "Equal", np.equal, f"x == y.  {_MISFIT} not equal.", lambda e, x, y: x == y, if_misfit=False
)
not_equal = _equality(
    "NotEqual", np.not_equal, f"x != y.  {_MISFIT} different.", lambda e, x, y: x != y, if_misfit=True
)


@op(
    "ApproximateEqual",
    "x: T, y: T -> z: bool",
    T=NUMBERS,
    tolerance=float(np.float32(1e-5)),
    shape=merged,
    traits={ELEMENTWISE, COMMUTATIVE},
)
def approximate_equal(x, y, *, tolerance):
    """|x - y| < tolerance, for x and y of one shape."""
    if x.shape != y.shape:
        require_broadcast(x.shape, y.shape)
        raise ValueError(f"x and y must be of the same shape: {x.shape}, {y.shape}")
    with np.errstate(all="ignore"):
        return np.abs(np.subtract(x, y)) < tolerance


approximate_equal.no_gradient()


@approximate_equal.samples
def _(rng):
    yield Sample(np.array([1.0, 2.0, np.nan]), np.array([1.000001, 2.1, np.nan]))
    yield Sample(np.array([1, 2]), np.array([1, 4]), tolerance=2.5)
    yield ErrorSample(np.ones((2, 3)), np.ones((2, 1)), raises="compatible|same shape")


def _classify(rng):
    yield Sample(np.array([1.0, np.nan, np.inf, -np.inf, -0.0]))
    yield Sample(np.zeros((0, 2)), note="empty")


def _class(name, meaning, doc, emit) -> Op:
    declared = unary(
        name, meaning, T=FLOATS, signature="x: T -> y: bool", doc=doc, emit=emit, samples=_classify
    )
    declared.no_gradient()
    return declared


is_nan = _class("IsNan", np.isnan, "Is x not a number?", "is_nan")
is_inf = _class("IsInf", np.isinf, "Is x infinite?", "is_inf")
is_finite = _class("IsFinite", np.isfinite, "Is x neither infinite nor NaN?", "is_finite")
