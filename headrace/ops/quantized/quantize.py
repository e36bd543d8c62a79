"""Floats as small integers and back: QuantizeV2, Dequantize, Requantize and their ranges.

The integers of a quantized type stand for evenly spaced floats between a minimum and a maximum,
which travel beside them as two scalars.  Arithmetic is TF's, in float32 where TF uses it: results
are equal to the last bit.
"""

from __future__ import annotations

import numpy as np

from headrace.core import dtypes
from headrace.core.dtypes import QUANTIZED
from headrace.core.errors import require
from headrace.core.shapes import SCALAR
from headrace.ops.declaration.declare import op
from headrace.ops.declaration.samples import ErrorSample, Sample
from headrace.ops.declaration.shape_checks import scalars, with_rank
from headrace.ops.declaration.signature import String

F = np.float32
MODES = String("MIN_COMBINED", "MIN_FIRST", "SCALED", default="MIN_COMBINED")


def bounds(dtype):
    """The least and the greatest integer of a quantized type."""
    info = np.iinfo(dtype.numpy)
    return int(info.min), int(info.max)


def half_away(x):
    """Rounded to whole numbers, halves away from zero."""
    return np.where(x < 0, np.ceil(x - F(0.5)), np.floor(x + F(0.5))).astype(x.dtype)


def scalar(x, name):
    """The only element of a range input."""
    require(x.size == 1, f"{name} must contain a single float element, but it contains {x.size} elements")
    return F(x.reshape(-1)[0])


def with_range(x, *ranges):
    """Shape rule: the shape of `x`, and two scalars."""
    for part in ranges:
        with_rank(part, 0)
    return [x.plain(), SCALAR, SCALAR]


# -- one value ----------------------------------------------------------------------------------
def to_float(x, dtype, low, high):
    """The floats that quantized integers stand for."""
    low, high = F(low), F(high)
    if low == high:
        return np.full(x.shape, low, F)
    steps = 2.0 ** (8 * dtype.numpy.itemsize)
    scale = float(high - low) * (steps / (steps - 1.0)) / steps
    first = np.round(float(low / F(scale))) * float(F(scale))
    lowest = bounds(dtype)[0]
    return (first + (x.astype(np.float64) - lowest) * scale).astype(F)


def from_float(x, dtype, low, high):
    """The quantized integers nearest to floats, within the range of the type."""
    lowest, highest = bounds(dtype)
    low, high = F(low), F(high)
    if low == high:
        return np.full(np.shape(x), lowest, dtype.numpy)
    steps = 2.0 ** (8 * dtype.numpy.itemsize)
    scale = steps / (float(high - low) * (steps / (steps - 1.0)))
    with np.errstate(invalid="ignore"):
        found = half_away(np.asarray(x, np.float64) * scale) - half_away(np.float64(float(low) * scale))
    return np.clip(found + lowest, lowest, highest).astype(dtype.numpy)


def to_float32(x, dtype, low, high):
    """As `to_float`, in float32 throughout: what TF's vectorised kernels compute."""
    steps = 2.0 ** (8 * dtype.numpy.itemsize)
    scale = F(float(F(high) - F(low)) / (steps - 1.0))
    start = F(low) if low == high else half_away(F(low / scale)) * scale
    return F(start - F(bounds(dtype)[0]) * scale) + x.astype(F) * scale


def from_float32(x, dtype, low, high):
    """As `from_float`, in float32 throughout: what TF's vectorised kernels compute."""
    lowest, highest = bounds(dtype)
    steps = 2.0 ** (8 * dtype.numpy.itemsize)
    scale = F(0) if low == high else F((steps - 1.0) / float(F(high) - F(low)))
    start = half_away(F(low * scale))
    out = half_away((x * scale).astype(F)) - (start - F(lowest))
    # float32 can not hold the ends of int32: stop at the last number that it can
    out = np.clip(out, max(F(lowest), F(-2.147483648e09)), min(F(highest), F(2.147483520e09)))
    return out.astype(np.int32).astype(dtype.numpy)


def one_level(dtype, low, high):
    """The distance of two neighbouring values."""
    lowest, highest = bounds(dtype)
    return F(F(high) - F(low)) / F(highest - lowest)


