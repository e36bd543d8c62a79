"""Counting: how often a number occurs, how many fall into a bin, and which bin one falls into."""

from __future__ import annotations

import numpy as np

from headrace.core.dtypes import INDEX, float32, float64
from headrace.core.errors import require
from headrace.core.shapes import Shape
from headrace.ops.array.indexing.rows import added_at
from headrace.ops.declaration.declare import op
from headrace.ops.declaration.samples import ErrorSample, Sample
from headrace.ops.declaration.shape_rules import require_rank
from headrace.ops.declaration.signature import INDEX32, Floats

COUNTED = (*INDEX, float32, float64)


def bincount_shape(arr, size, weights):
    require_rank(size, 0)
    count = size.value
    if count is None:
        return Shape.of(None)
    require(count >= 0, f"size ({int(count)}) must be non-negative")
    return Shape.of(int(count))


@op("Bincount", "arr: int32, size: int32, weights: T -> bins: T", T=COUNTED, shape=bincount_shape)
def bincount(arr, size, weights):
    """How often 0, 1, ... size - 1 occur in arr, or the sums of the weights that belong to them.
    Larger numbers are not counted."""
    require(size.ndim == 0, f"Shape must be rank 0 but is rank {size.ndim}")
    require(size >= 0, f"size ({int(size)}) must be non-negative")
    require((arr >= 0).all(), "Input arr must be non-negative!")
    require(weights.size in (0, arr.size), f"weights has {weights.size} elements, arr has {arr.size}")
    counted = arr < size
    bins = np.zeros(int(size), weights.dtype)
    added_at(bins, arr[counted], weights.reshape(arr.shape)[counted] if weights.size else 1)
    return bins


@bincount.samples
def _(rng):
    values = np.array([1, 1, 2, 5, 7], np.int32)
    yield Sample(values, np.array(6, np.int32), np.array([], np.int64))
    yield Sample(values, np.array(6, np.int32), np.array([0.5, 1.0, 2.0, 3.0, 4.0]), grad=False)
    yield Sample(np.zeros((0,), np.int32), np.array(3, np.int32), np.array([], np.float32))
    yield ErrorSample(-values, np.array(6, np.int32), np.array([], np.int64), raises="non-negative")
    yield ErrorSample(values, np.array(-1, np.int32), np.array([], np.int64), raises="non-negative")


def histogram_shape(values, value_range, nbins):
    require_rank(value_range, 1)
    require(value_range.dim(0) in (None, 2), "Dimension must be 2: value_range")
    require_rank(nbins, 0)
    count = nbins.value
    if count is None:
        return Shape.of(None)
    require(count > 0, f"Requires nbins > 0: {int(count)}")
    return Shape.of(int(count))


@op(
    "HistogramFixedWidth",
    "values: T, value_range: T, nbins: int32 -> out: dtype",
    T=COUNTED,
    dtype=INDEX32,
    shape=histogram_shape,
)
def histogram_fixed_width(values, value_range, nbins):
    """How many values fall into each of nbins equal parts of a range; those outside count for the
    first or the last."""
    require(value_range.ndim == 1, "value_range should be a vector.")
    require(value_range.size == 2, "value_range should be a vector of 2 elements.")
    require(nbins.ndim == 0, "nbins should be a scalar.")
    low, high = value_range
    require(
        low < high, f"value_range should satisfy value_range[0] < value_range[1], but got '[{low}, {high}]'"
    )
    require(values.dtype.kind in "iu" or not np.isnan(values).any(), "values must not be NaN")
    require(nbins > 0, f"nbins should be a positive number, but got '{int(nbins)}'")
    step = float(high - low) / float(nbins)
    with np.errstate(all="ignore"):
        places = np.subtract(np.maximum(values, low), low, dtype=values.dtype).astype(float) / step
        places = np.minimum(places, float(nbins - 1)).astype(np.int32)
    return np.bincount(places.ravel(), minlength=int(nbins))


histogram_fixed_width.no_gradient()


@histogram_fixed_width.samples
def _(rng):
    values = np.array([[-1.0, 0.0, 1.5], [2.0, 5.0, 15.0]])
    bounds, count = np.array([0.0, 5.0]), np.array(5, np.int32)
    yield Sample(values, bounds, count, grad=False)
    yield Sample(np.zeros((0,), np.int32), np.array([0, 4], np.int32), np.array(2, np.int32))
    yield ErrorSample(values, bounds[::-1], count, raises="value_range should satisfy")
    yield ErrorSample(values, bounds, np.array(0, np.int32), raises="nbins")


def bucketize_samples(rng):
    yield Sample(np.array([[-5, 3], [150, 10]], np.int32), boundaries=[0, 10, 100])
    yield Sample(np.array([0.5, 10.0, np.inf]), boundaries=[0, 10, 100], grad=False)
    yield Sample(np.array([1, 2]), boundaries=[], note="no boundaries")
    yield ErrorSample(np.array([1]), boundaries=[10, 0], raises="Expected sorted boundaries")


@op(
    "Bucketize",
    "input: T -> output: int32",
    T=COUNTED,
    boundaries=Floats(),
    shape=lambda input: input.plain(),
)
def bucketize(input, *, boundaries):
    """The number of boundaries that are not above an element: which bucket it falls into."""
    edges = np.array(boundaries, np.float32)
    require((np.diff(edges) >= 0).all(), "Expected sorted boundaries")
    return np.searchsorted(edges, input, side="right")


bucketize.no_gradient()
bucketize.samples(bucketize_samples)
