"""DepthwiseConv2dNative and its gradients: every channel has filters of its own.

filter is [height, width, channels, multiplier]; output channel c * multiplier + m comes from
channel c alone.
"""

from __future__ import annotations

import numpy as np

from headrace.core.dtypes import FLOATS
from headrace.core.errors import require
from headrace.ops.declaration.declare import op
from headrace.ops.declaration.emit import Decline, LibraryCall, view
from headrace.ops.declaration.precision import widen
from headrace.ops.declaration.samples import ErrorSample, Sample
from headrace.ops.declaration.shape_checks import merge_sizes, with_rank
from headrace.ops.declaration.signature import Ints, String
from headrace.ops.nn.convolution.conv_family import relate, shapes_apart
from headrace.ops.nn.convolution.conv_geometry import (
    backprop_windows,
    last_sizes,
    places_of,
    require_vector,
    sizes_shape,
    windows_of,
)
from headrace.ops.nn.convolution.conv_samples import of_filter_gradient, of_forward, of_input_gradient
from headrace.ops.nn.window import (
    channel_axis,
    channels_last,
    fits,
    from_channels_last,
    layout,
    order_of,
    padded,
    padded_zeros,
    spatial,
    taps,
    unpadded,
)

ATTRS = {
    "T": FLOATS,
    "strides": Ints(),
    "padding": String("SAME", "VALID"),
    "data_format": String("NHWC", "NCHW", default="NHWC"),
    "dilations": Ints([1, 1, 1, 1]),
}
CASES = (
    ("NHWC", (2, 5, 6, 3), (3, 2, 3, 2), {"padding": "SAME"}),
    ("NHWC", (1, 5, 6, 2), (2, 2, 2, 1), {"padding": "VALID", "strides": [1, 2, 2, 1]}),
    ("NHWC", (1, 7, 7, 2), (2, 2, 2, 2), {"padding": "VALID", "dilations": [1, 2, 3, 1]}),
    ("NCHW", (2, 3, 4, 5), (2, 2, 3, 2), {"padding": "SAME", "strides": [1, 1, 2, 2]}),
    ("NHWC", (2, 6, 5, 16), (3, 3, 16, 1), {"padding": "SAME"}),
)
PLAIN = {"strides": [1, 1, 1, 1]}


def options(node):
    return {name: node.attrs[name] for name in ATTRS if name != "T"}


def forward_shape(x, w, chosen, data_format):
    given = {"dilations": [1] * 4} | PLAIN | chosen
    y = depthwise_conv2d_native.reference(np.zeros(x), np.zeros(w), data_format=data_format, **given)
    return y.shape


def library_call(kind, x, w, y, *, data_format, **attrs):
    """A convolution with as many groups as there are channels."""
    if any(len(a.shape) != 4 for a in (x, w, y)):
        raise Decline("shapes that do not fit")
    height, width, depth, times = w.shape
    windows = windows_of(spatial(x.shape, data_format), w.shape, data_format=data_format, **attrs)
    if x.shape[channel_axis(data_format)] != depth:
        raise Decline("channels that do not fit")
    if not fits(y.shape, data_format, x.shape[0], windows, depth * times):
        raise Decline("shapes that do not fit")
    order = order_of(4, data_format)
    return LibraryCall(
        kind,
        src=view(x, order),
        dst=view(y, order),
        weights=view(w, (2, 3, 4, 0, 1), (height, width, depth, times, 1)),
        strides=tuple(k.stride for k in windows),
        dilations=tuple(k.dilation for k in windows),
        pads=tuple((k.before, k.after) for k in windows),
    )


def depthwise_shape(input, filter, *, data_format, **attrs):
    input, filter = with_rank(input, 4), with_rank(filter, 4)
    steps = len(attrs["strides"])
    require(
        steps == 4, f"DepthwiseConv2D requires the stride attribute to contain 4 values, but got: {steps}"
    )
    require(len(attrs["dilations"]) == 4, "Sliding window dilations field must specify 4 dimensions")
    depth = merge_sizes(input.sizes[channel_axis(data_format)], filter.sizes[2])
    times = filter.sizes[3]
    space = places_of(spatial(input.sizes, data_format), filter.sizes, data_format=data_format, **attrs)
    outputs = None if None in (depth, times) else depth * times
    return layout(input.sizes[0], space, outputs, data_format)


