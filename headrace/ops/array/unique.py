"""Distinct elements, in the order of their first occurrence: Unique, UniqueV2, UniqueWithCounts(V2);
and what two lists do not share: ListDiff."""

from __future__ import annotations

import numpy as np

from headrace.core.errors import require
from headrace.core.shapes import Shape, make_shape
from headrace.ops.declaration.declare import op
from headrace.ops.declaration.in_region import InRegion
from headrace.ops.declaration.samples import ErrorSample, Sample
from headrace.ops.declaration.shape_checks import with_rank
from headrace.ops.declaration.signature import INDEX32, INDEX64, Type


def distinct(x):
    """(places of first occurrences, for each element the number of its value, counts).

    NaN is not equal to itself, so every NaN is distinct, as in TF.
    """
    if x.dtype == object or x.dtype.kind == "V":  # text and bfloat16 have no fast sort
        numbers: dict = {}
        keys = x.tolist() if x.dtype == object else x.astype(np.float32).tolist()
        index = np.empty(x.size, np.int64)
        first = []
        for i, key in enumerate(keys):
            number = numbers.get(key)
            if number is None:
                number = numbers[key] = len(first)
                first.append(i)
            index[i] = number
        return _counted(np.array(first, np.int64), index)
    _, first, inverse = np.unique(x, return_index=True, return_inverse=True, equal_nan=False)
    return _by_occurrence(first, inverse)


def _distinct_rows(rows):
    """The same for the rows of a matrix."""
    if rows.dtype == object:
        return distinct(_objects([tuple(r) for r in rows.tolist()]))
    _, first, inverse = np.unique(rows, axis=0, return_index=True, return_inverse=True)
    return _by_occurrence(first, inverse.reshape(-1))


def _objects(items):
    out = np.empty(len(items), object)
    out[:] = items
    return out


def _by_occurrence(first, inverse):
    order = np.argsort(first, kind="stable")
    number = np.empty(order.size, np.int64)
    number[order] = np.arange(order.size)
    return _counted(first[order], number[inverse])


def _counted(first, index):
    return first, index, np.bincount(index, minlength=first.size)


def _along(x, axis):
    require(axis.ndim == 1, "axis expects a 1D vector.")
    require(axis.size <= 1, "axis does not support input tensors larger than 1 elements")
    if axis.size == 0:
        require(x.ndim == 1, "unique expects a 1D vector.")
        at = 0
    else:
        given = int(axis[0])
        at = given + x.ndim if given < 0 else given
        require(0 <= at < x.ndim, f"axis has to be between [0, {x.ndim})")
    if x.ndim == 1:
        first, index, counts = distinct(x)
    else:
        rows = np.moveaxis(x, at, 0)
        first, index, counts = _distinct_rows(rows.reshape(rows.shape[0], -1 if x.size else 0))
    return np.take(x, first, at), index, counts


def _vector(x):
    return with_rank(x, 1)


def unique_shape(x):
    return [Shape.of(None), _vector(x)]


@op("Unique", "x: T -> y: T, idx: out_idx", T=Type(), out_idx=INDEX32, shape=unique_shape)
def unique(x):
    """The distinct elements of a vector, and for each element its number among them."""
    require(x.ndim == 1, "unique expects a 1D vector.")
    first, index, _ = distinct(x)
    return x[first], index


unique.in_region(InRegion.DISTINCT)


def _vectors(*, more=()):
    def samples(rng):
        yield Sample(np.array([1, 1, 2, 4, 4, 4, 7, 8, 8], np.int32), *more, grad=False)
        yield Sample(np.array([2.5, -1.0, 2.5]), *more, grad=False)
        yield Sample(np.array([b"b", b"a", b"b"], object), *more, note="text", grad=False)
        yield Sample(np.array([], np.float32), *more, note="empty", grad=False)

    return samples


unique.samples(_vectors())


def counts_shape(x):
    return [Shape.of(None), _vector(x), Shape.of(None)]


@op(
    "UniqueWithCounts",
    "x: T -> y: T, idx: out_idx, count: out_idx",
    T=Type(),
    out_idx=INDEX32,
    shape=counts_shape,
)
def unique_with_counts(x):
    """As Unique; also how often each distinct element occurs."""
    require(x.ndim == 1, "unique expects a 1D vector.")
    first, index, counts = distinct(x)
    return x[first], index, counts


unique_with_counts.samples(_vectors())


def _axis_shapes(x, axis):
    along = axis.value
    if x.rank is None or along is None or (along.size == 0 and x.rank != 1):
        return Shape(None) if x.rank is None else make_shape((None,) * x.rank), Shape.of(None)
    at = int(along[0]) % x.rank if along.size else 0
    sizes = tuple(None if i == at else s for i, s in enumerate(x.sizes))
    return make_shape(sizes), Shape.of(x.sizes[at])


@op(
    "UniqueV2",
    "x: T, axis: Taxis -> y: T, idx: out_idx",
    T=Type(),
    Taxis=INDEX64,
    out_idx=INDEX32,
    shape=lambda x, axis: list(_axis_shapes(x, axis)),
)
def unique_v2(x, axis):
    """The distinct slices along an axis (a vector of one; empty for a vector `x`)."""
    return _along(x, axis)[:2]


def _axis_samples(rng):
    yield from _vectors(more=(np.array([], np.int64),))(rng)
    x = np.array([[1, 0, 0], [1, 0, 0], [2, 0, 0]])
    yield Sample(x, np.array([0]), grad=False)
    yield Sample(x, np.array([1], np.int32), grad=False)
    yield ErrorSample(x, np.array([2]), raises=r"axis has to be between \[0, 2\)")
    yield ErrorSample(x, np.array([], np.int32), raises="unique expects a 1D vector")


unique_v2.samples(_axis_samples)


@op(
    "UniqueWithCountsV2",
    "x: T, axis: Taxis -> y: T, idx: out_idx, count: out_idx",
    T=Type(),
    Taxis=INDEX64,
    out_idx=INDEX32,
    shape=lambda x, axis: [*_axis_shapes(x, axis), Shape.of(None)],
)
def unique_with_counts_v2(x, axis):
    """As UniqueV2; also how often each distinct slice occurs."""
    return _along(x, axis)


unique_with_counts_v2.samples(_axis_samples)


# -- ListDiff -----------------------------------------------------------------------------------
@op(
    "ListDiff",
    "x: T, y: T -> out: T, idx: out_idx",
    T=Type(),
    out_idx=INDEX32,
    shape=lambda x, y: [Shape.of(None), Shape.of(None)],
)
def list_diff(x, y):
    """The elements of `x` that `y` does not have, in their order, and their places."""
    require(x.ndim == 1, "x should be a 1D vector.")
    require(y.ndim == 1, "y should be a 1D vector.")
    if x.dtype == object:
        gone = set(y.tolist())
        kept = np.array([v not in gone for v in x.tolist()], bool)
    else:
        kept = ~np.isin(x, y)
    return x[kept], np.flatnonzero(kept)


@list_diff.samples
def _(rng):
    yield Sample(np.array([1, 2, 3, 4, 3]), np.array([2, 4]), grad=False)
    yield Sample(np.array([b"a", b"b"], object), np.array([b"a"], object), note="text", grad=False)
    yield Sample(np.array([], np.float32), np.array([1.0], np.float32), note="empty", grad=False)
    yield ErrorSample(np.ones((2, 2)), np.ones(2), raises="x should be a 1D vector")
