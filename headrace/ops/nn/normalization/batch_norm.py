"""FusedBatchNorm: three versions, which differ in types alone.

In training the mean and variance are those of the batch: y = scale * (x - mean) / sqrt(variance +
epsilon) + offset.  `batch_variance` has Bessel's correction, the reserve spaces hold mean and plain
variance for the gradient.  Statistics are float32, also where x is a half type.
"""

from __future__ import annotations

from math import prod

import numpy as np

from headrace.core.dtypes import bfloat16, float16, float32
from headrace.core.errors import require
from headrace.core.shapes import UNKNOWN, make_shape
from headrace.ops.array import transpose
from headrace.ops.declaration.declare import op
from headrace.ops.declaration.emit import Decline
from headrace.ops.declaration.precision import block_sum, widen
from headrace.ops.declaration.samples import ErrorSample, Sample
from headrace.ops.declaration.shape_checks import merge_sizes, replaced, with_rank
from headrace.ops.declaration.signature import String
from headrace.ops.nn.normalization import batch_norm_grad as grads
from headrace.ops.nn.window import channel_axis, channels_last, from_channels_last

HALVES = (float16, bfloat16, float32)
FORMATS = {"data_format": String("NHWC", "NCHW", default="NHWC")}
FORMATS_V3 = {"data_format": String("NHWC", "NCHW", "NDHWC", "NCDHW", default="NHWC")}
EPSILON = {"epsilon": 9.999999747378752e-05}
MODE = {"is_training": True}
INPUTS = "x: T, scale: {u}, offset: {u}, mean: {u}, variance: {u}"
OUTPUTS = "y: T, batch_mean: {u}, batch_variance: {u}, reserve_space_1: {u}, reserve_space_2: {u}"


# -- forward ------------------------------------------------------------------------------------
def norm_shape(x, scale, offset, mean, variance, *, data_format, is_training):
    x = with_rank(x, len(data_format))
    axis = channel_axis(data_format)
    channels = x.sizes[axis]
    for vector in (scale, offset) if is_training else (scale, offset, mean, variance):
        channels = merge_sizes(channels, with_rank(vector, 1).dim(0))
    return [replaced(x, axis, channels)] + [make_shape((channels,))] * 4


def norm_v3_shape(x, scale, offset, mean, variance, *, data_format, is_training):
    return [
        *norm_shape(x, scale, offset, mean, variance, data_format=data_format, is_training=is_training),
        UNKNOWN,
    ]


def normalized(x, scale, offset, mean, variance, epsilon, data_format, is_training):
    """What all versions compute."""
    require(x.ndim == len(data_format), f"input must be 4 or 5-dimensional{list(x.shape)}")
    named = {"scale": scale, "offset": offset, "estimated_mean": mean, "estimated_variance": variance}
    for name, vector in named.items():
        require(vector.ndim == 1, f"{name} must be 1-dimensional{list(vector.shape)}")
    x = widen(channels_last(x, data_format))
    channels = x.shape[-1]
    for name in ("scale", "offset"):
        require(
            len(named[name]) == channels,
            f"{name} must have the same number of elements as the channels of x, got "
            f"{len(named[name])} and {channels}",
        )
    if is_training:
        for name in ("estimated_mean", "estimated_variance"):
            shape = list(named[name].shape)
            require(not len(named[name]), f"{name} must be empty for training{shape}")
        count = x.size // max(channels, 1)
        rows = x.reshape(count, channels)
        with np.errstate(invalid="ignore", divide="ignore"):  # nothing has no mean
            mean = block_sum(rows, 0) / np.float32(count)
            variance = block_sum(np.square(rows - mean), 0) / np.float32(count)
        corrected = variance * np.float32(count / max(count - 1, 1))
    else:
        for name, vector in (("mean", mean), ("variance", variance)):
            require(
                len(vector) == channels,
                f"When is_training=false, {name} must have the same number of elements as the "
                f"channels of x, got {len(vector)} and {channels}",
            )
        corrected = variance
    y = (x - mean) * (scale / np.sqrt(variance + np.float32(epsilon))) + offset
    return from_channels_last(y, data_format), mean, corrected, mean, variance


@op(
    "FusedBatchNorm",
    f"{INPUTS} -> {OUTPUTS}".format(u="T"),
    shape=norm_shape,
    attrs={"T": (float32,)} | EPSILON | FORMATS | MODE,
)
def fused_batch_norm(x, scale, offset, mean, variance, *, epsilon, data_format, is_training):
    """Batch normalisation of float32 images."""
    return normalized(x, scale, offset, mean, variance, epsilon, data_format, is_training)


@op(
    "FusedBatchNormV2",
    f"{INPUTS} -> {OUTPUTS}".format(u="U"),
    shape=norm_shape,
    attrs={"T": HALVES, "U": (float32,)} | EPSILON | FORMATS | MODE,
)
def fused_batch_norm_v2(x, scale, offset, mean, variance, *, epsilon, data_format, is_training):
    """Batch normalisation of images of a type T, with float32 statistics."""
    return normalized(x, scale, offset, mean, variance, epsilon, data_format, is_training)


