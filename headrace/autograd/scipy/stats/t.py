"""Student's t distribution."""

from __future__ import annotations

from typing import Any

import scipy.stats

from headrace.autograd.numpy import numpy_wrapper as anp
from headrace.autograd.scipy.special import psi
from headrace.autograd.scipy.stats.families import family


def _by_x(ans: Any, x: Any, df: Any, loc: Any = 0.0, scale: Any = 1.0) -> Any:
    y = (x - loc) / scale
    return -(df + 1.0) * y / (scale * (df + y**2))


def _by_df(ans: Any, x: Any, df: Any, loc: Any = 0.0, scale: Any = 1.0) -> Any:
    y = (x - loc) / scale
    whole = psi((df + 1.0) / 2.0) - psi(df / 2.0) - 1.0 / df
    return 0.5 * (whole - anp.log1p(y**2 / df) + (df + 1.0) * y**2 / (df * (df + y**2)))


def _by_scale(ans: Any, x: Any, df: Any, loc: Any = 0.0, scale: Any = 1.0) -> Any:
    return -1.0 / scale - _by_x(ans, x, df, loc, scale) * (x - loc) / scale


def _by_loc(ans: Any, x: Any, df: Any, loc: Any = 0.0, scale: Any = 1.0) -> Any:
    return -_by_x(ans, x, df, loc, scale)


def _density(x: Any, df: Any, loc: Any = 0.0, scale: Any = 1.0) -> Any:
    return anp.wrapped(scipy.stats.t.pdf)(x, df, loc, scale)


family(
    scipy.stats.t,
    globals(),
    [_by_x, _by_df, _by_loc, _by_scale],
    cdf=[lambda ans, *args: _density(*args), None, lambda ans, *args: -_density(*args)],
    logcdf=[
        lambda ans, *args: _density(*args) / anp.exp(ans),
        None,
        lambda ans, *args: -_density(*args) / anp.exp(ans),
    ],
)
