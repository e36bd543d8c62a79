"""Conv2D and its gradients: NHWC and NCHW, strides, dilations, groups, all paddings."""

from __future__ import annotations

import numpy as np

from headrace.core.dtypes import FLOATS
from headrace.core.errors import require
from headrace.ops.declaration.declare import op
from headrace.ops.declaration.emit import Decline, LibraryCall, view
from headrace.ops.declaration.samples import ErrorSample, Sample
from headrace.ops.declaration.signature import Ints, String
from headrace.ops.declaration.traits import PADS
from headrace.ops.nn.convolution.conv_family import correlate, relate
from headrace.ops.nn.convolution.conv_geometry import (
    backprop_windows,
    conv_shape,
    last_sizes,
    require_vector,
    sizes_shape,
    windows_of,
)
from headrace.ops.nn.convolution.conv_samples import of_filter_gradient, of_forward, of_input_gradient
from headrace.ops.nn.convolution.convolve import convolve_filter, convolve_input
from headrace.ops.nn.window import channel_axis, channels_last, fits, from_channels_last, order_of, spatial

ATTRS = {
    "T": FLOATS,
    "strides": Ints(),
    "use_cudnn_on_gpu": True,
    "padding": String("SAME", "VALID", "EXPLICIT"),
    "explicit_paddings": Ints([]),
    "data_format": String("NHWC", "NCHW", default="NHWC"),
    "dilations": Ints([1, 1, 1, 1]),
}


def options(node):
    """The attributes that a convolution hands to its gradients."""
    return {name: node.attrs[name] for name in ATTRS if name != "T"}


def library_options(x, w, y, **given):
    """Options of oneDNN's convolution; x, w and y are operands of the call."""
    data_format = given["data_format"]
    if not len(x.shape) == len(w.shape) == len(y.shape) == len(data_format):
        raise Decline("shapes that do not fit")
    if len(w.shape) != 4 and x.shape[channel_axis(data_format)] != w.shape[-2]:
        raise Decline("groups of channels")
    windows = windows_of(spatial(x.shape, data_format), w.shape, **given)
    if not fits(y.shape, data_format, x.shape[0], windows, w.shape[-1]):
        raise Decline("shapes that do not fit")
    return {
        "strides": tuple(k.stride for k in windows),
        "dilations": tuple(k.dilation for k in windows),
        "pads": tuple((k.before, k.after) for k in windows),
    }


def library_call(kind, x, w, y, weights, data_format, attrs):
    """oneDNN's convolution of this kind; `weights` is the view of the filter w."""
    order = order_of(len(data_format), data_format)
    given = library_options(x, w, y, data_format=data_format, **attrs)
    return LibraryCall(kind, src=view(x, order), weights=weights, dst=view(y, order), **given)


