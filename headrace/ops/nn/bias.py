"""BiasAdd: one number per channel, added everywhere; and its gradient."""

from __future__ import annotations

import numpy as np

from headrace.core.dtypes import NUMBERS
from headrace.core.errors import require
from headrace.core.shapes import UNKNOWN, make_shape
from headrace.ops.array import concat, fill, reshape, tile
from headrace.ops.declaration.declare import op
from headrace.ops.declaration.precision import block_sum, widen
from headrace.ops.declaration.samples import ErrorSample, Sample
from headrace.ops.declaration.shape_checks import merge_sizes, replaced, with_rank, with_rank_at_least
from headrace.ops.declaration.signature import String
from headrace.ops.nn.window import channel_axis

FORMAT = {"data_format": String("NHWC", "NCHW", default="NHWC")}


def bias_shape(value, bias, *, data_format):
    value = with_rank_at_least(value, 3 if data_format == "NCHW" else 2)
    length = with_rank(bias, 1).dim(0)
    if value.rank is None:
        return UNKNOWN
    axis = channel_axis(data_format)
    return replaced(value, axis, merge_sizes(value.sizes[axis], length))


def aligned(bias, rank, data_format):
    """The bias in a shape that broadcasts over its channels."""
    return bias.reshape(-1, *(1,) * (rank - 2)) if data_format == "NCHW" else bias


@op("BiasAdd", "value: T, bias: T -> output: T", shape=bias_shape, attrs={"T": NUMBERS} | FORMAT)
def bias_add(value, bias, *, data_format):
    """value + bias, where bias runs along the channels."""
    require(value.ndim >= 2, f"Input tensor must be at least 2D: {list(value.shape)}")
    require(bias.ndim == 1, f"Biases must be 1D: {list(bias.shape)}")
    require(
        len(bias) == value.shape[channel_axis(data_format)],
        "Must provide as many biases as the last dimension of the input tensor: "
        f"{list(bias.shape)} vs. {list(value.shape)}",
    )
    return value + aligned(bias, value.ndim, data_format)


@bias_add.gradient
def _(node, dy):
    return dy, bias_add_grad(dy, data_format=node.attrs["data_format"])


@bias_add.lower
def _(e, value, bias, *, data_format):
    axis = channel_axis(data_format) % len(value.shape)
    return e.compute(value.shape, lambda *i: value[i] + bias[i[axis]])


@bias_add.samples
def _(rng):
    yield Sample(rng.normal(size=(2, 3)), rng.normal(size=3))
    yield Sample(rng.normal(size=(2, 3, 4, 5)), rng.normal(size=5))
    yield Sample(rng.normal(size=(2, 3, 4, 5)), rng.normal(size=3), data_format="NCHW")
    yield Sample(rng.normal(size=(2, 3, 4)), rng.normal(size=3), data_format="NCHW")
    yield Sample(np.zeros((0, 3)), rng.normal(size=3), note="empty")
    yield ErrorSample(np.ones(3), np.ones(3), raises="at least rank 2 but is rank 1")
    yield ErrorSample(np.ones((2, 3)), np.ones(2), raises="Dimensions must be equal")


@op(
    "BiasAddV1",
    "value: T, bias: T -> output: T",
    T=NUMBERS,
    shape=lambda value, bias: bias_shape(value, bias, data_format="NHWC"),
)
def bias_add_v1(value, bias):
    """BiasAdd along the last dimension."""
    return bias_add.reference(value, bias, data_format="NHWC")


@bias_add_v1.gradient
def _(node, dy):
    return dy, bias_add_grad(dy)


@bias_add_v1.samples
def _(rng):
    yield Sample(rng.normal(size=(2, 3)), rng.normal(size=3))
    yield Sample(rng.normal(size=(2, 3, 4)), rng.normal(size=4))


def bias_grad_shape(out_backprop, *, data_format):
    x = with_rank_at_least(out_backprop, 3 if data_format == "NCHW" else 2)
    return make_shape((x.dim(channel_axis(data_format)),))


@op("BiasAddGrad", "out_backprop: T -> output: T", shape=bias_grad_shape, attrs={"T": NUMBERS} | FORMAT)
def bias_add_grad(out_backprop, *, data_format):
    """The sum over everything but the channels."""
    require(out_backprop.ndim >= 2, f"Input tensor must be at least 2D: {list(out_backprop.shape)}")
    keep = channel_axis(data_format) % out_backprop.ndim
    return block_sum(widen(out_backprop), tuple(i for i in range(out_backprop.ndim) if i != keep))


@bias_add_grad.gradient
def _(node, ddb):
    shape, length = reshape.shape_of(node.inputs[0]), reshape.shape_of(ddb)
    if node.attrs["data_format"] == "NCHW":
        ones = [fill.ones_like(shape[:1]), length, fill.ones_like(shape[2:])]
        times = concat.concat_v2([shape[:1], [1], shape[2:]], 0)
    else:
        ones = [fill.ones_like(shape[:-1]), length]
        times = concat.concat_v2([shape[:-1], [1]], 0)
    return tile.tile(reshape.reshape(ddb, concat.concat_v2(ones, 0)), times)


@bias_add_grad.lower
def _(e, dy, *, data_format):
    axis = channel_axis(data_format) % len(dy.shape)
    others = [n for i, n in enumerate(dy.shape) if i != axis]
    return e.compute(
        (dy.shape[axis],), lambda c: e.reduce("sum", others, lambda *i: dy[(*i[:axis], c, *i[axis:])])
    )


@bias_add_grad.samples
def _(rng):
    yield Sample(rng.normal(size=(2, 3)))
    yield Sample(rng.normal(size=(2, 3, 4, 5)))
    yield Sample(rng.normal(size=(2, 3, 4, 5)), data_format="NCHW")
    yield Sample(np.zeros((0, 3)), note="empty")
