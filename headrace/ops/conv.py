"""Conv2D and its gradients: NHWC and NCHW, strides, dilations, groups, all paddings."""

from __future__ import annotations

import numpy as np

from headrace.core.dtypes import FLOATS
from headrace.core.errors import require
from headrace.ops import reshape
from headrace.ops.convolve import convolve, convolve_filter, convolve_input
from headrace.ops.declare import op
from headrace.ops.emit import Decline, LibraryCall, view
from headrace.ops.samples import ErrorSample, Sample
from headrace.ops.shape_checks import described_by, with_rank
from headrace.ops.signature import Ints, String
from headrace.ops.window import (
    channel_axis,
    channels_last,
    from_channels_last,
    layout,
    order_of,
    places,
    spatial,
    window,
)  # fmt: skip

ATTRS = {
    "T": FLOATS,
    "strides": Ints(),
    "use_cudnn_on_gpu": True,
    "padding": String("SAME", "VALID", "EXPLICIT"),
    "explicit_paddings": Ints([]),
    "data_format": String("NHWC", "NCHW", default="NHWC"),
    "dilations": Ints([1, 1, 1, 1]),
}


# -- what the options must be -------------------------------------------------------------------
def check_options(strides, dilations, padding, explicit_paddings, data_format):
    """The limits that TF sets to the options of a convolution."""
    channel = channel_axis(data_format) % 4
    for name, values in (("strides", strides), ("dilations", dilations)):
        require(len(values) == 4, f"Sliding window {name} field must specify 4 dimensions")
        require(
            values[0] == values[channel] == 1,
            f"Current implementation does not yet support {name} in the batch and "
            "depth dimensions.",
        )
    require(
        min(spatial(strides, data_format)) > 0, "Row and column strides should be larger than 0."
    )
    require(min(spatial(dilations, data_format)) > 0, "Dilated rates should be larger than 0.")
    check_paddings(padding, explicit_paddings, data_format)


def check_paddings(padding, explicit_paddings, data_format):
    if padding != "EXPLICIT":
        require(
            not explicit_paddings,
            "explicit_paddings attribute must be empty if the padding attribute is not EXPLICIT",
        )
        return
    require(
        len(explicit_paddings) == 8,
        f"explicit_paddings attribute must contain 8 values, but got: {len(explicit_paddings)}",
    )
    require(min(explicit_paddings) >= 0, "All elements of explicit_paddings must be nonnegative")
    pairs = list(zip(explicit_paddings[::2], explicit_paddings[1::2]))
    require(
        not any(pairs[0]) and not any(pairs[channel_axis(data_format)]),
        "Nonzero explicit padding in the batch or depth dimensions is not supported",
    )


def spatial_pads(explicit_paddings, data_format):
    pairs = list(zip(explicit_paddings[::2], explicit_paddings[1::2]))
    return spatial(pairs or [(0, 0)] * 4, data_format)


def windows_of(sizes, filter_sizes, strides, padding, explicit_paddings, data_format, dilations):
    """The geometry of a call whose input has these spatial sizes."""
    check_options(strides, dilations, padding, explicit_paddings, data_format)
    return [
        window(n, k, s, padding, d, p)
        for n, k, s, d, p in zip(
            sizes, filter_sizes, spatial(strides, data_format), spatial(dilations, data_format),
            spatial_pads(explicit_paddings, data_format),
        )
    ]  # fmt: skip


def check_depths(depth, filter_depth, outputs):
    """Channels split evenly into groups; each group has its share of the outputs."""
    if depth is None or filter_depth is None:
        return
    require(filter_depth != 0, "Depth of filter must not be 0")
    require(
        depth % filter_depth == 0,
        f"Depth of input ({depth}) is not a multiple of input depth of filter ({filter_depth})",
    )
    if depth != filter_depth and outputs is not None:
        groups = depth // filter_depth
        require(groups != 0, "Number of groups must not be 0")
        require(
            outputs % groups == 0,
            f"Depth of output ({outputs}) is not a multiple of the number of groups ({groups})",
        )


