"""SciPy's functions with rules, beside finite differences."""

from __future__ import annotations

import numpy as onp
import pytest

scipy = pytest.importorskip("scipy", reason="NO SCIPY: pip install headrace[scipy]")

import headrace.autograd.numpy as np  # noqa: E402
from headrace.autograd.scipy import integrate, linalg, signal, special, stats  # noqa: E402
from headrace.autograd.test_util import check_grads  # noqa: E402

onp.random.seed(3)
P = onp.random.rand(3) + 1.2  # positive
U = onp.random.rand(3) * 0.8 + 0.1  # from 0 to 1
X = onp.random.randn(3)
B = onp.random.randn(3, 5) + [[0.0], [5.0], [0.0]]  # three diagonals
A = onp.random.randn(3, 3) + 4.0 * onp.eye(3)

CASES = {
    "special": (lambda x: special.gammaln(x) + special.psi(x) + special.erf(x) + special.expit(x), [P]),
    "bessel": (lambda x: special.j0(x) + special.y1(x) + special.iv(2, x) + special.jn(3, x), [P]),
    "beta": (lambda a, b: special.beta(a, b) + special.betaln(a, b), [P, P[::-1]]),
    "logsumexp": (lambda x: special.logsumexp(x, axis=0, b=P) + special.multigammaln(P[0] + 3.0, 2), [X]),
    "norm": (lambda *a: stats.norm.pdf(*a) + stats.norm.logcdf(*a) + stats.norm.sf(*a), [X, X[::-1], P]),
    "t": (lambda *a: stats.t.logpdf(*a) + stats.t.pdf(*a), [X, P + 2.0, X[::-1], P]),
    "beta distribution": (lambda *a: stats.beta.pdf(*a), [U, P, P[::-1]]),
    "gamma distribution": (lambda *a: stats.gamma.logpdf(*a) + stats.gamma.pdf(*a), [P, P[::-1]]),
    "chi2": (lambda x, df: stats.chi2.logpdf(x, df) + stats.chi2.pdf(x, df), [P, P + 1.0]),
    "poisson": (
        lambda mu: stats.poisson.logpmf(onp.arange(3), mu) + stats.poisson.cdf(onp.arange(3), mu),
        [P],
    ),
    "dirichlet": (lambda alpha: stats.dirichlet.logpdf(U / U.sum(), alpha), [P]),
    "vectors": (
        lambda x, m, c: stats.multivariate_normal.logpdf(x, m, c @ c.T + np.eye(3)),
        [X, X[::-1].copy(), A],
    ),
    "roots": (lambda a: linalg.sqrtm(a @ a.T + np.eye(3)), [A]),
    "sylvester": (lambda a, q: linalg.solve_sylvester(a, a.T, q), [A, onp.random.randn(3, 3)]),
    "triangle": (lambda a, b: linalg.solve_triangular(np.tril(a), b, lower=True), [A, X]),
    "bands": (lambda ab, b: linalg.solve_banded((1, 1), ab, b), [B, onp.random.randn(5)]),
    "convolution": (
        lambda a, b: signal.convolve(a, b, mode="same"),
        [onp.random.randn(4, 3), onp.random.randn(2, 2)],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_agrees_with_differences(name):
    fun, args = CASES[name]
    once = name in ("roots", "vectors")
    check_grads(fun, tuple(range(len(args))), ["rev"], order=1 if once else 2)(*args)


def test_differential_equations():
    def fall(y, t, drag):
        return np.array([y[1], -1.0 - drag * y[1]])

    def end(y0, drag):
        return integrate.odeint(fall, y0, onp.linspace(0.0, 1.0, 3), (drag,))[-1]

    check_grads(lambda y0: end(y0, 0.3), modes=["rev"], order=1)(onp.array([1.0, 0.5]))


def test_values_are_scipys():
    assert np.allclose(special.logsumexp(X), scipy.special.logsumexp(X))
    assert np.allclose(signal.convolve(X, P, mode="valid"), scipy.signal.convolve(X, P, mode="valid"))
