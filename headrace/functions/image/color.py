"""Colours, types and light of images: tf.image.convert_image_dtype, rgb_to_grayscale, adjust_hue,
random_brightness ..."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headrace.core import dtypes
from headrace.core.dtypes import as_dtype
from headrace.functions.array.array import identity, ones, rank, shape
from headrace.functions.array.stacking import concat
from headrace.functions.array.tensordot import tensordot
from headrace.functions.control.grouping import with_dependencies
from headrace.functions.image.checks import check, checked_grayscale, checked_image
from headrace.functions.math.cast import cast, saturate_cast
from headrace.functions.math.math import div
from headrace.functions.math.reduce import reduce_mean, reduce_prod, reduce_std
from headrace.functions.random.random import random_uniform
from headrace.functions.values.structure import name_scope
from headrace.graph.tensor import Tensor
from headrace.ops.declaration import array
from headrace.ops.declaration.convert import convert_to_tensor
from headrace.ops.image import color as ops
from headrace.ops.math import arithmetic, exponential

_SMALL_FLOATS = (dtypes.float16, dtypes.float32)


# -- types ----------------------------------------------------------------------------------------
def convert_image_dtype(image: Any, dtype: Any, saturate: bool = False, name: str | None = None) -> Tensor:
    """Images in another type: floats run from 0 to 1, integers to the largest of their type.

    Args:
      image: images.
      dtype: the new type.
      saturate: what does not fit becomes the smallest or largest number.
      name: name of the scope.

    Raises:
      AttributeError: the type is neither float nor integer.
    """
    x: Any = convert_to_tensor(image, name="image")
    kind = as_dtype(dtype)
    if not kind.is_floating and not kind.is_integer:
        raise AttributeError("dtype must be either floating point or integer")
    if kind == x.dtype:
        return identity(x, name=name)
    convert = saturate_cast if saturate else cast
    with name_scope(name, "convert_image", [x]) as scope:
        if x.dtype.is_integer and kind.is_integer:
            most, wanted = x.dtype.max, kind.max
            if most > wanted:
                # Division, so that the largest number stays the largest.
                return convert(div(x, (most + 1) // (wanted + 1)), kind, name=scope)
            return arithmetic.mul(convert(x, kind), (wanted + 1) // (most + 1), name=scope)
        if x.dtype.is_floating and kind.is_floating:
            result: Tensor = cast(x, kind, name=scope)
            return result
        if x.dtype.is_integer:
            return arithmetic.mul(cast(x, kind), 1.0 / x.dtype.max, name=scope)
        # Half a step more: rounding instead of cutting off, with equal shares for all numbers.
        return convert(arithmetic.mul(x, kind.max + 0.5), kind, name=scope)


def _as_floats(
    image: Any,
    default: str,
    values: list[Any],
    name: str | None,
    change: Callable[..., Any],
    saturate: bool = True,
    argument: str = "image",
) -> Tensor:
    """`change` of the image as floats, back in its own type."""
    with name_scope(name, default, values) as scope:
        tensor = convert_to_tensor(image, name=argument)
        kind = tensor.dtype.base
        floats = tensor if kind in _SMALL_FLOATS else convert_image_dtype(tensor, dtypes.float32)
        return convert_image_dtype(change(floats, scope), kind, saturate=saturate)


# -- colours --------------------------------------------------------------------------------------
def rgb_to_grayscale(images: Any, name: str | None = None) -> Tensor:
    """The brightness of colours, weighted as the eye does.

    Args:
      images: [..., 3].
      name: name of the scope.

    Returns:
      Images [..., 1] of the same type.
    """
    with name_scope(name, "rgb_to_grayscale", [images]) as scope:
        tensor = convert_to_tensor(images, name="images")
        floats = convert_image_dtype(tensor, dtypes.float32)
        gray = tensordot(floats, [0.2989, 0.5870, 0.1140], [-1, -1])
        return convert_image_dtype(array.expand_dims(gray, -1), tensor.dtype.base, name=scope)


def grayscale_to_rgb(images: Any, name: str | None = None) -> Tensor:
    """Grey images as colours.

    Args:
      images: [..., 1].
      name: name of the scope.

    Returns:
      Images [..., 3] of the same type.

    Raises:
      ValueError: there is more than one channel.
    """
    with name_scope(name, "grayscale_to_rgb", [images]) as scope:
        gray = checked_grayscale(images)
        last: Any = rank(gray) - 1
        times = concat([ones(array.expand_dims(last, 0), dtypes.int32), [3]], 0)
        rgb: Tensor = array.tile(gray, times, name=scope)
        rgb.set_shape(gray.shape[:-1].concatenate([3]))
        return rgb


def _matrix(images: Any, rows: list[list[float]]) -> Tensor:
    """Colours times a matrix."""
    tensor = convert_to_tensor(images, name="images")
    kernel = convert_to_tensor(rows, dtype=tensor.dtype, name="kernel")
    last = (tensor.shape.rank or 0) - 1
    return tensordot(tensor, kernel, axes=[[last], [0]])


def rgb_to_yiq(images: Any) -> Tensor:
    """Colours of television (NTSC): brightness, in-phase, quadrature.

    Args:
      images: floats [..., 3], 0 to 1.
    """
    return _matrix(
        images,
        [[0.299, 0.59590059, 0.2115], [0.587, -0.27455667, -0.52273617], [0.114, -0.32134392, 0.31119955]],
    )


def yiq_to_rgb(images: Any) -> Tensor:
    """The inverse of `rgb_to_yiq`.

    Args:
      images: floats [..., 3].
    """
    return _matrix(
        images, [[1, 1, 1], [0.95598634, -0.27201283, -1.10674021], [0.6208248, -0.64720424, 1.70423049]]
    )


def rgb_to_yuv(images: Any) -> Tensor:
    """Colours of television (PAL): brightness and two differences of colour.

    Args:
      images: floats [..., 3], 0 to 1.
    """
    return _matrix(
        images,
        [
            [0.299, -0.14714119, 0.61497538],
            [0.587, -0.28886916, -0.51496512],
            [0.114, 0.43601035, -0.10001026],
        ],
    )


def yuv_to_rgb(images: Any) -> Tensor:
    """The inverse of `rgb_to_yuv`.

    Args:
      images: floats [..., 3].
    """
    return _matrix(images, [[1, 1, 1], [0, -0.394642334, 2.03206185], [1.13988303, -0.58062185, 0]])


# -- light ----------------------------------------------------------------------------------------
def per_image_standardization(image: Any) -> Tensor:
    """Images with mean 0 and variance 1 each.

    Args:
      image: [..., height, width, channels].

    Returns:
      Images of the same shape and type.  The deviation is at least 1 / sqrt(number of pixels), so
      that flat images are not divided by 0.
    """
    with name_scope(None, "per_image_standardization", [image]) as scope:
        tensor: Any = checked_image(image)
        kind = tensor.dtype.base
        if kind not in _SMALL_FLOATS:
            tensor = convert_image_dtype(tensor, dtypes.float32)
        count = reduce_prod(shape(tensor)[-3:])
        axes = [-1, -2, -3]
        mean = reduce_mean(tensor, axis=axes, keepdims=True)
        spread = reduce_std(tensor, axis=axes, keepdims=True)
        least = exponential.rsqrt(cast(count, tensor.dtype))
        tensor = div(tensor - mean, arithmetic.maximum(spread, least), name=scope)
        return convert_image_dtype(tensor, kind, saturate=True)


def adjust_brightness(image: Any, delta: Any) -> Tensor:
    """Images plus a number.

    Args:
      image: images of any type.
      delta: what to add, where 1 is the whole range.
    """
    return _as_floats(
        image,
        "adjust_brightness",
        [image, delta],
        None,
        lambda x, scope: arithmetic.add(x, cast(delta, x.dtype), name=scope),
    )


def adjust_contrast(images: Any, contrast_factor: Any) -> Tensor:
    """The distance of every channel from its mean over the image, times a factor.

    Args:
      images: [..., height, width, channels].
      contrast_factor: the factor.
    """
    return _as_floats(
        images,
        "adjust_contrast",
        [images, contrast_factor],
        None,
        lambda x, scope: ops.adjust_contrast_v2(x, contrast_factor, name=scope),
        argument="images",
    )


def adjust_gamma(image: Any, gamma: Any = 1, gain: Any = 1) -> Tensor:
    """gain * image ** gamma

    Args:
      image: images of any type.
      gamma: the exponent, not negative.
      gain: the factor.

    Raises:
      ValueError: the exponent is negative.
    """

    def change(x: Any, _: str) -> Any:
        checks = check(gamma >= 0, "Gamma should be a non-negative real number.")
        exponent = with_dependencies(checks, gamma) if checks else gamma
        return gain * x**exponent

    return _as_floats(image, "adjust_gamma", [image, gamma, gain], None, change)


def adjust_hue(image: Any, delta: Any, name: str | None = None) -> Tensor:
    """Colours turned around the circle of hues.

    Args:
      image: [..., height, width, 3].
      delta: how far, from -1 to 1; 1 is once around.
      name: name of the scope.
    """
    return _as_floats(image, "adjust_hue", [image], name, lambda x, _: ops.adjust_hue(x, delta), False)


def adjust_saturation(image: Any, saturation_factor: Any, name: str | None = None) -> Tensor:
    """Colours with their saturation times a factor.

    Args:
      image: [..., height, width, 3].
      saturation_factor: the factor.
      name: name of the scope.
    """
    return _as_floats(
        image,
        "adjust_saturation",
        [image],
        name,
        lambda x, _: ops.adjust_saturation(x, saturation_factor),
        False,
    )


# -- at random ------------------------------------------------------------------------------------
def random_brightness(image: Any, max_delta: float, seed: int | None = None) -> Tensor:
    """`adjust_brightness` by a random number from -max_delta to max_delta.

    Args:
      image: images of any type.
      max_delta: the largest change, not negative.
      seed: seed of the op (see `tf.set_random_seed`).

    Raises:
      ValueError: max_delta is negative.
    """
    if max_delta < 0:
        raise ValueError("max_delta must be non-negative.")
    return adjust_brightness(image, random_uniform([], -max_delta, max_delta, seed=seed))


def _drawn_factor(lower: float, upper: float, seed: int | None) -> Tensor:
    if upper <= lower:
        raise ValueError("upper must be > lower.")
    if lower < 0:
        raise ValueError("lower must be non-negative.")
    return random_uniform([], lower, upper, seed=seed)


def random_contrast(image: Any, lower: float, upper: float, seed: int | None = None) -> Tensor:
    """`adjust_contrast` by a random factor from lower to upper.

    Args:
      image: [..., height, width, channels].
      lower: the least factor, not negative.
      upper: the largest factor.
      seed: seed of the op (see `tf.set_random_seed`).

    Raises:
      ValueError: lower is negative, or not below upper.
    """
    return adjust_contrast(image, _drawn_factor(lower, upper, seed))


def random_saturation(image: Any, lower: float, upper: float, seed: int | None = None) -> Tensor:
    """`adjust_saturation` by a random factor from lower to upper.

    Args:
      image: [..., height, width, 3].
      lower: the least factor, not negative.
      upper: the largest factor.
      seed: seed of the op (see `tf.set_random_seed`).

    Raises:
      ValueError: lower is negative, or not below upper.
    """
    return adjust_saturation(image, _drawn_factor(lower, upper, seed))


def random_hue(image: Any, max_delta: float, seed: int | None = None) -> Tensor:
    """`adjust_hue` by a random angle from -max_delta to max_delta.

    Args:
      image: [..., height, width, 3].
      max_delta: the largest angle, 0 to 0.5.
      seed: seed of the op (see `tf.set_random_seed`).

    Raises:
      ValueError: max_delta is outside of that.
    """
    if max_delta > 0.5:
        raise ValueError("max_delta must be <= 0.5.")
    if max_delta < 0:
        raise ValueError("max_delta must be non-negative.")
    return adjust_hue(image, random_uniform([], -max_delta, max_delta, seed=seed))
