"""Grey dilation of images (Dilation2D) and its gradients: convolution with max for sum, + for *."""

from __future__ import annotations

import ml_dtypes
import numpy as np

from headrace.core.dtypes import REALS
from headrace.core.errors import require
from headrace.core.shapes import make_shape
from headrace.ops.declaration.declare import op
from headrace.ops.declaration.samples import ErrorSample, Sample
from headrace.ops.declaration.shape_checks import merge_sizes, with_rank
from headrace.ops.declaration.signature import Ints, String
from headrace.ops.nn.window import padded, padded_zeros, taps, unpadded, window

ATTRS = {"T": REALS, "strides": Ints(min=4), "rates": Ints(min=4), "padding": String("SAME", "VALID")}


def dilation_shape(input, filter, *, strides, rates, padding):
    input, filter = with_rank(input, 4), with_rank(filter, 3)
    for what, values in (("stride", strides), ("rates", rates)):
        require(
            len(values) == 4,
            f"Dilation2D requires the {what} attribute to contain 4 values, but got: {len(values)}",
        )
    depth = merge_sizes(input.sizes[3], filter.sizes[2])
    return make_shape((input.sizes[0], *_space(input, filter, strides, rates, padding), depth))


def _space(input, filter, strides, rates, padding):
    """Counted as the kernel counts: a window that is a little too large finds no place, and is no error."""
    if None in (*input.sizes[1:3], *filter.sizes[:2]):
        return None, None
    each = ((input.sizes[i], filter.sizes[i - 1], strides[i], padding, rates[i]) for i in (1, 2))
    return tuple(window(*one).count for one in each)


def windows_of(x, w, strides, rates, padding):
    for name, values in (("strides", strides), ("rates", rates)):
        what = "stride" if name == "strides" else "rate"
        require(len(values) == 4, f"Sliding window {what} field must specify 4 dimensions")
        require(
            values[0] == values[3] == 1,
            f"{name.capitalize()} in the batch and depth dimensions are not supported: {list(values)}",
        )
    require(x.ndim == 4, f"input must be 4-dimensional{list(x.shape)}")
    require(w.ndim == 3, f"filter must be 3-dimensional: {list(w.shape)}")
    require(
        x.shape[3] == w.shape[2], f"input and filter must have the same depth: {x.shape[3]} vs {w.shape[2]}"
    )
    return [window(x.shape[i], w.shape[i - 1], strides[i], padding, rates[i]) for i in (1, 2)]


def dilate(x, w, windows):
    """max over the window of x + w, and which element of the window gives it (the first)."""
    inside = padded(np.ones((1, *x.shape[1:3], 1), bool), windows, False)
    x = padded(x, windows)
    shape = (len(x), *(k.count for k in windows), x.shape[3])
    least = ml_dtypes.finfo(x.dtype).min if x.dtype.kind in "fV" else np.iinfo(x.dtype).min
    best, which = np.full(shape, least, x.dtype), np.full(shape, -1)
    for number, (at, index) in enumerate(taps(windows)):
        found = x[index] + w[at]
        better = inside[index] & (found > best)
        best, which = np.where(better, found, best), np.where(better, number, which)
    return best, which


@op("Dilation2D", "input: T, filter: T -> output: T", shape=dilation_shape, attrs=ATTRS)
def dilation2d(input, filter, *, strides, rates, padding):
    """max over the window of input + filter, per channel."""
    return dilate(input, filter, windows_of(input, filter, strides, rates, padding))[0]


def options(node):
    return {name: node.attrs[name] for name in ("strides", "rates", "padding")}


@dilation2d.gradient
def _(node, dy):
    x, w = node.inputs
    dx = dilation2d_backprop_input(x, w, dy, **options(node))
    return dx, dilation2d_backprop_filter(x, w, dy, **options(node))