# -- QuantizeV2 ---------------------------------------------------------------------------------
@op(
    "QuantizeV2",
    "input: float32, min_range: float32, max_range: float32 -> output: T, "
    "output_min: float32, output_max: float32",
    T=QUANTIZED,
    mode=MODES,
    round_mode=String("HALF_AWAY_FROM_ZERO", "HALF_TO_EVEN", default="HALF_AWAY_FROM_ZERO"),
    shape=with_range,
)
def quantize_v2(input, min_range, max_range, *, T, mode, round_mode):
    """Floats as integers of a quantized type, and the range that these cover."""
    require(
        round_mode != "HALF_TO_EVEN" or mode == "SCALED",
        f"Round mode 'HALF_TO_EVEN' only supported for mode 'SCALED', but mode is '{mode}'.",
    )
    given_low, given_high = scalar(min_range, "min_range"), scalar(max_range, "max_range")
    require(not given_high < given_low, "input_max_range must be larger than input_min_range.")
    # A range that is too narrow is widened, so that values do not all become the same.
    low = min(F(0), given_low)
    width = max(F(1), abs(given_low), abs(given_high)) / F(100)
    high = max(F(0), max(given_high, F(low + width)))
    lowest, highest = bounds(T)
    if mode == "SCALED":
        low_scale = F(lowest) / low if lowest * low > 0 else np.finfo(F).max
        high_scale = F(highest) / high if highest * high > 0 else np.finfo(F).max
        scale = min(low_scale, high_scale)
        low, high = F(lowest) / scale, F(highest) / scale
        turn = np.rint if round_mode == "HALF_TO_EVEN" else half_away
        out = turn(np.clip(input, low, high) * scale)
    elif mode == "MIN_COMBINED":
        scale = F((highest - lowest) / float(high - low))
        shifted = (np.clip(input, low, high) - low) * scale
        if lowest < 0:
            out = half_away(shifted - F((highest - lowest + 1) / 2.0))
        else:
            out = np.floor(shifted + F(0.5))
    else:
        return from_float32(input, T, low, high), low, high
    # float32 can not hold the ends of int32: clip where integers are exact
    out = np.clip(out.astype(np.float64), lowest, highest)
    return out.astype(T.numpy), low, high


def quantized(values, dtype):
    """Integers as an array of a quantized type, for samples."""
    return np.array(values, dtype.numpy).view(dtype.as_numpy_dtype)


NUMBERS = np.array([-3.0, -1.0, -0.26, 0.0, 0.5, 0.7, 1.9, 2.5, 7.0], F)


@quantize_v2.samples
def _(rng):
    for T in (dtypes.quint8, dtypes.qint8, dtypes.quint16, dtypes.qint16, dtypes.qint32):
        for mode in ("MIN_COMBINED", "MIN_FIRST", "SCALED"):
            yield Sample(NUMBERS, F(-1.0), F(2.0), T=T, mode=mode)
    yield Sample(NUMBERS, F(0.0), F(0.0), T=dtypes.quint8, note="no range")
    yield Sample(NUMBERS, F(-1.0), F(2.0), T=dtypes.qint8, mode="SCALED", round_mode="HALF_TO_EVEN")
    yield ErrorSample(NUMBERS, F(2.0), F(1.0), T=dtypes.quint8, raises="must be larger than")


# -- Dequantize ---------------------------------------------------------------------------------
def dequantize_shape(input, min_range, max_range):
    scalars(min_range, max_range)
    return input.plain()


@op(
    "Dequantize",
    "input: T, min_range: float32, max_range: float32 -> output: float32",
    T=QUANTIZED,
    mode=MODES,
    shape=dequantize_shape,
)
def dequantize(input, min_range, max_range, *, T, mode):
    """The floats that quantized integers stand for."""
    low, high = scalar(min_range, "min_range"), scalar(max_range, "max_range")
    lowest, highest = bounds(T)
    x = input.astype(F)
    if mode == "SCALED":
        scale = high / F(highest)
        return x * (max(low / F(lowest), scale) if lowest else scale)
    if mode == "MIN_COMBINED":
        half = F(0) if lowest == 0 else (F(highest) - F(lowest) + F(1)) / F(2)
        return (x + half) * (F(high - low) / (F(highest) - F(lowest))) + low
    return to_float32(input, T, low, high)


@dequantize.samples
def _(rng):
    for mode in ("MIN_COMBINED", "MIN_FIRST", "SCALED"):
        for values, kind in (
            ([0, 1, 128, 255], dtypes.quint8),
            ([-128, -1, 0, 127], dtypes.qint8),
            ([-(2**31), 0, 2**31 - 1], dtypes.qint32),
        ):
            yield Sample(quantized(values, kind), F(-1.0), F(2.0), mode=mode)


# -- Requantize ---------------------------------------------------------------------------------
def requantize_many(x, source, low, high, target, new_low, new_high):
    """Quantized integers of one type and range as those of another."""
    if source is dtypes.qint32 and target is dtypes.quint8:
        return _32_to_8(x, F(low), F(high), F(new_low), F(new_high))
    return from_float(to_float(x, source, low, high), target, new_low, new_high)