# -- Conv2D -------------------------------------------------------------------------------------
def conv2d_shape(input, filter, *, strides, padding, explicit_paddings, data_format, dilations):
    input, filter = with_rank(input, 4), with_rank(filter, 4)
    require(
        len(dilations) == 4,
        f"Conv2D requires the dilation attribute to contain 4 values, but got: {len(dilations)}",
    )
    require(
        len(strides) == 4,
        f"Conv2D on data format {data_format} requires the stride attribute to contain 4 values, "
        f"but got: {len(strides)}",
    )
    check_depths(input.sizes[channel_axis(data_format)], *filter.sizes[2:])
    check_paddings(padding, explicit_paddings, data_format)
    space = [
        places(n, k, s, padding, d, p)
        for n, k, s, d, p in zip(
            spatial(input.sizes, data_format), filter.sizes, spatial(strides, data_format),
            spatial(dilations, data_format), spatial_pads(explicit_paddings, data_format),
        )
    ]  # fmt: skip
    return layout(input.sizes[0], space, filter.sizes[3], data_format)


@op("Conv2D", "input: T, filter: T -> output: T", shape=conv2d_shape, attrs=ATTRS)
def conv2d(input, filter, *, strides, padding, explicit_paddings, data_format, dilations):
    """Correlation of images with filters [height, width, channels, outputs]."""
    require(input.ndim == 4, f"input must be 4-dimensional{list(input.shape)}")
    require(filter.ndim == 4, f"filter must be 4-dimensional: {list(filter.shape)}")
    x = channels_last(input, data_format)
    depth, filter_depth = x.shape[3], filter.shape[2]
    require(
        filter_depth and depth % filter_depth == 0,
        f"input depth must be evenly divisible by filter depth: {depth} vs {filter_depth}",
    )
    windows = windows_of(
        x.shape[1:3], filter.shape, strides, padding, explicit_paddings, data_format, dilations
    )
    return from_channels_last(convolve(x, filter, windows), data_format)


def options(node):
    """The attributes that a convolution hands to its gradients."""
    return {name: node.attrs[name] for name in ATTRS if name != "T"}


@conv2d.gradient
def _(node, dy):
    x, w = node.inputs
    x_shape, w_shape = reshape.shape_n([x, w])
    dx = conv2d_backprop_input(x_shape, w, dy, **options(node))
    return dx, conv2d_backprop_filter(x, w_shape, dy, **options(node))


def library_options(x, w, strides, padding, explicit_paddings, data_format, dilations):
    """Options of oneDNN's convolution; x and w are operands of the call."""
    if x.shape[channel_axis(data_format)] != w.shape[2]:
        raise Decline("groups of channels")
    windows = windows_of(
        spatial(x.shape, data_format), w.shape, strides, padding, explicit_paddings, data_format,
        dilations,
    )  # fmt: skip
    return {
        "strides": tuple(k.stride for k in windows),
        "dilations": tuple(k.dilation for k in windows),
        "pads": tuple((k.before, k.after) for k in windows),
    }


@conv2d.library("onednn")
def _(x, w, out, *, strides, padding, explicit_paddings, data_format, dilations):
    order = order_of(4, data_format)
    return LibraryCall(
        "convolution", src=view(x, order), weights=view(w, (3, 2, 0, 1)), dst=view(out, order),
        **library_options(x, w, strides, padding, explicit_paddings, data_format, dilations),
    )  # fmt: skip


# Strides, dilations, paddings, layouts: (data_format, input, filter, options).
CASES = (
    ("NHWC", (2, 5, 6, 3), (3, 2, 3, 4), {"padding": "SAME"}),
    ("NHWC", (2, 5, 6, 3), (3, 2, 3, 4), {"padding": "VALID", "strides": [1, 2, 2, 1]}),
    ("NHWC", (1, 7, 7, 2), (2, 3, 2, 3), {"padding": "SAME", "dilations": [1, 2, 2, 1]}),
    ("NHWC", (1, 4, 5, 2), (1, 1, 2, 3), {"padding": "VALID", "strides": [1, 3, 2, 1]}),
    ("NHWC", (1, 4, 4, 4), (2, 2, 2, 6), {"padding": "SAME"}),  # two groups
    ("NCHW", (2, 3, 5, 6), (3, 2, 3, 4), {"padding": "SAME", "strides": [1, 1, 2, 3]}),
    (
        "NHWC", (1, 4, 4, 2), (3, 3, 2, 2),
        {"padding": "EXPLICIT", "explicit_paddings": [0, 0, 1, 2, 0, 3, 0, 0]},
    ),
)  # fmt: skip
PLAIN = {"strides": [1, 1, 1, 1]}


