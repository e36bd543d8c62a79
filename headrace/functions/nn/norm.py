"""Means, variances, and normalisation by them: tf.nn.moments, batch_normalization, fused_batch_norm."""

from __future__ import annotations

from math import prod
from typing import Any

from headrace.core import dtypes
from headrace.core.families import takes
from headrace.functions.array.array import shape, squeeze, zeros_like
from headrace.functions.array.indexing import gather
from headrace.functions.math.cast import cast
from headrace.functions.math.reduce import reduce_mean, reduce_prod, reduce_sum
from headrace.functions.values.old_names import renamed
from headrace.functions.values.structure import name_scope
from headrace.graph.tensor import Tensor
from headrace.ops.array import source
from headrace.ops.array.constant import constant
from headrace.ops.declaration.convert import convert_to_tensor
from headrace.ops.math import arithmetic, exponential
from headrace.ops.math.division import reciprocal
from headrace.ops.nn.normalization import batch_norm, norm


# -- statistics -----------------------------------------------------------------------------------
def _moments(name: str | None = None, keep_dims: bool | None = None, keepdims: bool | None = None) -> None:
    """The arguments of moments after their tensors."""


def moments(
    x: Any,
    axes: Any,
    shift: Any = None,
    name: str | None = None,
    keep_dims: bool | None = None,
    keepdims: bool | None = None,
) -> tuple[Tensor, Tensor]:
    """The mean and variance of a tensor along axes.

    Args:
      x: a tensor of floats.
      axes: the axes.
      shift: no effect: kept for old programs.
      name: name of the scope.
      keep_dims: old name of `keepdims`.
      keepdims: keep a reduced axis with size 1.

    Returns:
      (mean, variance); the variance is the mean squared distance from the mean.
    """
    keep = renamed("keepdims", keepdims, "keep_dims", keep_dims)
    with name_scope(name, "moments", [x, axes]):
        x = convert_to_tensor(x, name="x")
        # Half types are too short to add up many numbers.
        is_half = x.dtype.base is dtypes.float16
        wide = cast(x, dtypes.float32) if is_half else x
        mean = reduce_mean(wide, axes, keepdims=True, name="mean")
        spread = arithmetic.squared_difference(wide, source.stop_gradient(mean))
        variance = reduce_mean(spread, axes, keepdims=True, name="variance")
        if not keep:
            mean, variance = squeeze(mean, axes), squeeze(variance, axes)
        if is_half:
            return cast(mean, dtypes.float16), cast(variance, dtypes.float16)
        return mean, variance


@takes(_moments, first="x axes frequency_weights")
def weighted_moments(
    x: Any, axes: Any, frequency_weights: Any, name: Any, keep_dims: Any, keepdims: Any
) -> tuple[Tensor, Tensor]:
    """The mean and variance of a tensor whose elements count with weights.

    Args:
      x: a tensor of floats.
      axes: the axes.
      frequency_weights: weights that broadcast to `x`.
      name: name of the scope.
      keep_dims: old name of `keepdims`.
      keepdims: keep a reduced axis with size 1.

    Returns:
      (mean, variance).
    """
    keep = renamed("keepdims", keepdims, "keep_dims", keep_dims)
    with name_scope(name, "weighted_moments", [x, frequency_weights, axes]):
        x = convert_to_tensor(x, name="x")
        weights: Any = convert_to_tensor(frequency_weights, name="frequency_weights")
        is_half = x.dtype.base is dtypes.float16
        x = cast(x, dtypes.float32) if is_half else x
        weights = cast(weights, x.dtype)
        total = reduce_sum(weights * x, axes, name="weighted_input_sum", keepdims=True)
        every = weights + zeros_like(x)
        count = reduce_sum(every, axes, name="sum_of_weights", keepdims=True)
        share = reciprocal(count, name="inv_weight_sum")
        mean: Any = arithmetic.mul(total, share)
        spread = weights * arithmetic.squared_difference(x, mean)
        distance = reduce_sum(spread, axes, name="weighted_distsq", keepdims=True)
        variance: Any = arithmetic.mul(distance, share)
        if not keep:
            mean, variance = squeeze(mean, axis=axes), squeeze(variance, axis=axes)
        if is_half:
            mean, variance = cast(mean, dtypes.float16), cast(variance, dtypes.float16)
        return mean, variance


def sufficient_statistics(
    x: Any,
    axes: Any,
    shift: Any = None,
    keep_dims: bool | None = None,
    name: str | None = None,
    keepdims: bool | None = None,
) -> tuple[Tensor, Tensor, Tensor, Any]:
    """What `normalize_moments` needs: count, sum and sum of squares of elements along axes.

    Args:
      x: a tensor of floats.
      axes: the axes.
      shift: is subtracted first, against cancellation; close to the mean at best.
      keep_dims: old name of `keepdims`.
      name: name of the scope.
      keepdims: keep a reduced axis with size 1.

    Returns:
      (counts, sum, sum of squares, shift).
    """
    axes = list(set(axes))
    keep = bool(renamed("keepdims", keepdims, "keep_dims", keep_dims))
    with name_scope(name, "sufficient_statistics", [x, shift]):
        x = convert_to_tensor(x, name="x")
        sizes = [] if x.shape.rank is None else [x.shape.sizes[a] for a in axes]
        known = [n for n in sizes if n is not None]
        counts: Any
        if x.shape.rank is not None and len(known) == len(sizes):
            counts = constant(prod(known), dtype=x.dtype)
        else:
            counts = reduce_prod(gather(cast(shape(x), x.dtype), axes), name="count")
        if shift is None:
            first, second = x, exponential.square(x)
        else:
            shift = convert_to_tensor(shift, name="shift")
            first, second = arithmetic.sub(x, shift), arithmetic.squared_difference(x, shift)
        total = reduce_sum(first, axes, keepdims=keep, name="mean_ss")
        squares = reduce_sum(second, axes, keepdims=keep, name="var_ss")
    return counts, total, squares, shift


