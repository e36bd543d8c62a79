"""Images of quantized numbers: convolution, pooling, normalisation, bilinear resizing."""

from __future__ import annotations

import numpy as np

from headrace.core.dtypes import QUANTIZED, float32, qint32, quint8
from headrace.core.errors import require
from headrace.core.shapes import SCALAR, make_shape, show
from headrace.ops.declaration.declare import op
from headrace.ops.declaration.samples import ErrorSample, Sample
from headrace.ops.declaration.shape_checks import merge_sizes, scalars, with_rank
from headrace.ops.declaration.signature import Bool, Float, Ints, String, Type
from headrace.ops.image import resize
from headrace.ops.nn.convolution import conv_geometry
from headrace.ops.nn.convolution.convolve import convolve
from headrace.ops.nn.pools import pool, pooling
from headrace.ops.quantized.math import product_range, zero_of
from headrace.ops.quantized.quantize import F, bounds, from_float, from_float32, quantized, scalar, to_float

PADDING = String("SAME", "VALID")
IMAGE = quantized(np.arange(36).reshape(1, 4, 3, 3) * 7, quint8)


# -- convolution --------------------------------------------------------------------------------
def conv_shape(input, filter, *ranges, strides, padding, dilations):
    for part in ranges:
        with_rank(part, 0)
    shape = conv_geometry.conv_shape(
        "QuantizedConv2D",
        input,
        filter,
        strides=strides,
        padding=padding,
        data_format="NHWC",
        dilations=dilations,
    )
    return [shape, SCALAR, SCALAR]


@op(
    "QuantizedConv2D",
    "input: Tinput, filter: Tfilter, min_input: float32, max_input: float32, "
    "min_filter: float32, max_filter: float32 -> output: out_type, min_output: float32, "
    "max_output: float32",
    Tinput=QUANTIZED,
    Tfilter=QUANTIZED,
    out_type=Type(QUANTIZED, default=qint32),
    strides=Ints(),
    padding=PADDING,
    dilations=Ints([1, 1, 1, 1]),
    shape=conv_shape,
)
def quantized_conv2d(
    input,
    filter,
    min_input,
    max_input,
    min_filter,
    max_filter,
    *,
    Tinput,
    Tfilter,
    out_type,
    strides,
    padding,
    dilations,
):
    """The convolution of an image with a filter."""
    require(len(dilations) == 4, "Dilations field must specify 4 dimensions")
    require(
        tuple(dilations[1:3]) == (1, 1),
        "Current implementation only supports dilated rate as 1 in the row and column dimensions.",
    )
    require(input.ndim == 4, f"input must be 4-dimensional{show(input.shape)}")
    require(filter.ndim == 4, f"filter must be 4-dimensional: {show(filter.shape)}")
    require(
        input.shape[3] == filter.shape[2],
        f"input and filter must have the same depth: {input.shape[3]} vs {filter.shape[2]}",
    )
    low, high = scalar(min_input, "min_input"), scalar(max_input, "max_input")
    low_f, high_f = scalar(min_filter, "min_filter"), scalar(max_filter, "max_filter")
    windows = conv_geometry.windows_of(
        input.shape[1:3],
        filter.shape[:2],
        strides=strides,
        padding=padding,
        data_format="NHWC",
        dilations=dilations,
    )
    # Zero stands for padding once the offsets are gone; sums are exact in float64.
    x = input.astype(np.float64) - zero_of(Tinput, low, high)
    w = filter.astype(np.float64) - zero_of(Tfilter, low_f, high_f)
    out = np.clip(convolve(x, w, windows), *bounds(out_type)).astype(out_type.numpy)
    return out, *product_range(Tinput, low, high, Tfilter, low_f, high_f, out_type)


