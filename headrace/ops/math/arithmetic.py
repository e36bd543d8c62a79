"""Element-wise arithmetic: sums, products, signs, extremes.  Quotients are in `division`, powers
and exponentials in `exponential`; their builders can be had from here too."""

from __future__ import annotations

from typing import Any

import numpy as np

from headrace.core.dtypes import (
    COMPLEX,
    FLOATS,
    INDEX,
    float16,
    float32,
    float64,
    int8,
    int16,
    int32,
    named,
    string,
    uint16,
)
from headrace.core.modules import late
from headrace.graph.tensor import Tensor
from headrace.ops.array.broadcast import same_known_shape, unbroadcast
from headrace.ops.array.constant import constant
from headrace.ops.declaration import precision
from headrace.ops.declaration.families import binary, function, normal, pairs, unary
from headrace.ops.declaration.samples import Sample
from headrace.ops.declaration.traits import AGGREGATE, COMMUTATIVE, KEEPS_ZERO
from headrace.ops.math import comparison
from headrace.ops.math.complex import complex_abs, conjugate
from headrace.ops.math.division import (
    div,
    div_no_nan,
    floor_div,
    floor_mod,
    inv,
    mod,
    real_div,
    reciprocal,
    truncate_div,
    truncate_mod,
    xdivy,
)
from headrace.ops.math.exponential import exp, expm1, log, log1p, pow_, rsqrt, sigmoid, sqrt, square, xlogy
from headrace.ops.math.rounding import ceil, floor, rint, round_

array = late("headrace.ops.declaration.array")
where = late("headrace.ops.array.indexing.where")

__all__ = [
    "abs_", "add", "add_v2", "ceil", "div", "div_no_nan", "exp", "expm1", "floor", "floor_div",
    "floor_mod", "inv", "log", "log1p", "magnitude", "maximum", "minimum", "mod",
    "mul", "mul_no_nan", "neg", "pow_", "real_div", "reciprocal", "rint", "round_", "rsqrt",
    "sigmoid", "sign", "sqrt", "square", "squared_difference", "sub", "truncate_div", "truncate_mod",
    "xdivy", "xlogy",
]  # fmt: skip

SUMMABLE = (*FLOATS, *named("uint8 int8 int16"), *INDEX, *COMPLEX)
ARITHMETIC = (*SUMMABLE, uint16)
SIGNED = (*FLOATS, *INDEX, *COMPLEX)
ORDERED = (*FLOATS, *INDEX)


def _add_gradient(node, dy):
    x, y = node.inputs
    if same_known_shape(x, y, dy):
        return dy, dy
    return unbroadcast(x, y, dy, lambda: dy, lambda: dy)


def _add_samples(rng):
    yield from pairs()(rng)
    text = np.array([b"a", b"b"], dtype=object)
    yield Sample(text, np.array(b"c", dtype=object), note="text")


add = binary(
    "Add",
    np.add,
    T=(*SUMMABLE, string),
    doc="x + y; texts are joined.",
    emit=lambda e, x, y: x + y,
    gradient=_add_gradient,
    samples=_add_samples,
)
add_v2 = binary(
    "AddV2",
    np.add,
    T=SUMMABLE,
    doc="x + y.",
    emit=lambda e, x, y: x + y,
    traits={COMMUTATIVE, AGGREGATE},
    gradient=_add_gradient,
    samples=pairs(),
)


def _sub_gradient(node, dy):
    x, y = node.inputs
    if same_known_shape(x, y, dy):
        return dy, -dy
    return unbroadcast(x, y, dy, lambda: dy, lambda: -dy)


sub = binary(
    "Sub",
    np.subtract,
    T=ARITHMETIC,
    doc="x - y.",
    emit=lambda e, x, y: x - y,
    gradient=_sub_gradient,
    samples=pairs(),
)


def _mul_gradient(node, dy):
    x, y = node.inputs
    if same_known_shape(x, y, dy) and dy.dtype in (int32, float32):
        return mul(dy, y), mul(dy, x)
    cx, cy = conjugate(x), conjugate(y)
    return unbroadcast(x, y, dy, lambda: mul(dy, cy), lambda: mul(cx, dy))


