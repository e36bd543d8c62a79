"""Running sums and products along an axis: with or without the current element, from either end."""

from __future__ import annotations

from math import prod

import numpy as np

from headrace.core.dtypes import NUMBERS, float16, float32, float64
from headrace.core.errors import require
from headrace.core.modules import late
from headrace.ops.declaration.declare import op
from headrace.ops.declaration.emit import Decline
from headrace.ops.declaration.precision import widen
from headrace.ops.declaration.samples import ErrorSample, Sample
from headrace.ops.declaration.shape_rules import same
from headrace.ops.declaration.signature import INDEX32

arithmetic = late("headrace.ops.math.arithmetic")
comparison = late("headrace.ops.math.comparison")
where = late("headrace.ops.array.indexing.where")

_TIDX = INDEX32
_SIGNATURE = "x: T, axis: Tidx -> out: T"
LONGEST = 1 << 16  # elements along an axis that is compiled


def _axis(x, axis):
    require(axis.ndim == 0, f"ScanOp: axis must be a scalar, not {list(axis.shape)}")
    found = int(axis)
    require(
        -x.ndim <= found < x.ndim,
        f"ScanOp: Expected scan axis in the range [{-x.ndim}, {x.ndim}), but got {found}",
    )
    return found


def _scan(accumulate, identity, x, axis, exclusive, reverse):
    axis = _axis(x, axis)
    if reverse:
        x = np.flip(x, axis)
    if exclusive and x.shape[axis]:
        first = np.full_like(np.take(x, [0], axis), identity)
        x = np.concatenate([first, np.delete(x, -1, axis)], axis)
    with np.errstate(all="ignore"):
        out = accumulate(x, axis)
    return np.flip(out, axis) if reverse else out


def _lowered(combine, identity):
    """A compiled rule.  Each of a few rounds doubles how many elements an element stands for, so that
    all of them are independent."""

    def rule(e, x, axis, *, exclusive, reverse):
        if axis.value is None:
            raise Decline("the axis is not known")
        along = _axis(np.broadcast_to(0, x.shape), axis.value) % len(x.shape)
        size, wide = x.shape[along], widen(np.zeros(0, x.dtype.numpy)).dtype
        if size > LONGEST or not prod(x.shape):
            raise Decline("a long axis, or nothing")
        step = 1 if reverse else -1

        def moved(i, by):
            return (*i[:along], i[along] + step * by, *i[along + 1 :])

        def is_there(i, by):
            return i[along] < size - by if reverse else i[along] >= by

        done = e.compute(x.shape, lambda *i: e.cast(x[i], wide))
        reach = 1
        while reach < size:
            done = e.compute(
                x.shape,
                lambda *i, old=done, by=reach: e.select(
                    is_there(i, by), combine(old[i], old[moved(i, by)]), old[i]
                ),
            )
            reach *= 2
        if exclusive:
            done = e.compute(
                x.shape, lambda *i, old=done: e.select(is_there(i, 1), old[moved(i, 1)], identity)
            )
        return e.compute(x.shape, lambda *i: e.cast(done[i], x.dtype))

    return rule


def _samples(low=-2.0, exclusive_gradient=True):
    def samples(rng):
        for exclusive in (False, True):
            for reverse in (False, True):
                x = rng.uniform(low, 2, size=(2, 3, 4))
                options = {"exclusive": exclusive, "reverse": reverse}
                options["grad"] = exclusive_gradient or not exclusive
                yield Sample(x, np.array(1, np.int32), **options)
                yield Sample(x, np.array(-1), **options)
        yield Sample(np.zeros((0, 3)), np.array(0, np.int32), exclusive=True, note="empty")
        yield ErrorSample(np.ones((2, 3)), np.array(2), raises="Expected scan axis")

    return samples


@op("Cumsum", _SIGNATURE, exclusive=False, reverse=False, T=NUMBERS, Tidx=_TIDX, shape=same)
def cumsum(x, axis, *, exclusive, reverse):
    """Running sums along an axis.  exclusive: without the current element; reverse: from the
    end."""

    def accumulate(values, along):
        return widen(values).cumsum(along, dtype=widen(values).dtype)

    return _scan(accumulate, 0, x, axis, exclusive, reverse)


@cumsum.gradient
def _(node, dy):
    options = {"exclusive": node.attrs["exclusive"], "reverse": not node.attrs["reverse"]}
    return cumsum(dy, node.inputs[1], **options), None


lower_cumsum = _lowered(lambda x, y: x + y, 0)
cumsum.lower(lower_cumsum)
cumsum.samples(_samples())


@op("Cumprod", _SIGNATURE, exclusive=False, reverse=False, T=NUMBERS, Tidx=_TIDX, shape=same)
def cumprod(x, axis, *, exclusive, reverse):
    """Running products along an axis.  exclusive: without the current element; reverse: from the
    end."""

    def accumulate(values, along):
        return widen(values).cumprod(along, dtype=widen(values).dtype)

    return _scan(accumulate, 1, x, axis, exclusive, reverse)


@cumprod.gradient
def _(node, dy):
    x, axis = node.inputs
    exclusive, reverse = node.attrs["exclusive"], node.attrs["reverse"]
    products = cumprod(x, axis, exclusive=exclusive, reverse=reverse)
    total = cumsum(products * dy, axis, exclusive=exclusive, reverse=not reverse)
    return total / x, None


cumprod.lower(_lowered(lambda x, y: x * y, 1))
cumprod.samples(_samples(low=0.5))


@op(
    "CumulativeLogsumexp",
    _SIGNATURE,
    exclusive=False,
    reverse=False,
    T=(float16, float32, float64),
    Tidx=_TIDX,
    shape=same,
)
def cumulative_logsumexp(x, axis, *, exclusive, reverse):
    """Running log(sum(exp(x))) along an axis, without overflow.  Of nothing: the type's lowest."""
    # The smallest number stands for log(0): TF uses it so that differences stay finite.
    lowest = np.finfo(x.dtype).min
    return _scan(np.logaddexp.accumulate, lowest, x, axis, exclusive, reverse)


@cumulative_logsumexp.gradient
def _(node, dy):
    x, axis = node.inputs
    y, lowest = node.outputs[0], node.inputs[0].dtype.min
    options = {"exclusive": node.attrs["exclusive"], "reverse": not node.attrs["reverse"]}

    def part(mask, size):
        """One sign of dy, in logarithms, so that nothing overflows."""
        logarithm = where.select_v2(mask, arithmetic.log(size), lowest)
        return arithmetic.exp(cumulative_logsumexp(logarithm - y, axis, **options) + x)

    return arithmetic.sub(part(comparison.greater(dy, 0), dy), part(comparison.less(dy, 0), -dy)), None


cumulative_logsumexp.samples(_samples(exclusive_gradient=False))