@quantized_conv2d.samples
def _(rng):
    w = quantized(np.arange(24).reshape(2, 2, 3, 2) * 10, quint8)
    for padding in ("SAME", "VALID"):
        for stride in (1, 2):
            yield Sample(
                IMAGE, w, F(-1.0), F(2.0), F(-3.0), F(5.0), padding=padding, strides=[1, stride, stride, 1]
            )
    yield ErrorSample(
        IMAGE[..., :2],
        w,
        F(0.0),
        F(1.0),
        F(0.0),
        F(1.0),
        padding="SAME",
        strides=[1, 1, 1, 1],
        raises="depth|Depth",
    )
    ends = F(-1.0), F(2.0), F(-3.0), F(5.0)
    dilated = {"padding": "SAME", "strides": [1, 1, 1, 1], "dilations": [1, 2, 1, 1]}
    yield ErrorSample(IMAGE, w, *ends, **dilated, raises="only supports dilated rate as 1")


# -- pooling ------------------------------------------------------------------------------------
def pool_shape(name, depth):
    def rule(input, min_input, max_input, *, ksize, strides, padding):
        scalars(min_input, max_input)
        shape = pool.pool_shape(name, input, ksize, strides, padding, "NHWC", depth)
        return [shape, SCALAR, SCALAR]

    return rule


POOLING = {"T": QUANTIZED, "ksize": Ints(), "strides": Ints(), "padding": PADDING}
POOLED = (
    "input: T, min_input: float32, max_input: float32 -> output: T, min_output: float32, max_output: float32"
)


@op("QuantizedAvgPool", POOLED, attrs=POOLING, shape=pool_shape("AvgPool", depth=False))
def quantized_avg_pool(input, min_input, max_input, *, ksize, strides, padding):
    """The mean under a window, rounded down."""
    low, high = scalar(min_input, "min_input"), scalar(max_input, "max_input")
    require(input.ndim == 4, "tensor_in must be 4-dimensional")
    windows = pool.windows_of(input.shape, ksize, strides, padding, "NHWC")
    total = convolve_ones(input.astype(np.float64), windows)
    count = pooling.counts(input.shape[1:3], windows)
    return np.trunc(total / count).astype(input.dtype), low, high


def convolve_ones(x, windows):
    """The sum under a window, channel by channel."""
    channels = [x[..., c : c + 1] for c in range(x.shape[-1])]
    ones = np.ones((*(w.size for w in windows), 1, 1))
    if not x.size:
        return np.zeros((len(x), *(w.count for w in windows), x.shape[-1]), x.dtype)
    return np.concatenate([convolve(channel, ones, windows) for channel in channels], axis=-1)


@op("QuantizedMaxPool", POOLED, attrs=POOLING, shape=pool_shape("MaxPool", depth=True))
def quantized_max_pool(input, min_input, max_input, *, ksize, strides, padding):
    """The largest number under a window."""
    low, high = scalar(min_input, "min_input"), scalar(max_input, "max_input")
    out = pool.max_pool.reference(input, ksize=ksize, strides=strides, padding=padding, data_format="NHWC")
    return out, low, high


def _pool_samples(rng):
    for padding in ("SAME", "VALID"):
        yield Sample(IMAGE, F(-1.0), F(2.0), ksize=[1, 2, 2, 1], strides=[1, 2, 1, 1], padding=padding)


quantized_avg_pool.samples(_pool_samples)
quantized_max_pool.samples(_pool_samples)


# -- normalisation ------------------------------------------------------------------------------
def instance_shape(x, x_min, x_max):
    scalars(x_min, x_max)
    return [with_rank(x, 4), SCALAR, SCALAR]


