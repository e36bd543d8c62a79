"""What a convolution and its two gradients are to each other: each one's gradients are the other two,
and oneDNN has all three.  Conv2D, Conv3D and DepthwiseConv2dNative hang it on their ops."""

from __future__ import annotations

from headrace.core.errors import require
from headrace.core.shapes import show
from headrace.ops.array import reshape
from headrace.ops.nn.convolution.conv_geometry import check_groups, windows_of
from headrace.ops.nn.convolution.convolve import convolve
from headrace.ops.nn.window import channels_last, from_channels_last


def relate(forward, by_input, by_filter, *, options, library, shapes=reshape.shape_n):
    """Gradients and library calls of the three.

    Args:
      forward, by_input, by_filter: the convolution, and its gradients by its input and by its filter.
      options: of a node, the attributes that one hands to the others.
      library: (kind, x, w, y, **attributes) to oneDNN's call, whichever of the arrays is the output.
      shapes: the sizes of two tensors, as nodes.
    """

    @forward.gradient
    def _(node, dy):
        x, w = node.inputs
        x_shape, w_shape = shapes([x, w])
        return by_input(x_shape, w, dy, **options(node)), by_filter(x, w_shape, dy, **options(node))

    @by_input.gradient
    def _(node, dx):
        _, w, dy = node.inputs
        dw = by_filter(dx, reshape.shape_of(w), dy, **options(node))
        return None, dw, forward(dx, w, **options(node))

    @by_filter.gradient
    def _(node, dw):
        x, _, dy = node.inputs
        dx = by_input(reshape.shape_of(x), dw, dy, **options(node))
        return dx, None, forward(x, dw, **options(node))

    @forward.library("onednn")
    def _(x, w, y, **attrs):
        return library("convolution", x, w, y, **attrs)

    @by_input.library("onednn")
    def _(sizes, w, dy, dx, **attrs):
        return library("convolution_data", dx, w, dy, **attrs)

    @by_filter.library("onednn")
    def _(x, sizes, dy, dw, **attrs):
        return library("convolution_weights", x, dw, dy, **attrs)


def correlate(input, filter, what, *, data_format, **attrs):
    """The meaning of a convolution; `what` begins the sentence about depths that do not fit."""
    x = channels_last(input, data_format)
    depth, filter_depth = x.shape[-1], filter.shape[-2]
    require(
        filter_depth and depth % filter_depth == 0,
        f"{what} must be evenly divisible by filter depth: {depth} vs {filter_depth} "
        f"with input shapes: {show(input.shape)}, {show(filter.shape)}.",
    )
    check_groups(depth, filter_depth, filter.shape[-1])
    windows = windows_of(x.shape[1:-1], filter.shape, data_format=data_format, **attrs)
    return from_channels_last(convolve(x, filter, windows), data_format)


def shapes_apart(tensors):
    """Sizes by one node for each tensor (`shape_n` has one node for all)."""
    return [reshape.shape_of(t) for t in tensors]
