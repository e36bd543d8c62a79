"""Special functions: gamma and its family, error functions, beta, Bessel.

The numbers are computed in float64 (`gamma_function`, `incomplete_gamma`, `error_function`) and
rounded once to the type of the input.
"""

from __future__ import annotations

import math

import numpy as np

from headrace.core.dtypes import FLOATS, float32, float64
from headrace.core.modules import late
from headrace.core.shapes import UNKNOWN
from headrace.ops.array.broadcast import unbroadcast
from headrace.ops.array.constant import constant
from headrace.ops.declaration.declare import Op, op
from headrace.ops.declaration.families import binary, normal, require_broadcast, unary
from headrace.ops.declaration.samples import ErrorSample, Sample
from headrace.ops.declaration.signature import Type
from headrace.ops.declaration.traits import ELEMENTWISE
from headrace.ops.math import error_function, gamma_function, incomplete_gamma
from headrace.ops.math.arithmetic import exp, log, mul, sign, square
from headrace.ops.math.complex import conjugate
from headrace.ops.math.division import reciprocal

arithmetic = late("headrace.ops.math.arithmetic")
array = late("headrace.ops.declaration.array")
where = late("headrace.ops.array.indexing.where")

WIDE = (float32, float64)


def _exact(function):
    """function of float64, rounded to the type of its first argument."""

    def meaning(*arrays):
        result = function(*(np.asarray(a, np.float64) for a in arrays))
        return np.asarray(result).astype(arrays[0].dtype)

    return meaning


def _special(name, function, doc, **options) -> Op:
    return unary(name, _exact(function), T=FLOATS, doc=doc, **options)


def _x(node):
    return conjugate(node.inputs[0])


def _positive(rng):
    yield Sample(rng.uniform(0.2, 12, size=(3, 4)))
    yield Sample(np.array([0.5, 1.0, 1.5, 2.0, 3.0, 50.0]), note="known")
    yield Sample(np.array([-0.5, -2.5, 0.0, -1.0, np.inf, np.nan]), note="edges", grad=False)
    yield Sample(np.zeros((0, 3)), note="empty")


# -- gamma --------------------------------------------------------------------------------------
def _digamma_gradient(node, dy):
    x = _x(node)
    return dy * polygamma(constant(1, x.dtype.base), x)


digamma = _special(
    "Digamma",
    gamma_function.digamma,
    "The derivative of log |Gamma(x)|.",
    gradient=_digamma_gradient,
    samples=_positive,
)

lgamma = _special(
    "Lgamma",
    gamma_function.log_gamma,
    "log |Gamma(x)|.",
    emit="lgamma",
    gradient=lambda node, dy: dy * digamma(_x(node)),
    samples=_positive,
)


def _order_samples(low):
    def samples(rng):
        yield Sample(np.array([low, low + 1.0, low + 3.0]), rng.uniform(0.3, 4, 3), grad=False)
        yield Sample(np.array([[low], [low + 2.0]]), rng.uniform(0.3, 12, 3), grad=False)
        yield Sample(np.array([low, 0.25, np.nan]), np.array([0.0, -0.5, 1.0]), grad=False)

    return samples


def _zeta_gradient(node, dy):
    x, q = node.inputs
    return unbroadcast(x, q, dy, None, lambda: -x * zeta(x + 1, q) * dy)


zeta = binary(
    "Zeta",
    _exact(gamma_function.zeta),
    T=WIDE,
    signature="x: T, q: T -> z: T",
    doc="The sum of (q + n)**-x over n = 0, 1, ...: Hurwitz's zeta function.",
    gradient=_zeta_gradient,
    samples=_order_samples(2.0),
)


def _polygamma_gradient(node, dy):
    n, x = node.inputs
    return unbroadcast(n, x, dy, None, lambda: polygamma(n + 1, x) * dy)