@op(
    "QuantizedInstanceNorm",
    "x: T, x_min: float32, x_max: float32 -> y: T, y_min: float32, y_max: float32",
    T=QUANTIZED,
    output_range_given=False,
    given_y_min=0.0,
    given_y_max=0.0,
    variance_epsilon=9.999999747378752e-06,
    min_separation=0.0010000000474974513,
    shape=instance_shape,
)
def quantized_instance_norm(
    x, x_min, x_max, *, T, output_range_given, given_y_min, given_y_max, variance_epsilon, min_separation
):
    """Each channel of each image with mean 0 and variance 1."""
    low, high = scalar(x_min, "x_min"), scalar(x_max, "x_max")
    require(low < high, "Input min must be less than input max.")
    scale = (high - low) / F(bounds(T)[1] - bounds(T)[0])
    values = x.astype(F)
    centred = scale * (values - values.mean(axis=(1, 2), keepdims=True, dtype=F))
    variance = np.square(centred).mean(axis=(1, 2), keepdims=True, dtype=F)
    normed = (centred / np.sqrt(variance + F(variance_epsilon))).astype(F)
    low, high = normed.min(), normed.max()
    require(
        not output_range_given or given_y_min < given_y_max,
        f"given_y_min must be less than given_y_max : {given_y_min:g} >= {given_y_max:g}",
    )
    if output_range_given:
        low, high = F(given_y_min), F(given_y_max)
    if high - low < F(min_separation):
        high = F(low + F(min_separation))
    return from_float32(normed, T, low, high), low, high


@quantized_instance_norm.samples
def _(rng):
    yield Sample(IMAGE, F(-1.0), F(2.0), tolerance=1e-5)
    yield Sample(IMAGE, F(-1.0), F(2.0), output_range_given=True, given_y_min=-1.0, given_y_max=1.0)


BATCH_NORM = (
    "t: Tinput, t_min: float32, t_max: float32, m: Tinput, m_min: float32, "
    "m_max: float32, v: Tinput, v_min: float32, v_max: float32, beta: Tinput, "
    "beta_min: float32, beta_max: float32, gamma: Tinput, gamma_min: float32, "
    "gamma_max: float32 -> result: out_type, result_min: float32, "
    "result_max: float32"
)


def batch_norm_shape(*inputs):
    shape, depth = with_rank(inputs[0], 4), None
    for part in inputs[3::3]:
        depth = merge_sizes(depth, with_rank(part, 1).sizes[0])
    for i, part in enumerate(inputs):
        if i % 3:
            with_rank(part, 0)
    depth = merge_sizes(shape.sizes[3], depth)
    return [make_shape((*shape.sizes[:3], depth)), SCALAR, SCALAR]


@op(
    "QuantizedBatchNormWithGlobalNormalization",
    BATCH_NORM,
    Tinput=QUANTIZED,
    out_type=QUANTIZED,
    variance_epsilon=Float(),
    scale_after_normalization=Bool(),
    shape=batch_norm_shape,
)
def quantized_batch_norm_with_global_normalization(
    t,
    t_min,
    t_max,
    m,
    m_min,
    m_max,
    v,
    v_min,
    v_max,
    beta,
    beta_min,
    beta_max,
    gamma,
    gamma_min,
    gamma_max,
    *,
    Tinput,
    out_type,
    variance_epsilon,
    scale_after_normalization,
):
    """Batch normalisation by given means and variances, in integers of a fixed range."""
    require(t.ndim == 4, f"input must be 4-dimensional{show(t.shape)}")
    parts = {}
    for name, values, low, high in (
        ("mean", m, m_min, m_max),
        ("var", v, v_min, v_max),
        ("beta", beta, beta_min, beta_max),
        ("gamma", gamma, gamma_min, gamma_max),
    ):
        require(values.ndim == 1, f"{name} must be 1-dimensional{show(values.shape)}")
        require(
            len(values) == t.shape[3] and len(values) > 0,
            f"{name} must have one value for each channel: {len(values)} vs {t.shape[3]}",
        )
        parts[name] = to_float(values, Tinput, scalar(low, name), scalar(high, name))
    low, high = F(-(1 << 20)), F(1 << 20)
    scale = F(1) / np.sqrt(parts["var"] + F(variance_epsilon))
    scale = scale * parts["gamma"] if scale_after_normalization else scale
    offset = -parts["mean"] * scale + parts["beta"]
    factors, offsets = (from_float(p, out_type, low, high) for p in (scale, offset))
    one = int(from_float(F(1), out_type, low, high))
    x = to_float(t, Tinput, scalar(t_min, "t_min"), scalar(t_max, "t_max"))
    x = from_float(x, out_type, low, high)
    # The product has the width of the type, as in C.
    product = (x.astype(np.int64) * factors).astype(out_type.numpy)
    return (np.trunc(product / one) + offsets).astype(out_type.numpy), low, high


