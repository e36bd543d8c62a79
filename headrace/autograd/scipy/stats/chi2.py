"""The chi-square distribution."""

import numpy as np
import scipy.stats

from headrace.autograd.numpy import numpy_wrapper as anp
from headrace.autograd.scipy.special import psi
from headrace.autograd.scipy.stats.families import family

family(
    scipy.stats.chi2,
    globals(),
    [
        lambda ans, x, df: (df / 2.0 - 1.0) / x - 0.5,
        lambda ans, x, df: (anp.log(x) - np.log(2.0) - psi(df / 2.0)) / 2.0,
    ],
    cdf=[lambda ans, x, df: anp.wrapped(scipy.stats.chi2.pdf)(x, df)],
)
