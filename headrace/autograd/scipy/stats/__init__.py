"""scipy.stats: densities and distribution functions with slopes by their arguments."""

import scipy.stats

from headrace.autograd.scipy.stats import beta, chi2, dirichlet, gamma, multivariate_normal, norm, poisson, t
from headrace.autograd.scipy.stats.families import family

__all__ = ["beta", "chi2", "dirichlet", "family", "gamma", "multivariate_normal", "norm", "poisson", "t"]


def __getattr__(name: str) -> object:
    """Other distributions are SciPy's own, without derivatives."""
    return getattr(scipy.stats, name)
