"""Powers, roots, exponentials and logarithms, element by element."""

from __future__ import annotations

import numpy as np

from headrace.core.dtypes import COMPLEX, FLOATS, INDEX, float16, float32, float64
from headrace.core.errors import require
from headrace.core.modules import late
from headrace.ops.array.broadcast import unbroadcast
from headrace.ops.array.constant import constant
from headrace.ops.declaration.declare import Op
from headrace.ops.declaration.families import (
    INEXACT,
    binary,
    function,
    normal,
    of_output,
    pairs,
    positive,
    positive_pairs,
    unary,
)
from headrace.ops.declaration.samples import ErrorSample, Sample
from headrace.ops.declaration.traits import KEEPS_ZERO
from headrace.ops.math.complex import conjugate
from headrace.ops.math.division import reciprocal

arithmetic = late("headrace.ops.math.arithmetic")
array = late("headrace.ops.declaration.array")
cast = late("headrace.ops.math.cast")
comparison = late("headrace.ops.math.comparison")
division = late("headrace.ops.math.division")
where = late("headrace.ops.array.indexing.where")

SIGNED = (*FLOATS, *INDEX, *COMPLEX)


def grad_samples(rng):
    yield Sample(rng.uniform(0.5, 2, size=(2, 3)), rng.normal(size=(2, 3)))
    yield Sample(np.zeros((0, 3)), np.zeros((0, 3)), note="empty")
    yield ErrorSample(np.ones((2, 1)), np.ones((2, 3)), raises="must be equal|same size and shape")


def grad_op(name, meaning, **options) -> Op:
    return of_output(name, meaning, T=INEXACT, samples=grad_samples, **options)


# -- powers and roots ---------------------------------------------------------------------------
def _square_gradient(node, dy):
    x = conjugate(node.inputs[0])
    return arithmetic.mul(dy, arithmetic.mul(x, constant(2, x.dtype.base)))


square = unary(
    "Square",
    np.square,
    T=SIGNED,
    doc="x * x.",
    emit=lambda e, x: x * x,
    traits={KEEPS_ZERO},
    gradient=_square_gradient,
    samples=normal(3, 4),
)


def _sqrt_grad_gradient(node, dy):
    ga = dy / node.inputs[0]
    return -conjugate(ga) * node.outputs[0], 0.5 * ga


def times(x, factor):
    """Real times: NumPy's product with a complex number of no imaginary part makes NaN of infinities."""
    if x.dtype.kind != "c":
        return x * x.dtype.type(factor)
    found = np.empty_like(x)
    found.real, found.imag = x.real * factor, x.imag * factor
    return found


sqrt_grad = grad_op(
    "SqrtGrad",
    lambda y, dy: times(dy, 0.5) / np.conj(y),
    doc="The gradient of Sqrt: dy / (2 y), where y = sqrt(x).",
    emit=lambda e, y, dy: dy * 0.5 / e.conj(y),
    zero=True,
    gradient=_sqrt_grad_gradient,
)

sqrt = function(
    "Sqrt", np.sqrt, "The square root of x.", lambda node, dy: sqrt_grad(node.outputs[0], dy), positive(3, 4)
)


def _rsqrt_grad_gradient(node, dy):
    a, b = node.inputs
    ca = conjugate(a)
    return -1.5 * b * square(ca) * conjugate(dy), rsqrt_grad(ca, dy)


def _lower_rsqrt_grad(e, y, dy):
    root = e.conj(y)
    return dy * root * -0.5 * (root * root)


rsqrt_grad = grad_op(
    "RsqrtGrad",
    lambda y, dy: times(dy * np.conj(y), -0.5) * np.square(np.conj(y)),
    doc="The gradient of Rsqrt: dy * y**3 / -2, where y = 1 / sqrt(x).",
    emit=_lower_rsqrt_grad,
    zero=True,
    gradient=_rsqrt_grad_gradient,
)

rsqrt = function(
    "Rsqrt",
    lambda x: x.dtype.type(1) / np.sqrt(x),
    "1 / sqrt(x).",
    lambda node, dy: rsqrt_grad(node.outputs[0], dy),
    positive(3, 4),
)