polygamma = binary(
    "Polygamma",
    _exact(gamma_function.polygamma),
    T=WIDE,
    signature="a: T, x: T -> z: T",
    doc="The derivative number a of Digamma at x.",
    gradient=_polygamma_gradient,
    samples=_order_samples(0.0),
)


# -- incomplete gamma ---------------------------------------------------------------------------
_PAIR = "a: T, x: T -> z: T"


def _gamma_samples(grad=True):
    def samples(rng):
        yield Sample(rng.uniform(0.5, 9, (2, 3)), rng.uniform(0.5, 9, (2, 3)), grad=grad)
        yield Sample(rng.uniform(0.5, 9, (2, 1)), rng.uniform(0.5, 9, 3), grad=grad)
        yield Sample(
            np.array([0.0, -1.0, 1.0, 2.0, np.nan]),
            np.array([1.0, 1.0, 0.0, -1.0, 1.0]),
            note="edges",
            grad=False,
        )
        yield Sample(np.zeros((0, 3)), np.ones(3), note="empty", grad=False)
        yield Sample(np.array(2.0), np.array(1.0), note="scalars", grad=grad)

    return samples


def _igamma_partials(node):
    a, x = node.inputs
    return igamma_grad_a(a, x), exp(-x + (a - 1) * log(x) - lgamma(a))


def _igamma_gradient(node, dy):
    by_a, by_x = _igamma_partials(node)
    return unbroadcast(*node.inputs, dy, lambda: by_a * dy, lambda: by_x * dy)


def _igammac_gradient(node, dy):
    return tuple(-d for d in _igamma_gradient(node, dy))


igamma = binary(
    "Igamma",
    _exact(incomplete_gamma.igamma),
    T=WIDE,
    signature=_PAIR,
    doc="The lower regularized incomplete gamma function P(a, x).",
    gradient=_igamma_gradient,
    samples=_gamma_samples(),
)
igammac = binary(
    "Igammac",
    _exact(incomplete_gamma.igammac),
    T=WIDE,
    signature=_PAIR,
    doc="The upper regularized incomplete gamma function Q(a, x).",
    gradient=_igammac_gradient,
    samples=_gamma_samples(),
)
igamma_grad_a = binary(
    "IgammaGradA",
    _exact(incomplete_gamma.igamma_slope),
    T=WIDE,
    signature=_PAIR,
    doc="The derivative of the lower regularized incomplete gamma function P(a, x) by a.",
    samples=_gamma_samples(grad=False),
)


def betainc_shape(a, b, x):
    out = UNKNOWN
    for shape in (s for s in (a, b, x) if s.rank not in (None, 0)):
        out = out.merge_with(shape.plain())
    if out.rank is None and all(s.rank == 0 for s in (a, b, x)):
        return a.plain()
    return out


@op("Betainc", "a: T, b: T, x: T -> z: T", T=WIDE, shape=betainc_shape, traits={ELEMENTWISE})
def betainc(a, b, x):
    """The regularized incomplete beta function I_x(a, b)."""
    shapes = {s.shape for s in (a, b, x) if s.ndim}
    if len(shapes) > 1:
        require_broadcast(*shapes)
        raise ValueError(f"Shapes of a, b and x are inconsistent: {sorted(map(str, shapes))}")
    with np.errstate(all="ignore"):
        return _exact(incomplete_gamma.betainc)(a, b, x)


@betainc.gradient
def _(node, dy):
    a, b, x = node.inputs
    log_beta = lgamma(a) + lgamma(b) - lgamma(a + b)
    by_x = exp((b - 1) * log(1 - x) + (a - 1) * log(x) - log_beta)
    return None, None, unbroadcast(a, x, dy, None, lambda: by_x * dy)[1]