@op(
    "FusedBatchNormV3",
    f"{INPUTS} -> {OUTPUTS}, reserve_space_3: {{u}}".format(u="U"),
    shape=norm_v3_shape,
    attrs={"T": HALVES, "U": (float32,)} | EPSILON | FORMATS_V3 | MODE,
)
def fused_batch_norm_v3(x, scale, offset, mean, variance, *, epsilon, data_format, is_training):
    """Batch normalisation of images or volumes; the last output is for other devices."""
    found = normalized(x, scale, offset, mean, variance, epsilon, data_format, is_training)
    return *found, np.float32(0)


def lowered(e, x, scale, offset, mean, variance, *, epsilon, data_format, is_training):
    axis = channel_axis(data_format) % len(x.shape)
    others = [n for i, n in enumerate(x.shape) if i != axis]
    count = prod(others)
    channels = (x.shape[axis],)

    def at(c, i):
        return e.cast(x[(*i[:axis], c, *i[axis:])], float32)

    corrected = variance
    if is_training:
        if mean.shape != (0,) or variance.shape != (0,):
            raise Decline("estimates in training")
        total = e.compute(channels, lambda c: e.reduce("sum", others, lambda *i: at(c, i)))
        mean = e.compute(channels, lambda c: total[c] / e.size(count, float32))
        spread = e.compute(
            channels,
            lambda c: e.reduce("sum", others, lambda *i: (at(c, i) - mean[c]) * (at(c, i) - mean[c])),
        )
        variance = e.compute(channels, lambda c: spread[c] / e.size(count, float32))
        degrees = max(count - 1, 1) if count else 0  # the variance of nothing is NaN
        corrected = e.compute(channels, lambda c: spread[c] / e.size(degrees, float32))
    factor = e.compute(channels, lambda c: scale[c] * e.rsqrt(variance[c] + epsilon))

    def element(*i):
        c = i[axis]
        y = (e.cast(x[i], float32) - mean[c]) * factor[c] + offset[c]
        return e.cast(y, x.dtype)

    return e.compute(x.shape, element), mean, corrected, mean, variance


fused_batch_norm.lower(lowered)
fused_batch_norm_v2.lower(lowered)


@fused_batch_norm_v3.lower
def _(e, x, scale, offset, mean, variance, *, epsilon, data_format, is_training):
    given = {"epsilon": epsilon, "data_format": data_format, "is_training": is_training}
    found = lowered(e, x, scale, offset, mean, variance, **given)
    return *found, e.known(np.float32(0))


def gradient(grad_op):
    def rule(node, dy, *rest):
        x, scale, _, mean, variance = node.inputs
        data_format, training = node.attrs["data_format"], node.attrs["is_training"]
        more = node.outputs[5:]  # V3's third reserve space
        given = {"epsilon": node.attrs["epsilon"], "is_training": training}
        if training:
            mean, variance = node.outputs[3:5]
            found = grad_op(dy, x, scale, mean, variance, *more, data_format=data_format, **given)
            return *found[:3], None, None
        # TF's kernel wants channels last here.
        rank = len(data_format)
        first = channel_axis(data_format) == 1
        if first:
            to_last = [0, *range(2, rank), 1]
            x, dy = transpose.transpose(x, to_last), transpose.transpose(dy, to_last)
        last = "NHWC" if rank == 4 else "NDHWC"
        dx, *found = grad_op(dy, x, scale, mean, variance, *more, data_format=last, **given)
        if first:
            dx = transpose.transpose(dx, [0, rank - 1, *range(1, rank - 1)])
        return dx, *found[:2], None, None

    return rule


fused_batch_norm.gradient(gradient(grads.fused_batch_norm_grad))
fused_batch_norm_v2.gradient(gradient(grads.fused_batch_norm_grad_v2))
fused_batch_norm_v3.gradient(gradient(grads.fused_batch_norm_grad_v3))


def forward_samples(rng, ranks, half):
    for rank in ranks:
        for data_format in ("NHWC", "NCHW") if rank == 4 else ("NDHWC", "NCDHW"):
            x = rng.normal(2, 3, size=(2, 3, 4, 3, 3)[:rank]).astype(np.float32)
            c = x.shape[channel_axis(data_format)]
            scale, offset, mean = rng.normal(size=(3, c)).astype(np.float32)
            variance = rng.uniform(0.5, 2, size=c).astype(np.float32)
            none = np.zeros(0, np.float32)
            yield Sample(x, scale, offset, none, none, data_format=data_format, grad=False)
            yield Sample(
                x,
                scale,
                offset,
                mean,
                variance,
                data_format=data_format,
                is_training=False,
                epsilon=0.01,
                grad=False,
            )
            if half:
                yield Sample(
                    x.astype(np.float16), scale, offset, none, none, data_format=data_format, grad=False
                )
    yield Sample(x[:0], scale, offset, none, none, data_format=data_format, grad=False, note="empty")
    yield ErrorSample(x, scale[1:], offset, none, none, raises="must be equal|must be rank")
    yield ErrorSample(x, scale, offset, mean, none, data_format=data_format, raises="must be empty")


fused_batch_norm.samples(lambda rng: forward_samples(rng, (4,), False))
fused_batch_norm_v2.samples(lambda rng: forward_samples(rng, (4,), True))
fused_batch_norm_v3.samples(lambda rng: forward_samples(rng, (4, 5), True))
