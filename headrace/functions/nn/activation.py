"""Activations, layers in one call, dropout, sparsity: tf.nn.leaky_relu, crelu, dropout, xw_plus_b ..."""

from __future__ import annotations

import logging
import numbers
import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from headrace.core import dtypes
from headrace.core.shapes import Shape, as_shape
from headrace.functions.array.array import identity, shape, size, zeros
from headrace.functions.array.stacking import concat
from headrace.functions.control.cond import cond
from headrace.functions.linalg.linalg import matmul
from headrace.functions.math.cast import cast
from headrace.functions.math.math import not_equal, sigmoid
from headrace.functions.math.reduce import reduce_sum
from headrace.functions.random.random import random_uniform
from headrace.functions.values.old_names import renamed
from headrace.functions.values.structure import name_scope
from headrace.graph.tensor import Tensor
from headrace.ops.declaration.constants import constant_value
from headrace.ops.declaration.convert import convert_to_tensor
from headrace.ops.nn import activation, bias


def relu6(features: Any, name: str | None = None) -> Tensor:
    """min(max(features, 0), 6)

    Args:
      features: real numbers.
      name: name of the node.
    """
    with name_scope(name, "Relu6", [features]) as scope:
        features = convert_to_tensor(features, name="features")
        return activation.relu6(features, name=scope)


def leaky_relu(features: Any, alpha: Any = 0.2, name: str | None = None) -> Tensor:
    """features where they are positive, else alpha * features.

    Args:
      features: real numbers; integers become float32.
      alpha: the slope below 0.
      name: name of the node.
    """
    with name_scope(name, "LeakyRelu", [features, alpha]) as scope:
        features = convert_to_tensor(features, name="features")
        if features.dtype.is_integer:
            features = cast(features, dtypes.float32)
        slope = alpha.item() if isinstance(alpha, np.ndarray) else alpha
        return activation.leaky_relu(features, alpha=slope, name=scope)


def crelu(features: Any, name: str | None = None, axis: int = -1) -> Tensor:
    """Relu of the features and of their negatives, side by side.

    Args:
      features: real numbers.
      name: name of the scope.
      axis: along which the two are put together.
    """
    with name_scope(name, "CRelu", [features]) as scope:
        features = convert_to_tensor(features, name="features")
        both = concat([features, -features], axis, name=scope)
        return activation.relu(both)


def swish(features: Any) -> Tensor:
    """features * sigmoid(features)

    Args:
      features: floats.
    """
    features = convert_to_tensor(features, name="features")
    result: Tensor = features * sigmoid(features)
    return result


# -- layers ---------------------------------------------------------------------------------------
def bias_add(value: Any, bias: Any, data_format: str | None = None, name: str | None = None) -> Tensor:
    """A vector, added along the channels.

    Args:
      value: a tensor of rank 2 or more.
      bias: a vector, one number per channel.
      data_format: "N...C" or "NC..."; channels last if not given.
      name: name of the node.

    Raises:
      ValueError: `data_format` is neither.
    """
    with name_scope(name, "BiasAdd", [value, bias]) as scope:
        if data_format is not None:
            if not re.fullmatch("NC.*|N.*C", data_format):
                raise ValueError(f"data_format must be of the form `N...C` or `NC...`, not {data_format!r}")
            data_format = "NCHW" if data_format[1] == "C" else "NHWC"
        value = convert_to_tensor(value, name="input")
        bias = convert_to_tensor(bias, dtype=value.dtype, name="bias")
        result: Tensor = _bias_add(value, bias, data_format=data_format, name=scope)
        return result


_bias_add: Any = bias.bias_add


def xw_plus_b(x: Any, weights: Any, biases: Any, name: str | None = None) -> Tensor:
    """x @ weights + biases

    Args:
      x: a matrix.
      weights: a matrix.
      biases: a vector.
      name: name of the scope.
    """
    with name_scope(name, "xw_plus_b", [x, weights, biases]) as scope:
        x = convert_to_tensor(x, name="x")
        weights = convert_to_tensor(weights, name="weights")
        biases = convert_to_tensor(biases, name="biases")
        return bias_add(matmul(x, weights), biases, name=scope)


def relu_layer(x: Any, weights: Any, biases: Any, name: str | None = None) -> Tensor:
    """relu(x @ weights + biases)

    Args:
      x: a matrix.
      weights: a matrix.
      biases: a vector.
      name: name of the scope.
    """
    with name_scope(name, "relu_layer", [x, weights, biases]) as scope:
        x = convert_to_tensor(x, name="x")
        weights = convert_to_tensor(weights, name="weights")
        biases = convert_to_tensor(biases, name="biases")
        sums = bias_add(matmul(x, weights), biases)
        return activation.relu(sums, name=scope)


