"""Trigonometric and hyperbolic functions, element by element."""

from __future__ import annotations

import numpy as np

from headrace.core.dtypes import COMPLEX, FLOATS, INDEX
from headrace.ops.array.broadcast import unbroadcast
from headrace.ops.declaration.families import binary, normal, pairs, unary
from headrace.ops.declaration.samples import Sample
from headrace.ops.math.complex import conjugate
from headrace.ops.math.division import reciprocal
from headrace.ops.math.exponential import INEXACT, grad_op, sqrt, square

SIGNED = (*FLOATS, *INDEX, *COMPLEX)


def _inside(low, high):
    """Samples between two bounds, and the bounds themselves."""

    def samples(rng):
        yield Sample(rng.uniform(low + 0.1, high - 0.1, size=(3, 4)))
        yield Sample(np.zeros((0, 3)), note="empty")
        yield Sample(np.array([low, high, np.nan, high + 1]), note="edges", grad=False)

    return samples


def _as_is_near_zero(function):
    """A function that is x itself near 0: a denormal x, which arithmetic flushes, stays too."""

    def meaning(x):
        if x.dtype.kind == "c":
            return function(x)
        return np.where(np.abs(x) < np.finfo(np.float32).tiny, x, function(x))

    return meaning


def _x(node):
    return conjugate(node.inputs[0])


# -- circular -----------------------------------------------------------------------------------
def _sin_gradient(node, dy):
    return dy * cos(_x(node))


sin = unary(
    "Sin",
    np.sin,
    T=INEXACT,
    doc="The sine of an angle in radians.",
    emit="sin",
    gradient=_sin_gradient,
    samples=normal(3, 4),
)
cos = unary(
    "Cos",
    np.cos,
    T=INEXACT,
    doc="The cosine of an angle in radians.",
    emit="cos",
    gradient=lambda node, dy: -dy * sin(_x(node)),
    samples=normal(3, 4),
)
tan = unary(
    "Tan",
    np.tan,
    T=SIGNED,
    doc="The tangent of an angle in radians.",
    emit="tan",
    gradient=lambda node, dy: square(reciprocal(cos(_x(node)))) * dy,
    samples=_inside(-1.2, 1.2),
)


def _arc(node):
    """1 / sqrt(1 - x*x)"""
    return reciprocal(sqrt(1 - square(_x(node))))


asin = unary(
    "Asin",
    np.arcsin,
    T=SIGNED,
    doc="The angle whose sine is x.",
    emit="asin",
    gradient=lambda node, dy: dy * _arc(node),
    samples=_inside(-1.0, 1.0),
)
acos = unary(
    "Acos",
    np.arccos,
    T=SIGNED,
    doc="The angle whose cosine is x.",
    emit="acos",
    gradient=lambda node, dy: -dy * _arc(node),
    samples=_inside(-1.0, 1.0),
)
atan = unary(
    "Atan",
    np.arctan,
    T=SIGNED,
    doc="The angle whose tangent is x.",
    emit="atan",
    gradient=lambda node, dy: dy * reciprocal(1 + square(_x(node))),
    samples=normal(3, 4),
)


def _atan2_gradient(node, dy):
    y, x = node.inputs
    scaled = dy / (square(x) + square(y))
    return unbroadcast(y, x, dy, lambda: x * scaled, lambda: -y * scaled)


atan2 = binary(
    "Atan2",
    np.arctan2,
    T=FLOATS,
    doc="The angle of the point (x, y), from -pi to pi.",
    signature="y: T, x: T -> z: T",
    emit="atan2",
    gradient=_atan2_gradient,
    samples=pairs(),
)


# -- hyperbolic ---------------------------------------------------------------------------------
def _sinh_gradient(node, dy):
    return dy * cosh(_x(node))


sinh = unary(
    "Sinh",
    _as_is_near_zero(np.sinh),
    T=INEXACT,
    doc="The hyperbolic sine.",
    emit="sinh",
    gradient=_sinh_gradient,
    samples=normal(3, 4),
)
cosh = unary(
    "Cosh",
    np.cosh,
    T=INEXACT,
    doc="The hyperbolic cosine.",
    emit="cosh",
    gradient=lambda node, dy: dy * sinh(_x(node)),
    samples=normal(3, 4),
)


def _tanh_grad_gradient(node, dy):
    a, b = (conjugate(x) for x in node.inputs)
    return b * -2.0 * a * dy, tanh_grad(a, dy)


tanh_grad = grad_op(
    "TanhGrad",
    lambda y, dy: dy * (y.dtype.type(1) - y * y),
    doc="The gradient of Tanh: dy * (1 - y*y), where y = tanh(x).",
    emit=lambda e, y, dy: dy * (1 - y * y),
    gradient=_tanh_grad_gradient,
)

tanh = unary(
    "Tanh",
    np.tanh,
    T=INEXACT,
    doc="The hyperbolic tangent.",
    emit="tanh",
    gradient=lambda node, dy: tanh_grad(conjugate(node.outputs[0]), dy),
    samples=normal(3, 4),
)
asinh = unary(
    "Asinh",
    _as_is_near_zero(np.arcsinh),
    T=INEXACT,
    doc="The inverse of the hyperbolic sine.",
    emit="asinh",
    gradient=lambda node, dy: dy / cosh(conjugate(node.outputs[0])),
    samples=normal(3, 4),
)
acosh = unary(
    "Acosh",
    np.arccosh,
    T=INEXACT,
    doc="The inverse of the hyperbolic cosine.",
    emit="acosh",
    gradient=lambda node, dy: dy / sinh(conjugate(node.outputs[0])),
    samples=_inside(1.0, 4.0),
)
atanh = unary(
    "Atanh",
    np.arctanh,
    T=INEXACT,
    doc="The inverse of the hyperbolic tangent.",
    emit="atanh",
    gradient=lambda node, dy: dy * reciprocal(1 - square(_x(node))),
    samples=_inside(-1.0, 1.0),
)
