"""AvgPool and MaxPool over images, their gradients and the gradients of those."""

from __future__ import annotations

import numpy as np

from headrace.core.dtypes import (
    FLOATS,
    REALS,
    bfloat16,
    float16,
    float32,
    float64,
    int8,
    int16,
    int32,
    int64,
    qint8,
    uint8,
    uint16,
)
from headrace.core.errors import UnimplementedError, require
from headrace.core.shapes import make_shape
from headrace.ops.array import fill, reshape, source
from headrace.ops.declaration.declare import op
from headrace.ops.declaration.emit import Decline, LibraryCall, view
from headrace.ops.declaration.samples import ErrorSample, Sample
from headrace.ops.declaration.shape_checks import described_by, merge, with_rank, with_size
from headrace.ops.declaration.signature import Ints, String, Type
from headrace.ops.nn.pools import pooling
from headrace.ops.nn.window import (
    channel_axis,
    channels_last,
    fits,
    from_channels_last,
    layout,
    order_of,
    places,
    spatial,
    window,
)

WINDOW = {
    "ksize": Ints(min=4),
    "strides": Ints(min=4),
    "padding": String("SAME", "VALID"),
    "data_format": String("NHWC", "NCHW", default="NHWC"),
}


# -- what the options must be -------------------------------------------------------------------
def check_window(ksize, strides, data_format):
    require(len(ksize) == 4, "Sliding window ksize field must specify 4 dimensions")
    require(len(strides) == 4, "Sliding window stride field must specify 4 dimensions")
    if not ksize[0] == strides[0] == 1:
        refuse("Pooling is not yet supported on the batch dimension.")
    require(min(ksize) > 0, f"Sliding window ksize must be positive, but got {list(ksize)}")
    require(data_format != "NCHW_VECT_C", "Default MaxPoolingNoMaskOp only supports NHWC on device type CPU")


def refuse(message):
    raise UnimplementedError(None, None, message)


def windows_of(sizes, ksize, strides, padding, data_format):
    """The geometry of a call whose input has these sizes, channels last."""
    check_window(ksize, strides, data_format)
    return [
        window(n, k, s, padding)
        for n, k, s in zip(sizes[1:-1], spatial(ksize, data_format), spatial(strides, data_format))
    ]


def depth_window(ksize, strides, data_format, depth):
    """The window over channels; only whole, separate groups of channels can be pooled."""
    k = ksize[channel_axis(data_format)]
    if k == 1:
        return 1
    if max(spatial(ksize, data_format)) > 1:
        refuse("MaxPooling supports exactly one of pooling across depth or pooling across width/height.")
    if depth % k:
        refuse("Depthwise max pooling requires the depth window to evenly divide the input depth")
    if strides[channel_axis(data_format)] != k:
        refuse("Depthwise max pooling requires the depth window to equal the depth stride")
    return k


def options(node):
    return {name: node.attrs[name] for name in WINDOW}


# -- shapes -------------------------------------------------------------------------------------
def pool_shape(name, x, ksize, strides, padding, data_format, depth):
    """The shape after pooling; `depth` says whether the window reaches over channels too."""
    inner = (4,) if data_format == "NCHW_VECT_C" else ()
    x = with_rank(x, 4 + len(inner))
    if inner:
        with_size(x.sizes[4], 4)
    for what, values in (("stride", strides), ("ksize", ksize)):
        require(
            len(values) == 4,
            f"{name} requires the {what} attribute to contain 4 values, but got: {len(values)}",
        )
    sizes = x.sizes[:4]
    space = [
        places(n, k, s, padding)
        for n, k, s in zip(
            spatial(sizes, data_format), spatial(ksize, data_format), spatial(strides, data_format)
        )
    ]
    channel = channel_axis(data_format)
    channels = sizes[channel]
    if depth:
        channels = places(channels, ksize[channel], strides[channel], padding)
    return make_shape((*layout(sizes[0], space, channels, data_format).sizes, *inner))


def avg_pool_shape(value, *, ksize, strides, padding, data_format):
    return pool_shape("AvgPool", value, ksize, strides, padding, data_format, depth=False)


def max_pool_shape(input, *, ksize, strides, padding, data_format):
    return pool_shape("MaxPool", input, ksize, strides, padding, data_format, depth=True)


def like_input(orig_input, *rest):
    return with_rank(orig_input, 4)


