"""erf and erfc of float64 arrays, to the last bits: W. J. Cody's rational approximations (1969)."""

from __future__ import annotations

from typing import Any

import numpy as np

# numerator, denominator, highest power first
_ERF = (
    (1.85777706184603153e-1, 3.16112374387056560, 1.13864154151050156e2, 3.77485237685302021e2,
     3.20937758913846947e3),
    (1.0, 2.36012909523441209e1, 2.44024637934444173e2, 1.28261652607737228e3,
     2.84423683343917062e3),
)  # fmt: skip
_MIDDLE = (
    (2.15311535474403846e-8, 5.64188496988670089e-1, 8.88314979438837594, 6.61191906371416295e1,
     2.98635138197400131e2, 8.81952221241769090e2, 1.71204761263407058e3, 2.05107837782607147e3,
     1.23033935479799725e3),
    (1.0, 1.57449261107098347e1, 1.17693950891312499e2, 5.37181101862009858e2,
     1.62138957456669019e3, 3.29079923573345963e3, 4.36261909014324716e3, 3.43936767414372164e3,
     1.23033935480374942e3),
)  # fmt: skip
_TAIL = (
    (1.63153871373020978e-2, 3.05326634961232344e-1, 3.60344899949804439e-1,
     1.25781726111229246e-1, 1.60837851487422766e-2, 6.58749161529837803e-4),
    (1.0, 2.56852019228982242, 1.87295284992346725, 5.27905102951428412e-1,
     6.05183413124413191e-2, 2.33520497626869185e-3),
)  # fmt: skip
_EDGE = 0.46875  # erf below, erfc above


def _ratio(pair: Any, x: Any) -> Any:
    return np.polyval(pair[0], x) / np.polyval(pair[1], x)


def _small(x: Any) -> Any:
    """erf near 0."""
    return x * _ratio(_ERF, x * x)


def _upper(x: Any) -> Any:
    """erfc for x above the edge."""
    # exp(-x*x) from a rounded square and the rest of it: the error of x*x would be magnified.
    rounded = np.trunc(x * 16) / 16
    decay = np.exp(-rounded * rounded) * np.exp(-(x - rounded) * (x + rounded))
    inverse = 1 / np.maximum(x, 1) ** 2
    tail = (1 / np.sqrt(np.pi) - inverse * _ratio(_TAIL, inverse)) / np.maximum(x, 1)
    return decay * np.where(x <= 4, _ratio(_MIDDLE, np.minimum(x, 4)), tail)


def erf(x: Any) -> Any:
    """2 / sqrt(pi) times the integral of exp(-t*t) from 0 to x."""
    size = np.abs(x)
    far = np.copysign(1 - _upper(np.clip(size, _EDGE, 30)), x)
    return np.where(np.isnan(x), x, np.where(size <= _EDGE, _small(x), far))


def erfc(x: Any) -> Any:
    """1 - erf(x), with all its digits where that is small."""
    size = np.abs(x)
    upper = _upper(np.clip(size, _EDGE, 30))  # 0 from 27 on
    far = np.where(x < 0, 2 - upper, upper)
    return np.where(np.isnan(x), x, np.where(size <= _EDGE, 1 - _small(x), far))