mul = binary(
    "Mul",
    np.multiply,
    T=ARITHMETIC,
    doc="x * y.",
    emit=lambda e, x, y: x * y,
    traits={COMMUTATIVE, KEEPS_ZERO},
    gradient=_mul_gradient,
    samples=pairs(),
)


def _mul_no_nan_gradient(node, dy):
    x, y = node.inputs
    return unbroadcast(x, y, dy, lambda: mul_no_nan(dy, y), lambda: mul_no_nan(x, dy))


def _unless_zero(x, y):
    return np.where(y == 0, np.zeros((), x.dtype), x * y)


def _mul_no_nan_samples(rng):
    yield from pairs()(rng)
    yield Sample(np.array([np.nan, np.inf, 2.0]), np.zeros(3), grad=False, note="zeros")


mul_no_nan = binary(
    "MulNoNan",
    _unless_zero,
    T=(float16, float32, float64, *COMPLEX),
    doc="x * y, and 0 where y is 0, even if x is infinite or NaN.",
    emit=lambda e, x, y: e.select(y == 0, 0, x * y),
    gradient=_mul_no_nan_gradient,
    samples=_mul_no_nan_samples,
)


def _difference_squared(x, y):
    difference = np.subtract(x, y)
    return difference * np.conj(difference)


def _squared_difference_gradient(node, dy):
    x, y = node.inputs
    dx = mul(constant(2.0, dy.dtype.base, name="scalar"), dy) * (x - y)
    if same_known_shape(x, y, dy):
        return dx, -dx
    return unbroadcast(x, y, dy, lambda: dx, lambda: -dx)


squared_difference = binary(
    "SquaredDifference",
    _difference_squared,
    T=SIGNED,
    doc="(x - y) squared.",
    emit=lambda e, x, y: (x - y) * e.conj(x - y),
    traits={COMMUTATIVE},
    gradient=_squared_difference_gradient,
    samples=pairs(),
)


# -- one input ----------------------------------------------------------------------------------
neg = unary(
    "Neg",
    np.negative,
    T=SIGNED,
    doc="-x.",
    emit=lambda e, x: -x,
    traits={KEEPS_ZERO},
    gradient=lambda node, dy: -dy,
    samples=normal(3, 4),
)


def _sign_gradient(node, dy):
    x = node.inputs[0]
    return array.fill(array.shape_of(x), np.zeros((), x.dtype.numpy))


sign = function(
    "Sign", precision.sign, "-1, 0 or 1; 0 for NaN; x / |x| for a complex x.", _sign_gradient, T=SIGNED
)
abs_ = unary(
    "Abs",
    np.abs,
    T=(*ORDERED, int8, int16),
    doc="The magnitude of x.",
    emit="abs",
    gradient=lambda node, dy: dy * sign(node.inputs[0]),
    samples=normal(3, 4),
)


def magnitude(x: Any, name: str | None = None) -> Tensor:
    """The builder of |x| for any type: ComplexAbs for complex numbers, else Abs."""
    if x.dtype.is_complex:
        return complex_abs(x, Tout=x.dtype.base.real_dtype, name=name)
    return abs_(x, name=name)


# -- extremes -----------------------------------------------------------------------------------
def _extreme_gradient(chooses_x):
    def gradient(node, dy):
        x, y = node.inputs
        zeros = array.fill(array.shape_of(dy), np.zeros((), dy.dtype.numpy))
        mask = chooses_x(x, y)
        return unbroadcast(
            x, y, dy, lambda: where.select(mask, dy, zeros), lambda: where.select(mask, zeros, dy)
        )

    return gradient


maximum = binary(
    "Maximum",
    np.maximum,
    T=ORDERED,
    doc="The larger of x and y.",
    emit="max",
    gradient=_extreme_gradient(comparison.greater_equal),
    samples=pairs(),
)
minimum = binary(
    "Minimum",
    np.minimum,
    T=ORDERED,
    doc="The smaller of x and y.",
    emit="min",
    gradient=_extreme_gradient(comparison.less_equal),
    samples=pairs(),
)


@minimum.upper
def _(x, y):
    return min((bound for bound in (x, y) if bound is not None), default=None)
