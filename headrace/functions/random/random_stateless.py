"""tf.random.stateless_*: the same seed gives the same numbers, at every call."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headrace.core import dtypes
from headrace.core.dtypes import DTypeLike
from headrace.core.families import named
from headrace.functions.random.random import _scaled, _uniform_dtype, shape_tensor, uniform
from headrace.functions.values.structure import name_scope
from headrace.graph.tensor import Tensor
from headrace.ops.declaration.convert import convert_to_tensor
from headrace.ops.random import random


def stateless_random_uniform(
    shape: Any,
    seed: Any,
    minval: Any = 0,
    maxval: Any = None,
    dtype: Any = dtypes.float32,
    name: str | None = None,
) -> Tensor:
    """Numbers from a uniform distribution over [minval, maxval).

    Args:
      shape: shape of the result.
      seed: two integers.
      minval: lower bound, inclusive.
      maxval: upper bound, exclusive; 1 for floats, must be given for integers.
      dtype: a float type, int32 or int64.
      name: name of the scope.

    Returns:
      A tensor of the given shape.

    Raises:
      ValueError: the type is integer and `maxval` is missing, or is another type.
    """
    dtype, maxval = _uniform_dtype(dtype, maxval)
    with name_scope(name, "stateless_random_uniform", [shape, seed, minval, maxval]) as scope:
        integers = lambda shape, low, high: random.stateless_random_uniform_int(
            shape, seed, low, high, name=scope
        )
        floats = lambda shape: random.stateless_random_uniform(shape, seed, dtype=dtype)
        return uniform(integers, floats, shape, minval, maxval, dtype, scope)


def _normal(build: Any, called: str, numbers: str, of: str) -> Callable[..., Tensor]:
    @named(
        called,
        f"""{numbers}.

    Args:
      shape: shape of the result.
      seed: two integers.
      mean: mean of the {of or "distribution"}.
      stddev: standard deviation{of and " of the " + of}.
      dtype: a float type.
      name: name of the scope.

    Returns:
      A tensor of the given shape.
    """,
    )
    def function(
        shape: Any,
        seed: Any,
        mean: Any = 0.0,
        stddev: Any = 1.0,
        dtype: DTypeLike = dtypes.float32,
        name: str | None = None,
    ) -> Tensor:
        with name_scope(name, called, [shape, seed, mean, stddev]) as scope:
            shape = shape_tensor(shape)
            mean = convert_to_tensor(mean, dtype, name="mean")
            stddev = convert_to_tensor(stddev, dtype, name="stddev")
            return _scaled(build(shape, seed, dtype=dtype), stddev, mean, shape, scope)

    return function


stateless_random_normal = _normal(
    random.stateless_random_normal, "stateless_random_normal", "Numbers from a normal distribution", ""
)
stateless_truncated_normal = _normal(
    random.stateless_truncated_normal,
    "stateless_truncated_normal",
    "Normal numbers; those beyond two standard deviations are drawn again",
    "untruncated distribution",
)


def stateless_multinomial(
    logits: Any, num_samples: Any, seed: Any, output_dtype: Any = dtypes.int64, name: str | None = None
) -> Tensor:
    """The old name of `stateless_categorical`."""
    with name_scope(name, "stateless_multinomial", [logits, seed]):
        return _categories(logits, num_samples, output_dtype, seed)


def stateless_categorical(
    logits: Any, num_samples: Any, seed: Any, dtype: Any = dtypes.int64, name: str | None = None
) -> Tensor:
    """Categories drawn from the distribution of each row.

    Args:
      logits: [rows, classes], unnormalised log-probabilities.
      num_samples: how many categories per row.
      seed: two integers.
      dtype: int32 or int64.
      name: name of the scope.

    Returns:
      [rows, num_samples].
    """
    with name_scope(name, "stateless_categorical", [logits, seed]):
        return _categories(logits, num_samples, dtype, seed)


def _categories(logits: Any, num_samples: Any, dtype: Any, seed: Any) -> Tensor:
    logits = convert_to_tensor(logits, name="logits")
    drawn: Tensor = random.stateless_multinomial(logits, num_samples, seed, output_dtype=dtype)
    return drawn