def _power(x, y):
    if y.dtype.kind == "i":
        require(x.size == 0 or not (y < 0).any(), "Integers to negative integer powers are not allowed")
    found = np.power(x, y)
    if found.dtype.kind == "c":
        # NumPy multiplies and divides for whole powers, which makes NaN of infinities.
        return np.where(np.isfinite(x) & np.isfinite(y) | (x == 0) | (y == 0), found, np.exp(y * np.log(x)))
    return found


def _pow_gradient(node, dy):
    x, y = node.inputs
    cx, cy = conjugate(x), conjugate(y)

    def to_y():
        # log(x) where there is one; a real x <= 0 contributes nothing.
        mask = comparison.not_equal(cx, 0) if x.dtype.is_complex else comparison.greater(cx, 0)
        safe = where.select(mask, cx, array.ones_like(cx))
        logarithm = where.select(mask, log(safe), array.zeros_like(cx))
        return dy * conjugate(node.outputs[0]) * logarithm

    return unbroadcast(x, y, dy, lambda: dy * cy * pow_(cx, cy - 1), to_y)


def _pow_samples(rng):
    yield from pairs(0.5, 2.0)(rng)
    yield Sample(np.array([-3, 2, 0]), np.array([3, 10, 0]), note="integers")
    yield Sample(np.array([-2.0, 0.0, np.inf]), np.array([0.5, 0.0, -1.0]), grad=False)
    yield ErrorSample(np.array([2]), np.array([-1]), raises="negative integer powers")


pow_ = binary(
    "Pow",
    _power,
    T=SIGNED,
    doc="x raised to y.",
    emit=lambda e, x, y: e.pow(x, y),
    gradient=_pow_gradient,
    samples=_pow_samples,
)


# -- exponentials -------------------------------------------------------------------------------
exp = function("Exp", np.exp, "e raised to x.", lambda node, dy: dy * conjugate(node.outputs[0]))
expm1 = function(
    "Expm1", np.expm1, "exp(x) - 1, exact for small x.", lambda node, dy: dy * exp(conjugate(node.inputs[0]))
)
log = function(
    "Log",
    np.log,
    "The natural logarithm of x.",
    lambda node, dy: dy * reciprocal(conjugate(node.inputs[0])),
    positive(3, 4),
)
log1p = function(
    "Log1p",
    np.log1p,
    "log(1 + x), exact for small x.",
    lambda node, dy: dy * reciprocal(1 + conjugate(node.inputs[0])),
    positive(3, 4),
)


def _nothing_logged(x, y):
    return np.where(x == 0, np.zeros((), x.dtype), x * np.log(y))


def _xlogy_gradient(node, dy):
    x, y = node.inputs
    return unbroadcast(
        x, y, dy, lambda: xlogy(division.is_something(x), y) * dy, lambda: division.xdivy(x, y) * dy
    )


xlogy = binary(
    "Xlogy",
    _nothing_logged,
    T=(float16, float32, float64, *COMPLEX),
    doc="x * log(y), and 0 where x is 0, whatever y is.",
    emit=lambda e, x, y: e.select(x == 0, 0, x * e.log(y)),
    gradient=_xlogy_gradient,
    samples=positive_pairs(np.zeros(3), np.array([0.0, -1.0, np.nan]), note="nothing"),
)


def _logistic(x):
    one = x.dtype.type(1)
    return one / (one + np.exp(-x))


def _sigmoid_grad_gradient(node, dy):
    a, b = (conjugate(x) for x in node.inputs)
    gb = dy * b
    return gb - 2.0 * gb * a, sigmoid_grad(a, dy)


sigmoid_grad = grad_op(
    "SigmoidGrad",
    lambda y, dy: dy * y * (y.dtype.type(1) - y),
    doc="The gradient of Sigmoid: dy * y * (1 - y), where y = sigmoid(x).",
    emit=lambda e, y, dy: dy * y * (1 - y),
    gradient=_sigmoid_grad_gradient,
)

sigmoid = function(
    "Sigmoid", _logistic, "1 / (1 + exp(-x)).", lambda node, dy: sigmoid_grad(conjugate(node.outputs[0]), dy)
)