def grad_grad_shape(orig_input, orig_output, grad, *, ksize, strides, padding, data_format):
    out = max_pool_shape(orig_input, ksize=ksize, strides=strides, padding=padding, data_format=data_format)
    merge(orig_input, grad)
    return merge(orig_output, out)


# -- AvgPool ------------------------------------------------------------------------------------
@op("AvgPool", "value: T -> output: T", shape=avg_pool_shape, attrs=WINDOW | {"T": FLOATS})
def avg_pool(value, *, ksize, strides, padding, data_format):
    """The mean under a window; what is padded does not count."""
    require(value.ndim == 4, "tensor_in must be 4-dimensional")
    _check_average(ksize, data_format)
    x = channels_last(value, data_format)
    windows = windows_of(x.shape, ksize, strides, padding, data_format)
    return from_channels_last(pooling.avg_pool(x, windows), data_format)


def _check_average(ksize, data_format):
    if len(ksize) == 4 and ksize[channel_axis(data_format)] != 1:
        refuse("Non-spatial pooling is not yet supported.")


@avg_pool.gradient
def _(node, dy):
    return avg_pool_grad(reshape.shape_of(node.inputs[0]), dy, **options(node))


def pool_call(kind, geometry, x, y, attrs, near=None, **operands):
    """The call of a library that pools x to y, or makes a gradient of that.  `geometry` is `windows_of` or
    its like; `operands` go in and out, by the library's names for them."""
    ksize, strides, padding, data_format = (attrs[name] for name in WINDOW)
    channel = channel_axis(data_format)
    if ksize[channel] != 1:
        raise Decline("a window over channels")
    sizes = (x.shape[0], *spatial(x.shape, data_format), None)
    windows = geometry(sizes, ksize, strides, padding, data_format)
    if not fits(y.shape, data_format, sizes[0], windows, x.shape[channel]):
        raise Decline("shapes that do not fit")
    order = order_of(len(x.shape), data_format)
    return LibraryCall(
        kind,
        **{name: view(operand, order) for name, operand in operands.items()},
        window=tuple(w.size for w in windows),
        strides=tuple(w.stride for w in windows),
        pads=tuple((w.before, w.after) for w in windows),
        **({} if near is None else {"near": near}),
    )


@avg_pool.library("onednn")
def _(x, out, **attrs):
    return pool_call("avg_pool", windows_of, x, out, attrs, src=x, dst=out)


# (shape, options)
CASES = (
    ((2, 5, 6, 3), {"ksize": [1, 2, 2, 1], "strides": [1, 2, 2, 1], "padding": "SAME"}),
    ((2, 5, 6, 3), {"ksize": [1, 3, 2, 1], "strides": [1, 1, 2, 1], "padding": "VALID"}),
    ((1, 4, 4, 2), {"ksize": [1, 3, 3, 1], "strides": [1, 1, 1, 1], "padding": "SAME"}),
    ((1, 7, 7, 2), {"ksize": [1, 2, 2, 1], "strides": [1, 3, 4, 1], "padding": "SAME"}),
    (
        (2, 3, 5, 6),
        {"ksize": [1, 1, 2, 2], "strides": [1, 1, 2, 1], "padding": "SAME", "data_format": "NCHW"},
    ),
    ((0, 4, 4, 2), {"ksize": [1, 2, 2, 1], "strides": [1, 2, 2, 1], "padding": "SAME"}),
)
PLAIN = {"ksize": [1, 2, 2, 1], "strides": [1, 1, 1, 1], "padding": "VALID"}


@avg_pool.samples
def _(rng):
    for shape, chosen in CASES:
        yield Sample(rng.normal(size=shape), **chosen)
    yield ErrorSample(np.ones((4, 4, 2)), **PLAIN, raises="must be rank 4 but is rank 3")
    yield ErrorSample(
        np.ones((1, 1, 4, 2)), **PLAIN, raises="Negative dimension size caused by subtracting 2"
    )
    yield ErrorSample(np.ones((2, 4, 4, 2)), **PLAIN | {"ksize": [2, 1, 1, 1]}, raises="batch dimension")


def avg_pool_grad_shape(orig_input_shape, grad):
    return with_rank(described_by(orig_input_shape), 4)


