"""Conv3D and its gradients; the older gradients take the whole input instead of its sizes."""

from __future__ import annotations

import numpy as np

from headrace.core.dtypes import FLOATS, float16, float32, float64
from headrace.core.errors import require
from headrace.ops.declaration.declare import op
from headrace.ops.declaration.emit import view
from headrace.ops.declaration.samples import ErrorSample, Sample
from headrace.ops.declaration.shape_checks import with_rank
from headrace.ops.declaration.signature import INDEX32, Ints, String
from headrace.ops.nn.convolution.conv import library_call
from headrace.ops.nn.convolution.conv_family import correlate, relate, shapes_apart
from headrace.ops.nn.convolution.conv_geometry import (
    backprop_windows,
    conv_shape,
    last_sizes,
    require_vector,
    sizes_shape,
)
from headrace.ops.nn.convolution.conv_samples import of_filter_gradient, of_forward, of_input_gradient
from headrace.ops.nn.convolution.convolve import convolve_filter, convolve_input
from headrace.ops.nn.window import channels_last, from_channels_last

ATTRS = {
    "T": FLOATS,
    "strides": Ints(min=5),
    "padding": String("SAME", "VALID"),
    "data_format": String("NDHWC", "NCDHW", default="NDHWC"),
    "dilations": Ints([1, 1, 1, 1, 1]),
}
OLD_ATTRS = {
    "T": (float16, float32, float64),
    "strides": ATTRS["strides"],
    "padding": ATTRS["padding"],
    "dilations": ATTRS["dilations"],
}
FILTER_ORDER = (4, 3, 0, 1, 2)

CASES = (
    ("NDHWC", (2, 4, 5, 3, 2), (2, 3, 1, 2, 3), {"padding": "SAME"}),
    ("NDHWC", (1, 4, 5, 4, 2), (2, 2, 2, 2, 3), {"padding": "VALID", "strides": [1, 2, 1, 2, 1]}),
    ("NDHWC", (1, 5, 5, 5, 1), (2, 2, 2, 1, 2), {"padding": "VALID", "dilations": [1, 2, 2, 1, 1]}),
    ("NCDHW", (1, 2, 4, 3, 3), (2, 2, 2, 2, 3), {"padding": "SAME", "strides": [1, 1, 2, 1, 1]}),
)
PLAIN = {"strides": [1, 1, 1, 1, 1]}


def options(node):
    return {name: node.attrs[name] for name in ("strides", "padding", "dilations", "data_format")}


def forward_shape(x, w, chosen, data_format):
    given = {"dilations": [1] * 5} | PLAIN | chosen
    return conv3d.reference(np.zeros(x), np.zeros(w), data_format=data_format, **given).shape


# -- Conv3D -------------------------------------------------------------------------------------
def conv3d_shape(input, filter, **attrs):
    return conv_shape("Conv3D", input, filter, **attrs)


@op("Conv3D", "input: T, filter: T -> output: T", shape=conv3d_shape, attrs=ATTRS)
def conv3d(input, filter, **attrs):
    """Correlation of volumes with filters [depth, height, width, channels, outputs]."""
    require(input.ndim == 5, "input must be 5-dimensional")
    require(filter.ndim == 5, "filter must be 5-dimensional")
    return correlate(input, filter, "Input depth", **attrs)


@conv3d.samples
def _(rng):
    yield from of_forward(rng, CASES, PLAIN)
    x, w = np.ones((0, 3, 3, 3, 2)), np.ones((2, 2, 2, 2, 1))
    yield Sample(x, w, **PLAIN, padding="VALID", note="empty")
    yield ErrorSample(x[..., 0], w, **PLAIN, padding="SAME", raises="must be rank 5 but is rank 4")