# -- dropout --------------------------------------------------------------------------------------
def dropout(
    x: Any,
    keep_prob: Any = None,
    noise_shape: Any = None,
    seed: int | None = None,
    name: str | None = None,
    rate: int | Sequence[int] | None = None,
) -> Tensor:
    """Elements set to 0 at random, and the others scaled up so that the sum stays the same on average.

    Args:
      x: a tensor of floats.
      keep_prob: how likely an element is kept: 1 - rate.  The old way to say it.
      noise_shape: the shape of what is drawn; it broadcasts to `x`, so that elements go together.
      seed: seed of the op (see `tf.set_random_seed`).
      name: name of the scope.
      rate: how likely an element is dropped.

    Raises:
      ValueError: the rate is missing or not in [0, 1), or `x` is not floats.

    Example:
      >>> tf.nn.dropout(tf.ones([4]), rate=0.5)      # twos and zeros
    """
    try:
        dropped = 1.0 - keep_prob if keep_prob is not None else None
    except TypeError:
        raise ValueError(f"keep_prob must be a floating point number or Tensor (got {keep_prob!r})") from None
    rate = renamed("rate", rate, "keep_prob", dropped)
    if rate is None:
        raise ValueError("You must provide a rate to dropout.")
    return dropout_v2(x, rate, noise_shape, seed, name)


def dropout_v2(
    x: Any, rate: Any, noise_shape: Any = None, seed: int | None = None, name: str | None = None
) -> Tensor:
    """`dropout` by its rate alone."""
    with name_scope(name, "dropout", [x]):
        x = whole = convert_to_tensor(x, name="x")
        if not x.dtype.is_floating:
            raise ValueError(
                f"dropout scales what it keeps: x has to be a floating point tensor, not {x.dtype}."
            )
        if isinstance(rate, numbers.Real):
            _check_rate(float(rate))
            if rate == 0:
                return whole
        rate = convert_to_tensor(rate, dtype=x.dtype, name="rate")
        rate.shape.assert_has_rank(0)
        if constant_value(rate) == 0:
            return whole
        drawn: Any = random_uniform(_noise_shape(x, noise_shape), seed=seed, dtype=x.dtype)
        scale = 1 / (1 - rate)
        kept = drawn >= rate
        result: Tensor = x * scale * cast(kept, x.dtype)
        result.set_shape(x.shape)
        return result


def _check_rate(rate: float) -> None:
    if not 0 <= rate < 1:
        raise ValueError(f"rate must be a scalar tensor or a float in the range [0, 1), got {rate:g}")
    if rate > 0.5:
        logging.getLogger("headrace").warning(
            "Large dropout rate: %g (>0.5). This is the part to drop; keep_prob is the part to keep.", rate
        )


def _noise_shape(x: Tensor, noise_shape: Any) -> Any:
    """The shape to draw; unknown sizes in it are those of `x`."""
    if noise_shape is None:
        return shape(x)
    try:
        wanted = as_shape(noise_shape)
    except (TypeError, ValueError):
        return noise_shape
    if x.shape.rank is None or wanted.rank != x.shape.rank:
        return noise_shape
    return Shape([b if a is None else a for a, b in zip(wanted.sizes, x.shape.sizes)])


# -- sparsity -------------------------------------------------------------------------------------
def zero_fraction(value: Any, name: str | None = None) -> Tensor:
    """Which part of a tensor's elements is 0, as float32.

    Args:
      value: a tensor of numbers.
      name: name of the scope.
    """
    with name_scope(name, "zero_fraction", [value]):
        value = convert_to_tensor(value, name="value")
        total: Any = size(value, out_type=dtypes.int64)
        # Small tensors are counted in 32 bits, which is faster.
        nonzero = cond(
            total <= dtypes.int32.max,
            true_fn=lambda: cast(_count_nonzero(value, dtypes.int32), dtypes.int64),
            false_fn=lambda: _count_nonzero(value, dtypes.int64),
        )
        with name_scope("counts_to_fraction"):
            part = cast(total - nonzero, dtypes.float32) / cast(total, dtypes.float32)
        return identity(part, "fraction")


def _count_nonzero(x: Tensor, dtype: Any) -> Tensor:
    with name_scope("count_nonzero", values=[x]):
        zero = zeros([], dtype=x.dtype)
        return reduce_sum(cast(not_equal(x, zero), dtype), name="nonzero_count")
