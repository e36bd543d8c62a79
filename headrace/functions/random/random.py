"""tf.random: random tensors, with TF 1.15's nodes (so that seeds count the same)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes

from headrace.core import dtypes
from headrace.core.dtypes import FLOATS, INDEX, DType, DTypeLike, as_dtype
from headrace.core.families import named
from headrace.core.shapes import Dimension
from headrace.functions.array.array import shape as shape_of
from headrace.functions.array.array import with_static_shape
from headrace.functions.control.grouping import with_dependencies
from headrace.functions.math.reduce import reduce_all
from headrace.functions.random.random_seed import get_seed
from headrace.functions.values.structure import name_scope
from headrace.graph.tensor import Tensor
from headrace.ops.array.fill import zeros_like
from headrace.ops.array.slices.slice import slice_
from headrace.ops.declaration.convert import convert_to_tensor
from headrace.ops.math import arithmetic
from headrace.ops.math.checks import assert_
from headrace.ops.random import random, random_rejection


def shape_tensor(shape: Any) -> Tensor:
    """A shape argument as a vector."""
    if isinstance(shape, (tuple, list)):
        if not shape:
            return convert_to_tensor(shape, dtypes.int32, name="shape")
        shape = tuple(s.value if isinstance(s, Dimension) else s for s in shape)
    return convert_to_tensor(shape, name="shape")


def _scaled(drawn: Tensor, stddev: Tensor, mean: Tensor, shape: Any, scope: str) -> Tensor:
    value: Tensor = arithmetic.add(drawn * stddev, mean, name=scope)
    return with_static_shape(value, shape)


def _uniform_dtype(dtype: Any, maxval: Any) -> tuple[Any, Any]:
    dtype = as_dtype(dtype)
    if dtype not in (*FLOATS, *INDEX):
        raise ValueError(f"Invalid dtype {dtype!r}")
    if maxval is None:
        if dtype.is_integer:
            raise ValueError(f"Must specify maxval for integer dtype {dtype!r}")
        maxval = 1
    return dtype, maxval


def _normal(build: Any, called: str, doc: str, mean: str, stddev: str) -> Callable[..., Tensor]:
    """A function that draws numbers around a mean."""

    @named(
        called,
        f"""Numbers from a normal distribution{doc}.

    Args:
      shape: shape of the result.
      mean: mean of the {mean}.
      stddev: standard deviation{stddev}.
      dtype: a float type.
      seed: seed of the op (see `tf.set_random_seed`).
      name: name of the scope.

    Returns:
      A tensor of the given shape.
    """,
    )
    def function(
        shape: Any,
        mean: Any = 0.0,
        stddev: Any = 1.0,
        dtype: DTypeLike = dtypes.float32,
        seed: int | None = None,
        name: str | None = None,
    ) -> Tensor:
        with name_scope(name, called, [shape, mean, stddev]) as scope:
            shape = shape_tensor(shape)
            mean = convert_to_tensor(mean, dtype, name="mean")
            stddev = convert_to_tensor(stddev, dtype, name="stddev")
            seed1, seed2 = get_seed(seed)
            drawn = build(shape, dtype=dtype, seed=seed1, seed2=seed2)
            return _scaled(drawn, stddev, mean, shape, scope)

    return function


random_normal = _normal(
    random.random_standard_normal,
    "random_normal",
    "",
    "distribution; must broadcast to `shape`",
    "; must broadcast to `shape`",
)
truncated_normal = _normal(
    random.truncated_normal,
    "truncated_normal",
    "; those beyond two standard deviations are drawn again",
    "untruncated distribution",
    " of the untruncated distribution",
)


def parameterized_truncated_normal(
    shape: Any,
    means: Any = 0.0,
    stddevs: Any = 1.0,
    minvals: Any = -2.0,
    maxvals: Any = 2.0,
    dtype: DTypeLike = dtypes.float32,
    seed: int | None = None,
    name: str | None = None,
) -> Tensor:
    """Normal numbers between bounds, with parameters for all or per row of the result.

    Args:
      shape: shape of the result.
      means, stddevs: parameters of the untruncated distribution: a scalar or a vector.
      minvals, maxvals: bounds: a scalar or a vector.
      dtype: a float type.
      seed: seed of the op (see `tf.set_random_seed`).
      name: name of the scope.

    Returns:
      A tensor of the given shape.
    """
    with name_scope(name, "parameterized_truncated_normal", [shape, means, stddevs, minvals, maxvals]):
        shape = shape_tensor(shape)
        named = (("means", means), ("stddevs", stddevs), ("minvals", minvals), ("maxvals", maxvals))
        tensors = [convert_to_tensor(value, dtype, name=n) for n, value in named]
        seed1, seed2 = get_seed(seed)
        drawn = random_rejection.parameterized_truncated_normal(shape, *tensors, seed=seed1, seed2=seed2)
        return with_static_shape(drawn, shape)


def random_uniform(
    shape: Any,
    minval: Any = 0,
    maxval: Any = None,
    dtype: Any = dtypes.float32,
    seed: int | None = None,
    name: str | None = None,
) -> Tensor:
    """Numbers from a uniform distribution over [minval, maxval).

    Args:
      shape: shape of the result.
      minval: lower bound, inclusive.
      maxval: upper bound, exclusive; 1 for floats, must be given for integers.
      dtype: a float type, int32 or int64.
      seed: seed of the op (see `tf.set_random_seed`).
      name: name of the scope.

    Returns:
      A tensor of the given shape.

    Raises:
      ValueError: the type is integer and `maxval` is missing, or is another type.
    """
    dtype, maxval = _uniform_dtype(dtype, maxval)
    with name_scope(name, "random_uniform", [shape, minval, maxval]) as scope:
        # The seeds come last: under a graph seed they follow from how many nodes there are, constants too.

        def integers(shape: Tensor, low: Tensor, high: Tensor) -> Tensor:
            seed1, seed2 = get_seed(seed)
            drawn: Tensor = random.random_uniform_int(shape, low, high, seed=seed1, seed2=seed2, name=scope)
            return drawn

        def floats(shape: Tensor) -> Tensor:
            seed1, seed2 = get_seed(seed)
            drawn: Tensor = random.random_uniform(shape, dtype=dtype, seed=seed1, seed2=seed2)
            return drawn

        return uniform(integers, floats, shape, minval, maxval, dtype, scope)


def uniform(
    integers: Callable[..., Tensor],
    floats: Callable[..., Tensor],
    shape: Any,
    minval: Any,
    maxval: Any,
    dtype: DType,
    scope: str,
) -> Tensor:
    """Numbers of [minval, maxval): `integers` draws them between bounds, `floats` between 0 and 1."""
    shape = shape_tensor(shape)
    low = convert_to_tensor(minval, dtype, name="min")
    high = convert_to_tensor(maxval, dtype, name="max")
    if dtype.is_integer:
        return with_static_shape(integers(shape, low, high), shape)
    return _scaled(floats(shape), high - low, low, shape, scope)


def random_shuffle(value: Any, seed: int | None = None, name: str | None = None) -> Tensor:
    """The rows of `value` in a random order.

    Args:
      value: a tensor.
      seed: seed of the op (see `tf.set_random_seed`).
      name: name of the node.

    Returns:
      A tensor of the same shape and type.
    """
    seed1, seed2 = get_seed(seed)
    shuffled: Tensor = random.random_shuffle(value, seed=seed1, seed2=seed2, name=name)
    return shuffled


def random_crop(value: Any, size: Any, seed: int | None = None, name: str | None = None) -> Tensor:
    """A part of `value` of the given size, at a random place.

    Args:
      value: a tensor.
      size: a vector with one size per dimension.
      seed: seed of the op (see `tf.set_random_seed`).
      name: name of the scope.

    Returns:
      A tensor of shape `size`.
    """
    with name_scope(name, "random_crop", [value, size]) as scope:
        value = convert_to_tensor(value, name="value")
        size = convert_to_tensor(size, dtypes.int32, name="size")
        shape: Any = shape_of(value)
        fits = assert_(
            reduce_all(shape >= size), ["Need value.shape >= size, got ", shape, size], summarize=1000
        )
        shape = with_dependencies([fits], shape)
        limit = shape - size + 1
        offset: Any = random_uniform(shape_of(shape), dtype=size.dtype, maxval=size.dtype.max, seed=seed)
        cropped: Tensor = slice_(value, offset % limit, size, name=scope)
        return cropped


def multinomial(
    logits: Any, num_samples: Any, seed: int | None = None, name: str | None = None, output_dtype: Any = None
) -> Tensor:
    """The old name of `categorical`."""
    with name_scope(name, "multinomial", [logits]):
        return _categories(logits, num_samples, output_dtype, seed)


def categorical(
    logits: Any, num_samples: Any, dtype: Any = None, seed: int | None = None, name: str | None = None
) -> Tensor:
    """Categories drawn from the distribution of each row.

    Args:
      logits: [rows, classes], unnormalised log-probabilities.
      num_samples: how many categories per row.
      dtype: int32 or int64 (the default).
      seed: seed of the op (see `tf.set_random_seed`).
      name: name of the scope.

    Returns:
      [rows, num_samples].
    """
    with name_scope(name, "categorical", [logits]):
        return _categories(logits, num_samples, dtype, seed)


def _categories(logits: Any, num_samples: Any, dtype: Any, seed: int | None) -> Tensor:
    logits = convert_to_tensor(logits, name="logits")
    seed1, seed2 = get_seed(seed)
    drawn: Tensor = random.multinomial(logits, num_samples, seed=seed1, seed2=seed2, output_dtype=dtype)
    return drawn


def random_gamma(
    shape: Any,
    alpha: Any,
    beta: Any = None,
    dtype: DTypeLike = dtypes.float32,
    seed: int | None = None,
    name: str | None = None,
) -> Tensor:
    """Numbers from gamma distributions.  Gradients pass to `alpha` and `beta`.

    Args:
      shape: how many samples of each distribution, as a shape.
      alpha: shape parameters.
      beta: inverse scales; 1 if not given.  Must broadcast with `alpha`.
      dtype: float16, float32 or float64.
      seed: seed of the op (see `tf.set_random_seed`).
      name: name of the scope.

    Returns:
      A tensor of shape `shape + broadcast(alpha, beta).shape`.
    """
    with name_scope(name, "random_gamma", [shape, alpha, beta]):
        shape = convert_to_tensor(shape, dtypes.int32, name="shape")
        alpha = convert_to_tensor(alpha, dtype, name="alpha")
        beta = convert_to_tensor(1 if beta is None else beta, dtype, name="beta")
        wide = alpha + zeros_like(beta)
        seed1, seed2 = get_seed(seed)
        drawn = random_rejection.random_gamma(shape, wide, seed=seed1, seed2=seed2)
        tiny = ml_dtypes.finfo(alpha.dtype.as_numpy_dtype).tiny  # type: ignore[no-untyped-call]
        result: Tensor = arithmetic.maximum(tiny, drawn / beta)
        return result


def random_poisson(
    lam: Any, shape: Any, dtype: Any = dtypes.float32, seed: int | None = None, name: str | None = None
) -> Tensor:
    """Numbers from Poisson distributions.

    Args:
      lam: rates.
      shape: how many samples of each distribution, as a shape.
      dtype: type of the result.
      seed: seed of the op (see `tf.set_random_seed`).
      name: name of the scope.

    Returns:
      A tensor of shape `shape + lam.shape`.
    """
    return random_poisson_v2(shape, lam, dtype, seed, name)


def random_poisson_v2(
    shape: Any, lam: Any, dtype: Any = dtypes.float32, seed: int | None = None, name: str | None = None
) -> Tensor:
    """As `random_poisson`, with TF 2's order of arguments."""
    with name_scope(name, "random_poisson", [lam, shape]):
        shape = convert_to_tensor(shape, dtypes.int32, name="shape")
        seed1, seed2 = get_seed(seed)
        drawn: Tensor = random_rejection.random_poisson_v2(shape, lam, dtype=dtype, seed=seed1, seed2=seed2)
        return drawn
