"""The Dirichlet distribution."""

from __future__ import annotations

from typing import Any

import scipy.stats

from headrace.autograd.core import rules
from headrace.autograd.numpy import numpy_wrapper as anp
from headrace.autograd.numpy.numpy_wrapper import wrapped
from headrace.autograd.scipy.special import psi

rvs = scipy.stats.dirichlet.rvs
pdf, logpdf = wrapped(scipy.stats.dirichlet.pdf), wrapped(scipy.stats.dirichlet.logpdf)


def _by_x(x: Any, alpha: Any) -> Any:
    return (alpha - 1.0) / x


def _by_alpha(x: Any, alpha: Any) -> Any:
    return anp.log(x) - psi(alpha) + psi(anp.sum(alpha))


rules(logpdf, lambda g, ans, x, alpha: g * _by_x(x, alpha), lambda g, ans, x, alpha: g * _by_alpha(x, alpha))
rules(
    pdf,
    lambda g, ans, x, alpha: g * ans * _by_x(x, alpha),
    lambda g, ans, x, alpha: g * ans * _by_alpha(x, alpha),
)
