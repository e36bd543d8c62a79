"""The Poisson distribution: slopes by its mean."""

import scipy.stats

from headrace.autograd.numpy import numpy_wrapper as anp
from headrace.autograd.scipy.stats.families import family

family(
    scipy.stats.poisson,
    globals(),
    [None, lambda ans, k, mu: k / mu - 1.0],
    density="pmf",
    cdf=[None, lambda ans, k, mu: -anp.wrapped(scipy.stats.poisson.pmf)(anp.floor(k), mu)],
)
