"""The incomplete gamma and beta integrals, of float64 arrays: power series near the lower end,
continued fractions elsewhere.  Elements leave the iteration when they have converged."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from headrace.ops.math.gamma_function import digamma, log_gamma

_LIMIT = 2000  # iterations
_EPSILON = 2.0**-53
_BIG = 2.0**52


def _where_apply(mask: Any, function: Callable[..., Any], *arrays: Any) -> Any:
    """function of the elements under the mask; NaN elsewhere."""
    outs = function(*(a[mask] for a in arrays))
    single = not isinstance(outs, tuple)
    results = []
    for out in (outs,) if single else outs:
        full = np.full(mask.shape, np.nan)
        full[mask] = out
        results.append(full)
    return results[0] if single else tuple(results)


def _series(a: Any, x: Any) -> tuple[Any, Any]:
    """The sum of x^n / ((a + 1) ... (a + n)) over n >= 0, and its derivative by a."""
    term, slope = np.ones_like(a), np.zeros_like(a)
    total, total_slope = term.copy(), slope.copy()
    at = a.copy()
    for _ in range(_LIMIT):
        at = at + 1
        slope = (slope - term / at) * x / at
        term = term * x / at
        total, total_slope = total + term, total_slope + slope
        if (term <= total * _EPSILON).all() and (np.abs(slope) <= np.abs(total_slope) * _EPSILON).all():
            break
    return total, total_slope


def _fraction(a: Any, x: Any) -> tuple[Any, Any]:
    """Legendre's continued fraction for Gamma(a, x) / (x^a exp(-x)), and its derivative by a."""
    y, z, c = 1 - a, x + 2 - a, np.zeros_like(a)
    p2, q2, p1, q1 = np.ones_like(a), x.copy(), x + 1, z * x
    # derivatives by a
    dp2, dq2, dp1, dq1 = np.zeros_like(a), np.zeros_like(a), np.zeros_like(a), -x
    value, slope = p1 / q1, (dp1 - p1 / q1 * dq1) / q1
    for _ in range(_LIMIT):
        c, y, z = c + 1, y + 1, z + 2
        yc = y * c
        p, q = p1 * z - p2 * yc, q1 * z - q2 * yc
        dp = dp1 * z - p1 - dp2 * yc + p2 * c
        dq = dq1 * z - q1 - dq2 * yc + q2 * c
        usable = q != 0
        safe = np.where(usable, q, 1)
        new = np.where(usable, p / safe, value)
        new_slope = np.where(usable, (dp - new * dq) / safe, slope)
        change, turn = np.abs(new - value), np.abs(new_slope - slope)
        value, slope = new, new_slope
        if (change <= _EPSILON * np.abs(value)).all() and (
            turn <= _EPSILON * np.maximum(np.abs(slope), np.abs(value))
        ).all():
            break
        p2, q2, p1, q1, dp2, dq2, dp1, dq1 = p1, q1, p, q, dp1, dq1, dp, dq
        scale = np.where(np.abs(p) > _BIG, 1 / _BIG, 1.0)
        p2, q2, p1, q1 = p2 * scale, q2 * scale, p1 * scale, q1 * scale
        dp2, dq2, dp1, dq1 = dp2 * scale, dq2 * scale, dp1 * scale, dq1 * scale
    return value, slope


def _weight(a: Any, x: Any) -> Any:
    """x^a exp(-x) / Gamma(a)."""
    return np.exp(a * np.log(x) - x - log_gamma(a))


def _lower(a: Any, x: Any) -> Any:
    return _weight(a, x) / a * _series(a, x)[0]


def _upper(a: Any, x: Any) -> Any:
    return _weight(a, x) * _fraction(a, x)[0]


def _split(a: Any, x: Any) -> tuple[Any, Any, Any, Any]:
    """Broadcast; and where the series, where the fraction, is good."""
    a, x = (np.asarray(v, np.float64) for v in np.broadcast_arrays(a, x))
    good = (a > 0) & (x > 0) & np.isfinite(a) & np.isfinite(x)
    series = good & ((x <= 1) | (x <= a))
    return a, x, series, good & ~series