@op("DepthwiseConv2dNative", "input: T, filter: T -> output: T", shape=depthwise_shape, attrs=ATTRS)
def depthwise_conv2d_native(input, filter, *, data_format, **attrs):
    """Correlation of each channel of the images with its own filters."""
    require(input.ndim == 4, f"input must be 4-dimensional{list(input.shape)}")
    require(filter.ndim == 4, f"filter must be 4-dimensional: {list(filter.shape)}")
    x, w = widen(channels_last(input, data_format)), widen(filter)
    require(
        x.shape[3] == w.shape[2], f"input and filter must have the same depth: {x.shape[3]} vs {w.shape[2]}"
    )
    windows = windows_of(x.shape[1:3], w.shape, data_format=data_format, **attrs)
    x = padded(x, windows)[..., None]
    y = np.zeros((len(x), *(k.count for k in windows), *w.shape[2:]), x.dtype)
    for at, index in taps(windows):
        y += x[index] * w[at]
    return from_channels_last(y.reshape(*y.shape[:3], w.shape[2] * w.shape[3]), data_format)


@depthwise_conv2d_native.samples
def _(rng):
    yield from of_forward(rng, CASES, PLAIN)
    x = np.ones((0, 3, 3, 2))
    yield Sample(x, np.ones((2, 2, 2, 2)), **PLAIN, padding="SAME", note="empty")
    yield ErrorSample(x, np.ones((2, 2, 3, 1)), **PLAIN, padding="SAME", raises="must be equal")


@op(
    "DepthwiseConv2dNativeBackpropInput",
    "input_sizes: int32, filter: T, out_backprop: T -> output: T",
    shape=lambda sizes, filter, dy: sizes_shape(sizes, 4),
    attrs=ATTRS,
)
def depthwise_backprop_input(input_sizes, filter, out_backprop, *, data_format, **attrs):
    """The gradient of DepthwiseConv2dNative with respect to its input."""
    label = "DepthwiseConv2DBackpropInput"
    require_vector(label, "input_sizes", input_sizes)
    sizes = last_sizes(input_sizes, data_format)
    dy, w = widen(channels_last(out_backprop, data_format)), widen(filter)
    windows = backprop_windows(
        label, sizes, w.shape, dy.shape, depthwise=True, data_format=data_format, **attrs
    )
    dy = dy.reshape(*dy.shape[:3], *w.shape[2:])
    dx = padded_zeros(sizes[0], sizes[3], sizes[1:3], windows, dy.dtype)
    for at, index in taps(windows):
        dx[index] += (dy * w[at]).sum(axis=-1)
    return from_channels_last(unpadded(dx, windows), data_format)


@depthwise_backprop_input.samples
def _(rng):
    yield from of_input_gradient(rng, CASES, PLAIN, forward_shape)


@op(
    "DepthwiseConv2dNativeBackpropFilter",
    "input: T, filter_sizes: int32, out_backprop: T -> output: T",
    shape=lambda input, sizes, dy: sizes_shape(sizes, 4),
    attrs=ATTRS,
)
def depthwise_backprop_filter(input, filter_sizes, out_backprop, *, data_format, **attrs):
    """The gradient of DepthwiseConv2dNative with respect to its filter."""
    label = "DepthwiseConv2DBackpropFilter"
    require_vector(label, "filter_sizes", filter_sizes)
    sizes = last_sizes(filter_sizes, "NHWC")
    x, dy = (widen(channels_last(a, data_format)) for a in (input, out_backprop))
    windows = backprop_windows(
        label, x.shape, sizes, dy.shape, depthwise=True, data_format=data_format, **attrs
    )
    dy = dy.reshape(*dy.shape[:3], *sizes[2:])
    x = padded(x, windows)
    dw = np.zeros(sizes, x.dtype)
    for at, index in taps(windows):
        dw[at] = np.einsum("nhwc,nhwcm->cm", x[index], dy)
    return dw


@depthwise_backprop_filter.samples
def _(rng):
    yield from of_filter_gradient(rng, CASES, PLAIN, forward_shape)


relate(
    depthwise_conv2d_native,
    depthwise_backprop_input,
    depthwise_backprop_filter,
    options=options,
    library=library_call,
    shapes=shapes_apart,
)