# -- its gradients ------------------------------------------------------------------------------
@op(
    "Conv3DBackpropInputV2",
    "input_sizes: Tshape, filter: T, out_backprop: T -> output: T",
    shape=lambda sizes, filter, dy: sizes_shape(sizes, 5),
    attrs=ATTRS | {"Tshape": INDEX32},
)
def conv3d_backprop_input_v2(input_sizes, filter, out_backprop, *, data_format, **attrs):
    """The gradient of Conv3D with respect to its input."""
    require_vector("Conv3DBackpropInputOp", "input_sizes", input_sizes)
    sizes = last_sizes(input_sizes, data_format)
    dy = channels_last(out_backprop, data_format)
    windows = backprop_windows(
        "Conv3DBackpropInputOp", sizes, filter.shape, dy.shape, data_format=data_format, **attrs
    )
    return from_channels_last(convolve_input(sizes, filter, dy, windows), data_format)


@conv3d_backprop_input_v2.samples
def _(rng):
    yield from of_input_gradient(rng, CASES, PLAIN, forward_shape)
    yield ErrorSample(
        np.array([1, 3, 3, 3, 1], np.int32),
        np.ones((2, 2, 2, 1, 1)),
        np.ones((1, 3, 3, 2, 1)),
        **PLAIN,
        padding="SAME",
        raises="Size of out_backprop doesn't match",
    )


@op(
    "Conv3DBackpropFilterV2",
    "input: T, filter_sizes: int32, out_backprop: T -> output: T",
    shape=lambda input, sizes, dy: sizes_shape(sizes, 5),
    attrs=ATTRS,
)
def conv3d_backprop_filter_v2(input, filter_sizes, out_backprop, *, data_format, **attrs):
    """The gradient of Conv3D with respect to its filter."""
    require_vector("Conv3DBackpropFilterOp", "filter_sizes", filter_sizes)
    sizes = last_sizes(filter_sizes, "NDHWC")
    x, dy = channels_last(input, data_format), channels_last(out_backprop, data_format)
    windows = backprop_windows(
        "Conv3DBackpropFilterOp", x.shape, sizes, dy.shape, data_format=data_format, **attrs
    )
    return convolve_filter(x, sizes, dy, windows)


@conv3d_backprop_filter_v2.samples
def _(rng):
    yield from of_filter_gradient(rng, CASES, PLAIN, forward_shape)


def _library(kind, x, w, y, *, data_format, **attrs):
    return library_call(kind, x, w, y, view(w, FILTER_ORDER), data_format, attrs)


relate(
    conv3d,
    conv3d_backprop_input_v2,
    conv3d_backprop_filter_v2,
    options=options,
    library=_library,
    shapes=shapes_apart,
)


# -- the older gradients ------------------------------------------------------------------------
@op(
    "Conv3DBackpropInput",
    "input: T, filter: T, out_backprop: T -> output: T",
    shape=lambda input, filter, dy: with_rank(input, 5),
    attrs=OLD_ATTRS,
    deprecated=(10, "Use Conv3DBackpropInputV2"),
)
def conv3d_backprop_input(input, filter, out_backprop, **attrs):
    """Conv3DBackpropInputV2 for the shape of `input`."""
    sizes = np.array(input.shape)
    return conv3d_backprop_input_v2.reference(sizes, filter, out_backprop, data_format="NDHWC", **attrs)


@op(
    "Conv3DBackpropFilter",
    "input: T, filter: T, out_backprop: T -> output: T",
    shape=lambda input, filter, dy: with_rank(filter, 5),
    attrs=OLD_ATTRS,
    deprecated=(10, "Use Conv3DBackpropFilterV2"),
)
def conv3d_backprop_filter(input, filter, out_backprop, **attrs):
    """Conv3DBackpropFilterV2 for the shape of `filter`."""
    sizes = np.array(filter.shape)
    return conv3d_backprop_filter_v2.reference(input, sizes, out_backprop, data_format="NDHWC", **attrs)


@conv3d_backprop_input.samples
@conv3d_backprop_filter.samples
def _(rng):
    for data_format, x, w, chosen in CASES[:3]:
        dy = rng.normal(size=forward_shape(x, w, chosen, data_format))
        yield Sample(rng.normal(size=x), rng.normal(size=w), dy, **PLAIN | chosen, grad=False)