@op(
    "AvgPoolGrad",
    "orig_input_shape: int32, grad: T -> output: T",
    shape=avg_pool_grad_shape,
    attrs=WINDOW | {"T": FLOATS},
)
def avg_pool_grad(orig_input_shape, grad, *, ksize, strides, padding, data_format):
    """The gradient of AvgPool, from the shape of its input."""
    require(
        orig_input_shape.shape == (4,),
        "out_backprop must be 4-dimensional"
        if orig_input_shape.ndim == 1
        else "orig_input_shape must be 1-dimensional and 4 elements",
    )
    require(grad.ndim == 4, "out_backprop must be 4-dimensional")
    _check_average(ksize, data_format)
    dy = channels_last(grad, data_format)
    sizes = [int(n) for n in orig_input_shape]
    sizes = [sizes[0], *spatial(sizes, data_format), sizes[channel_axis(data_format)]]
    require(min(sizes) >= 0, f"orig_input_shape must not be negative: {sizes}")
    windows = windows_of(sizes, ksize, strides, padding, data_format)
    expected = (sizes[0], *(w.count for w in windows), sizes[3])
    require(dy.shape == expected, f"Expected grad shape to be {expected}, but got {dy.shape}")
    return from_channels_last(pooling.avg_pool_grad(sizes, dy, windows), data_format)


@avg_pool_grad.gradient
def _(node, ddx):
    return source.stop_gradient(node.inputs[0]), avg_pool(ddx, **options(node))


@avg_pool_grad.library("onednn")
def _(sizes, dy, out, **attrs):
    return pool_call("avg_pool_data", windows_of, out, dy, attrs, src=out, dst=dy)


def pooled_like(shape, chosen):
    """The shape that pooling gives, for samples of gradients."""
    given = {"data_format": "NHWC"} | chosen
    return max_pool.reference(np.zeros(shape), **given).shape


@avg_pool_grad.samples
def _(rng):
    for shape, chosen in CASES:
        dy = rng.normal(size=pooled_like(shape, chosen))
        yield Sample(np.array(shape, np.int32), dy, **chosen)
    sizes = np.array([1, 3, 3, 1], np.int32)
    yield ErrorSample(sizes, np.ones((1, 3, 3, 1)), **PLAIN, raises="Expected grad shape")


# -- MaxPool ------------------------------------------------------------------------------------
MAX_TYPES = (
    float16, bfloat16, float32, float64, int32, int64, uint8, int16, int8, uint16, qint8,
)  # fmt: skip
MAX_FORMATS = {"data_format": String("NHWC", "NCHW", "NCHW_VECT_C", default="NHWC")}


@op(
    "MaxPool",
    "input: T -> output: T",
    shape=max_pool_shape,
    attrs={"T": Type(MAX_TYPES, default=float32)} | WINDOW | MAX_FORMATS,
)
def max_pool(input, *, ksize, strides, padding, data_format):
    """The largest element under a window, or of a group of channels."""
    require(input.ndim == 4, f"tensor_in_shape must have 2 spatial dimensions. {input.ndim} {data_format}")
    x = channels_last(input, data_format)
    windows = windows_of(x.shape, ksize, strides, padding, data_format)
    depth = depth_window(ksize, strides, data_format, x.shape[3])
    y = pooling.max_pool(x, windows)
    if depth > 1:
        y = y.reshape(*y.shape[:3], -1, depth).max(axis=-1)
    return from_channels_last(y, data_format)


@max_pool.gradient
def _(node, dy):
    return max_pool_grad(node.inputs[0], node.outputs[0], dy, **options(node))


@max_pool.library("onednn")
def _(x, out, **attrs):
    return pool_call("max_pool", windows_of, x, out, attrs, src=x, dst=out)


def distinct(rng, shape):
    """Values that differ by more than finite differences do: a maximum stays where it is."""
    return rng.permutation(int(np.prod(shape))).reshape(shape) / 4.0


@max_pool.samples
def _(rng):
    for shape, chosen in CASES:
        yield Sample(distinct(rng, shape), **chosen)
    deep = {"ksize": [1, 1, 1, 2], "strides": [1, 1, 1, 2], "padding": "SAME"}
    yield Sample(rng.normal(size=(1, 2, 3, 4)), **deep, note="channels", grad=False)
    yield Sample(rng.integers(-9, 9, size=(1, 4, 4, 2), dtype=np.int32), **PLAIN, grad=False)
    yield ErrorSample(np.ones((4, 4, 2)), **PLAIN, raises="must be rank 4 but is rank 3")
    yield ErrorSample(np.ones((1, 1, 1, 3)), **deep, raises="evenly divide the input depth")


