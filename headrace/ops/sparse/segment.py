"""Chosen rows reduced by segments: SparseSegmentSum, -Mean, -SqrtN, each also with the number of
segments given, and the gradients of the last two."""

from __future__ import annotations

import numpy as np

from headrace.core import dtypes
from headrace.core.dtypes import REALS
from headrace.core.errors import require
from headrace.core.shapes import UNKNOWN, make_shape
from headrace.ops.array import reshape
from headrace.ops.array.indexing import gather, segment
from headrace.ops.array.indexing.rows import first_bad
from headrace.ops.array.indexing.segment import check_sorted, reduced_rows
from headrace.ops.declaration.declare import Op, op
from headrace.ops.declaration.precision import widen
from headrace.ops.declaration.samples import ErrorSample, Sample
from headrace.ops.declaration.shape_checks import merge, scalar_value, with_rank, with_rank_at_least
from headrace.ops.declaration.signature import INDEX32

_INPUTS = "data: T, indices: Tidx, segment_ids: int32"
_TIDX = INDEX32
_FLOATS = (dtypes.float32, dtypes.float64)


def _rows_shape(data, indices, segment_ids, rows):
    data = with_rank_at_least(data, 1)
    merge(with_rank(indices, 1), with_rank(segment_ids, 1))
    return UNKNOWN if data.rank is None else make_shape((rows, *data.sizes[1:]))


def reduced_shape(data, indices, segment_ids):
    return _rows_shape(data, indices, segment_ids, None)


def counted_shape(data, indices, segment_ids, num_segments):
    count = scalar_value(num_segments)
    require(count is None or count >= 0, "Cannot specify a negative value for num_segments")
    return _rows_shape(data, indices, segment_ids, count)


def _check_vectors(indices, ids):
    require(indices.ndim == 1, "indices should be a vector.")
    require(ids.ndim == 1, "segment_ids should be a vector.")
    require(indices.size == ids.size, "segment_ids and indices should have same size.")


def _factors(ids, count, power):
    """count ** -power of the rows of each segment; 1 for an empty one."""
    return 1.0 / np.maximum(np.bincount(ids, minlength=count), 1) ** power


def _reduced(data, indices, ids, num_segments, power):
    """Sums of rows, divided by the number of rows to a power: 0 sum, 1 mean, 1/2 sqrt(n)."""
    _check_vectors(indices, ids)
    count = None
    if num_segments is not None:
        require(
            num_segments.ndim == 0, f"num_segments should be a scalar, not shape {list(num_segments.shape)}"
        )
        count = int(num_segments)
        require(count >= 0, "segment ids must be >= 0")
        require(not ids.size or ids[-1] < count, "segment ids must be < num_segments")
    count = check_sorted(ids, count)
    bad = first_bad(indices, data.shape[0])
    if bad is not None:
        require(False, f"Bad: indices[{bad}] == {indices[bad]} out of range [0, {data.shape[0]})")
    out = reduced_rows(np.add, widen(data[indices]), ids, count, 0)
    if power:
        factors = _factors(ids, count, power).astype(out.dtype)
        out = out * factors.reshape((-1,) + (1,) * (out.ndim - 1))
    return out.astype(data.dtype, copy=False)


def _samples(*more):
    def samples(rng):
        data, ids = rng.normal(size=(4, 3)), np.array([0, 0, 2], np.int32)
        yield Sample(data, np.array([3, 1, 1], np.int32), ids, *more)
        yield Sample(data[:, 0], np.array([0, 1, 2]), ids, *more)
        yield Sample(data, np.zeros(0, np.int32), np.zeros(0, np.int32), *more, note="empty")
        yield ErrorSample(data, np.array([4, 0, 0]), ids, *more, raises=r"indices\[0\] == 4 out of")
        yield ErrorSample(data, np.array([1, 0]), ids, *more, raises="same size|must be equal")
        yield ErrorSample(
            data, np.array([1, 0]), ids[[1, 2]][::-1], *more, raises="not increasing|not sorted|num_segments"
        )

    return samples


def _plain(name, doc, T, power) -> Op:
    def reference(data, indices, segment_ids):
        return _reduced(data, indices, segment_ids, None, power)

    reference.__doc__ = doc
    declared = op(name, f"{_INPUTS} -> output: T", T=T, Tidx=_TIDX, shape=reduced_shape)(reference)
    declared.samples(_samples())
    return declared


def _counted(name, doc, T, power) -> Op:
    def reference(data, indices, segment_ids, num_segments):
        return _reduced(data, indices, segment_ids, num_segments, power)

    reference.__doc__ = doc
    declared = op(
        name,
        f"{_INPUTS}, num_segments: Tnumsegments -> output: T",
        T=T,
        Tidx=_TIDX,
        Tnumsegments=INDEX32,
        shape=counted_shape,
    )(reference)
    declared.samples(_samples(np.array(4, np.int32)))
    return declared