@conv2d.samples
def _(rng):
    for data_format, x, w, chosen in CASES:
        yield Sample(
            rng.normal(size=x), rng.normal(size=w), data_format=data_format, **PLAIN | chosen
        )
    yield Sample(np.zeros((0, 5, 5, 2)), rng.normal(size=(2, 2, 2, 3)), **PLAIN, padding="SAME")
    yield Sample(
        rng.normal(size=(1, 5, 5, 2)), np.zeros((2, 2, 2, 0)), **PLAIN, padding="VALID", grad=False
    )
    x, w = np.ones((1, 4, 4, 3)), np.ones((2, 2, 3, 2))
    yield ErrorSample(x[0], w, **PLAIN, padding="SAME", raises="must be rank 4 but is rank 3")
    yield ErrorSample(x, np.ones((2, 2, 2, 2)), **PLAIN, padding="SAME", raises="is not a multiple")
    yield ErrorSample(
        x, np.ones((5, 2, 3, 2)), **PLAIN, padding="VALID",
        raises="Negative dimension size caused by subtracting 5 from 4",
    )  # fmt: skip
    yield ErrorSample(
        x, w, strides=[2, 1, 1, 1], padding="SAME", raises="strides in the batch and depth"
    )


# -- its gradients ------------------------------------------------------------------------------
def backprop_windows(label, x_sizes, w_sizes, dy, **given):
    """The geometry of a gradient, after the checks that TF makes; sizes are channels last."""
    require(len(x_sizes) == 4, f"{label}: input must be 4-dimensional")
    require(len(w_sizes) == 4, f"{label}: filter must be 4-dimensional")
    require(dy.ndim == 4, f"{label}: out_backprop must be 4-dimensional")
    require(
        x_sizes[0] == dy.shape[0],
        f"{label}: input and out_backprop must have the same batch size, "
        f"input batch: {x_sizes[0]} outbackprop batch: {dy.shape[0]} batch_dim: 0",
    )
    require(
        w_sizes[2] and x_sizes[3] % w_sizes[2] == 0,
        f"{label}: input depth must be evenly divisible by filter depth",
    )
    require(
        w_sizes[3] == dy.shape[3], f"{label}: filter and out_backprop must have the same out_depth"
    )
    windows = windows_of(x_sizes[1:3], w_sizes, **given)
    for axis, (w, found) in enumerate(zip(windows, dy.shape[1:3])):
        require(
            w.count == found,
            f"{label}: Size of out_backprop doesn't match computed: actual = {found}, "
            f"computed = {w.count} spatial_dim: {axis + 1} input: {x_sizes[axis + 1]} "
            f"filter: {w.size} output: {found} stride: {w.stride} dilation: {w.dilation}",
        )
    return windows


def backprop_input_shape(input_sizes, filter, out_backprop):
    return with_rank(described_by(input_sizes), 4)


@op("Conv2DBackpropInput", "input_sizes: int32, filter: T, out_backprop: T -> output: T",
    shape=backprop_input_shape, attrs=ATTRS)  # fmt: skip
def conv2d_backprop_input(input_sizes, filter, out_backprop, *, data_format, strides, padding,
                          explicit_paddings, dilations):  # fmt: skip
    """The gradient of Conv2D with respect to its input; also the transposed convolution."""
    label = "Conv2DBackpropInput"
    require(
        input_sizes.ndim == 1,
        f"{label}: input_sizes input must be 1-dim, not {input_sizes.ndim}",
    )
    sizes = _last(input_sizes, data_format)
    dy = channels_last(out_backprop, data_format)
    windows = backprop_windows(
        label, sizes, filter.shape, dy, strides=strides, padding=padding,
        explicit_paddings=explicit_paddings, data_format=data_format, dilations=dilations,
    )  # fmt: skip
    return from_channels_last(convolve_input(sizes, filter, dy, windows), data_format)


def _last(sizes, data_format):
    """Sizes in the order (batch, space..., channels)."""
    sizes = [int(n) for n in sizes]
    require(min(sizes, default=0) >= 0, f"sizes must not be negative: {sizes}")
    if channel_axis(data_format) == 1 and len(sizes) > 1:
        return [sizes[0], *sizes[2:], sizes[1]]
    return sizes


