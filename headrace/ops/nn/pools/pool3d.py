"""AvgPool3D and MaxPool3D over volumes, their gradients and the gradients of those."""

from __future__ import annotations

import numpy as np

from headrace.core.dtypes import FLOATS, REALS, bfloat16, float16, float32
from headrace.core.errors import require
from headrace.ops.array import fill, reshape, source
from headrace.ops.declaration.declare import op
from headrace.ops.declaration.emit import Decline
from headrace.ops.declaration.precision import widen
from headrace.ops.declaration.samples import ErrorSample, Sample
from headrace.ops.declaration.shape_checks import merge, with_rank
from headrace.ops.declaration.signature import Ints, String, Type
from headrace.ops.nn.convolution.conv_geometry import last_sizes, sizes_shape
from headrace.ops.nn.pools import pooling
from headrace.ops.nn.pools.pool import distinct, pool_call, refuse
from headrace.ops.nn.window import (
    channel_axis,
    channels_last,
    from_channels_last,
    layout,
    padded,
    padded_zeros,
    places,
    spatial,
    taps,
    unpadded,
    window,
)

WINDOW = {
    "ksize": Ints(min=5),
    "strides": Ints(min=5),
    "padding": String("SAME", "VALID"),
    "data_format": String("NDHWC", "NCDHW", default="NDHWC"),
}
MAX_TYPES = (float16, bfloat16, float32)
NEAR = 1e-5  # what is so near to a window's maximum takes part in its gradient


def options(node):
    return {name: node.attrs[name] for name in WINDOW}


def pool3d_shape(input, *, ksize, strides, padding, data_format):
    input = with_rank(input, 5)
    for what, values in (("stride", strides), ("ksize", ksize)):
        require(
            len(values) == 5,
            f"Pool3D requires the {what} attribute to contain 5 values, but got: {len(values)}",
        )
    space = [
        places(n, k, s, padding)
        for n, k, s in zip(*(spatial(v, data_format) for v in (input.sizes, ksize, strides)))
    ]
    return layout(input.sizes[0], space, input.sizes[channel_axis(data_format)], data_format)


def windows_of(sizes, ksize, strides, padding, data_format):
    """The geometry of a call whose input has these sizes, channels last."""
    require(len(ksize) == 5, "Sliding window ksize field must specify 5 dimensions")
    require(len(strides) == 5, "Sliding window stride field must specify 5 dimensions")
    channel = channel_axis(data_format)
    if not ksize[0] == strides[0] == 1:
        refuse("Pooling is not yet supported on the batch dimension.")
    if not ksize[channel] == strides[channel] == 1:
        refuse("Pooling is not yet supported on the depth dimension.")
    require(min(ksize) > 0, f"Sliding window ksize must be positive, but got {list(ksize)}")
    return [
        window(n, k, s, padding)
        for n, k, s in zip(sizes[1:4], spatial(ksize, data_format), spatial(strides, data_format))
    ]


CASES = (
    ((2, 4, 3, 5, 2), {"ksize": [1, 2, 2, 2, 1], "strides": [1, 2, 1, 2, 1], "padding": "SAME"}),
    ((1, 4, 4, 3, 2), {"ksize": [1, 3, 2, 2, 1], "strides": [1, 1, 2, 1, 1], "padding": "VALID"}),
    (
        (1, 2, 3, 4, 3),
        {"ksize": [1, 1, 2, 2, 2], "strides": [1, 1, 1, 2, 1], "padding": "SAME", "data_format": "NCDHW"},
    ),
)


def pooled_like(shape, chosen):
    return max_pool3d.reference(np.zeros(shape), **{"data_format": "NDHWC"} | chosen).shape


def _pooled(pool, input, ksize, strides, padding, data_format):
    require(input.ndim == 5, "tensor_in must be 5-dimensional")
    x = channels_last(input, data_format)
    windows = windows_of(x.shape, ksize, strides, padding, data_format)
    return from_channels_last(pool(x, windows), data_format)


