"""Rules of functions of elements: a function and its slope in each argument."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from headrace.autograd.core import rules, vspace
from headrace.autograd.numpy import numpy_wrapper as anp
from headrace.autograd.numpy.numpy_vjps import (
    balanced_eq,
    is_complex,
    match_complex,
    reduced_to,
    replace_zero,
    shape_of,
    spread,
)

LOG2, LOG10 = np.log(2.0), np.log(10.0)


def slopes(fun: Any, *of_arguments: Any, first: int = 0) -> None:
    """Rules from slopes: `slope(ans, *args)` is the derivative by one argument, with the others as they
    are."""
    rules(
        fun,
        *(None if s is None else _backwards(s, first + i) for i, s in enumerate(of_arguments)),
        jvps=[_forwards(s) for s in of_arguments],
        first=first,
    )


def _backwards(slope: Callable[..., Any], argnum: int) -> Callable[..., Any]:
    def vjp(g: Any, ans: Any, *args: Any, **kwargs: Any) -> Any:
        return reduced_to(g * slope(ans, *args), args[argnum])

    return vjp


def _forwards(slope: Callable[..., Any] | None) -> Any:
    if slope is None:
        return None

    def jvp(g: Any, ans: Any, *args: Any, **kwargs: Any) -> Any:
        return in_shape_of(ans, g * slope(ans, *args))

    return jvp


def in_shape_of(ans: Any, g: Any) -> Any:
    """A derivative carried forward, repeated where the argument was."""
    if shape_of(g) != shape_of(ans):
        g = spread(g, shape_of(ans))
    return g + 0j if is_complex(ans) and not is_complex(g) else g


# -- of one argument ----------------------------------------------------------------------------------

SLOPES: dict[Any, Callable[[Any, Any], Any]] = {
    anp.negative: lambda ans, x: -1.0,
    anp.positive: lambda ans, x: 1.0,
    anp.reciprocal: lambda ans, x: -(ans**2),
    anp.exp: lambda ans, x: ans,
    anp.exp2: lambda ans, x: ans * LOG2,
    anp.expm1: lambda ans, x: ans + 1.0,
    anp.log: lambda ans, x: 1.0 / x,
    anp.log2: lambda ans, x: 1.0 / (x * LOG2),
    anp.log10: lambda ans, x: 1.0 / (x * LOG10),
    anp.log1p: lambda ans, x: 1.0 / (x + 1.0),
    anp.sin: lambda ans, x: anp.cos(x),
    anp.cos: lambda ans, x: -anp.sin(x),
    anp.tan: lambda ans, x: 1.0 + ans**2,
    anp.arcsin: lambda ans, x: 1.0 / anp.sqrt(1.0 - x**2),
    anp.arccos: lambda ans, x: -1.0 / anp.sqrt(1.0 - x**2),
    anp.arctan: lambda ans, x: 1.0 / (1.0 + x**2),
    anp.sinh: lambda ans, x: anp.cosh(x),
    anp.cosh: lambda ans, x: anp.sinh(x),
    anp.tanh: lambda ans, x: 1.0 - ans**2,
    anp.arcsinh: lambda ans, x: 1.0 / anp.sqrt(x**2 + 1.0),
    anp.arccosh: lambda ans, x: 1.0 / (anp.sqrt(x - 1.0) * anp.sqrt(x + 1.0)),
    anp.arctanh: lambda ans, x: 1.0 / (1.0 - x**2),
    anp.sqrt: lambda ans, x: 0.5 / ans,
    anp.cbrt: lambda ans, x: 1.0 / (3.0 * ans**2),
    anp.square: lambda ans, x: 2.0 * x,
    anp.fabs: lambda ans, x: anp.sign(x),
    anp.rad2deg: lambda ans, x: 180.0 / np.pi,
    anp.degrees: lambda ans, x: 180.0 / np.pi,
    anp.deg2rad: lambda ans, x: np.pi / 180.0,
    anp.radians: lambda ans, x: np.pi / 180.0,
    anp.nan_to_num: lambda ans, x: anp.isfinite(x),
    anp.sinc: lambda ans, x: (anp.cos(np.pi * x) * np.pi * x - anp.sin(np.pi * x)) / (np.pi * x**2),
}
for _fun, _slope in SLOPES.items():
    slopes(_fun, _slope)

# -- of complex numbers, where there is no slope ---------------------------------------------------------

rules(anp.real, lambda g, ans, x: match_complex(x, g), jvps=["same"])
rules(anp.imag, lambda g, ans, x: match_complex(x, -1j * g), jvps=["same"])
rules(anp.conj, lambda g, ans, x: match_complex(x, anp.conj(g)), jvps=["same"])
rules(
    anp.real_if_close, lambda g, ans, x: match_complex(x, g), jvps=[lambda g, ans, x: match_complex(ans, g)]
)
rules(
    anp.angle,
    lambda g, ans, x: match_complex(x, g * anp.conj(x * 1j) / anp.abs(x) ** 2),
    jvps=[lambda g, ans, x: anp.real(g * anp.conj(x * 1j) / anp.abs(x) ** 2)],
)
rules(
    anp.absolute,
    lambda g, ans, x: match_complex(x, g * anp.conj(x) / replace_zero(ans, 1.0)),
    jvps=[lambda g, ans, x: anp.real(g * anp.conj(x) / replace_zero(ans, 1.0))],
)
rules(anp._astype, lambda g, ans, A, *rest, **kwargs: anp._astype(g, A.dtype), jvps=["same"])

# -- of two -------------------------------------------------------------------------------------------------

rules(
    anp.add,
    lambda g, ans, x, y, **kwargs: reduced_to(g, x),
    lambda g, ans, x, y, **kwargs: reduced_to(g, y),
    jvps=[lambda g, ans, *args, **kwargs: in_shape_of(ans, g)] * 2,
)
rules(
    anp.subtract,
    lambda g, ans, x, y, **kwargs: reduced_to(g, x),
    lambda g, ans, x, y, **kwargs: reduced_to(-g, y),
    jvps=[
        lambda g, ans, *args, **kwargs: in_shape_of(ans, g),
        lambda g, ans, *args, **kwargs: in_shape_of(ans, -g),
    ],
)


def _mod_slope(ans: Any, x: Any, y: Any) -> Any:
    return -anp.floor(x / y)


def _power_by_base(ans: Any, x: Any, y: Any) -> Any:
    if type(y) in (int, float):  # stays a number of Python, which leaves the type of an array as it is
        return y * x ** (y - 1) if y else 0.0
    return y * x ** anp.where(y, y - 1, 1.0)


def _power_by_exponent(ans: Any, x: Any, y: Any) -> Any:
    return anp.log(replace_zero(x, 1.0)) * x**y


SLOPES_OF_TWO: dict[Any, tuple[Callable[..., Any], Callable[..., Any]]] = {
    anp.multiply: (lambda ans, x, y: y, lambda ans, x, y: x),
    anp.divide: (lambda ans, x, y: 1.0 / y, lambda ans, x, y: -x / y**2),
    anp.power: (_power_by_base, _power_by_exponent),
    anp.maximum: (lambda ans, x, y: balanced_eq(x, ans, y), lambda ans, x, y: balanced_eq(y, ans, x)),
    anp.mod: (lambda ans, x, y: 1.0, _mod_slope),
    anp.arctan2: (lambda ans, x, y: y / (x**2 + y**2), lambda ans, x, y: -x / (x**2 + y**2)),
    anp.logaddexp: (lambda ans, x, y: anp.exp(x - ans), lambda ans, x, y: anp.exp(y - ans)),
    anp.logaddexp2: (lambda ans, x, y: 2.0 ** (x - ans), lambda ans, x, y: 2.0 ** (y - ans)),
    anp.hypot: (lambda ans, x, y: x / ans, lambda ans, x, y: y / ans),
}
for _other in (anp.minimum, anp.fmax, anp.fmin):
    SLOPES_OF_TWO[_other] = SLOPES_OF_TWO[anp.maximum]
for _fun, _pair in SLOPES_OF_TWO.items():
    slopes(_fun, *_pair)

# -- of a choice, and within bounds --------------------------------------------------------------------------


def _chosen(g: Any, x: Any, condition: Any) -> Any:
    return reduced_to(anp._where(condition, g, 0.0), x)


rules(
    anp._where,
    lambda g, ans, c, x, y: vspace(c).zeros(),
    lambda g, ans, c, x, y: _chosen(g, x, c),
    lambda g, ans, c, x, y: reduced_to(anp._where(c, 0.0, g), y),
    jvps=[
        None,
        lambda g, ans, c, x, y: in_shape_of(ans, anp._where(c, g, 0.0)),
        lambda g, ans, c, x, y: in_shape_of(ans, anp._where(c, 0.0, g)),
    ],
)


def _inside(ans: Any, x: Any, a_min: Any = None, a_max: Any = None) -> Any:
    within: Any = 1.0
    for bound in (a_min, a_max):
        if bound is not None:
            within = within * (ans != bound)
    return within


rules(
    anp.clip,
    lambda g, ans, x, *args, **kwargs: g * _inside(ans, x, *args, **kwargs),
    jvps=[lambda g, ans, x, *args, **kwargs: g * _inside(ans, x, *args, **kwargs)],
)
