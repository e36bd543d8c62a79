"""Conv2D of images that are resized and mirrored at their borders first, as one op."""

from __future__ import annotations

from typing import Any

import numpy as np

from headrace.core.dtypes import float16, float32, float64
from headrace.core.errors import require
from headrace.ops.array.pad import mirror_pad, padded_shape
from headrace.ops.declaration.declare import op
from headrace.ops.declaration.precision import widen
from headrace.ops.declaration.samples import ErrorSample, Sample
from headrace.ops.declaration.shape_checks import merge_sizes, with_rank
from headrace.ops.declaration.signature import Ints, String
from headrace.ops.image.resample import apply, linear
from headrace.ops.image.resize import checked_size, resize_shape
from headrace.ops.nn.convolution.conv import conv2d
from headrace.ops.nn.convolution.conv_geometry import conv_shape

ATTRS: dict[str, Any] = {
    "T": (float16, float32, float64),
    "mode": String("REFLECT", "SYMMETRIC"),
    "strides": Ints(),
    "padding": String("SAME", "VALID"),
}
PLAIN = {"data_format": "NHWC", "dilations": [1, 1, 1, 1], "explicit_paddings": []}


# -- what they share ----------------------------------------------------------------------------
def fused_shape(images, paddings, filter, strides, padding):
    padded = with_rank(padded_shape(with_rank(images, 4), paddings), 4)
    merge_sizes(padded.dim(3), with_rank(filter, 4).dim(2))
    return conv_shape("Operation", padded, filter, strides=strides, padding=padding, **PLAIN)


def mirrored_conv(images, paddings, filter, mode, strides, padding):
    """Conv2D of mirrored images."""
    require(images.size > 0, "Input tensor can't be empty")
    padded = mirror_pad.reference(images, paddings, mode=mode)
    for axis, what in ((0, "batches"), (3, "channels")):
        require(
            not paddings[axis].any(),
            f"Fused mirror padding only support spatial padding, not {what}: {paddings.tolist()}",
        )
    require(filter.ndim == 4, f"filter must be 4-dimensional: {list(filter.shape)}")
    depths = padded.shape[3], filter.shape[2]
    require(depths[0] == depths[1], f"input and filter must have the same depth: {depths[0]} vs {depths[1]}")
    y = conv2d.reference(padded, filter, strides=strides, padding=padding, **PLAIN)
    require(y.size > 0, "Output tensor can't be empty")
    return y


# -- FusedPadConv2D -----------------------------------------------------------------------------
def pad_conv_shape(input, paddings, filter, *, strides, padding):
    return fused_shape(input, paddings, filter, strides, padding)


@op("FusedPadConv2D", "input: T, paddings: int32, filter: T -> output: T", shape=pad_conv_shape, attrs=ATTRS)
def fused_pad_conv2d(input, paddings, filter, *, mode, strides, padding):
    """Conv2D of images that are mirrored at their borders."""
    return mirrored_conv(input, paddings, filter, mode, strides, padding)


BORDER = np.array([[0, 0], [2, 1], [1, 2], [0, 0]], np.int32)
OPTIONS = {"mode": "REFLECT", "strides": [1, 1, 1, 1], "padding": "VALID"}
WAYS = (OPTIONS, {"mode": "SYMMETRIC", "strides": [1, 2, 3, 1], "padding": "SAME"})


@fused_pad_conv2d.samples
def _(rng):
    x, w = rng.normal(size=(2, 4, 5, 3)), rng.normal(size=(3, 2, 3, 4))
    for way in WAYS:
        yield Sample(x, BORDER, w, **way)
    wide = np.array([[0, 0], [4, 0], [0, 0], [0, 0]], np.int32)
    yield ErrorSample(x, wide, w, **OPTIONS, raises="paddings must be less than")
    batches = np.array([[1, 0], [0, 0], [0, 0], [0, 0]], np.int32)
    yield ErrorSample(x, batches, w, **OPTIONS, raises="not batches")
    yield ErrorSample(x[:0], BORDER, w, **OPTIONS, raises="can't be empty")
    yield ErrorSample(x, BORDER, w[:, :, :2], **OPTIONS, raises="must be equal|same depth")


# -- FusedResizeAndPadConv2D --------------------------------------------------------------------
def resize_conv_shape(input, size, paddings, filter, *, strides, padding):
    return fused_shape(resize_shape(input, size), paddings, filter, strides, padding)


@op(
    "FusedResizeAndPadConv2D",
    "input: T, size: int32, paddings: int32, filter: T -> output: T",
    shape=resize_conv_shape,
    attrs={"T": ATTRS["T"], "resize_align_corners": False} | ATTRS,
)
def fused_resize_and_pad_conv2d(
    input, size, paddings, filter, *, mode, strides, padding, resize_align_corners
):
    """Conv2D of images that are resized bilinearly and mirrored at their borders."""
    height, width = checked_size(input, size)
    rows = linear(input.shape[1], height, resize_align_corners, False)
    columns = linear(input.shape[2], width, resize_align_corners, False)
    resized = apply(widen(input), rows, columns).astype(input.dtype)
    return mirrored_conv(resized, paddings, filter, mode, strides, padding)


@fused_resize_and_pad_conv2d.samples
def _(rng):
    x, w = rng.normal(size=(2, 4, 5, 3)), rng.normal(size=(3, 2, 3, 4))
    for way in WAYS:
        for corners in (False, True):
            for size in ((6, 9), (4, 5)):
                size = np.array(size, np.int32)
                yield Sample(x, size, BORDER, w, **way, resize_align_corners=corners)
    bad = np.array([0, 3], np.int32)
    yield ErrorSample(x, bad, BORDER, w, **OPTIONS, raises="must be positive")