def igamma(a: Any, x: Any) -> Any:
    """The lower regularized incomplete gamma function P(a, x)."""
    a, x, series, fraction = _split(a, x)
    out = np.where(series, _where_apply(series, _lower, a, x), 1 - _where_apply(fraction, _upper, a, x))
    out = np.where(x == 0, 0.0, out)  # as in Eigen, whatever a is
    return np.where(np.isposinf(x) & (a > 0) & np.isfinite(a), 1.0, out)


def igammac(a: Any, x: Any) -> Any:
    """The upper regularized incomplete gamma function Q(a, x) = 1 - P(a, x)."""
    a, x, series, fraction = _split(a, x)
    out = np.where(fraction, _where_apply(fraction, _upper, a, x), 1 - _where_apply(series, _lower, a, x))
    out = np.where((x == 0) & (a > 0), 1.0, out)
    return np.where(np.isposinf(x) & (a > 0) & np.isfinite(a), 0.0, out)


def _lower_slope(a: Any, x: Any) -> Any:
    total, slope = _series(a, x)
    return _weight(a, x) / a * (slope + total * (np.log(x) - digamma(a + 1)))


def _upper_slope(a: Any, x: Any) -> Any:
    value, slope = _fraction(a, x)
    return -_weight(a, x) * (slope + value * (np.log(x) - digamma(a)))


def igamma_slope(a: Any, x: Any) -> Any:
    """The derivative of P(a, x) by a."""
    a, x, series, fraction = _split(a, x)
    out = np.where(
        series, _where_apply(series, _lower_slope, a, x), _where_apply(fraction, _upper_slope, a, x)
    )
    return np.where((x == 0) | ((a > 0) & np.isposinf(x)), 0.0, out)


def gamma_sample_slope(alpha: Any, sample: Any) -> Any:
    """How a gamma sample moves with alpha, at a fixed probability: -(dP/da) / (dP/dx)."""
    alpha, sample = np.broadcast_arrays(alpha, sample)
    density = _weight(alpha, sample) / sample
    # A sample of a small alpha may underflow to 0, where the density is infinite.
    return np.where(sample == 0, 0.0, -igamma_slope(alpha, sample) / density)


# -- beta ---------------------------------------------------------------------------------------
def _beta_fraction(a: Any, b: Any, x: Any) -> Any:
    """Lentz's evaluation of the continued fraction of the incomplete beta function."""
    tiny = 1e-300
    c = np.ones_like(a)
    d = _not_zero(1 - (a + b) * x / (a + 1), tiny)
    d = 1 / d
    value = d
    for m in range(1, _LIMIT):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        for numerator in (even, odd):
            d = 1 / _not_zero(1 + numerator * d, tiny)
            c = _not_zero(1 + numerator / c, tiny)
            change = c * d
            value = value * change
        if (np.abs(change - 1) <= 4 * _EPSILON).all():
            break
    return value


def _not_zero(x: Any, tiny: float) -> Any:
    return np.where(np.abs(x) < tiny, tiny, x)


def _beta(a: Any, b: Any, x: Any) -> Any:
    # The fraction converges fast below the mean; above it, integrate from the other end.
    swap = x > (a + 1) / (a + b + 2)
    p, q = np.where(swap, b, a), np.where(swap, a, b)
    near, far = np.where(swap, 1 - x, x), np.where(swap, x, 1 - x)
    weight = log_gamma(p + q) - log_gamma(p) - log_gamma(q) + p * np.log(near)
    weight = np.exp(weight + q * np.log(far))
    part = weight * _beta_fraction(p, q, near) / p
    return np.where(swap, 1 - part, part)


def betainc(a: Any, b: Any, x: Any) -> Any:
    """The regularized incomplete beta function I_x(a, b)."""
    a, b, x = (np.asarray(v, np.float64) for v in np.broadcast_arrays(a, b, x))
    good = (a > 0) & (b > 0) & (x > 0) & (x < 1) & np.isfinite(a) & np.isfinite(b)
    out = _where_apply(good, _beta, a, b, x)
    valid = (a > 0) & (b > 0)
    return np.where(valid & (x == 0), 0.0, np.where(valid & (x == 1), 1.0, out))
