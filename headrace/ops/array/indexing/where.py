"""Choice by condition: Where (the places that are true), Select, SelectV2."""

from __future__ import annotations

import numpy as np

from headrace.core import dtypes
from headrace.core.dtypes import NUMBERS
from headrace.core.errors import require
from headrace.core.modules import late
from headrace.core.shapes import UNKNOWN, broadcast_sizes, make_shape, show
from headrace.ops.array import fill, reshape
from headrace.ops.array.constant import constant
from headrace.ops.declaration.declare import op
from headrace.ops.declaration.samples import ErrorSample, Sample
from headrace.ops.declaration.shape_checks import merge
from headrace.ops.declaration.signature import Type
from headrace.ops.declaration.traits import ELEMENTWISE

broadcast = late("headrace.ops.array.broadcast")
reduce = late("headrace.ops.math.reduce")


def where_shape(input):
    return make_shape((None, input.rank))


@op(
    "Where",
    "input: T -> index: int64",
    T=Type((*NUMBERS, dtypes.bool_), default=dtypes.bool_),
    shape=where_shape,
)
def where(input):
    """The indices of the elements that are true (or not zero), one row each, in row-major order."""
    require(1 <= input.ndim <= 8, f"WhereOp : Unhandled input dimensions: {input.ndim}")
    return np.argwhere(input)


where.no_gradient()


@where.samples
def _(rng):
    yield Sample(np.array([[True, False], [False, True]]), grad=False)
    yield Sample(np.array([0.0, 1.5, np.nan]), grad=False)
    yield ErrorSample(np.array(True), raises="Unhandled input dimensions: 0")
    yield Sample(np.zeros((0, 3), bool), note="empty", grad=False)


# -- Select -------------------------------------------------------------------------------------
def select_shape(condition, t, e):
    data = merge(t, e)
    if condition.rank in (None, 0) or data.rank is None:
        return data
    if condition.rank == 1 and data.rank > 0:
        merge(condition, make_shape(data.sizes[:1]))
        return data
    return merge(data, condition)


@op("Select", "condition: bool, t: T, e: T -> output: T", T=Type(), shape=select_shape)
def select(condition, t, e):
    """`t` where the condition holds, else `e`.  A scalar decides for all, a vector row by row."""
    text = f"{show(make_shape(t.shape))} vs. {show(make_shape(e.shape))}"
    require(t.shape == e.shape, f"'then' and 'else' must have the same size.  but received: {text}")
    if condition.shape == t.shape or condition.ndim == 0:
        return np.asarray(np.where(condition, t, e), t.dtype)
    require(
        condition.ndim == 1, f"'cond' must be a vector, but saw shape: {show(make_shape(condition.shape))}"
    )
    require(t.ndim > 0, f"'then' must be at least a vector, but saw shape: {show(make_shape(t.shape))}")
    require(
        t.shape[0] == condition.size,
        f"Number of batches of 'then' must match size of 'cond', but saw: {t.shape[0]} vs. {condition.size}",
    )
    return np.asarray(np.where(condition.reshape((-1,) + (1,) * (t.ndim - 1)), t, e), t.dtype)


@select.gradient
def _(node, dy):
    condition, t, _ = node.inputs
    zeros = fill.zeros_like(t)
    return None, select(condition, dy, zeros), select(condition, zeros, dy)


@select.lower
def _(e, condition, x, y):
    by_row = len(condition.shape) < len(x.shape)

    def element(*i):
        at = i[: len(condition.shape)] if by_row else i
        return e.select(condition[at], x[i], y[i])

    return e.compute(x.shape, element)


@select.samples
def _(rng):
    x, y = rng.normal(size=(2, 3)), rng.normal(size=(2, 3))
    yield Sample(rng.normal(size=(2, 3)) > 0, x, y)
    yield Sample(np.array([True, False]), x, y, note="rows")
    yield Sample(np.array(False), x, y, note="scalar")
    yield Sample(np.zeros((0, 3), bool), x[:0], y[:0], note="empty")
    yield Sample(np.array([True]), np.array([b"a"], object), np.array([b"b"], object), note="text")
    yield ErrorSample(np.ones((3, 2), bool), x, y, raises="must be equal|must be a vector")


# -- SelectV2 -----------------------------------------------------------------------------------
def select_v2_shape(condition, t, e):
    if None in (condition.rank, t.rank, e.rank):
        return UNKNOWN
    try:
        return make_shape(broadcast_sizes(condition.sizes, broadcast_sizes(t.sizes, e.sizes)))
    except ValueError as error:
        raise ValueError(
            f"condition {show(condition)}, then {show(t)}, and else {show(e)} must be broadcastable: {error}"
        ) from None


@op(
    "SelectV2",
    "condition: bool, t: T, e: T -> output: T",
    T=Type(),
    shape=select_v2_shape,
    traits={ELEMENTWISE},
)
def select_v2(condition, t, e):
    """`t` where the condition holds, else `e`; all three broadcast."""
    shapes = [show(make_shape(a.shape)) for a in (condition, t, e)]
    try:
        np.broadcast_shapes(condition.shape, t.shape, e.shape)
    except ValueError:
        require(False, "condition {}, then {}, and else {} must be broadcastable".format(*shapes))
    return np.asarray(np.where(condition, t, e), t.dtype)


@select_v2.gradient
def _(node, dy):
    condition, t, e = node.inputs
    zero = constant(fill.zeros_array((), dy.dtype.base))
    out = reshape.shape_of(node.outputs[0])

    def back(x, chosen):
        sizes = reshape.shape_of(x)
        axes, _ = broadcast.broadcast_gradient_args(sizes, out)
        return reshape.reshape(reduce.sum_(chosen, axes, keep_dims=True), sizes)

    taken, left = select_v2(condition, dy, zero), select_v2(condition, zero, dy)
    return None, back(t, taken), back(e, left)


@select_v2.lower
def _(e, condition, x, y):
    return e.select(condition, x, y)


@select_v2.samples
def _(rng):
    x, y = rng.normal(size=(2, 3)), rng.normal(size=(3,))
    yield Sample(np.array([[True], [False]]), x, y)
    yield Sample(np.array(True), x, np.array(2.0), note="scalars")
    yield Sample(np.zeros((0, 3), bool), np.array(1.0), y, note="empty")
    yield ErrorSample(np.ones(2, bool), x, y, raises="must be broadcastable")
