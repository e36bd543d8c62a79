"""The functions of tensors that densities are written in, and checks of parameters."""

from __future__ import annotations

from typing import Any

import numpy as np

from headrace.core import dtypes
from headrace.functions.array.array import (
    broadcast_dynamic_shape,
    broadcast_static_shape,
    expand_dims,
    fill,
    identity,
    ones,
    ones_like,
    reshape,
    shape,
    transpose,
    zeros,
    zeros_like,
)
from headrace.functions.array.checks import (
    assert_equal,
    assert_less,
    assert_less_equal,
    assert_near,
    assert_non_negative,
    assert_positive,
)
from headrace.functions.array.diagonal import matrix_set_diag
from headrace.functions.array.indexing import one_hot, where, where_v2
from headrace.functions.array.stacking import concat
from headrace.functions.control.grouping import with_dependencies
from headrace.functions.math.cast import cast
from headrace.functions.math.elementwise import abs_, erf, sign, sqrt, square
from headrace.functions.math.math import equal, sigmoid
from headrace.functions.math.math import range_ as range
from headrace.functions.math.reduce import argmax, reduce_all, reduce_max, reduce_sum
from headrace.functions.math.special import lbeta
from headrace.functions.nn.loss import sigmoid_cross_entropy_with_logits
from headrace.functions.nn.softmax import log_softmax, softmax, sparse_softmax_cross_entropy_with_logits
from headrace.functions.random.random import multinomial, random_gamma, random_normal, random_uniform
from headrace.functions.values.conversion import convert_to_tensor
from headrace.functions.values.structure import name_scope
from headrace.ops.math.arithmetic import exp, floor, log, log1p, rsqrt, xlogy
from headrace.ops.math.comparison import is_nan, less, less_equal
from headrace.ops.math.logical import logical_and, logical_or
from headrace.ops.math.special import betainc, digamma, erfc, igamma, lgamma
from headrace.ops.nn.activation import softplus


def xy(x: Any, y: Any) -> Any:
    """x * y, which is 0 where x is, though y be infinite."""
    return where(equal(x, 0), zeros_like(x), x * y)


def assert_not_above(x: Any, limit: Any) -> Any:
    return assert_less_equal(x, limit, message="Elements cannot exceed 1.")


def positive(x: Any, is_checked: bool) -> Any:
    """x, checked to be positive when the graph runs, if checks are wanted."""
    return with_dependencies([assert_positive(x)], x) if is_checked else identity(x)


def assert_integer_form(x: Any, message: str | None = None) -> Any:
    """Fails where x has components that are not whole numbers."""
    x = convert_to_tensor(x, name="x")
    if x.dtype.is_integer:
        return identity(x)
    kind = {2: np.int16, 4: np.int32, 8: np.int64}[x.dtype.size]
    return assert_equal(x, cast(cast(x, kind), x.dtype), message=message or f"{x} has non-integer components")


def counts(x: Any) -> Any:
    """x, checked to consist of whole numbers that are not negative."""
    x = convert_to_tensor(x, name="x")
    checks = [assert_non_negative(x, message=f"'{x}' must be non-negative.")]
    if not x.dtype.is_integer:
        checks.append(assert_integer_form(x, message=f"'{x}' cannot contain fractional components."))
    return with_dependencies(checks, x)


def same_float_dtype(*tensors: Any) -> None:
    """Parameters are of one floating type."""
    kinds = {t.dtype.base for t in tensors}
    if len(kinds) > 1:
        first, second = tensors[0], next(t for t in tensors if t.dtype.base != tensors[0].dtype.base)
        raise ValueError(
            f"Tensor conversion: {first.dtype.name} and {second.dtype.name} must be of the same type."
        )
    if not all(k.is_floating for k in kinds):
        raise ValueError(f"Expected floating point type, got {next(iter(kinds)).name}.")


def front(n: Any, batch: Any) -> Any:
    """The shape [n] + batch."""
    return concat([reshape(n, [1]), batch], 0)


def log_of_or(x: Any, condition: Any, otherwise: float) -> Any:
    """x where the condition holds, else a number."""
    return where_v2(condition, x, np.array(otherwise, x.dtype.as_numpy_dtype))


def logits_and_probs(
    logits: Any = None,
    probs: Any = None,
    multidimensional: bool = False,
    validate_args: bool = False,
    name: str = "get_logits_and_probs",
    dtype: Any = None,
) -> tuple[Any, Any]:
    """Both forms of a parameter of which one was given."""
    with name_scope(name, None, [probs, logits]):
        if (probs is None) == (logits is None):
            raise ValueError("Must pass probs or logits, but not both.")
        if probs is None:
            logits = convert_to_tensor(logits, name="logits", dtype=dtype)
            if not logits.dtype.is_floating:
                raise TypeError("logits must having floating type.")
            return logits, softmax(logits) if multidimensional else sigmoid(logits)
        probs = convert_to_tensor(probs, name="probs", dtype=dtype)
        if not probs.dtype.is_floating:
            raise TypeError("probs must having floating type.")
        if validate_args:
            one = convert_to_tensor(1.0, probs.dtype)
            checks = [assert_non_negative(probs)]
            if multidimensional:
                checks.append(assert_near(reduce_sum(probs, -1), one, message="probs does not sum to 1."))
            else:
                checks.append(assert_less_or_equal_one(probs, one))
            probs = with_dependencies(checks, probs)
        # Rounding may make of a probability a little more than 1, whose logarithm would not exist.
        return (log(probs), probs) if multidimensional else (log(probs) - log1p(-1.0 * probs), probs)


