"""Rows reduced by groups: Segment* (sorted ids), UnsortedSegment* (any order; ids < 0 drop)."""

from __future__ import annotations

import numpy as np
from ml_dtypes import finfo

from headrace.core.dtypes import INDEX, NUMBERS, REALS, int32
from headrace.core.errors import require
from headrace.core.shapes import UNKNOWN, make_shape, show
from headrace.core.sizes import whole
from headrace.ops.array import concat, fill, reshape
from headrace.ops.array.indexing import gather, where
from headrace.ops.array.indexing.rows import grouped, show_index
from headrace.ops.declaration.declare import Op, op
from headrace.ops.declaration.emit import Decline
from headrace.ops.declaration.precision import widen, widest
from headrace.ops.declaration.samples import ErrorSample, Sample
from headrace.ops.declaration.shape_checks import (
    concatenate,
    merge,
    scalar_size,
    with_rank,
    with_rank_at_least,
)
from headrace.ops.declaration.signature import INDEX32
from headrace.ops.math import arithmetic, comparison, logical
from headrace.ops.math.cast import cast


def reduced_rows(ufunc, rows, ids, count, initial):
    """Row i of the result reduces the rows whose id is i; `initial` where there is none."""
    wide = widest(rows) if ufunc is np.add else widen(rows)
    out = np.full((count, *rows.shape[1:]), initial, dtype=wide.dtype)
    if ids.size and count:
        places, totals = grouped(ufunc, wide, ids)
        out[places] = totals
    return out.astype(rows.dtype, copy=False)


