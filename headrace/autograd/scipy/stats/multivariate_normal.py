"""The normal distribution of vectors, of a covariance that may be singular."""

from __future__ import annotations

from typing import Any

import scipy.stats

from headrace.autograd.core import rules
from headrace.autograd.numpy import linalg
from headrace.autograd.numpy import numpy_wrapper as anp
from headrace.autograd.numpy.numpy_vjps import reduced_to, shape_of
from headrace.autograd.numpy.numpy_wrapper import wrapped

rvs = scipy.stats.multivariate_normal.rvs
pdf, logpdf, entropy = (
    wrapped(f)
    for f in (
        scipy.stats.multivariate_normal.pdf,
        scipy.stats.multivariate_normal.logpdf,
        scipy.stats.multivariate_normal.entropy,
    )
)


def _inverse(cov: Any, allow_singular: bool) -> Any:
    return linalg.pinv(cov) if allow_singular else linalg.inv(cov)


def _by_x(g: Any, x: Any, mean: Any, cov: Any, allow_singular: bool) -> Any:
    inverse = _inverse(cov, allow_singular)
    return -anp.expand_dims(g, -1) * anp.dot(x - mean, inverse) if shape_of(x) != () else g


def _by_cov(g: Any, x: Any, mean: Any, cov: Any, allow_singular: bool) -> Any:
    inverse = _inverse(cov, allow_singular)
    y = anp.dot(x - mean, inverse)
    squares = anp.einsum("...i,...j->...ij", y, y) - inverse
    return reduced_to(0.5 * anp.expand_dims(anp.expand_dims(g, -1), -1) * squares, cov)


def _of_log(g: Any, ans: Any) -> Any:
    return g


def _of_density(g: Any, ans: Any) -> Any:
    return g * ans


def _rules(function: Any, scaled: Any) -> None:
    def by_x(
        g: Any, ans: Any, x: Any, mean: Any, cov: Any, allow_singular: bool = False, **kwargs: Any
    ) -> Any:
        return reduced_to(_by_x(scaled(g, ans), x, mean, cov, allow_singular), x)

    def by_mean(
        g: Any, ans: Any, x: Any, mean: Any, cov: Any, allow_singular: bool = False, **kwargs: Any
    ) -> Any:
        return reduced_to(-_by_x(scaled(g, ans), x, mean, cov, allow_singular), mean)

    def by_cov(
        g: Any, ans: Any, x: Any, mean: Any, cov: Any, allow_singular: bool = False, **kwargs: Any
    ) -> Any:
        return _by_cov(scaled(g, ans), x, mean, cov, allow_singular)

    rules(function, by_x, by_mean, by_cov)


_rules(logpdf, _of_log)
_rules(pdf, _of_density)
rules(
    entropy,
    lambda g, ans, mean, cov: anp.zeros(shape_of(mean)),
    lambda g, ans, mean, cov: 0.5 * g * linalg.T(linalg.inv(cov)),
)