CASES = (
    ((1, 4, 5, 2), (2, 3, 2), {"strides": [1, 1, 1, 1], "rates": [1] * 4, "padding": "SAME"}),
    ((2, 5, 6, 1), (2, 2, 1), {"strides": [1, 2, 1, 1], "rates": [1] * 4, "padding": "VALID"}),
    ((1, 6, 6, 2), (2, 2, 2), {"strides": [1] * 4, "rates": [1, 2, 3, 1], "padding": "SAME"}),
)


def spread(rng, shape):
    """Values so far apart that finite differences do not move a maximum."""
    return rng.permutation(int(np.prod(shape))).reshape(shape) * 1.37


@dilation2d.samples
def _(rng):
    for x, w, chosen in CASES:
        yield Sample(spread(rng, x), rng.normal(size=w), **chosen)
    yield Sample(rng.integers(0, 9, size=(1, 3, 3, 1)), np.ones((2, 2, 1), np.int64), **CASES[0][2])
    yield Sample(rng.normal(size=(1, 3, 1, 1)), np.ones((2, 2, 1)), **CASES[1][2], note="no place")
    yield ErrorSample(np.ones((1, 3, 3, 2)), np.ones((2, 2, 1)), **CASES[0][2], raises="equal")
    yield ErrorSample(np.ones((1, 3, 1, 1)), np.ones((2, 3, 1)), **CASES[1][2], raises="would be negative")


def check_backprop(x, dy, windows):
    require(all(w.size for w in windows), "filter must not be empty")
    expected = (len(x), *(w.count for w in windows), x.shape[3])
    require(dy.shape == expected, f"out_backprop has shape {list(dy.shape)}, not {list(expected)}")


def sources_of(x, w, dy, *options):
    """The windows, and which element of each was the largest."""
    windows = windows_of(x, w, *options)
    check_backprop(x, dy, windows)
    return windows, dilate(x, w, windows)[1]


@op(
    "Dilation2DBackpropInput",
    "input: T, filter: T, out_backprop: T -> in_backprop: T",
    shape=lambda input, filter, dy: input.plain(),
    attrs=ATTRS,
)
def dilation2d_backprop_input(input, filter, out_backprop, *, strides, rates, padding):
    """The gradient of Dilation2D with respect to its input."""
    windows, which = sources_of(input, filter, out_backprop, strides, rates, padding)
    dx = padded_zeros(len(input), input.shape[3], input.shape[1:3], windows, out_backprop.dtype)
    for number, (_, index) in enumerate(taps(windows)):
        dx[index] += np.where(which == number, out_backprop, 0)
    # Where nothing was larger than the least number (NaN, -inf), TF takes the window's first place.
    rows, columns = (np.maximum(np.arange(w.count) * w.stride, w.before) for w in windows)
    np.add.at(dx, (slice(None), rows[:, None], columns), np.where(which < 0, out_backprop, 0))
    return unpadded(dx, windows)


@op(
    "Dilation2DBackpropFilter",
    "input: T, filter: T, out_backprop: T -> filter_backprop: T",
    shape=lambda input, filter, dy: filter.plain(),
    attrs=ATTRS,
)
def dilation2d_backprop_filter(input, filter, out_backprop, *, strides, rates, padding):
    """The gradient of Dilation2D with respect to its filter."""
    windows, which = sources_of(input, filter, out_backprop, strides, rates, padding)
    dw = np.zeros(filter.shape, out_backprop.dtype)
    which = np.maximum(which, 0)
    for number, (at, _) in enumerate(taps(windows)):
        dw[at] = np.where(which == number, out_backprop, 0).sum(axis=(0, 1, 2))
    return dw


@dilation2d_backprop_input.samples
@dilation2d_backprop_filter.samples
def _(rng):
    for x, w, chosen in CASES:
        x, w = spread(rng, x), rng.normal(size=w)
        y = dilation2d.reference(x, w, **chosen)
        yield Sample(x, w, rng.normal(size=y.shape), **chosen, grad=False)
        x = np.full_like(x, -np.inf)
        yield Sample(x, w, rng.normal(size=y.shape), **chosen, grad=False, note="nothing larger")
