"""The normal distribution."""

from __future__ import annotations

from typing import Any

import scipy.stats

from headrace.autograd.numpy import numpy_wrapper as anp
from headrace.autograd.scipy.stats.families import family


def _at(log_slope: Any, sign: float, of_log: bool) -> list[Any]:
    """Slopes by x, location and scale of a function whose slope by x is the density, with a sign; or of
    its log."""

    def by_x(ans: Any, x: Any, loc: Any = 0.0, scale: Any = 1.0) -> Any:
        if of_log:
            return sign * anp.exp(log_slope(x, loc, scale) - ans)
        return sign * anp.exp(log_slope(x, loc, scale))

    def by_loc(ans: Any, x: Any, loc: Any = 0.0, scale: Any = 1.0) -> Any:
        return -by_x(ans, x, loc, scale)

    def by_scale(ans: Any, x: Any, loc: Any = 0.0, scale: Any = 1.0) -> Any:
        return -by_x(ans, x, loc, scale) * (x - loc) / scale

    return [by_x, by_loc, by_scale]


def _logpdf(x: Any, loc: Any, scale: Any) -> Any:
    return anp.wrapped(scipy.stats.norm.logpdf)(x, loc, scale)


family(
    scipy.stats.norm,
    globals(),
    [
        lambda ans, x, loc=0.0, scale=1.0: -(x - loc) / scale**2,
        lambda ans, x, loc=0.0, scale=1.0: (x - loc) / scale**2,
        lambda ans, x, loc=0.0, scale=1.0: (-1.0 + (x - loc) ** 2 / scale**2) / scale,
    ],
    cdf=_at(_logpdf, 1.0, of_log=False),
    logcdf=_at(_logpdf, 1.0, of_log=True),
    sf=_at(_logpdf, -1.0, of_log=False),
    logsf=_at(_logpdf, -1.0, of_log=True),
)