def mean_rows(rows, ids, count):
    """Means by id.  Integers are divided towards zero, as in TF."""
    totals = reduced_rows(np.add, widen(rows), ids, count, 0)
    counts = np.maximum(np.bincount(ids, minlength=count), 1).astype(totals.dtype)
    counts = counts.reshape((count,) + (1,) * (rows.ndim - 1))
    if rows.dtype.kind in "iu":
        signs = np.sign(totals)
        return signs * (np.abs(totals) // counts)
    return (totals / counts).astype(rows.dtype)


# -- sorted -------------------------------------------------------------------------------------
def segment_shape(data, segment_ids):
    data = with_rank_at_least(data, 1)
    with_rank(segment_ids, 1)
    return UNKNOWN if data.rank is None else make_shape((None, *data.sizes[1:]))


def check_sorted(ids, count=None):
    """Ids that increase from 0 on; returns how many segments there are."""
    require(ids.ndim == 1, "segment_ids should be a vector.")
    if not ids.size:
        return 0 if count is None else count
    rows = int(ids[-1]) + 1 if count is None else count
    require(ids[-1] >= 0, "segment ids must be >= 0")
    falls = np.flatnonzero(ids[1:] < ids[:-1])
    outside = np.flatnonzero((ids < 0) | (ids >= rows))
    # TF goes from segment to segment, and asks first whether the next id is larger.
    first = outside[0] if outside.size else ids.size
    if falls.size and (falls[0] < first or ids[falls[0]] == ids[first]):
        require(False, "segment ids are not increasing")
    if outside.size:
        require(
            False,
            f"Segment id {ids[first]} out of range [0, {rows}), possibly because "
            "'segment_ids' input is not sorted.",
        )
    return rows


def _checked(data, ids):
    require(ids.ndim == 1, "segment_ids should be a vector.")
    require(
        data.ndim > 0 and ids.size == data.shape[0],
        "segment_ids should be the same size as dimension 0 of input.",
    )
    return check_sorted(ids)


def _sorted_samples(*, grad=True):
    def samples(rng):
        ids = np.array([0, 0, 2, 2], np.int32)
        yield Sample(rng.uniform(1, 2, size=(4, 3)), ids, grad=grad)
        yield Sample(rng.uniform(1, 2, size=(4,)), ids.astype(np.int64), grad=grad)
        yield Sample(np.zeros((0, 3)), np.zeros(0, np.int32), note="empty", grad=grad)
        yield Sample(np.array([[7, -3], [2, -4]], np.int32), np.array([1, 1]), grad=False)
        yield ErrorSample(np.ones(2), np.array([1, 0]), raises="not increasing|not sorted")
        yield ErrorSample(np.ones(2), np.array([-1, 0]), raises="Segment id -1 out of range")
        yield ErrorSample(np.ones(2), np.array([0]), raises="same size as dimension 0")

    return samples


def _sorted_op(name, doc, T, meaning) -> Op:
    def reference(data, segment_ids):
        return meaning(data, segment_ids, _checked(data, segment_ids))

    reference.__doc__ = doc
    return op(name, "data: T, segment_ids: Tindices -> output: T", T=T, Tindices=INDEX, shape=segment_shape)(
        reference
    )


def _of(ufunc, initial):
    return lambda data, ids, count: reduced_rows(ufunc, data, ids, count, initial)


segment_sum = _sorted_op("SegmentSum", "The sums of the rows of each segment.", NUMBERS, _of(np.add, 0))
segment_mean = _sorted_op("SegmentMean", "The means of the rows of each segment.", NUMBERS, mean_rows)
segment_prod = _sorted_op(
    "SegmentProd", "The products of the rows of each segment.", NUMBERS, _of(np.multiply, 1)
)
segment_min = _sorted_op("SegmentMin", "The minima of the rows of each segment.", REALS, _of(np.minimum, 0))
segment_max = _sorted_op("SegmentMax", "The maxima of the rows of each segment.", REALS, _of(np.maximum, 0))
for _op in (segment_sum, segment_mean, segment_min, segment_max):
    _op.samples(_sorted_samples())
segment_prod.samples(_sorted_samples(grad=False))


@segment_sum.gradient
def _(node, dy):
    return gather.gather_v2(dy, node.inputs[1], 0), None


@segment_mean.gradient
def _(node, dy):
    data, ids = node.inputs
    tail = fill.fill(reshape.expand_dims(reshape.rank_of(data) - 1, 0), 1)
    sizes = concat.concat_v2([reshape.shape_of(ids), tail], 0)
    ones = fill.fill(sizes, np.array(1, dy.dtype.numpy))
    return gather.gather_v2(dy / segment_sum(ones, ids), ids, 0), None


def _extreme_gradient(node, dy):
    """Shared evenly among the elements that are the extreme."""
    data, ids = node.inputs
    chosen = comparison.equal(data, gather.gather(node.outputs[0], ids))
    count = segment_sum(cast(chosen, DstT=dy.dtype.base), ids)
    shared = gather.gather(dy / count, ids)
    return where.select(chosen, shared, fill.zeros_like(data)), None


segment_min.gradient(_extreme_gradient)
segment_max.gradient(_extreme_gradient)


# -- unsorted -----------------------------------------------------------------------------------
def unsorted_shape(data, segment_ids, num_segments):
    count = scalar_size(num_segments, 2)
    if segment_ids.rank is None or data.rank is None:
        return UNKNOWN
    require(
        data.rank >= segment_ids.rank,
        f"Shape must be at least rank {segment_ids.rank} but is rank {data.rank}",
    )
    merge(make_shape(data.sizes[: segment_ids.rank]), segment_ids)
    return concatenate(make_shape((count,)), make_shape(data.sizes[segment_ids.rank :]))


def grouped_input(data, ids, num_segments):
    """(rows, ids, count): flattened, without the rows whose ids are negative."""
    require(num_segments.ndim == 0, f"num_segments should be a scalar, not shape {list(num_segments.shape)}")
    require(
        data.shape[: ids.ndim] == ids.shape,
        f"data.shape = {show(make_shape(data.shape))} does not start with segment_ids.shape = "
        f"{show(make_shape(ids.shape))}",
    )
    count = int(num_segments)
    require(count >= 0, f"Input num_segments == {count} must not be negative.")
    over = np.flatnonzero(ids.ravel() >= count)
    if over.size:
        at = int(over[0])
        require(
            False, f"segment_ids{show_index(ids.shape, at)} = {ids.flat[at]} is out of range [0, {count})"
        )
    rows = data.reshape((ids.size, *data.shape[ids.ndim :]))
    flat = ids.ravel()
    kept = flat >= 0
    return (rows, flat, count) if kept.all() else (rows[kept], flat[kept], count)


def _unsorted_samples(rng):
    ids = np.array([2, 0, 2, -1], np.int32)
    yield Sample(rng.uniform(1, 2, size=(4, 3)), ids, np.array(4, np.int32), note="gaps", grad=False)
    yield Sample(rng.uniform(1, 2, size=(2, 2, 3)), ids.reshape(2, 2) // 2, np.array(2))
    yield Sample(np.zeros((0, 3)), np.zeros(0, np.int32), np.array(2), note="empty")
    yield Sample(np.array([5, 6, 7], np.int32), np.array([0, 0, 1]), np.array(2), grad=False)
    yield ErrorSample(np.ones(2), np.array([0, 2]), np.array(2), raises=r"\[1\] = 2 is out of range")
    yield ErrorSample(
        np.ones(2), np.array([[0, 1]]), np.array(2), raises="does not start with|at least rank 2"
    )


def _unsorted_op(name, doc, T, ufunc, initial) -> Op:
    def reference(data, segment_ids, num_segments):
        rows, ids, count = grouped_input(data, segment_ids, num_segments)
        first = np.asarray(initial(data.dtype), data.dtype)
        return ufunc(reduced_rows(ufunc, rows, ids, count, first), first)  # TF starts with it

    reference.__doc__ = doc
    declared = op(
        name,
        "data: T, segment_ids: Tindices, num_segments: Tnumsegments -> output: T",
        T=T,
        Tindices=INDEX,
        Tnumsegments=INDEX32,
        shape=unsorted_shape,
    )(reference)
    declared.samples(_unsorted_samples)
    return declared


def _limit(which):
    def initial(dtype):
        if dtype.kind in "iu":
            return getattr(np.iinfo(dtype), which)
        return getattr(finfo(dtype), which)

    return initial


unsorted_segment_sum = _unsorted_op(
    "UnsortedSegmentSum", "The sums of the rows with each id.", NUMBERS, np.add, lambda t: 0
)
unsorted_segment_prod = _unsorted_op(
    "UnsortedSegmentProd", "The products of the rows with each id.", NUMBERS, np.multiply, lambda t: 1
)
unsorted_segment_max = _unsorted_op(
    "UnsortedSegmentMax",
    "The maxima of the rows with each id; without rows the lowest number.",
    REALS,
    np.maximum,
    _limit("min"),
)
unsorted_segment_min = _unsorted_op(
    "UnsortedSegmentMin",
    "The minima of the rows with each id; without rows the largest number.",
    REALS,
    np.minimum,
    _limit("max"),
)


def _lower_unsorted(e, how, initial, data, ids, num_segments):
    if num_segments.value is None:
        raise Decline("the number of segments is not known")
    count, depth = whole(num_segments.value.item()), len(ids.shape)
    rest = data.shape[depth:]
    # One row more than needed: rows with negative ids end there.
    empty = e.compute((count + 1, *rest), lambda *i: e.const(initial, data.dtype))

    def place(*i):
        at = ids[i[:depth]]
        e.require(at < count, f"segment_ids{{at}} is out of range [0, {count})")
        row = e.checked(e.select(at < 0, count, at), count + 1, "segment_ids{at} = {value}")
        return (row, *i[depth:])

    done = e.scatter(how, empty, data.shape, place, lambda *i: data[i])
    return e.compute((count, *rest), lambda *i: done[i])


@unsorted_segment_sum.lower
def _(e, data, ids, num_segments):
    return _lower_unsorted(e, "add", 0, data, ids, num_segments)


@unsorted_segment_prod.lower
def _(e, data, ids, num_segments):
    return _lower_unsorted(e, "mul", 1, data, ids, num_segments)


@unsorted_segment_max.lower
def _(e, data, ids, num_segments):
    return _lower_unsorted(e, "max", data.dtype.min, data, ids, num_segments)


@unsorted_segment_min.lower
def _(e, data, ids, num_segments):
    return _lower_unsorted(e, "min", data.dtype.max, data, ids, num_segments)


# Gradients: a row whose id is negative has none.
def _places(ids):
    return arithmetic.maximum(ids, fill.zeros_like(ids))


def _has_id(ids, rows):
    """ids >= 0, with a dimension of size 1 for every further one of `rows`."""
    more = fill.fill(reshape.expand_dims(reshape.rank_of(rows) - reshape.rank_of(ids), 0), 1)
    sizes = concat.concat_v2([reshape.shape_of(ids), more], 0)
    return reshape.reshape(ids >= 0, sizes)


def _gathered(params, ids):
    rows = gather.gather(params, _places(ids))
    return where.select_v2(_has_id(ids, rows), rows, np.zeros((), rows.dtype.numpy))


@unsorted_segment_sum.gradient
def _(node, dy):
    dx = _gathered(dy, node.inputs[1])
    dx.set_shape(node.inputs[0].shape)
    return dx, None, None


def _unsorted_extreme_gradient(node, dy):
    data, ids, count = node.inputs
    best = gather.gather(node.outputs[0], _places(ids))
    chosen = logical.logical_and(comparison.equal(data, best), _has_id(ids, best))
    many = unsorted_segment_sum(cast(chosen, DstT=dy.dtype.base), ids, count)
    shared = _gathered(dy / many, ids)
    return where.select(chosen, shared, fill.zeros_like(shared)), None, None


unsorted_segment_max.gradient(_unsorted_extreme_gradient)
unsorted_segment_min.gradient(_unsorted_extreme_gradient)


@unsorted_segment_prod.gradient
def _(node, dy):
    """dy times the product of the others: divided out, unless the element is zero itself."""
    data, ids, count = node.inputs
    is_zero = comparison.equal(data, np.zeros((), data.dtype.numpy))
    zeros = unsorted_segment_sum(cast(is_zero, DstT=int32), ids, count)
    dy = where.select(zeros > 1, fill.zeros_like(dy), dy)
    others = unsorted_segment_prod(where.select(is_zero, fill.ones_like(data), data), ids, count)
    partial = where.select(
        is_zero, gather.gather(others, _places(ids)), gather.gather(node.outputs[0], _places(ids)) / data
    )
    return _gathered(dy, ids) * partial, None, None