# -- the gradient of MaxPool --------------------------------------------------------------------
def grad_windows(x, y, ksize, strides, padding, data_format):
    """The geometry of a gradient: x is channels last, y the output of MaxPool."""
    check_window(ksize, strides, data_format)
    if not ksize[channel_axis(data_format)] == strides[channel_axis(data_format)] == 1:
        refuse("MaxPoolingGrad is not yet supported on the depth dimension.")
    require(x.ndim == 4, "tensor_in must be 4-dimensional")
    require(y.ndim == 4, "tensor_out must be 4-dimensional")
    windows = windows_of(x.shape, ksize, strides, padding, data_format)
    expected = (len(x), *(w.count for w in windows), x.shape[3])
    require(
        y.shape == expected, f"Expected orig_output shape to be {list(expected)}, but got {list(y.shape)}"
    )
    return windows


@op(
    "MaxPoolGrad",
    "orig_input: T, orig_output: T, grad: T -> output: T",
    shape=like_input,
    attrs=WINDOW | {"T": Type(REALS, default=float32)},
)
def max_pool_grad(orig_input, orig_output, grad, *, ksize, strides, padding, data_format):
    """The gradient of MaxPool: grad, added up where the maxima were."""
    x, y, dy = (channels_last(a, data_format) for a in (orig_input, orig_output, grad))
    windows = grad_windows(x, y, ksize, strides, padding, data_format)
    require(dy.shape == y.shape, f"Expected grad shape to be {list(y.shape)}, but got {list(dy.shape)}")
    return from_channels_last(pooling.max_pool_grad(x, dy, windows), data_format)


@max_pool_grad.gradient
def _(node, ddx):
    x, y = node.inputs[:2]
    ddy = max_pool_grad_grad(x, y, ddx, **options(node))
    return fill.zeros_like(x), fill.zeros_like(y), ddy


@max_pool_grad.library("onednn")
def _(x, y, dy, out, **attrs):
    if y.shape != dy.shape or attrs["strides"][channel_axis(attrs["data_format"])] != 1:
        raise Decline("shapes that do not fit")
    operands = {"src": x, "diff_dst": dy, "diff_src": out, "dst": y}
    return pool_call("max_pool_data", windows_of, x, y, attrs, **operands)


def grad_samples(rng):
    """(input, output, options) of MaxPool, for its gradients."""
    for shape, chosen in CASES:
        x = distinct(rng, shape)
        yield x, max_pool.reference(x, **{"data_format": "NHWC"} | chosen), chosen


@max_pool_grad.samples
def _(rng):
    for x, y, chosen in grad_samples(rng):
        yield Sample(x, y, rng.normal(size=y.shape), **chosen, grad=False)
    x = np.ones((1, 2, 2, 1))
    yield Sample(x, x[:, :1, :1], x[:, :1, :1], **PLAIN, note="equal maxima", grad=False)
    yield ErrorSample(x, x, x, **PLAIN, raises="Expected orig_output shape")
    yield ErrorSample(x, x[:, :1, :1], x, **PLAIN, raises="Expected grad shape")
    deep = PLAIN | {"strides": [1, 2, 2, 2]}
    yield ErrorSample(x, x[:, :1, :1], x[:, :1, :1], **deep, raises="not yet supported on the depth")


# -- and the gradient of that -------------------------------------------------------------------
@op(
    "MaxPoolGradGrad",
    "orig_input: T, orig_output: T, grad: T -> output: T",
    shape=grad_grad_shape,
    attrs=WINDOW | {"T": REALS},
)
def max_pool_grad_grad(orig_input, orig_output, grad, *, ksize, strides, padding, data_format):
    """grad (like the input), read where the maxima were."""
    x, y, ddx = (channels_last(a, data_format) for a in (orig_input, orig_output, grad))
    windows = grad_windows(x, y, ksize, strides, padding, data_format)
    require(ddx.shape == x.shape, f"Expected grad shape to be {list(x.shape)}, but got {list(ddx.shape)}")
    return from_channels_last(pooling.where_equal(x, y, ddx, windows), data_format)


@max_pool_grad_grad.gradient
def _(node, dy):
    x, y = node.inputs[:2]
    dx = max_pool_grad(x, y, dy, **options(node))
    return fill.zeros_like(x), fill.zeros_like(y), dx


@max_pool_grad_grad.samples
def _(rng):
    for x, y, chosen in grad_samples(rng):
        yield Sample(x, y, rng.normal(size=x.shape), **chosen, grad=False)
