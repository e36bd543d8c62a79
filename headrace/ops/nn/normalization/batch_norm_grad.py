"""The gradient of FusedBatchNorm, three versions, and the gradient of the gradient.

With r = 1 / sqrt(variance + epsilon), h = (x - mean) * r and means over all but the channels:
dx = scale * r * (dy - mean(dy) - h * mean(dy * h)), dscale = sum(dy * h), doffset = sum(dy).
"""

from __future__ import annotations

from math import prod

import numpy as np

from headrace.core.dtypes import bfloat16, float16, float32
from headrace.core.errors import require
from headrace.core.shapes import make_shape
from headrace.ops.array import reshape
from headrace.ops.declaration.declare import op
from headrace.ops.declaration.precision import block_sum, widen
from headrace.ops.declaration.samples import ErrorSample, Sample
from headrace.ops.declaration.shape_checks import merge_sizes, replaced, with_rank
from headrace.ops.declaration.signature import String
from headrace.ops.math import cast, exponential, reduce
from headrace.ops.nn.window import channel_axis, channels_last, from_channels_last

HALVES = (float16, bfloat16, float32)
EPSILON = {"epsilon": 9.999999747378752e-05}
FORMATS = {"data_format": String("NHWC", "NCHW", default="NHWC")}
FORMATS_V3 = {"data_format": String("NHWC", "NCHW", "NDHWC", "NCDHW", default="NHWC")}
MODE = {"is_training": True}


def grad_shape(y_backprop, x, scale, mean, variance, *rest, data_format, is_training):
    dy, x = (with_rank(a, len(data_format)) for a in (y_backprop, x))
    axis = channel_axis(data_format)
    channels = merge_sizes(dy.sizes[axis], x.sizes[axis])
    for vector in (scale, mean, variance):
        channels = merge_sizes(channels, with_rank(vector, 1).dim(0))
    vector = make_shape((channels,))
    spare = make_shape((0,)) if is_training else vector
    return [replaced(dy, axis, channels), vector, vector, spare, spare]


