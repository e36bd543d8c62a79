"""scipy.special: functions of elements by their slopes, and logsumexp."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.special

from headrace.autograd.numpy import numpy_wrapper as anp
from headrace.autograd.numpy.numpy_vjps import opened
from headrace.autograd.numpy.numpy_wrapper import wrapped
from headrace.autograd.numpy.rules_elementwise import slopes


def __getattr__(name: str) -> Any:
    """Every name of scipy.special; those of the tables below have derivatives."""
    found = getattr(scipy.special, name)
    return wrapped(found) if callable(found) and not isinstance(found, type) else found


NAMES = (
    "beta betainc betaln gammainc gammaincc polygamma psi digamma gamma gammaln gammasgn rgamma "
    "multigammaln j0 j1 y0 "
    "y1 jn jv yn i0 i1 iv ive erf erfc erfinv erfcinv logit expit"
)
globals().update({name: wrapped(getattr(scipy.special, name)) for name in NAMES.split()})
_here = globals()
psi, gamma, polygamma, jn, yn, iv, ive = (
    _here[n] for n in ("psi", "gamma", "polygamma", "jn", "yn", "iv", "ive")
)
beta, expit, j0, j1, y0, y1, i0, i1 = (
    _here[n] for n in ("beta", "expit", "j0", "j1", "y0", "y1", "i0", "i1")
)
_ROOT_PI = np.sqrt(np.pi)

# by each argument; None where SciPy has no function for it
SLOPES: dict[str, tuple[Any, ...]] = {
    "beta": (lambda ans, a, b: ans * (psi(a) - psi(a + b)), lambda ans, a, b: ans * (psi(b) - psi(a + b))),
    "betainc": (None, None, lambda ans, a, b, x: x ** (a - 1) * (1 - x) ** (b - 1) / beta(a, b)),
    "betaln": (lambda ans, a, b: psi(a) - psi(a + b), lambda ans, a, b: psi(b) - psi(a + b)),
    "gammainc": (None, lambda ans, a, x: anp.exp(-x) * x ** (a - 1) / gamma(a)),
    "gammaincc": (None, lambda ans, a, x: -anp.exp(-x) * x ** (a - 1) / gamma(a)),
    "polygamma": (None, lambda ans, n, x: polygamma(n + 1, x)),
    "psi": (lambda ans, x: polygamma(1, x),),
    "gamma": (lambda ans, x: ans * psi(x),),
    "gammaln": (lambda ans, x: psi(x),),
    "gammasgn": (lambda ans, x: 0.0,),
    "rgamma": (lambda ans, x: -psi(x) * ans,),
    "j0": (lambda ans, x: -j1(x),),
    "y0": (lambda ans, x: -y1(x),),
    "j1": (lambda ans, x: (j0(x) - jn(2, x)) / 2.0,),
    "y1": (lambda ans, x: (y0(x) - yn(2, x)) / 2.0,),
    "jv": (None, lambda ans, n, x: (jn(n - 1, x) - jn(n + 1, x)) / 2.0),
    "yn": (None, lambda ans, n, x: (yn(n - 1, x) - yn(n + 1, x)) / 2.0),
    "i0": (lambda ans, x: i1(x),),
    "i1": (lambda ans, x: (i0(x) + iv(2, x)) / 2.0,),
    "iv": (None, lambda ans, n, x: (iv(n - 1, x) + iv(n + 1, x)) / 2.0),
    "ive": (None, lambda ans, n, x: ans * (n / x - anp.sign(x)) + ive(n + 1, x)),
    "erf": (lambda ans, x: 2.0 / _ROOT_PI * anp.exp(-(x**2)),),
    "erfc": (lambda ans, x: -2.0 / _ROOT_PI * anp.exp(-(x**2)),),
    "erfinv": (lambda ans, x: _ROOT_PI / 2.0 * anp.exp(ans**2),),
    "erfcinv": (lambda ans, x: -_ROOT_PI / 2.0 * anp.exp(ans**2),),
    "logit": (lambda ans, x: 1.0 / (x * (1.0 - x)),),
    "expit": (lambda ans, x: ans * (1.0 - ans),),
}


def _define() -> None:
    for name, of_arguments in SLOPES.items():
        raw = getattr(scipy.special, name)
        slopes(wrapped(raw), *of_arguments)
    for alias, name in (("digamma", "psi"), ("jn", "jv")):
        if getattr(scipy.special, alias) is not getattr(scipy.special, name):
            slopes(wrapped(getattr(scipy.special, alias)), *SLOPES[name])
    slopes(wrapped(scipy.special.multigammaln), lambda ans, a, d: _multigammaln_slope(a, d))


def _multigammaln_slope(a: Any, d: Any) -> Any:
    return anp.sum(psi(anp.expand_dims(a, -1) - np.arange(d) / 2.0), -1)


_define()


def logsumexp(
    x: Any, axis: Any = None, b: Any = 1.0, keepdims: bool = False, return_sign: bool = False
) -> Any:
    """log(sum(b * exp(x))), with the greatest element taken out, which cancels in the derivative."""
    if return_sign:
        raise NotImplementedError("logsumexp: return_sign has no derivative")
    value = anp._array_from_scalar_or_array((), {}, x) if np.ndim(opened(x)) == 0 else x
    greatest = np.max(np.asarray(opened(x)), axis=axis, keepdims=True)
    greatest = np.where(np.isfinite(greatest), greatest, 0.0)
    total = anp.sum(b * anp.exp(value - greatest), axis=axis, keepdims=True)
    found = anp.log(total) + greatest
    return (
        found
        if keepdims
        else anp.squeeze(found, axis=tuple(range(np.ndim(opened(x)))) if axis is None else axis)
    )
