"""Colour: RGB to HSV and back, and images with more or less contrast, another hue, saturation."""

from __future__ import annotations

import numpy as np

from headrace.core.dtypes import FLOATS, float16, float32, float64, int8, int16, int32, int64, uint8
from headrace.core.errors import FailedPreconditionError, require
from headrace.ops.array import reshape
from headrace.ops.array.indexing import gather
from headrace.ops.declaration.convert import convert_to_tensor
from headrace.ops.declaration.declare import op
from headrace.ops.declaration.precision import clamp, widen
from headrace.ops.declaration.samples import ErrorSample, Sample
from headrace.ops.declaration.shape_checks import replaced, with_rank, with_rank_at_least, with_size
from headrace.ops.declaration.signature import Type
from headrace.ops.math import division, reduce

HALVES = Type((float16, float32), default=float32)


def color_shape(images):
    images = with_rank_at_least(images, 1)
    return images if images.rank is None else replaced(images, -1, with_size(images.sizes[-1], 3))


def check_channels(images):
    require(images.ndim >= 1, f"input must be at least 1D{list(images.shape)}")
    if images.shape[-1] != 3:
        raise FailedPreconditionError(
            None, None, f"input must have 3 channels but input only has {images.shape[-1]} channels."
        )


def hsv(rgb):
    """Hue, saturation and value in [0, 1]; a grey has hue 0."""
    value, span = rgb.max(axis=-1), np.ptp(rgb, axis=-1)
    hue, saturation = _hue_and_saturation(rgb, value, span)
    return np.stack([np.where(span > 0, hue, 0), saturation, value], -1)


