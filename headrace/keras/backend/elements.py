"""Functions of elements and along axes."""

from __future__ import annotations

import builtins
from typing import Any

import numpy as np

from headrace.layers import ops
from headrace.layers.engine.config import floatx
from headrace.layers.functions import activations

abs, exp, log, sqrt_of = ops.abs, ops.exp, ops.log, ops.sqrt
square, sign, round, sin, cos = ops.square, ops.sign, ops.round, ops.sin, ops.cos
maximum, minimum, equal, not_equal = ops.maximum, ops.minimum, ops.equal, ops.not_equal
greater, greater_equal, less, less_equal = ops.greater, ops.greater_equal, ops.less, ops.less_equal
softplus, softsign, tanh, sigmoid = ops.softplus, ops.softsign, ops.tanh, ops.sigmoid
hard_sigmoid = activations.hard_sigmoid


def sqrt(x: Any) -> Any:
    """The root; 0 for what is negative."""
    x = ops.convert_to_tensor(x)
    return sqrt_of(ops.clip_by_value(x, ops.cast(0.0, x.dtype), ops.cast(float("inf"), x.dtype)))


def pow(x: Any, a: Any) -> Any:
    """x to the power of `a`."""
    return ops.pow(x, a)


def clip(x: Any, min_value: Any, max_value: Any) -> Any:
    """x between two bounds."""
    if isinstance(min_value, int | float) and isinstance(max_value, int | float):
        max_value = builtins.max(min_value, max_value)
    if min_value is None:
        min_value = float("-inf")
    if max_value is None:
        max_value = float("inf")
    x = ops.convert_to_tensor(x)
    return ops.clip_by_value(x, ops.cast(min_value, x.dtype), ops.cast(max_value, x.dtype))


def cast(x: Any, dtype: Any) -> Any:
    """x in another type."""
    return ops.cast(x, dtype)


def cast_to_floatx(x: Any) -> Any:
    """x in the default type."""
    if isinstance(x, ops.Tensor | ops.Variable | ops.SparseTensor):
        return ops.cast(x, floatx())
    return np.asarray(x, dtype=floatx())


def relu(x: Any, alpha: float = 0.0, max_value: Any = None, threshold: float = 0) -> Any:
    """x above the threshold, alpha · (x - threshold) below, at most `max_value`."""
    return activations.relu(x, alpha, max_value, threshold)


def elu(x: Any, alpha: float = 1.0) -> Any:
    """x, or alpha · (exp(x) - 1) where that is negative."""
    found = ops.elu(x)
    return found if alpha == 1 else ops.where(x > 0, found, alpha * found)


def softmax(x: Any, axis: int = -1) -> Any:
    """exp(x) over its sum along an axis."""
    return ops.softmax(x, axis=axis)


# -- along axes -------------------------------------------------------------------------------------
def max(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """The largest along axes."""
    return ops.reduce_max(x, axis, keepdims)


def min(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """The smallest along axes."""
    return ops.reduce_min(x, axis, keepdims)


def sum(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """The sum along axes."""
    return ops.reduce_sum(x, axis, keepdims)


def prod(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """The product along axes."""
    return ops.reduce_prod(x, axis, keepdims)


def _float(x: Any) -> Any:
    return ops.cast(x, floatx()) if x.dtype.base_dtype == ops.dtypes.bool_ else x


def mean(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """The mean along axes."""
    return ops.reduce_mean(_float(x), axis, keepdims)


def var(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """The variance along axes."""
    x = _float(x)
    return ops.reduce_mean(ops.square(x - ops.reduce_mean(x, axis, True)), axis, keepdims)


def std(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """The standard deviation along axes."""
    return ops.sqrt(var(x, axis, keepdims))


def logsumexp(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """log of the sum of exp along axes."""
    return ops.reduce_logsumexp(x, axis, keepdims)


def cumsum(x: Any, axis: int = 0) -> Any:
    """Sums up to each place."""
    return ops.cumsum(x, axis=axis)


def cumprod(x: Any, axis: int = 0) -> Any:
    """Products up to each place."""
    return ops.cumprod(x, axis=axis)


def any(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """Is one of them true?"""
    return ops.reduce_any(ops.cast(x, ops.dtypes.bool_), axis, keepdims)


def all(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """Are all of them true?"""
    return ops.reduce_all(ops.cast(x, ops.dtypes.bool_), axis, keepdims)


def argmax(x: Any, axis: int = -1) -> Any:
    """Where the largest is."""
    return ops.argmax(x, axis)


def argmin(x: Any, axis: int = -1) -> Any:
    """Where the smallest is."""
    return ops.argmin(x, axis)


def l2_normalize(x: Any, axis: Any = None) -> Any:
    """Vectors of length 1."""
    return ops.l2_normalize(x, axis=axis)