@conv2d_backprop_input.gradient
def _(node, dy):
    _, w, grad = node.inputs
    dw = conv2d_backprop_filter(dy, reshape.shape_of(w), grad, **options(node))
    return None, dw, conv2d(dy, w, **options(node))


@conv2d_backprop_input.library("onednn")
def _(sizes, w, dy, out, *, strides, padding, explicit_paddings, data_format, dilations):
    order = order_of(4, data_format)
    return LibraryCall(
        "convolution_data", src=view(out, order), weights=view(w, (3, 2, 0, 1)),
        dst=view(dy, order),
        **library_options(out, w, strides, padding, explicit_paddings, data_format, dilations),
    )  # fmt: skip


def _forward(x, w, chosen, data_format):
    """The shape of Conv2D's output, for samples of the gradients."""
    given = {"explicit_paddings": [], "dilations": [1] * 4} | PLAIN | chosen
    y = conv2d.reference(np.zeros(x), np.zeros(w), data_format=data_format, **given)
    return y.shape


@conv2d_backprop_input.samples
def _(rng):
    for data_format, x, w, chosen in CASES:
        dy = rng.normal(size=_forward(x, w, chosen, data_format))
        yield Sample(
            np.array(x, np.int32), rng.normal(size=w), dy, data_format=data_format,
            **PLAIN | chosen,
        )  # fmt: skip
    sizes = np.array([1, 4, 4, 3], np.int32)
    w, dy = np.ones((2, 2, 3, 2)), np.ones((1, 4, 4, 2))
    yield ErrorSample(
        sizes, w, dy[:, 1:], **PLAIN, padding="SAME", raises="Size of out_backprop doesn't match"
    )
    yield ErrorSample(
        sizes, w, np.ones((2, 4, 4, 2)), **PLAIN, padding="SAME", raises="same batch size"
    )


def backprop_filter_shape(input, filter_sizes, out_backprop):
    return with_rank(described_by(filter_sizes), 4)


@op("Conv2DBackpropFilter", "input: T, filter_sizes: int32, out_backprop: T -> output: T",
    shape=backprop_filter_shape, attrs=ATTRS)  # fmt: skip
def conv2d_backprop_filter(input, filter_sizes, out_backprop, *, data_format, strides, padding,
                           explicit_paddings, dilations):  # fmt: skip
    """The gradient of Conv2D with respect to its filter."""
    label = "Conv2DBackpropFilter"
    require(
        filter_sizes.ndim == 1,
        f"{label}: filter_sizes input must be 1-dim, not {filter_sizes.ndim}",
    )
    sizes = _last(filter_sizes, "NHWC")
    x, dy = channels_last(input, data_format), channels_last(out_backprop, data_format)
    windows = backprop_windows(
        label, x.shape, sizes, dy, strides=strides, padding=padding,
        explicit_paddings=explicit_paddings, data_format=data_format, dilations=dilations,
    )  # fmt: skip
    return convolve_filter(x, sizes, dy, windows)


@conv2d_backprop_filter.gradient
def _(node, dw):
    x, _, grad = node.inputs
    dx = conv2d_backprop_input(reshape.shape_of(x), dw, grad, **options(node))
    return dx, None, conv2d(x, dw, **options(node))


@conv2d_backprop_filter.library("onednn")
def _(x, sizes, dy, out, *, strides, padding, explicit_paddings, data_format, dilations):
    order = order_of(4, data_format)
    return LibraryCall(
        "convolution_weights", src=view(x, order), weights=view(out, (3, 2, 0, 1)),
        dst=view(dy, order),
        **library_options(x, out, strides, padding, explicit_paddings, data_format, dilations),
    )  # fmt: skip


@conv2d_backprop_filter.samples
def _(rng):
    for data_format, x, w, chosen in CASES:
        dy = rng.normal(size=_forward(x, w, chosen, data_format))
        yield Sample(
            rng.normal(size=x), np.array(w, np.int32), dy, data_format=data_format,
            **PLAIN | chosen,
        )  # fmt: skip
    yield Sample(
        np.zeros((0, 4, 4, 3)), np.array([2, 2, 3, 2], np.int32), np.zeros((0, 4, 4, 2)),
        **PLAIN, padding="SAME", note="empty",
    )  # fmt: skip