def _hue_and_saturation(rgb, value, span):
    """Given the largest channel, and how far the smallest is from it."""
    r, g, b = np.moveaxis(rgb, -1, 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        saturation = np.where(value > 0, span / value, 0)
        blue_or_green = np.where(g == value, (b - r) / span + 2, (r - g) / span + 4)
        hue = np.where(r == value, (g - b) / span, blue_or_green) / 6
    return np.where(hue < 0, hue + 1, hue), saturation


def rgb(hsv):
    """The inverse of `hsv`."""
    hue, saturation, value = np.moveaxis(hsv, -1, 0)
    return np.stack([(1 - saturation + saturation * p) * value for p in _pure(hue)], -1)


def _pure(hue):
    """Red, green and blue of the colour of this hue, as full and light as can be."""
    six = hue * 6
    shares = (np.abs(six - 3) - 1, 2 - np.abs(six - 2), 2 - np.abs(six - 4))
    return [np.clip(p, 0, 1) for p in shares]


@op("RGBToHSV", "images: T -> output: T", T=Type(FLOATS, default=float32), shape=color_shape)
def rgb_to_hsv(images):
    """Hue, saturation, value of the colours in the last dimension."""
    check_channels(images)
    return hsv(widen(images))


@rgb_to_hsv.gradient
def _(node, dy):
    """V is the largest channel, S = span / V, H = n / (6 span) + a constant, where n is the
    difference of the two other channels and span the largest minus the smallest."""
    x = node.inputs[0]
    kind = x.dtype.base.as_numpy_dtype
    one = np.eye(3, dtype=kind)
    other = np.array([[0, 1, -1], [-1, 0, 1], [1, -1, 0]], kind)
    top = reduce.argmax(x, -1)
    low = 2 - reduce.argmin(x[..., ::-1], -1)  # the last of equal ones
    dv = gather.gather_v2(one, top, 0)
    dspan = dv - gather.gather_v2(one, low, 0)
    dn = gather.gather_v2(other, top, 0)
    span, n, value = (reduce.sum_(d * x, -1, keep_dims=True) for d in (dspan, dn, dv))
    ds = division.div_no_nan(dspan * value - span * dv, value * value)
    dh = division.div_no_nan(dn * span - n * dspan, 6 * span * span)
    dy = convert_to_tensor(dy)
    by = [reshape.expand_dims(dy[..., i], -1) for i in range(3)]
    return by[0] * dh + by[1] * ds + by[2] * dv


@rgb_to_hsv.samples
def _(rng):
    yield Sample(rng.permutation(60).reshape(4, 5, 3) / 60.0)
    yield Sample(np.array([[0.5, 0.5, 0.5], [0, 0, 0], [1, 1, 0], [0, 1, 1]]), grad=False)
    yield Sample(np.zeros((0, 3)), note="empty")
    yield ErrorSample(np.ones((2, 4)), raises="Dimension must be 3 but is 4")


@op("HSVToRGB", "images: T -> output: T", T=Type(FLOATS, default=float32), shape=color_shape)
def hsv_to_rgb(images):
    """The inverse of RGBToHSV."""
    check_channels(images)
    return rgb(widen(images))


@hsv_to_rgb.samples
def _(rng):
    yield Sample(rng.uniform(size=(4, 5, 3)))
    yield Sample(np.zeros((0, 3)), note="empty")
    yield ErrorSample(np.ones((2, 4)), raises="Dimension must be 3 but is 4")


# -- adjustments --------------------------------------------------------------------------------
def image_shape(images, *scalars):
    for one in scalars:
        with_rank(one, 0)
    return with_rank_at_least(images, 3)


def check_adjusted(images, name, amount):
    require(images.ndim >= 3, f"input must be at least 3-D, got shape{list(images.shape)}")
    require(amount.ndim == 0, f"{name} must be scalar: {list(amount.shape)}")


def check_rgb(images):
    require(images.shape[-1] == 3, f"input must have 3 channels but instead has {images.shape[-1]} channels.")


@op(
    "AdjustContrast",
    "images: T, contrast_factor: float32, min_value: float32, max_value: float32 -> output: float32",
    T=(uint8, int8, int16, int32, int64, float32, float64),
    shape=image_shape,
    deprecated=(2, "Use AdjustContrastv2 instead"),
)
def adjust_contrast(images, contrast_factor, min_value, max_value):
    """AdjustContrastv2, clipped to [min_value, max_value]."""
    for name, x in (("min_value", min_value), ("max_value", max_value)):
        require(x.ndim == 0, f"{name} must be scalar: {list(x.shape)}")
    found = adjust_contrast_v2.reference(images.astype(np.float32), contrast_factor)
    return clamp(found, min_value, max_value)


@op("AdjustContrastv2", "images: T, contrast_factor: float32 -> output: T", T=HALVES, shape=image_shape)
def adjust_contrast_v2(images, contrast_factor):
    """The distance of every channel from its mean over the image, times contrast_factor."""
    check_adjusted(images, "contrast_factor", contrast_factor)
    if not images.size:
        return images
    x = widen(images)
    mean = x.mean(axis=(-3, -2), keepdims=True)
    return (x - mean) * contrast_factor + mean


@adjust_contrast.samples
def _(rng):
    x = rng.integers(0, 255, size=(2, 3, 4, 3)).astype(np.uint8)
    yield Sample(x, np.float32(1.5), np.float32(10), np.float32(200))
    yield Sample(x, np.float32(1.5), np.float32(10), np.float32(1), note="crossed")


@adjust_contrast_v2.samples
def _(rng):
    x = rng.uniform(size=(2, 3, 4, 3)).astype(np.float32)
    yield Sample(x, np.float32(1.5))
    yield Sample(x[0], np.float32(-0.5))
    yield Sample(x[:0], np.float32(2), note="empty")
    yield ErrorSample(x[0, 0], np.float32(2), raises="at least rank 3 but is rank 2")


NOT_NUMBERS = np.array([[[0.1, 0.2, np.nan], [np.nan, 0.2, 0.1], [0.1, np.inf, 0.3]]], np.float32)

# Which of (largest, middle, smallest) is red, green, blue, for each sixth of the circle of hues.
ORDER = np.array([[0, 1, 2], [1, 0, 2], [2, 0, 1], [2, 1, 0], [1, 2, 0], [0, 2, 1]])
PLACES = np.argsort(ORDER, axis=1)  # and where the largest, middle and smallest are


@op("AdjustHue", "images: T, delta: float32 -> output: T", T=HALVES, shape=image_shape)
def adjust_hue(images, delta):
    """Colours turned by delta around the circle of hues; 1 is once around."""
    check_adjusted(images, "delta", delta)
    check_rgb(images)
    x = widen(images)
    r, g, b = np.moveaxis(x, -1, 0)
    sixth = np.where(
        r < g, np.where(b < r, 1, np.where(b > g, 3, 2)), np.where(b < g, 0, np.where(b > r, 4, 5))
    )
    high, mid, low = np.moveaxis(np.take_along_axis(x, PLACES[sixth], -1), -1, 0)
    with np.errstate(invalid="ignore"):
        span = np.where(high == low, 1, high - low)
        share = (mid - low) / span
        hue = np.where(high == low, 0, sixth + np.where(sixth % 2, 1 - share, share))
        hue = np.mod(hue + delta * np.float32(6), np.float32(6))
        hue = np.where(hue >= 6, 0, hue)  # a remainder may round up
        sixth = np.where(np.isnan(hue), 5, hue).astype(int)  # TF's last case takes what fits none
        share = hue - sixth
        mid = low + np.where(sixth % 2, 1 - share, share) * (high - low)
    return np.take_along_axis(np.stack([high, mid, low], -1), ORDER[sixth], -1)


@adjust_hue.samples
def _(rng):
    x = rng.uniform(size=(2, 3, 4, 3)).astype(np.float32)
    for delta in (0.0, 0.3, -0.7, 1.0):
        yield Sample(x, np.float32(delta))
    yield Sample(x[:0], np.float32(0.1), note="empty")
    yield Sample(NOT_NUMBERS, np.float32(0.1), note="NaN", grad=False)
    yield ErrorSample(x[..., :2], np.float32(0.1), raises="must have 3 channels")


@op("AdjustSaturation", "images: T, scale: float32 -> output: T", T=HALVES, shape=image_shape)
def adjust_saturation(images, scale):
    """Colours with their saturation times scale, at most 1."""
    check_adjusted(images, "scale", scale)
    check_rgb(images)
    x = widen(images)
    r, g, b = np.moveaxis(x, -1, 0)
    value = _larger(r, _larger(g, b))
    with np.errstate(invalid="ignore"):
        span = value - _smaller(r, _smaller(g, b))
        hue, saturation = _hue_and_saturation(x, value, span)
        hue = np.where(span <= 0, 0, hue)
        saturation = np.minimum(_larger(np.float32(0), saturation * scale), 1)
        chroma = value * saturation
        shares = np.where(np.isnan(hue), 0, np.stack(_pure(hue))) * chroma + (value - chroma)
    return np.moveaxis(shares, 0, -1)


# TF's kernel compares channels one by one: a NaN is passed over, unless it is the first.
def _larger(x, y):
    return np.where(x < y, y, x)


def _smaller(x, y):
    return np.where(y < x, y, x)


@adjust_saturation.samples
def _(rng):
    x = rng.uniform(size=(2, 3, 4, 3)).astype(np.float32)
    for scale in (0.0, 0.5, 3.0):
        yield Sample(x, np.float32(scale))
    yield Sample(x[:0], np.float32(0.1), note="empty")
    yield Sample(NOT_NUMBERS, np.float32(0.5), note="NaN", grad=False)
