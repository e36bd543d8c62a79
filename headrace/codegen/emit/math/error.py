"""erf and erfc.  erf(x) = x P(x^2) near 0; erfc(x) = exp(-x^2) Q(1 / (1 + x/2)) for larger x."""

from __future__ import annotations

from headrace.codegen.emit.math import tables
from headrace.codegen.emit.math.exponential import exp
from headrace.codegen.emit.math.number import Num

_NEAR = 0.8944271909999159  # sqrt(0.8), where the two fits meet


def _upper(a: Num) -> Num:
    """erfc(a) for a above _NEAR."""
    t = 1.0 / a.fma(0.5, 1.0)
    square = (a * a).within(0.0, a.high * a.high)
    return exp(-square) * t.polynomial(tables.ERFC_F32)


def erf_float(x: Num) -> Num:
    a = x.abs()
    near = x * (x * x).polynomial(tables.ERF_F32)
    if x.largest <= _NEAR:
        return near
    far = (1.0 - _upper(a.clamp(0.0, 4.0))).with_sign_of(x)
    return (a > _NEAR).pick(far, near)


def erfc_double(x: Num) -> Num:
    """For doubles that hold floats: good to about 1e-11 of the result."""
    a = x.abs()
    upper = _upper(a.clamp(0.0, 10.5))
    far = (x < 0.0).pick(2.0 - upper, upper)
    near = 1.0 - x * (x * x).polynomial(tables.ERF_F32)
    return (a > _NEAR).pick(far, near)