def backprop(dy, x, scale, mean, variance, *, epsilon, data_format, is_training, **types):
    """What all versions compute: dx, dscale, doffset and two outputs that mean nothing."""
    require(
        x.shape == dy.shape,
        f"x and y_backprop must have same shape, but x has shape {list(x.shape)} and y_backprop "
        f"has shape {list(dy.shape)}",
    )
    dy, x = (widen(channels_last(a, data_format)) for a in (dy, x))
    channels = x.shape[-1]
    for name, vector in (("scale", scale), ("reserve_space_1", mean), ("reserve_space_2", variance)):
        require(
            vector.shape == (channels,),
            f"{name} must have the same number of elements as the channels of x, got "
            f"{vector.size} and {channels}",
        )
    spare = np.zeros(0 if is_training else channels, np.float32)
    if not x.size:
        zero = np.zeros(channels, np.float32)
        return from_channels_last(x, data_format), zero, zero, spare, spare
    axes = tuple(range(x.ndim - 1))
    r = 1 / np.sqrt(variance + np.float32(epsilon))
    xh = (x - mean) * r
    dscale, doffset = block_sum(dy * xh, axes), block_sum(dy, axes)
    if is_training:
        count = np.float32(x.size // channels)
        dx = (dy - doffset / count - xh * (dscale / count)) * (scale * r)
    else:
        dx = dy * (scale * r)
    return from_channels_last(dx, data_format), dscale, doffset, spare, spare


@op(
    "FusedBatchNormGrad",
    "y_backprop: T, x: T, scale: T, reserve_space_1: T, reserve_space_2: T -> x_backprop: T, "
    "scale_backprop: T, offset_backprop: T, reserve_space_3: T, reserve_space_4: T",
    shape=grad_shape,
    attrs={"T": (float32,)} | EPSILON | FORMATS | MODE,
)
def fused_batch_norm_grad(y_backprop, x, scale, reserve_space_1, reserve_space_2, **attrs):
    """The gradient of FusedBatchNorm, from its reserve spaces: mean and variance."""
    return backprop(y_backprop, x, scale, reserve_space_1, reserve_space_2, **attrs)


@op(
    "FusedBatchNormGradV2",
    "y_backprop: T, x: T, scale: float32, reserve_space_1: U, reserve_space_2: U -> "
    "x_backprop: T, scale_backprop: U, offset_backprop: U, reserve_space_3: U, "
    "reserve_space_4: U",
    shape=grad_shape,
    attrs={"T": HALVES, "U": (float32,)} | EPSILON | FORMATS | MODE,
)
def fused_batch_norm_grad_v2(y_backprop, x, scale, reserve_space_1, reserve_space_2, **attrs):
    """The gradient of FusedBatchNormV2."""
    return backprop(y_backprop, x, scale, reserve_space_1, reserve_space_2, **attrs)


@op(
    "FusedBatchNormGradV3",
    "y_backprop: T, x: T, scale: float32, reserve_space_1: U, reserve_space_2: U, "
    "reserve_space_3: U -> x_backprop: T, scale_backprop: U, offset_backprop: U, "
    "reserve_space_4: U, reserve_space_5: U",
    shape=grad_shape,
    attrs={"T": HALVES, "U": (float32,)} | EPSILON | FORMATS_V3 | MODE,
)
def fused_batch_norm_grad_v3(
    y_backprop, x, scale, reserve_space_1, reserve_space_2, reserve_space_3, **attrs
):
    """The gradient of FusedBatchNormV3; the third reserve space is for other devices."""
    return backprop(y_backprop, x, scale, reserve_space_1, reserve_space_2, **attrs)


def lowered(e, dy, x, scale, mean, variance, *rest, epsilon, data_format, is_training):
    axis = channel_axis(data_format) % len(x.shape)
    others = [n for i, n in enumerate(x.shape) if i != axis]
    count = prod(others)
    channels = (x.shape[axis],)
    r = e.compute(channels, lambda c: e.rsqrt(variance[c] + epsilon))

    def hat(i):
        return (e.cast(x[i], float32) - mean[i[axis]]) * r[i[axis]]

    def total(term):
        def of(c):
            return e.reduce("sum", others, lambda *i: term((*i[:axis], c, *i[axis:])))

        return e.compute(channels, of)

    doffset = total(lambda i: e.cast(dy[i], float32))
    dscale = total(lambda i: e.cast(dy[i], float32) * hat(i))

    def mean_of(sums):
        # Divided before it is multiplied with an element: the product of the two may overflow.
        return e.compute(channels, lambda c: sums[c] / e.size(count, float32))

    a, b = (mean_of(doffset), mean_of(dscale)) if is_training else (None, None)

    def element(*i):
        c, found = i[axis], e.cast(dy[i], float32)
        if is_training:
            found = found - a[c] - hat(i) * b[c]
        return e.cast(found * (scale[c] * r[c]), x.dtype)

    spare = e.compute((0 if is_training else x.shape[axis],), lambda c: e.const(0, float32))
    return e.compute(x.shape, element), dscale, doffset, spare, spare


fused_batch_norm_grad.lower(lowered)
fused_batch_norm_grad_v2.lower(lowered)
fused_batch_norm_grad_v3.lower(lowered)


# -- the gradient of the gradient -----------------------------------------------------------------
def second(node, ddx, ddscale, ddoffset, *rest):
    """Cotangents of dy, x and scale.  In training, with a = mean(ddx * h), b = mean(dy * h):

    dy:    scale * r * (ddx - mean(ddx) - h * a) + ddscale * h + ddoffset
    scale: sum(ddx * r * (dy - mean(dy) - h * b))
    x:     scale * r**2 * (h * (3ab - mean(ddx * (dy - mean(dy)))) - b * (ddx - mean(ddx))
                           - a * (dy - mean(dy))) + ddscale * r * (dy - mean(dy) - h * b)
    """
    data_format, training = node.attrs["data_format"], node.attrs["is_training"]
    kind = node.inputs[1].dtype
    dy, x, ddx = (_wide(t) for t in (node.inputs[0], node.inputs[1], ddx))
    lift = _lifter(data_format)
    scale, mean, variance, ddscale, ddoffset = (
        lift(t) for t in (node.inputs[2], node.inputs[3], node.inputs[4], ddscale, ddoffset)
    )
    axes = [i for i in range(len(data_format)) if i != channel_axis(data_format) % len(data_format)]
    if training:  # as TF does: those of x, whatever was given
        mean = reduce.mean(x, axes, keep_dims=True)
        variance = reduce.mean(exponential.square(x - mean), axes, keep_dims=True)
    r = exponential.rsqrt(variance + node.attrs["epsilon"])
    h = (x - mean) * r
    if training:

        def average(t):
            return reduce.mean(t, axes, keep_dims=True)

        cdy, cddx = dy - average(dy), ddx - average(ddx)
        a, b = average(ddx * h), average(dy * h)
        to_dy = scale * r * (cddx - h * a) + ddscale * h + ddoffset
        to_scale = ddx * r * (cdy - h * b)
        bent = h * (3.0 * a * b - average(ddx * cdy)) - b * cddx - a * cdy
        to_x = scale * r * r * bent + ddscale * r * (cdy - h * b)
    else:
        to_dy = ddx * scale * r + ddscale * h + ddoffset
        to_scale = ddx * dy * r
        to_x = ddscale * dy * r
    found = [_narrow(to_dy, kind), _narrow(to_x, kind), reduce.sum_(to_scale, axes)]
    return found + [None] * (len(node.inputs) - 3)


def _wide(t):
    return t if t.dtype.base is float32 else cast.cast(t, float32)


def _narrow(t, kind):
    return t if kind.base is float32 else cast.cast(t, kind.base)


def _lifter(data_format):
    """Vectors of one number per channel, in a shape that broadcasts over images."""
    ones = [1] * (len(data_format) - 2)
    if channel_axis(data_format) == -1:
        return lambda t: t
    return lambda t: reshape.reshape(t, [-1, *ones])


fused_batch_norm_grad.gradient(second)
fused_batch_norm_grad_v2.gradient(second)
fused_batch_norm_grad_v3.gradient(second)


def grad_samples(rng, ranks, more):
    for rank in ranks:
        for data_format in ("NHWC", "NCHW") if rank == 4 else ("NDHWC", "NCDHW"):
            x, dy = rng.normal(2, 3, size=(2, *(2, 3, 4, 3, 3)[:rank])).astype(np.float32)
            c = x.shape[channel_axis(data_format)]
            scale, mean = rng.normal(size=(2, c)).astype(np.float32)
            variance = rng.uniform(0.5, 2, size=c).astype(np.float32)
            rest = [np.zeros((), np.float32)] * more
            for training in (True, False):
                if training or channel_axis(data_format) == -1:
                    yield Sample(
                        dy,
                        x,
                        scale,
                        mean,
                        variance,
                        *rest,
                        data_format=data_format,
                        is_training=training,
                        grad=False,
                    )
    yield ErrorSample(dy, x, scale[1:], mean, variance, *rest, raises="must be equal|must be rank")


fused_batch_norm_grad.samples(lambda rng: grad_samples(rng, (4,), 0))
fused_batch_norm_grad_v2.samples(lambda rng: grad_samples(rng, (4,), 0))
fused_batch_norm_grad_v3.samples(lambda rng: grad_samples(rng, (4, 5), 1))