sparse_segment_sum = _plain("SparseSegmentSum", "The sums of the chosen rows of each segment.", REALS, 0)
sparse_segment_sum_with_num_segments = _counted(
    "SparseSegmentSumWithNumSegments", "SparseSegmentSum with so many segments.", REALS, 0
)
sparse_segment_mean = _plain("SparseSegmentMean", "The means of the chosen rows of each segment.", _FLOATS, 1)
sparse_segment_mean_with_num_segments = _counted(
    "SparseSegmentMeanWithNumSegments", "SparseSegmentMean with so many segments.", _FLOATS, 1
)
sparse_segment_sqrt_n = _plain(
    "SparseSegmentSqrtN",
    "The sums of the chosen rows of each segment, divided by the square root of their number.",
    _FLOATS,
    0.5,
)
sparse_segment_sqrt_n_with_num_segments = _counted(
    "SparseSegmentSqrtNWithNumSegments", "SparseSegmentSqrtN with so many segments.", _FLOATS, 0.5
)


def _sum_gradient(node, dy):
    data, indices, ids, *more = node.inputs
    rows = reshape.shape_of(data)[0]
    dx = segment.unsorted_segment_sum(gather.gather(dy, ids), indices, rows)
    return (dx, None, None, *[None] * len(more))


sparse_segment_sum.gradient(_sum_gradient)
sparse_segment_sum_with_num_segments.gradient(_sum_gradient)


# -- gradients ----------------------------------------------------------------------------------
def grad_shape(grad, indices, segment_ids, output_dim0):
    grad = with_rank_at_least(grad, 1)
    merge(with_rank(indices, 1), segment_ids)
    rows = scalar_value(output_dim0)
    require(rows is None or rows >= 0, "Cannot specify a negative value for output_dim0")
    return UNKNOWN if grad.rank is None else make_shape((rows, *grad.sizes[1:]))


def _spread(grad, indices, ids, output_dim0, power):
    """Each row's share of its segment's gradient, added up at the row's place."""
    _check_vectors(indices, ids)
    require(output_dim0.ndim == 0, "output_dim0 should be a scalar.")
    rows, count = int(output_dim0), grad.shape[0]
    require(not (rows and ids.size) or ids[-1] < count, "Invalid number of segments")
    bad = first_bad(ids, count)
    if bad is not None:
        require(False, f"Segment id {ids[bad]} out of range [0, {count}).")
    bad = first_bad(indices, rows)
    if bad is not None:
        require(False, f"Index {indices[bad]} out of range [0, {rows}).")
    factors = _factors(ids, count, power).astype(grad.dtype)
    shares = grad * factors.reshape((-1,) + (1,) * (grad.ndim - 1))
    return reduced_rows(np.add, shares[ids], indices, rows, 0)


def _gradient_op(name, doc, power) -> Op:
    def reference(grad, indices, segment_ids, output_dim0):
        return _spread(grad, indices, segment_ids, output_dim0, power)

    reference.__doc__ = doc
    declared = op(
        name,
        "grad: T, indices: Tidx, segment_ids: int32, output_dim0: int32 -> output: T",
        T=_FLOATS,
        Tidx=_TIDX,
        shape=grad_shape,
    )(reference)
    declared.samples(_gradient_samples)
    return declared


def _gradient_samples(rng):
    dy, ids, rows = rng.normal(size=(3, 2)), np.array([0, 0, 2], np.int32), np.array(5, np.int32)
    yield Sample(dy, np.array([3, 1, 1], np.int32), ids, rows)
    yield ErrorSample(dy, np.array([5, 1, 1]), ids, rows, raises="Index 5 out of range")


sparse_segment_mean_grad = _gradient_op("SparseSegmentMeanGrad", "The gradient of SparseSegmentMean.", 1)
sparse_segment_sqrt_n_grad = _gradient_op(
    "SparseSegmentSqrtNGrad", "The gradient of SparseSegmentSqrtN.", 0.5
)


def _by(build):
    def gradient(node, dy):
        data, indices, ids, *more = node.inputs
        dx = build(dy, indices, ids, reshape.shape_of(data)[0])
        return (dx, None, None, *[None] * len(more))

    return gradient


sparse_segment_mean.gradient(_by(sparse_segment_mean_grad))
sparse_segment_mean_with_num_segments.gradient(_by(sparse_segment_mean_grad))
sparse_segment_sqrt_n.gradient(_by(sparse_segment_sqrt_n_grad))
sparse_segment_sqrt_n_with_num_segments.gradient(_by(sparse_segment_sqrt_n_grad))