def _32_to_8(x, low, high, new_low, new_high):
    """TF's fixed-point arithmetic for the case that matters."""
    shift = 16
    width, new_width = F(high - low), F(new_high - new_low)
    middle = F(float(low + high) / 2.0)
    if new_width == 0:
        factor = scaled_low = 0
        inverse = F(0)
    else:
        inverse = F(255.0 / float(new_width))
        factor = int(255.0 * (1 << shift) * float(width) / float(new_width))
        scaled_low = int((1 << shift) * (float(new_low) * 255.0) / float(new_width))
    offset = int(float(F(middle * inverse) * F(1 << shift)))
    fixed = ((x.astype(np.int64) * factor) >> 32) + offset
    rounded = (fixed - scaled_low + (1 << (shift - 1))) >> shift
    return np.clip(rounded, 0, 255).astype(np.uint8)


@op(
    "Requantize",
    "input: Tinput, input_min: float32, input_max: float32, "
    "requested_output_min: float32, requested_output_max: float32 -> output: out_type, "
    "output_min: float32, output_max: float32",
    Tinput=QUANTIZED,
    out_type=QUANTIZED,
    shape=with_range,
)
def requantize(input, input_min, input_max, requested_output_min, requested_output_max, *, Tinput, out_type):
    """Quantized integers of one range as those of a requested one."""
    low, high = scalar(input_min, "input_min"), scalar(input_max, "input_max")
    new_low = scalar(requested_output_min, "requested_output_min")
    new_high = scalar(requested_output_max, "requested_output_max")
    require(new_low <= 0, f"requested_output_min must be <= 0, but got {new_low:g}")
    require(
        new_high >= new_low,
        f"requested_output_max must be >= requested_output_min, but got {new_high:g} and {new_low:g}",
    )
    out = requantize_many(input, Tinput, low, high, out_type, new_low, new_high)
    return out, new_low, new_high


WIDE = quantized([-(2**31), -(10**9), -256, 0, 1000, 10**6, 2**31 - 1], dtypes.qint32)


@requantize.samples
def _(rng):
    yield Sample(WIDE, F(-256.0), F(256.0), F(-10.0), F(100.0), out_type=dtypes.quint8)
    yield ErrorSample(
        WIDE,
        F(-1.0),
        F(1.0),
        F(0.5),
        F(1.0),
        out_type=dtypes.quint8,
        raises="requested_output_min must be <= 0",
    )


@op(
    "RequantizationRange",
    "input: Tinput, input_min: float32, input_max: float32 -> output_min: float32, output_max: float32",
    Tinput=QUANTIZED,
    shape=lambda x, low, high: [with_rank(low, 0), with_rank(high, 0)],
)
def requantization_range(input, input_min, input_max, *, Tinput):
    """The range that the values really cover, for Requantize."""
    low, high = scalar(input_min, "input_min"), scalar(input_max, "input_max")
    require(input.size, "Input must not be empty.")
    ends = np.array([input.min(), input.max()])
    found = to_float(ends, Tinput, low, high)
    return min(F(0), found[0]), found[1]


@requantization_range.samples
def _(rng):
    yield Sample(WIDE[1:5], F(-256.0), F(256.0))


@op(
    "QuantizeDownAndShrinkRange",
    "input: Tinput, input_min: float32, input_max: float32 -> "
    "output: out_type, output_min: float32, output_max: float32",
    Tinput=QUANTIZED,
    out_type=QUANTIZED,
    shape=with_range,
)
def quantize_down_and_shrink_range(input, input_min, input_max, *, Tinput, out_type):
    """Fewer bits: the range shrinks to the values that there are."""
    low, high = scalar(input_min, "input_min"), scalar(input_max, "input_max")
    lowest, highest = bounds(Tinput)
    ends = np.array([input.min(initial=highest), input.max(initial=lowest)])
    found = to_float(ends, Tinput, low, high)
    new_low, new_high = min(F(0), found[0]), found[1]
    out = requantize_many(input, Tinput, low, high, out_type, new_low, new_high)
    return out, new_low, new_high


@quantize_down_and_shrink_range.samples
def _(rng):
    yield Sample(WIDE[1:5], F(-256.0), F(256.0), out_type=dtypes.quint8)
    yield Sample(WIDE[:1], F(-256.0), F(256.0), out_type=dtypes.quint8, note="below zero")
    yield Sample(WIDE[:0], F(-256.0), F(256.0), out_type=dtypes.quint8, note="empty")
