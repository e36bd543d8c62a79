"""ClipByValue: elements brought between two bounds."""

from __future__ import annotations

import numpy as np

from headrace.core.dtypes import NUMBERS
from headrace.core.errors import require
from headrace.core.modules import late
from headrace.ops.declaration.declare import op
from headrace.ops.declaration.emit import Decline
from headrace.ops.declaration.samples import ErrorSample, Sample
from headrace.ops.declaration.shape_rules import same

array = late("headrace.ops.declaration.array")
broadcast = late("headrace.ops.array.broadcast")
comparison = late("headrace.ops.math.comparison")
logical = late("headrace.ops.math.logical")
where = late("headrace.ops.array.indexing.where")


@op("ClipByValue", "t: T, clip_value_min: T, clip_value_max: T -> output: T", T=NUMBERS, shape=same)
def clip_by_value(t, clip_value_min, clip_value_max):
    """t with what is below the one bound or above the other replaced by that bound."""
    shapes = [list(x.shape) for x in (t, clip_value_min, clip_value_max)]
    require(
        all(shape in ([], shapes[0]) for shape in shapes[1:]),
        "clip_value_min and clip_value_max must be either of the same shape as input, or a scalar. "
        f"input shape: {shapes[0]} clip_value_min shape: {shapes[1]} "
        f"clip_value_max shape: {shapes[2]}",
    )
    with np.errstate(all="ignore"):
        return np.maximum(np.minimum(t, clip_value_max), clip_value_min)


@clip_by_value.gradient
def _(node, dy):
    x, low, high = node.inputs
    below, above = comparison.less(x, low), comparison.greater(x, high)
    outside, zeros = logical.logical_or(below, above), array.zeros_like(dy)
    dx = where.select(outside, zeros, dy)
    return (
        dx,
        broadcast.unbroadcast(x, low, dy, None, lambda: where.select(below, dy, zeros))[1],
        broadcast.unbroadcast(x, high, dy, None, lambda: where.select(above, dy, zeros))[1],
    )


@clip_by_value.lower
def _(e, t, low, high):
    def at(bound, i):
        return bound[i if bound.shape else ()]

    if any(bound.shape not in ((), t.shape) for bound in (low, high)):
        raise Decline("a bound has another shape")
    return e.compute(t.shape, lambda *i: e.max(e.min(t[i], at(high, i)), at(low, i)))


@clip_by_value.samples
def _(rng):
    x = rng.normal(size=(2, 3))
    yield Sample(x, np.array(-0.5), np.array(0.5))
    yield Sample(x, np.full((2, 3), -0.5), np.array(0.5))
    yield Sample(np.zeros((0, 3)), np.array(0.0), np.array(1.0), note="empty")
    yield ErrorSample(x, np.zeros(3), np.array(0.5), raises="must be either of the same shape")