def normalize_moments(
    counts: Any, mean_ss: Any, variance_ss: Any, shift: Any, name: str | None = None
) -> tuple[Tensor, Tensor]:
    """The mean and variance from `sufficient_statistics`.

    Args:
      counts: how many elements there were.
      mean_ss: their sum, less the shift.
      variance_ss: the sum of their squares, less the shift.
      shift: what was subtracted, or None.
      name: name of the scope.

    Returns:
      (mean, variance).
    """
    with name_scope(name, "normalize", [counts, mean_ss, variance_ss, shift]):
        share = reciprocal(counts, name="divisor")
        if shift is None:
            mean = shifted = arithmetic.mul(mean_ss, share, name="mean")
        else:
            shifted = arithmetic.mul(mean_ss, share, name="shifted_mean")
            mean = arithmetic.add(shifted, shift, name="mean")
        variance = arithmetic.sub(
            arithmetic.mul(variance_ss, share), exponential.square(shifted), name="variance"
        )
    return mean, variance


# -- normalisation --------------------------------------------------------------------------------
def batch_normalization(
    x: Any, mean: Any, variance: Any, offset: Any, scale: Any, variance_epsilon: Any, name: str | None = None
) -> Tensor:
    """scale * (x - mean) / sqrt(variance + variance_epsilon) + offset

    Args:
      x: a tensor.
      mean: the mean, broadcasting to `x`.
      variance: the variance, broadcasting to `x`.
      offset: what to add, or None.
      scale: what to multiply with, or None.
      variance_epsilon: a small number, against division by zero.
      name: name of the scope.
    """
    with name_scope(name, "batchnorm", [x, mean, variance, scale, offset]):
        x = convert_to_tensor(x)
        factor = exponential.rsqrt(variance + variance_epsilon)
        if scale is not None:
            factor *= scale
        shift = offset - mean * factor if offset is not None else -mean * factor
        result: Tensor = x * cast(factor, x.dtype) + cast(shift, x.dtype)
        return result


def fused_batch_norm(
    x: Any,
    scale: Any,
    offset: Any,
    mean: Any = None,
    variance: Any = None,
    epsilon: float = 0.001,
    data_format: str = "NHWC",
    is_training: bool = True,
    name: str | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """Batch normalisation of images, in one op.

    Args:
      x: images or volumes in `data_format`.
      scale: a vector, one number per channel.
      offset: a vector, one number per channel.
      mean: the mean to use when not training.
      variance: the variance to use when not training.
      epsilon: is added to the variance.
      data_format: "NHWC", "NCHW", "NDHWC" or "NCDHW".
      is_training: use mean and variance of the batch.
      name: name of the node.

    Returns:
      (y, batch_mean, batch_variance).

    Raises:
      ValueError: mean or variance is given for training.
    """
    x = convert_to_tensor(x, name="input")
    scale = convert_to_tensor(scale, name="scale")
    offset = convert_to_tensor(offset, name="offset")
    if is_training and (mean is not None or variance is not None):
        raise ValueError("Both 'mean' and 'variance' must be None if is_training is True.")
    mean = constant([]) if mean is None else mean
    variance = constant([]) if variance is None else variance
    found = batch_norm.fused_batch_norm_v3(
        x,
        scale,
        offset,
        mean,
        variance,
        epsilon=max(epsilon, 1.001e-5),
        data_format=data_format,
        is_training=is_training,
        name=name,
    )
    return found[0], found[1], found[2]


def batch_norm_with_global_normalization(
    t: Any = None,
    m: Any = None,
    v: Any = None,
    beta: Any = None,
    gamma: Any = None,
    variance_epsilon: Any = None,
    scale_after_normalization: Any = None,
    name: str | None = None,
    input: Any = None,
    mean: Any = None,
    variance: Any = None,
) -> Tensor:
    """`batch_normalization` under its old name.

    Args:
      t: images [batch, height, width, channels].
      m: the mean of each channel.
      v: the variance of each channel.
      beta: what to add.
      gamma: what to multiply with.
      variance_epsilon: a small number, against division by zero.
      scale_after_normalization: whether `gamma` is used.
      name: name of the scope.
      input: another name of `t`.
      mean: another name of `m`.
      variance: another name of `v`.
    """
    t = renamed("input", input, "t", t)
    m = renamed("mean", mean, "m", m)
    v = renamed("variance", variance, "v", v)
    gamma = gamma if scale_after_normalization else None
    return batch_normalization(t, m, v, beta, gamma, variance_epsilon, name)


def local_response_normalization(
    input: Any,
    depth_radius: int = 5,
    bias: float = 1,
    alpha: float = 1,
    beta: float = 0.5,
    name: str | None = None,
) -> Tensor:
    """input / (bias + alpha * sum of the squares of its neighbours along the channels) ** beta

    Args:
      input: images [batch, height, width, channels].
      depth_radius: how far neighbours are away.
      bias: the offset.
      alpha: the scale.
      beta: the exponent.
      name: name of the node.
    """
    return norm.lrn(input, depth_radius, bias, alpha, beta, name=name)