# -- AvgPool3D ----------------------------------------------------------------------------------
@op("AvgPool3D", "input: T -> output: T", shape=pool3d_shape, attrs=WINDOW | {"T": FLOATS})
def avg_pool3d(input, *, ksize, strides, padding, data_format):
    """The mean under a window; what is padded does not count."""
    return _pooled(pooling.avg_pool, input, ksize, strides, padding, data_format)


@avg_pool3d.gradient
def _(node, dy):
    return avg_pool3d_grad(reshape.shape_of(node.inputs[0]), dy, **options(node))


@avg_pool3d.library("onednn")
def _(x, out, **attrs):
    return pool_call("avg_pool", windows_of, x, out, attrs, src=x, dst=out)


@avg_pool3d.samples
def _(rng):
    for shape, chosen in CASES:
        yield Sample(rng.normal(size=shape), **chosen)
    yield ErrorSample(np.ones((2, 3, 4, 5)), **CASES[0][1], raises="must be rank 5 but is rank 4")


@op(
    "AvgPool3DGrad",
    "orig_input_shape: int32, grad: T -> output: T",
    shape=lambda sizes, dy: sizes_shape(sizes, 5),
    attrs=WINDOW | {"T": FLOATS},
)
def avg_pool3d_grad(orig_input_shape, grad, *, ksize, strides, padding, data_format):
    """The gradient of AvgPool3D, from the shape of its input."""
    require(orig_input_shape.shape == (5,), "orig_input_shape must be 1-dimensional and 5 elements")
    require(grad.ndim == 5, "out_backprop must be 5-dimensional")
    sizes = last_sizes(orig_input_shape, data_format)
    dy = channels_last(grad, data_format)
    windows = windows_of(sizes, ksize, strides, padding, data_format)
    require_shape("grad", dy, (sizes[0], *(w.count for w in windows), sizes[4]))
    return from_channels_last(pooling.avg_pool_grad(sizes, dy, windows), data_format)


def require_shape(name, x, expected):
    require(
        x.shape == tuple(expected), f"Expected {name} shape to be {list(expected)}, but got {list(x.shape)}"
    )


@avg_pool3d_grad.gradient
def _(node, ddx):
    return source.stop_gradient(node.inputs[0]), avg_pool3d(ddx, **options(node))


@avg_pool3d_grad.library("onednn")
def _(sizes, dy, out, **attrs):
    return pool_call("avg_pool_data", windows_of, out, dy, attrs, src=out, dst=dy)


@avg_pool3d_grad.samples
def _(rng):
    for shape, chosen in CASES:
        dy = rng.normal(size=pooled_like(shape, chosen))
        yield Sample(np.array(shape, np.int32), dy, **chosen)


# -- MaxPool3D ----------------------------------------------------------------------------------
@op("MaxPool3D", "input: T -> output: T", shape=pool3d_shape, attrs=WINDOW | {"T": MAX_TYPES})
def max_pool3d(input, *, ksize, strides, padding, data_format):
    """The largest element under a window."""
    return _pooled(pooling.max_pool, input, ksize, strides, padding, data_format)


@max_pool3d.gradient
def _(node, dy):
    return max_pool3d_grad(node.inputs[0], node.outputs[0], dy, **options(node))


@max_pool3d.library("onednn")
def _(x, out, **attrs):
    return pool_call("max_pool", windows_of, x, out, attrs, src=x, dst=out)


@max_pool3d.samples
def _(rng):
    for shape, chosen in CASES:
        yield Sample(distinct(rng, shape).astype(np.float32), **chosen)


