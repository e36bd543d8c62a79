"""The gamma distribution of scale 1."""

import scipy.stats

from headrace.autograd.numpy import numpy_wrapper as anp
from headrace.autograd.scipy.special import psi
from headrace.autograd.scipy.stats.families import family

family(
    scipy.stats.gamma,
    globals(),
    [lambda ans, x, a: (a - 1.0) / x - 1.0, lambda ans, x, a: anp.log(x) - psi(a)],
    cdf=[lambda ans, x, a: anp.wrapped(scipy.stats.gamma.pdf)(x, a)],
)