def assert_less_or_equal_one(probs: Any, one: Any) -> Any:
    below = one + convert_to_tensor(np.finfo(probs.dtype.as_numpy_dtype).eps, probs.dtype)
    return assert_less(probs, below, message="probs has components greater than 1.")


def log_combinations(n: Any, picked: Any) -> Any:
    """The logarithm of how many ways there are to pick so many of each kind: the multinomial coefficient."""
    given = convert_to_tensor(picked)
    return lgamma(n + 1.0) - reduce_sum(lgamma(given + 1.0), -1)


# -- the normal distribution function -----------------------------------------------------------------------


def ndtr(x: Any) -> Any:
    """The probability that a standard normal number is not more than x."""
    half = 0.5 * np.sqrt(2.0)
    w = x * half
    z = abs_(w)
    small = 1.0 + erf(w)
    large = where(w > 0.0, 2.0 - erfc(z), erfc(z))
    return 0.5 * where(z < half, small, large)


def log_ndtr(x: Any) -> Any:
    """Its logarithm, of far tails too: by an asymptotic series below, by log1p above."""
    lower, upper = (-20.0, 8.0) if x.dtype.size == 8 else (-10.0, 5.0)
    middle = where((x > upper) | (x < lower), ones_like(x), x)
    below = where(x < lower, x, ones_like(x) * lower)
    above = where(x > upper, x, ones_like(x) * upper)
    series, term = ones_like(below), ones_like(below)
    for k in (1, 3, 5):
        term = -term * float(k) / square(below)
        series = series + term
    tail = -0.5 * square(below) - log(-below) - 0.5 * float(np.log(2.0 * np.pi)) + log(series)
    return where(x > upper, -ndtr(-above), where(x > lower, log(ndtr(middle)), tail))


def ndtri(p: Any) -> Any:
    """The number that a standard normal one does not exceed with probability p."""
    return float(np.sqrt(2.0)) * erfinv(2.0 * p - 1.0)


def log_cdf_laplace(x: Any) -> Any:
    """The logarithm of the standard Laplace distribution function."""
    lower = -float(np.log(2.0)) + where(x < 0.0, x, zeros_like(x))
    upper = log1p(-0.5 * exp(-abs_(x)))
    return where(x < 0.0, lower, upper)


def erfinv(y: Any) -> Any:
    """The inverse of erf: a start by Winitzki's formula, and Newton's steps."""
    a = 0.147
    w = log1p(-square(y))
    b = 2.0 / (np.pi * a) + 0.5 * w
    x = sign(y) * sqrt(sqrt(square(b) - w / a) - b)
    for _ in (1, 2, 3):
        error = (erf(x) - y) * (0.5 * float(np.sqrt(np.pi))) * exp(square(x))
        x = x - error / (1.0 + x * error)
    return x


__all__ = [
    "abs_",
    "argmax",
    "assert_equal",
    "assert_integer_form",
    "assert_less",
    "assert_less_equal",
    "assert_less_or_equal_one",
    "assert_near",
    "assert_non_negative",
    "assert_not_above",
    "assert_positive",
    "betainc",
    "broadcast_dynamic_shape",
    "broadcast_static_shape",
    "cast",
    "concat",
    "convert_to_tensor",
    "counts",
    "digamma",
    "dtypes",
    "equal",
    "erf",
    "erfc",
    "erfinv",
    "exp",
    "expand_dims",
    "fill",
    "floor",
    "front",
    "identity",
    "igamma",
    "is_nan",
    "lbeta",
    "less",
    "less_equal",
    "lgamma",
    "log",
    "log1p",
    "log_cdf_laplace",
    "log_combinations",
    "log_ndtr",
    "log_of_or",
    "log_softmax",
    "logical_and",
    "logical_or",
    "logits_and_probs",
    "matrix_set_diag",
    "multinomial",
    "name_scope",
    "ndtr",
    "ndtri",
    "one_hot",
    "ones",
    "ones_like",
    "positive",
    "random_gamma",
    "random_normal",
    "random_uniform",
    "range",
    "reduce_all",
    "reduce_max",
    "reduce_sum",
    "reshape",
    "rsqrt",
    "same_float_dtype",
    "shape",
    "sigmoid",
    "sigmoid_cross_entropy_with_logits",
    "sign",
    "softmax",
    "softplus",
    "sparse_softmax_cross_entropy_with_logits",
    "sqrt",
    "square",
    "transpose",
    "where",
    "where_v2",
    "with_dependencies",
    "xlogy",
    "xy",
    "zeros",
    "zeros_like",
]
