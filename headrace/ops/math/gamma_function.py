"""log(Gamma), its derivatives, and Hurwitz's zeta function, of float64 arrays.

Far from zero by Stirling's series, else by the Taylor series at 2 after shifts of the argument.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np

_EULER = 0.57721566490153286061


def _bernoulli(count: int) -> list[Fraction]:
    """B_2, B_4, ... B_2count."""
    numbers = [Fraction(1)]
    for m in range(1, 2 * count + 1):
        total = sum((math.comb(m + 1, k) * numbers[k] for k in range(m)), Fraction(0))
        numbers.append(-total / (m + 1))
    return numbers[2::2]


_B = _bernoulli(16)
# log Gamma: B_2k / (2k (2k - 1)) x^(1 - 2k);  digamma: B_2k / 2k x^-2k
_STIRLING = [float(b / (2 * k * (2 * k - 1))) for k, b in enumerate(_B[:10], 1)]
_DIGAMMA = [float(b / (2 * k)) for k, b in enumerate(_B[:10], 1)]


def _zeta_minus_1(k: int) -> float:
    """zeta(k) - 1 for an integer k >= 2: terms up to 31, the rest by Euler and Maclaurin."""
    head = math.fsum(float(n) ** -k for n in range(2, 32))
    last = 32.0
    tail = last ** (1 - k) / (k - 1) + 0.5 * last**-k + k / 12 * last ** (-k - 1)
    return head + tail - k * (k + 1) * (k + 2) / 720 * last ** (-k - 3)


# log Gamma(2 + z) = (1 - Euler) z + sum of (-1)^k (zeta(k) - 1) / k z^k
_AT_TWO = [(-1) ** k * _zeta_minus_1(k) / k for k in range(32, 1, -1)] + [1 - _EULER, 0.0]


def _stirling(x: Any) -> Any:
    inverse = 1 / x
    series = np.polyval(_STIRLING[::-1], inverse * inverse) * inverse
    return (x - 0.5) * np.log(x) - x + 0.5 * math.log(2 * math.pi) + series


def _positive(x: Any) -> Any:
    """log Gamma of x > 0."""
    near = np.clip(x, 0, 10)
    product = np.ones_like(near)
    for _ in range(8):  # down into [1.5, 2.5)
        high = near >= 2.5
        near = np.where(high, near - 1, near)
        product = np.where(high, product * near, product)
    shift = np.log(product)
    # below 1.5: Gamma(x) = Gamma(x + 1) / x = Gamma(x + 2) / (x (x + 1))
    lowest, low = near < 0.5, near < 1.5
    shift = shift - np.where(lowest, np.log(np.where(lowest, near, 1)), 0)
    z = near - np.where(lowest, 0, np.where(low, 1, 2))
    value = np.polyval(_AT_TWO, z) - np.where(low, np.log1p(np.where(low, z, 0)), 0) + shift
    return np.where(x >= 10, _stirling(np.maximum(x, 10)), value)


def log_gamma(x: Any) -> Any:
    """log |Gamma(x)|; infinite at 0, -1, -2, ..."""
    if not (x <= 0).any():
        return np.where(np.isposinf(x), x, _positive(x))
    sine = np.abs(np.sin(np.pi * (x - np.rint(x))))
    reflected = math.log(math.pi) - np.log(sine) - _positive(1 - x)
    value = np.where(x > 0, _positive(np.where(x > 0, x, 1)), reflected)
    return np.where(np.isinf(x) | ((x <= 0) & (x == np.rint(x))), np.inf, value)


def digamma(x: Any) -> Any:
    """The derivative of log Gamma; NaN at 0, -1, -2, ..."""
    below = x <= 0
    y = np.where(below, 1 - x, x)
    total = np.zeros_like(y)
    for _ in range(10):
        low = y < 10
        total = total - np.where(low, 1 / np.where(low, y, 1), 0)
        y = np.where(low, y + 1, y)
    inverse = 1 / (y * y)
    total = total + np.log(y) - 0.5 / y - inverse * np.polyval(_DIGAMMA[::-1], inverse)
    if not below.any():
        return total
    turn = np.pi * (x - np.rint(x))
    reflected = total - np.pi / np.tan(turn)
    return np.where(below, np.where(x == np.rint(x), np.nan, reflected), total)


_TERMS = 9  # terms of the sum before the Euler-Maclaurin tail


def zeta(x: Any, q: Any) -> Any:
    """The sum of (q + n)^-x over n = 0, 1, ...: Hurwitz's zeta function, for x > 1."""
    x, q = np.broadcast_arrays(x, q)
    pole = (q <= 0) & (q == np.rint(q))
    bad = (x < 1) | ((q <= 0) & (x != np.rint(x)))
    usable = ~(bad | pole | (x == 1) | np.isnan(x) | np.isnan(q))
    s, a = np.where(usable, x, 2.0), np.where(usable, q, 1.0)
    total = np.power(a, -s)
    count = 0
    while True:
        active = (a <= _TERMS) | (count < _TERMS)
        if not active.any():
            break
        a = np.where(active, a + 1, a)
        total = np.where(active, total + np.power(a, -s), total)
        count += 1
    total = total + _tail(s, a)
    out = np.where(bad | np.isnan(x) | np.isnan(q), np.nan, np.where(usable, total, np.inf))
    out = np.where(np.isposinf(q) & (x > 1), 0.0, out)
    return np.where((x == 1) | (pole & ~bad), np.inf, out)


def _tail(s: Any, a: Any) -> Any:
    """What comes behind a^-s, which is part of the sum already."""
    power = np.power(a, -s)
    tail = power * a / (s - 1) - 0.5 * power
    rising = s
    factor = power / a
    for k, b in enumerate(_B[:12], 1):
        tail = tail + float(b / math.factorial(2 * k)) * rising * factor
        rising = rising * (s + 2 * k - 1) * (s + 2 * k)
        factor = factor / (a * a)
    return tail


def polygamma(n: Any, x: Any) -> Any:
    """The derivative number n of digamma; NaN unless n is a whole number."""
    n, x = np.broadcast_arrays(n, x)
    sign = np.where(np.mod(n, 2) == 0, -1.0, 1.0)
    factorial = np.exp(log_gamma(n + 1.0))
    value = np.where(n == 0, digamma(x), sign * factorial * zeta(n + 1.0, x))
    return np.where((n == np.rint(n)) & (n >= 0), value, np.nan)