@betainc.samples
def _(rng):
    a, b, x = rng.uniform(0.5, 6, 4), rng.uniform(0.5, 6, 4), rng.uniform(0.05, 0.95, 4)
    yield Sample(a, b, x, grad=False)
    yield Sample(a[0], b[0], x, grad=False, note="scalars")
    yield Sample(a[0], b[0], x[0], grad=False, note="only scalars")
    yield Sample(np.ones(3), np.array([2.0, -1.0, 2.0]), np.array([0.0, 0.5, 2.0]), grad=False)
    yield ErrorSample(a, b, x[:3], raises="hape")


# -- error functions ----------------------------------------------------------------------------
def _bell(node, dy, factor):
    return dy * constant(factor, dy.dtype.base) * exp(-square(_x(node)))


erf = _special(
    "Erf",
    error_function.erf,
    "The error function: 2 / sqrt(pi) times the integral of exp(-t*t).",
    emit="erf",
    gradient=lambda node, dy: _bell(node, dy, 2 / math.sqrt(math.pi)),
    samples=normal(3, 4),
)
erfc = _special(
    "Erfc",
    error_function.erfc,
    "1 - erf(x).",
    emit="erfc",
    gradient=lambda node, dy: _bell(node, dy, -2 / math.sqrt(math.pi)),
    samples=normal(3, 4),
)


# -- Bessel -------------------------------------------------------------------------------------
def _bessel(order):
    """exp(-|x|) times the modified Bessel function of order 0 or 1."""

    def function(x):
        size = np.abs(x)
        value = np.where(size <= 20, _series(np.minimum(size, 20)), _far(np.maximum(size, 20)))
        value = np.where(np.isinf(size), 0, value)
        return value if order == 0 else np.copysign(value, x)

    def _series(x):
        quarter, term = x * x / 4, np.exp(-x) * (x / 2) ** order
        total = term
        for k in range(1, 70):
            term = term * quarter / (k * (k + order))
            total = total + term
        return total

    def _far(x):
        term = total = np.ones_like(x)
        for k in range(1, 30):
            term = term * ((2 * k - 1) ** 2 - 4 * order * order) / (8 * k * x)
            total = total + term
        return total / np.sqrt(2 * np.pi * x)

    return function


def _bessel_i0e_gradient(node, dy):
    x = node.inputs[0]
    return dy * (bessel_i1e(x) - sign(x) * node.outputs[0])


bessel_i0e = _special(
    "BesselI0e",
    _bessel(0),
    "exp(-|x|) times the modified Bessel function of order 0.",
    gradient=_bessel_i0e_gradient,
    samples=normal(3, 4),
)


def _bessel_i1e_gradient(node, dy):
    x, y = node.inputs[0], node.outputs[0]
    epsilon = np.finfo(x.dtype.numpy).eps
    zeros = array.zeros_like(x)
    is_not_tiny = arithmetic.abs_(x) > epsilon
    safe = where.select(is_not_tiny, x, epsilon + zeros)
    slope = bessel_i0e(safe) - y * (sign(safe) + reciprocal(safe))
    return mul(dy, where.select(is_not_tiny, slope, 0.5 + zeros))  # the limit at 0 is 1/2


bessel_i1e = _special(
    "BesselI1e",
    _bessel(1),
    "exp(-|x|) times the modified Bessel function of order 1.",
    gradient=_bessel_i1e_gradient,
    samples=normal(3, 4),
)


# -- neighbours ---------------------------------------------------------------------------------
def _next_gradient(node, dy):
    return unbroadcast(*node.inputs, dy, lambda: dy, lambda: array.zeros_like(dy))


def _next_samples(rng):
    yield Sample(np.array([1.0, 1.0, 0.0, np.nan]), np.array([2.0, 0.0, -1.0, 1.0]), grad=False)
    yield Sample(np.array([[1.0], [2.0]]), np.array([2.5, 3.5]))


next_after = binary(
    "NextAfter",
    np.nextafter,
    T=Type((float64, float32), default=float32),
    signature="x1: T, x2: T -> output: T",
    doc="The number next to x1 in the direction of x2.",
    gradient=_next_gradient,
    samples=_next_samples,
)
