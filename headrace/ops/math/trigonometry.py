"""Trigonometric and hyperbolic functions, element by element."""

from __future__ import annotations

import numpy as np

from headrace.core.dtypes import COMPLEX, FLOATS, INDEX
from headrace.ops.array.broadcast import unbroadcast
from headrace.ops.declaration.families import binary, function, pairs
from headrace.ops.declaration.samples import Sample
from headrace.ops.math.complex import conjugate
from headrace.ops.math.division import reciprocal
from headrace.ops.math.exponential import grad_op, sqrt, square

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


sin = function("Sin", np.sin, "The sine of an angle in radians.", _sin_gradient)
cos = function("Cos", np.cos, "The cosine of an angle in radians.", lambda node, dy: -dy * sin(_x(node)))
tan = function(
    "Tan",
    np.tan,
    "The tangent of an angle in radians.",
    lambda node, dy: square(reciprocal(cos(_x(node)))) * dy,
    _inside(-1.2, 1.2),
    T=SIGNED,
)


def _arc(node):
    """1 / sqrt(1 - x*x)"""
    return reciprocal(sqrt(1 - square(_x(node))))


asin = function(
    "Asin",
    np.arcsin,
    "The angle whose sine is x.",
    lambda node, dy: dy * _arc(node),
    _inside(-1.0, 1.0),
    T=SIGNED,
)
acos = function(
    "Acos",
    np.arccos,
    "The angle whose cosine is x.",
    lambda node, dy: -dy * _arc(node),
    _inside(-1.0, 1.0),
    T=SIGNED,
)
atan = function(
    "Atan",
    np.arctan,
    "The angle whose tangent is x.",
    lambda node, dy: dy * reciprocal(1 + square(_x(node))),
    T=SIGNED,
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


sinh = function("Sinh", _as_is_near_zero(np.sinh), "The hyperbolic sine.", _sinh_gradient)
cosh = function("Cosh", np.cosh, "The hyperbolic cosine.", lambda node, dy: dy * sinh(_x(node)))


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

tanh = function(
    "Tanh", np.tanh, "The hyperbolic tangent.", lambda node, dy: tanh_grad(conjugate(node.outputs[0]), dy)
)
asinh = function(
    "Asinh",
    _as_is_near_zero(np.arcsinh),
    "The inverse of the hyperbolic sine.",
    lambda node, dy: dy / cosh(conjugate(node.outputs[0])),
)
acosh = function(
    "Acosh",
    np.arccosh,
    "The inverse of the hyperbolic cosine.",
    lambda node, dy: dy / sinh(conjugate(node.outputs[0])),
    _inside(1.0, 4.0),
)
atanh = function(
    "Atanh",
    np.arctanh,
    "The inverse of the hyperbolic tangent.",
    lambda node, dy: dy * reciprocal(1 - square(_x(node))),
    _inside(-1.0, 1.0),
)
