"""Rules of what makes fewer elements of many: sums, means, products, extremes, orders."""

from __future__ import annotations

from typing import Any

import numpy as np

from headrace.autograd.core import rules
from headrace.autograd.numpy import numpy_wrapper as anp
from headrace.autograd.numpy.numpy_vjps import (
    match_complex,
    opened,
    places_of,
    reduced_count,
    scatter,
    shape_of,
    spread,
    with_reduced_axes,
)


def _back(g: Any, x: Any, axis: Any, keepdims: Any) -> Any:
    return spread(with_reduced_axes(g, x, axis, keepdims), shape_of(x))


def _sum(
    g: Any, ans: Any, x: Any, axis: Any = None, dtype: Any = None, keepdims: Any = False, **kwargs: Any
) -> Any:
    return match_complex(x, _back(g, x, axis, keepdims))


def _mean(
    g: Any, ans: Any, x: Any, axis: Any = None, dtype: Any = None, keepdims: Any = False, **kwargs: Any
) -> Any:
    return match_complex(x, _back(g, x, axis, keepdims)) / reduced_count(x, axis)


def _prod(
    g: Any, ans: Any, x: Any, axis: Any = None, dtype: Any = None, keepdims: Any = False, **kwargs: Any
) -> Any:
    return match_complex(x, _back(g * ans, x, axis, keepdims) / x)


def _deviation(x: Any, axis: Any) -> Any:
    return anp.conj(x - anp.mean(x, axis=axis, keepdims=True))


def _var(
    g: Any, ans: Any, x: Any, axis: Any = None, ddof: int = 0, keepdims: Any = False, **kwargs: Any
) -> Any:
    count = max(1.0, reduced_count(x, axis) - ddof)
    return 2.0 * with_reduced_axes(g, x, axis, keepdims) * _deviation(x, axis) / count


def _std(
    g: Any, ans: Any, x: Any, axis: Any = None, ddof: int = 0, keepdims: Any = False, **kwargs: Any
) -> Any:
    if reduced_count(x, axis) <= 1:
        return match_complex(x, _back(g, x, axis, keepdims)) * 0.0
    count = max(1.0, reduced_count(x, axis) - ddof)
    return with_reduced_axes(g / ans, x, axis, keepdims) * _deviation(x, axis) / count


def _extreme(g: Any, ans: Any, x: Any, axis: Any = None, keepdims: Any = False, **kwargs: Any) -> Any:
    """To the elements that are the extreme, in equal parts."""
    chosen = x == with_reduced_axes(ans, x, axis, keepdims)
    if type(chosen) is bool or not shape_of(chosen):
        return g * chosen
    count = np.sum(chosen, axis=_as_axis(axis), keepdims=True)
    if count.max(initial=1) == 1:
        return with_reduced_axes(g, x, axis, keepdims) * chosen
    return with_reduced_axes(g, x, axis, keepdims) * chosen / count


def _as_axis(axis: Any) -> Any:
    return tuple(axis) if isinstance(axis, list) else axis


def _cumsum(g: Any, ans: Any, x: Any, axis: Any = None, **kwargs: Any) -> Any:
    if axis is None:
        return anp.reshape(anp.cumsum(g[::-1])[::-1], shape_of(x))
    back: Any = [slice(None)] * len(shape_of(x))
    back[axis] = slice(None, None, -1)
    return anp.cumsum(g[tuple(back)], axis)[tuple(back)]


rules(anp.sum, _sum, jvps=["same"])
rules(anp.wrapped(np.mean), _mean, jvps=["same"])
rules(anp.prod, _prod)
rules(anp.wrapped(np.var), _var)
rules(anp.wrapped(np.std), _std)
rules(anp.cumsum, _cumsum, jvps=["same"])
for _fun in (anp.max, anp.min, anp.amax, anp.amin):
    rules(_fun, _extreme)


# -- orders: a rearrangement that depends on the values ----------------------------------------------------


def _ordered(order: Any) -> Any:
    def vjp(g: Any, ans: Any, x: Any, *args: Any, **kwargs: Any) -> Any:
        axis = kwargs.get("axis", args[-1] if len(args) > 1 or (args and order is np.argsort) else -1)
        where = order(opened(x), *args, **kwargs)
        if axis is None:
            return scatter(g, where + 1, shape_of(x))
        return scatter(g, np.take_along_axis(places_of(x), where, axis), shape_of(x))

    return vjp


rules(anp.sort, _ordered(np.argsort))
rules(anp.partition, _ordered(np.argpartition))