@quantized_batch_norm_with_global_normalization.samples
def _(rng):
    m, v = quantized([10, 20, 30], quint8), quantized([200, 100, 255], quint8)
    ends = F(0.0), F(10.0)
    for scaled in (False, True):
        yield Sample(IMAGE, *ends, m, *ends, v, *ends, m, *ends, v, *ends, out_type=qint32,
                     variance_epsilon=0.001, scale_after_normalization=scaled)  # fmt: skip


# -- resizing -----------------------------------------------------------------------------------
def resize_shape(images, size, min, max):
    scalars(min, max)
    return [resize.resize_shape(images, size), SCALAR, SCALAR]


@op(
    "QuantizedResizeBilinear",
    "images: T, size: int32, min: float32, max: float32 -> "
    "resized_images: T, out_min: float32, out_max: float32",
    T=(quint8, qint32, float32),
    align_corners=False,
    half_pixel_centers=False,
    shape=resize_shape,
)
def quantized_resize_bilinear(images, size, min, max, *, T, align_corners, half_pixel_centers):
    """Images in another size, interpolated between four neighbours in fixed-point arithmetic."""
    low, high = scalar(min, "min"), scalar(max, "max")
    resize.check_centers(align_corners, half_pixel_centers)
    rows, columns = resize.checked_size(images, size)
    if (rows, columns) == images.shape[1:3]:
        return images, low, high
    bits = {quint8: 7, qint32: 30}.get(T, 0)
    up, down, y = _neighbours(rows, images.shape[1], bits, align_corners, half_pixel_centers)
    left, right, x = _neighbours(columns, images.shape[2], bits, align_corners, half_pixel_centers)
    y, x = y[:, None, None], x[:, None]
    wide = images.astype(np.int64) if bits else images
    corners = [[wide[:, a][:, :, b] for b in (left, right)] for a in (up, down)]
    if not bits:
        top, bottom = (a + (b - a) * x for a, b in corners)
        return (top + (bottom - top) * y).astype(images.dtype), low, high
    unit = 1 << bits
    top, bottom = (a * unit + (b - a) * x for a, b in corners)
    out = top + _towards_zero(bottom - top, unit) * y
    return _towards_zero(out + unit // 2, unit).astype(images.dtype), low, high


def _towards_zero(x, by):
    return np.sign(x) * (np.abs(x) // by)


def _neighbours(count, size, bits, align_corners, half_pixel_centers):
    """The two sources of each place, and how far it lies between them (in `bits` bits)."""
    scale = F(size - 1) / F(count - 1) if align_corners and count > 1 else F(size) / F(count)
    place = np.arange(count, dtype=F)
    place = (place + F(0.5)) * scale - F(0.5) if half_pixel_centers else place * scale
    floor = np.floor(place)
    between = place - floor
    if bits:
        between = np.trunc(between * F(1 << bits)).astype(np.int64)
    lower = np.maximum(floor.astype(np.int64), 0)
    upper = np.minimum(np.ceil(place).astype(np.int64), size - 1)
    return lower, upper, between


@quantized_resize_bilinear.samples
def _(rng):
    ends = F(0.0), F(255.0)
    for align in (False, True):
        yield Sample(IMAGE, np.array([7, 5], np.int32), *ends, align_corners=align)
    yield Sample(IMAGE, np.array([2, 6], np.int32), *ends, half_pixel_centers=True)
    wide = quantized(np.arange(36).reshape(1, 4, 3, 3) * 10**6, qint32)
    yield Sample(wide, np.array([6, 6], np.int32), *ends)
    yield Sample(rng.normal(size=(1, 4, 3, 3)).astype(F), np.array([6, 2], np.int32), *ends)
