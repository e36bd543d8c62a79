"""Element-wise quotients, remainders and reciprocals.  An integer divided by zero is an error."""

from __future__ import annotations

import numpy as np

from headrace.core.dtypes import COMPLEX, FLOATS, INDEX, bfloat16, float16, float32, float64, named
from headrace.core.errors import require
from headrace.core.modules import late
from headrace.ops.array.broadcast import unbroadcast
from headrace.ops.declaration.families import (
    INEXACT,
    binary,
    of_output,
    pairs,
    positive,
    positive_pairs,
    unary,
)
from headrace.ops.declaration.samples import ErrorSample, Sample
from headrace.ops.math.complex import conjugate

cast = late("headrace.ops.math.cast")
comparison = late("headrace.ops.math.comparison")

DIVISIBLE = (*FLOATS, *named("uint8 int8 uint16 int16"), *INDEX, *COMPLEX)
SAFE = (*named("float16 float32 float64"), *COMPLEX)
SIGNED = (*FLOATS, *INDEX, *COMPLEX)


def _check_divisor(x, y):
    if y.dtype.kind in "iu":
        require(x.size == 0 or y.all(), "Integer division by zero")


def truncated_quotient(x, y):
    """The quotient, for integers rounded towards zero."""
    if x.dtype.kind not in "iu":
        return np.divide(x, y)
    _check_divisor(x, y)
    quotient = np.floor_divide(x, y)
    if x.dtype.kind == "u":
        return quotient
    inexact = np.not_equal(quotient * y, x) & ((x < 0) != (y < 0))
    return (quotient + inexact).astype(x.dtype)


def _divisor(e, y):
    """y, in a compiled rule: an integer 0 ends the step."""
    if y.dtype.kind in "iu":
        e.require(y != 0, "Integer division by zero")
    return y


def _lower_quotient(e, x, y):
    return x / y if x.dtype.kind in "fc" else e.truncate_div(x, _divisor(e, y))


def _quotient_gradient(node, dy):
    x, y = node.inputs
    cx, cy = conjugate(x), conjugate(y)
    return unbroadcast(x, y, dy, lambda: dy / cy, lambda: dy * (-cx / cy / cy))


def _divisor_samples(rng):
    yield from pairs(0.5, 2.0)(rng)
    seven = np.array([7, -7, 7, -7, 6], np.int32)
    yield Sample(seven, np.array([2, 2, -2, -2, 3], np.int32), note="integers", grad=False)
    yield Sample(np.ones((0,), np.int64), np.zeros((1,), np.int64), note="empty by zero")
    yield ErrorSample(seven, np.array([0], np.int32), raises="Integer division by zero")


def _real_samples(rng):
    yield from pairs(0.5, 2.0)(rng)
    yield Sample(np.array([1.0, -1.0, 0.0]), np.zeros(3), note="by zero", grad=False)


def _rounded_quotient(x, y):
    quotient = truncated_quotient(x, y)
    return quotient if x.dtype.kind in "iuc" else np.trunc(quotient)


def _lower_rounded(e, x, y):
    return e.trunc(x / y) if x.dtype.kind == "f" else e.truncate_div(x, _divisor(e, y))


div = binary(
    "Div",
    truncated_quotient,
    T=DIVISIBLE,
    doc="x / y, for integers rounded towards zero.",
    emit=_lower_quotient,
    gradient=_quotient_gradient,
    samples=_divisor_samples,
)
real_div = binary(
    "RealDiv",
    truncated_quotient,
    T=DIVISIBLE,
    doc="x / y.",
    emit=_lower_quotient,
    gradient=_quotient_gradient,
    samples=_real_samples,
)
truncate_div = binary(
    "TruncateDiv",
    _rounded_quotient,
    T=DIVISIBLE,
    doc="x / y rounded towards zero; gradients do not pass.",
    emit=_lower_rounded,
    gradient=lambda node, dy: (None, None),
    samples=_divisor_samples,
)


def _floor_quotient(x, y):
    _check_divisor(x, y)
    # np.floor_divide goes through the remainder, which gives NaN where x / y is infinite.
    return np.floor_divide(x, y) if x.dtype.kind in "iuO" else np.floor(np.divide(x, y))


floor_div = binary(
    "FloorDiv",
    _floor_quotient,
    T=DIVISIBLE,
    doc="x / y rounded down.",
    emit=lambda e, x, y: e.floor(x / y) if x.dtype.kind == "f" else x // _divisor(e, y),
    gradient=lambda node, dy: (None, None),
    samples=_divisor_samples,
)


def _safe_quotient(x, y):
    return np.where(y == 0, np.zeros((), x.dtype), x / np.where(y == 0, np.ones((), x.dtype), y))


def _div_no_nan_gradient(node, dy):
    x, y = node.inputs
    cx, cy = conjugate(x), conjugate(y)
    return unbroadcast(x, y, dy, lambda: div_no_nan(dy, cy), lambda: dy * div_no_nan(div_no_nan(-cx, cy), cy))


div_no_nan = binary(
    "DivNoNan",
    _safe_quotient,
    T=SAFE,
    doc="x / y, and 0 where y is 0.",
    emit=lambda e, x, y: e.select(y == 0, 0, x / y),
    gradient=_div_no_nan_gradient,
    samples=positive_pairs(np.array([1.0, 0.0, np.nan]), np.zeros(3), note="by zero"),
)


def _nothing_divided(x, y):
    return np.where(x == 0, np.zeros((), x.dtype), x / y)


