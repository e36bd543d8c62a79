"""The beta distribution."""

import scipy.stats

from headrace.autograd.numpy import numpy_wrapper as anp
from headrace.autograd.scipy.special import psi
from headrace.autograd.scipy.stats.families import family

family(
    scipy.stats.beta,
    globals(),
    [
        lambda ans, x, a, b: (a - 1.0) / x - (b - 1.0) / (1.0 - x),
        lambda ans, x, a, b: anp.log(x) - psi(a) + psi(a + b),
        lambda ans, x, a, b: anp.log1p(-x) - psi(b) + psi(a + b),
    ],
    cdf=[lambda ans, x, a, b: anp.wrapped(scipy.stats.beta.pdf)(x, a, b)],
)
