"""Kullback-Leibler divergences of pairs of kinds of distributions, by a table that users may add to."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from headrace.functions.array import checks
from headrace.functions.control.grouping import with_dependencies
from headrace.functions.math.reduce import reduce_any
from headrace.functions.values.structure import name_scope
from headrace.ops.array.source import identity
from headrace.ops.math.comparison import is_nan
from headrace.ops.math.logical import logical_not

_DIVERGENCES: dict[tuple[type, type], Callable[..., Any]] = {}


def _registered(a: type, b: type) -> Callable[..., Any] | None:
    """Of the nearest kinds above both."""
    above_a, above_b = inspect.getmro(a), inspect.getmro(b)
    best: tuple[int, Any] | None = None
    for i, mro_a in enumerate(above_a):
        for j, mro_b in enumerate(above_b):
            found = _DIVERGENCES.get((mro_a, mro_b))
            if found is not None and (best is None or i + j < best[0]):
                best = i + j, found
    return None if best is None else best[1]


def kl_divergence(
    distribution_a: Any, distribution_b: Any, allow_nan_stats: bool = True, name: str | None = None
) -> Any:
    """The expectation under a of log(a / b).

    Args:
      distribution_a, distribution_b: distributions.
      allow_nan_stats: a divergence that does not exist is NaN, instead of an error.
      name: prefix of the names of nodes.

    Raises:
      NotImplementedError: nobody has said what it is for these kinds.
    """
    own = _registered(type(distribution_a), type(distribution_b))
    if own is None:
        raise NotImplementedError(
            f"No KL(distribution_a || distribution_b) registered for distribution_a type "
            f"{type(distribution_a).__name__} and distribution_b type {type(distribution_b).__name__}"
        )
    with name_scope(name, "KullbackLeibler", []):
        found = own(distribution_a, distribution_b, name=name)
        if allow_nan_stats:
            return found
        found = identity(found, name="kl_t")
        message = (
            f"KL calculation between {distribution_a.name} and {distribution_b.name} returned NaN values "
            "(and was called with allow_nan_stats=False). Values:"
        )
        check = checks.Assert(logical_not(reduce_any(is_nan(found))), [message, found])
        return with_dependencies([check], found)


def cross_entropy(ref: Any, other: Any, allow_nan_stats: bool = True, name: str | None = None) -> Any:
    """The entropy of `ref` and its divergence from the other."""
    with name_scope(name, "cross_entropy", []):
        return ref.entropy() + kl_divergence(ref, other, allow_nan_stats=allow_nan_stats)


class RegisterKL:
    """Decorator: the function is the divergence of these kinds.

    Args:
      dist_cls_a, dist_cls_b: the kinds.

    Example:
      >>> @tf.distributions.RegisterKL(Mine, tf.distributions.Normal)
      ... def divergence(a, b, name=None): ...
    """

    def __init__(self, dist_cls_a: type, dist_cls_b: type) -> None:
        self._key = (dist_cls_a, dist_cls_b)

    def __call__(self, kl_fn: Callable[..., Any]) -> Callable[..., Any]:
        if not callable(kl_fn):
            raise TypeError(f"kl_fn must be callable, received: {kl_fn}")
        if self._key in _DIVERGENCES:
            a, b = self._key
            raise ValueError(
                f"KL({a.__name__} || {b.__name__}) has already been registered to: {_DIVERGENCES[self._key]}"
            )
        _DIVERGENCES[self._key] = kl_fn
        return kl_fn