def is_something(x):
    """1 where x is not 0, else 0, of its type."""
    return cast.cast(comparison.not_equal(x, 0), DstT=x.dtype.base)


def _xdivy_gradient(node, dy):
    x, y = node.inputs
    return unbroadcast(x, y, dy, lambda: xdivy(is_something(x), y) * dy, lambda: xdivy(-x, y * y) * dy)


xdivy = binary(
    "Xdivy",
    _nothing_divided,
    T=SAFE,
    doc="x / y, and 0 where x is 0, whatever y is.",
    emit=lambda e, x, y: e.select(x == 0, 0, x / y),
    gradient=_xdivy_gradient,
    samples=positive_pairs(np.zeros(3), np.array([0.0, np.nan, 1.0]), note="nothing"),
)


# -- remainders ---------------------------------------------------------------------------------
def _truncated_remainder(x, y):
    _check_divisor(x, y)
    return np.fmod(x, y)


def _floor_remainder(x, y):
    _check_divisor(x, y)
    if x.dtype.kind in "iu":
        return np.mod(x, y)
    remainder = np.fmod(x, y)
    return np.where((remainder != 0) & ((remainder < 0) != (y < 0)), remainder + y, remainder)


def _floor_mod_gradient(node, dy):
    x, y = node.inputs
    times = floor_div(x, y)
    return unbroadcast(x, y, dy, lambda: dy, lambda: dy * -times)


def _remainder_samples(rng):
    yield Sample(np.array([[5.5, -5.5], [7.25, -7.25]]), np.array([2.0, -2.0]))
    yield Sample(np.array([7, -7, 7, -7, 6]), np.array([2, 2, -2, -2, 3]), note="integers")
    yield Sample(np.zeros((0, 2)), np.ones(2), note="empty")
    yield Sample(np.array([np.inf, np.nan, 1.0]), np.array([1.0, 1.0, 0.0]), grad=False)
    far = np.array([np.inf, -np.inf])
    yield Sample(np.array([[1.0], [-1.0], [0.0]]), far, grad=False, note="by infinity")
    most = np.finfo(np.float64).max
    yield Sample(
        np.array([[0.5], [-0.5], [-0.0]]), np.array([most, -most]), grad=False, note="by the largest"
    )
    yield ErrorSample(np.array([7]), np.array([0]), raises="Integer division by zero")


mod = binary(
    "Mod",
    _truncated_remainder,
    T=(*INDEX, float16, float16, bfloat16, float32, float64),
    doc="The remainder of x / y rounded towards zero: it has the sign of x.",
    emit=lambda e, x, y: e.truncate_mod(x, _divisor(e, y)),
    samples=_remainder_samples,
)
truncate_mod = binary(
    "TruncateMod",
    _truncated_remainder,
    T=(*INDEX, *FLOATS),
    doc="The remainder of x / y rounded towards zero: it has the sign of x.",
    emit=lambda e, x, y: e.truncate_mod(x, _divisor(e, y)),
    samples=_remainder_samples,
)
floor_mod = binary(
    "FloorMod",
    _floor_remainder,
    T=(*INDEX, *FLOATS),
    doc="The remainder of x / y rounded down: it has the sign of y.",
    emit=lambda e, x, y: x % _divisor(e, y),
    gradient=_floor_mod_gradient,
    samples=_remainder_samples,
)


# -- reciprocals --------------------------------------------------------------------------------
def _reciprocal(x):
    return truncated_quotient(np.ones((), x.dtype), x)


def _lower_reciprocal(e, x):
    return 1 / x if x.dtype.kind in "fc" else e.truncate_div(e.const(1, x.dtype), _divisor(e, x))


def _reciprocal_gradient(node, dy):
    return reciprocal_grad(node.outputs[0], dy)


inv = unary(
    "Inv",
    _reciprocal,
    T=SIGNED,
    doc="1 / x.",
    emit=_lower_reciprocal,
    gradient=_reciprocal_gradient,
    samples=positive(3, 4),
)
reciprocal = unary(
    "Reciprocal",
    _reciprocal,
    T=SIGNED,
    doc="1 / x.",
    emit=_lower_reciprocal,
    gradient=_reciprocal_gradient,
    samples=positive(3, 4),
)


def _reciprocal_grad_gradient(node, dy):
    y, b = node.inputs
    cy = conjugate(y)
    return b * -2.0 * cy * conjugate(dy), reciprocal_grad(cy, dy)


def _grad_samples(rng):
    yield Sample(rng.normal(size=(2, 3)), rng.normal(size=(2, 3)))
    yield Sample(np.zeros((0, 3)), np.zeros((0, 3)), note="empty")
    yield ErrorSample(np.ones((2, 1)), np.ones((2, 3)), raises="must be equal|same size and shape")


inv_grad = of_output(
    "InvGrad",
    lambda y, dy: -dy * np.conj(y) * np.conj(y),
    T=INEXACT,
    doc="The gradient of Inv: -dy * y * y, where y = 1 / x.",
    emit=lambda e, y, dy: -dy * e.conj(y) * e.conj(y),
    zero=True,
    gradient=_reciprocal_grad_gradient,
    samples=_grad_samples,
)
reciprocal_grad = of_output(
    "ReciprocalGrad",
    lambda y, dy: -dy * np.conj(y) * np.conj(y),
    T=INEXACT,
    doc="The gradient of Reciprocal: -dy * y * y, where y = 1 / x.",
    emit=lambda e, y, dy: -dy * e.conj(y) * e.conj(y),
    zero=True,
    gradient=_reciprocal_grad_gradient,
    samples=_grad_samples,
)