def filters(w, x, data_format):
    """The view of a filter; with a dimension of groups where there are groups of channels."""
    if len(w.shape) != 4 or len(x.shape) != 4:
        raise Decline("shapes that do not fit")
    height, width, depth, outputs = w.shape
    channels = x.shape[channel_axis(data_format)]
    if not depth or channels == depth:
        return view(w, (3, 2, 0, 1))
    groups = channels // depth
    if channels % depth or not groups or outputs % groups:
        raise Decline("groups that do not fit")
    return view(w, (3, 4, 2, 0, 1), (height, width, depth, groups, outputs // groups))


# Strides, dilations, paddings, layouts: (data_format, input, filter, options).
CASES = (
    ("NHWC", (2, 5, 6, 3), (3, 2, 3, 4), {"padding": "SAME"}),
    ("NHWC", (2, 5, 6, 3), (3, 2, 3, 4), {"padding": "VALID", "strides": [1, 2, 2, 1]}),
    ("NHWC", (1, 7, 7, 2), (2, 3, 2, 3), {"padding": "SAME", "dilations": [1, 2, 2, 1]}),
    ("NHWC", (1, 4, 5, 2), (1, 1, 2, 3), {"padding": "VALID", "strides": [1, 3, 2, 1]}),
    ("NHWC", (1, 4, 4, 4), (2, 2, 2, 6), {"padding": "SAME"}),  # two groups
    ("NCHW", (2, 3, 5, 6), (3, 2, 3, 4), {"padding": "SAME", "strides": [1, 1, 2, 3]}),
    (
        "NHWC",
        (1, 4, 4, 2),
        (3, 3, 2, 2),
        {"padding": "EXPLICIT", "explicit_paddings": [0, 0, 1, 2, 0, 3, 0, 0]},
    ),
)
PLAIN = {"strides": [1, 1, 1, 1]}


def forward_shape(x, w, chosen, data_format):
    """The shape of Conv2D's output, for samples of the gradients."""
    given = {"explicit_paddings": [], "dilations": [1] * 4} | PLAIN | chosen
    y = conv2d.reference(np.zeros(x), np.zeros(w), data_format=data_format, **given)
    return y.shape


# -- Conv2D -------------------------------------------------------------------------------------
def conv2d_shape(input, filter, **attrs):
    return conv_shape("Conv2D", input, filter, **attrs)


@op("Conv2D", "input: T, filter: T -> output: T", shape=conv2d_shape, attrs=ATTRS, traits={PADS})
def conv2d(input, filter, **attrs):
    """Correlation of images with filters [height, width, channels, outputs]."""
    require(input.ndim == 4, f"input must be 4-dimensional{list(input.shape)}")
    require(filter.ndim == 4, f"filter must be 4-dimensional: {list(filter.shape)}")
    return correlate(input, filter, "input depth", **attrs)


@conv2d.samples
def _(rng):
    yield from of_forward(rng, CASES, PLAIN)
    yield Sample(np.zeros((0, 5, 5, 2)), rng.normal(size=(2, 2, 2, 3)), **PLAIN, padding="SAME")
    yield Sample(rng.normal(size=(1, 5, 5, 2)), np.zeros((2, 2, 2, 0)), **PLAIN, padding="VALID", grad=False)
    x, w = np.ones((1, 4, 4, 3)), np.ones((2, 2, 3, 2))
    yield ErrorSample(x[0], w, **PLAIN, padding="SAME", raises="must be rank 4 but is rank 3")
    yield ErrorSample(x, np.ones((2, 2, 2, 2)), **PLAIN, padding="SAME", raises="is not a multiple")
    yield ErrorSample(
        x,
        np.ones((5, 2, 3, 2)),
        **PLAIN,
        padding="VALID",
        raises="Negative dimension size caused by subtracting 5 from 4",
    )
    yield ErrorSample(x, w, strides=[2, 1, 1, 1], padding="SAME", raises="strides in the batch and depth")


# -- its gradients ------------------------------------------------------------------------------
@op(
    "Conv2DBackpropInput",
    "input_sizes: int32, filter: T, out_backprop: T -> output: T",
    shape=lambda sizes, filter, dy: sizes_shape(sizes, 4),
    attrs=ATTRS,
)
def conv2d_backprop_input(input_sizes, filter, out_backprop, *, data_format, **attrs):
    """The gradient of Conv2D with respect to its input; also the transposed convolution."""
    require_vector("Conv2DBackpropInput", "input_sizes", input_sizes)
    sizes = last_sizes(input_sizes, data_format)
    dy = channels_last(out_backprop, data_format)
    windows = backprop_windows(
        "Conv2DBackpropInput", sizes, filter.shape, dy.shape, data_format=data_format, **attrs
    )
    return from_channels_last(convolve_input(sizes, filter, dy, windows), data_format)


@conv2d_backprop_input.samples
def _(rng):
    yield from of_input_gradient(rng, CASES, PLAIN, forward_shape)
    sizes = np.array([1, 4, 4, 3], np.int32)
    w, dy = np.ones((2, 2, 3, 2)), np.ones((1, 4, 4, 2))
    yield ErrorSample(
        sizes, w, dy[:, 1:], **PLAIN, padding="SAME", raises="Size of out_backprop doesn't match"
    )
    yield ErrorSample(sizes, w, np.ones((2, 4, 4, 2)), **PLAIN, padding="SAME", raises="same batch size")


@op(
    "Conv2DBackpropFilter",
    "input: T, filter_sizes: int32, out_backprop: T -> output: T",
    shape=lambda input, sizes, dy: sizes_shape(sizes, 4),
    attrs=ATTRS,
    traits={PADS},
)
def conv2d_backprop_filter(input, filter_sizes, out_backprop, *, data_format, **attrs):
    """The gradient of Conv2D with respect to its filter."""
    require_vector("Conv2DBackpropFilter", "filter_sizes", filter_sizes)
    sizes = last_sizes(filter_sizes, "NHWC")
    x, dy = channels_last(input, data_format), channels_last(out_backprop, data_format)
    windows = backprop_windows(
        "Conv2DBackpropFilter", x.shape, sizes, dy.shape, data_format=data_format, **attrs
    )
    return convolve_filter(x, sizes, dy, windows)


@conv2d_backprop_filter.samples
def _(rng):
    yield from of_filter_gradient(rng, CASES, PLAIN, forward_shape)
    yield Sample(
        np.zeros((0, 4, 4, 3)),
        np.array([2, 2, 3, 2], np.int32),
        np.zeros((0, 4, 4, 2)),
        **PLAIN,
        padding="SAME",
        note="empty",
    )


def _library(kind, x, w, y, *, data_format, **attrs):
    return library_call(kind, x, w, y, filters(w, x, data_format), data_format, attrs)


relate(conv2d, conv2d_backprop_input, conv2d_backprop_filter, options=options, library=_library)
