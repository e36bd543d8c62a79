"""Initializers of tf.contrib.layers."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from headrace.core import dtypes
from headrace.core.dtypes import DTypeLike
from headrace.functions.random.random import random_uniform, truncated_normal


def xavier_initializer(
    uniform: bool = True, seed: int | None = None, dtype: Any = dtypes.float32
) -> Callable[..., Any]:
    """Keeps the scale of gradients about the same in all layers (Glorot and Bengio 2010).

    Args:
      uniform: uniform numbers, else normal ones.
      seed: seed of the op.
      dtype: element type, if none is asked for.

    Returns:
      An initializer.
    """
    return variance_scaling_initializer(1.0, "FAN_AVG", uniform, seed, dtype)


xavier_initializer_conv2d = xavier_initializer


def variance_scaling_initializer(
    factor: float = 2.0,
    mode: str = "FAN_IN",
    uniform: bool = False,
    seed: int | None = None,
    dtype: DTypeLike = dtypes.float32,
) -> Callable[..., Any]:
    """Random numbers of variance factor / n, where n is the number of inputs or outputs of a unit.

    Args:
      factor: 2 for layers with relu (He et al. 2015), 1 for others.
      mode: FAN_IN, FAN_OUT, or FAN_AVG for the mean of both.
      uniform: uniform numbers, else normal ones, cut at two deviations.
      seed: seed of the op.
      dtype: element type, if none is asked for.

    Returns:
      An initializer.

    Raises:
      TypeError: `dtype` is not floating, or `mode` is unknown.
    """
    default = dtype
    _check_floating(dtype)
    if mode not in ("FAN_IN", "FAN_OUT", "FAN_AVG"):
        raise TypeError("Unknown mode %s [FAN_IN, FAN_OUT, FAN_AVG]", mode)

    def initializer(shape: Any, dtype: Any = default, partition_info: Any = None) -> Any:
        _check_floating(dtype)
        sizes = [int(size) for size in shape]
        around = math.prod(sizes[:-2])
        fan_in = float((sizes[-2:] or [1])[0] * around)
        fan_out = float((sizes or [1])[-1] * around)
        n = {"FAN_IN": fan_in, "FAN_OUT": fan_out, "FAN_AVG": (fan_in + fan_out) / 2}[mode]
        if uniform:
            limit = math.sqrt(3.0 * factor / n)
            return random_uniform(shape, -limit, limit, dtype, seed=seed)
        # Cutting the tails takes variance away; 1.3 gives it back.
        return truncated_normal(shape, 0.0, math.sqrt(1.3 * factor / n), dtype, seed=seed)

    return initializer


def _check_floating(dtype: Any) -> None:
    if not dtype.is_floating:
        raise TypeError("Cannot create initializer for non-floating point type.")