@op(
    "MaxPool3DGrad",
    "orig_input: TInput, orig_output: TInput, grad: T -> output: T",
    shape=lambda x, y, dy: with_rank(x, 5),
    attrs=WINDOW | {"T": Type(MAX_TYPES, default=float32), "TInput": Type(MAX_TYPES, default=float32)},
)
def max_pool3d_grad(orig_input, orig_output, grad, *, ksize, strides, padding, data_format):
    """The gradient of MaxPool3D: every element within NEAR of a window's maximum gets all of the
    window's gradient, as in TF (the pooling of images gives it to the first maximum alone)."""
    x, y, dy = (channels_last(a, data_format) for a in (orig_input, orig_output, grad))
    windows = windows_of(x.shape, ksize, strides, padding, data_format)
    expected = (len(x), *(w.count for w in windows), x.shape[4])
    require_shape("orig_output", y, expected)
    require_shape("grad", dy, expected)
    seen, near = padded(x, windows, np.nan), x.dtype.type(NEAR)
    dx = padded_zeros(len(x), x.shape[4], x.shape[1:4], windows, widen(dy).dtype)
    with np.errstate(invalid="ignore"):  # the difference of two infinities is near to nothing
        for _, index in taps(windows):
            dx[index] += np.where(np.abs(seen[index] - y) < near, dy, dy.dtype.type(0))
    return from_channels_last(unpadded(dx, windows), data_format)


@max_pool3d_grad.gradient
def _(node, ddx):
    x, y = node.inputs[:2]
    return fill.zeros_like(x), fill.zeros_like(y), max_pool3d_grad_grad(x, y, ddx, **options(node))


@max_pool3d_grad.library("own")
def _(x, y, dy, out, **attrs):
    if y.shape != dy.shape or x.dtype is not y.dtype:
        raise Decline("operands that do not fit")
    operands = {"src": x, "dst": y, "diff_dst": dy, "diff_src": out}
    return pool_call("near_max_data", windows_of, x, y, attrs, near=NEAR, **operands)


def grad_samples(rng):
    """(input, output, options) of MaxPool3D, for its gradients."""
    for shape, chosen in CASES:
        x = distinct(rng, shape).astype(np.float32)
        yield x, max_pool3d.reference(x, **{"data_format": "NDHWC"} | chosen), chosen


@max_pool3d_grad.samples
def _(rng):
    for x, y, chosen in grad_samples(rng):
        yield Sample(x, y, rng.normal(size=y.shape).astype(np.float32), **chosen, grad=False)
        yield Sample(x, y, rng.normal(size=y.shape).astype(bfloat16.numpy), **chosen, grad=False)
    for x in (np.array([5, 5, 5, 1.0]), np.array([1, 1 - 5e-6, np.inf, np.nan])):
        x = x.astype(np.float32).reshape(1, 1, 1, 4, 1)
        chosen = {"ksize": [1, 1, 1, 2, 1], "strides": [1] * 5, "padding": "VALID"}
        y = max_pool3d.reference(x, **chosen, data_format="NDHWC")
        dy = np.array([1, 2, 4], np.float32).reshape(y.shape)
        yield Sample(x, y, dy, **chosen, grad=False, note="ties")


def grad_grad_shape(orig_input, orig_output, grad, *, ksize, strides, padding, data_format):
    merge(orig_input, grad)
    out = pool3d_shape(orig_input, ksize=ksize, strides=strides, padding=padding, data_format=data_format)
    return merge(orig_output, out)


@op(
    "MaxPool3DGradGrad",
    "orig_input: T, orig_output: T, grad: T -> output: T",
    shape=grad_grad_shape,
    attrs=WINDOW | {"T": REALS},
)
def max_pool3d_grad_grad(orig_input, orig_output, grad, *, ksize, strides, padding, data_format):
    """grad (like the input), read where the maxima were."""
    x, y, ddx = (channels_last(a, data_format) for a in (orig_input, orig_output, grad))
    windows = windows_of(x.shape, ksize, strides, padding, data_format)
    require_shape("orig_output", y, (len(x), *(w.count for w in windows), x.shape[4]))
    require_shape("grad", ddx, x.shape)
    return from_channels_last(pooling.where_equal(x, y, ddx, windows), data_format)


@max_pool3d_grad_grad.gradient
def _(node, dy):
    x, y = node.inputs[:2]
    return fill.zeros_like(x), fill.zeros_like(y), max_pool3d_grad(x, y, dy, **options(node))


@max_pool3d_grad_grad.samples
def _(rng):
    for x, y, chosen in grad_samples(rng):
        yield Sample(x, y, rng.normal(size=x.shape).astype(np.float32), **chosen, grad=False)
