"""Special functions against Python's math module and against identities."""

import math

import numpy as np
import pytest

from headrace.ops.math import error_function, gamma_function, incomplete_gamma
from headrace.ops.math.special import bessel_i0e, bessel_i1e

pytestmark = pytest.mark.pure
X = np.concatenate([np.linspace(-9.7, 30, 400), np.logspace(-12, 3, 100)])


@pytest.fixture(autouse=True)
def quiet():
    """As the ops do: branches that are not taken are computed too."""
    with np.errstate(all="ignore"):
        yield


def close(found, wanted, rtol=1e-13, atol=1e-14):
    np.testing.assert_allclose(found, wanted, rtol=rtol, atol=atol)


def test_erf_and_erfc():
    close(error_function.erf(X), [math.erf(x) for x in X], rtol=1e-15)
    close(error_function.erfc(X), [math.erfc(x) for x in X], rtol=2e-15, atol=1e-300)


def test_log_gamma():
    close(gamma_function.log_gamma(X), [math.lgamma(x) for x in X], rtol=1e-12, atol=1e-13)


def test_log_gamma_keeps_its_digits_near_its_zeros():
    tiny = 1e-12
    near = gamma_function.log_gamma(np.array([1 + tiny, 2 + tiny]))
    steps = np.array([1 + tiny, 2 + tiny]) - [1, 2]
    slope = np.array([-0.5772156649015329, 1 - 0.5772156649015329])
    close(near / steps, slope, rtol=1e-10)


def test_digamma_is_the_slope_of_log_gamma():
    x = np.linspace(0.3, 20, 50)
    h = 1e-5
    slope = (gamma_function.log_gamma(x + h) - gamma_function.log_gamma(x - h)) / (2 * h)
    close(gamma_function.digamma(x), slope, rtol=1e-6, atol=1e-7)


def test_digamma_reflects():
    x = np.array([0.3, 0.75, 2.4])
    left = gamma_function.digamma(1 - x) - gamma_function.digamma(x)
    close(left, np.pi / np.tan(np.pi * x), rtol=1e-12)


def test_zeta():
    known = {2.0: math.pi**2 / 6, 4.0: math.pi**4 / 90, 3.0: 1.2020569031595942}
    for x, value in known.items():
        close(gamma_function.zeta(np.array(x), np.array(1.0)), value)
    # zeta(x, q) = q**-x + zeta(x, q + 1)
    x, q = np.array([1.5, 2.5, 7.0]), np.array([0.2, 3.3, 11.0])
    close(gamma_function.zeta(x, q), q**-x + gamma_function.zeta(x, q + 1))


def test_igamma_of_whole_numbers():
    x = np.linspace(0.1, 40, 60)
    for a in (1, 2, 5, 20):
        terms = np.array([x**k / math.factorial(k) for k in range(a)]).sum(0)
        close(incomplete_gamma.igammac(float(a), x), np.exp(-x) * terms, rtol=1e-11, atol=1e-15)
        close(incomplete_gamma.igamma(float(a), x), 1 - np.exp(-x) * terms, rtol=1e-9, atol=1e-14)


def test_igamma_slope():
    a, x = np.meshgrid([0.3, 1.0, 4.5, 30.0], [0.01, 0.9, 4.0, 35.0, 90.0])
    h = 1e-6
    slope = (incomplete_gamma.igamma(a + h, x) - incomplete_gamma.igamma(a - h, x)) / (2 * h)
    close(incomplete_gamma.igamma_slope(a, x), slope, rtol=1e-5, atol=1e-9)


def test_betainc():
    x = np.linspace(0.01, 0.99, 30)
    close(incomplete_gamma.betainc(1.0, 1.0, x), x)
    close(incomplete_gamma.betainc(2.0, 3.0, x), x**2 * (6 - 8 * x + 3 * x**2))
    flipped = 1 - incomplete_gamma.betainc(4.2, 0.7, 1 - x)
    close(incomplete_gamma.betainc(0.7, 4.2, x), flipped, rtol=1e-12)


def test_bessel_by_their_integrals():
    t = np.linspace(0, np.pi, 4001)
    x = np.array([-30.0, -3.0, 0.0, 0.5, 12.0, 25.0])
    for order, op in ((0, bessel_i0e), (1, bessel_i1e)):
        inner = np.exp(x[:, None] * np.cos(t) - np.abs(x[:, None])) * np.cos(order * t)
        close(
            op.compute([x], {}),
            (inner[:, 1:] + inner[:, :-1]).sum(1) * (t[1] / 2) / np.pi,
            rtol=1e-9,
            atol=1e-12,
        )
