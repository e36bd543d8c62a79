"""Ragged tensors: values, and for each ragged dimension the row splits, where rows begin and end.

Row i of a ragged dimension is values[splits[i]:splits[i + 1]].
"""

from __future__ import annotations

import math

import numpy as np

from headrace.core.dtypes import INDEX, bfloat16, float32, float64, int32, int64
from headrace.core.errors import require
from headrace.core.shapes import UNKNOWN, make_shape, show
from headrace.ops.array.indexing import gather
from headrace.ops.array.slices import strided_slice
from headrace.ops.declaration import array
from headrace.ops.declaration.declare import op
from headrace.ops.declaration.indexed_slices import IndexedSlices
from headrace.ops.declaration.samples import ErrorSample, Sample
from headrace.ops.declaration.shape_checks import (
    concatenate,
    with_rank,
    with_rank_at_least,
    with_rank_at_most,
)
from headrace.ops.declaration.signature import INDEX64, Int, Type

SPLITS = INDEX64
VECTOR = make_shape((None,))


def check_splits(nested, count):
    """Splits begin at 0, never fall, and end where the next ones or the values end."""
    ends = [len(s) - 1 for s in nested[1:]] + [count]
    for splits, end in zip(nested, ends):
        require(len(splits), "ragged splits may not be empty.")
        require(splits[0] == 0, "First value of ragged splits must be 0.")
        for i in np.flatnonzero(np.diff(splits) < 0)[:1]:
            require(
                False,
                f"Ragged splits should be non decreasing, but we got {splits[i]} followed by {splits[i + 1]}",
            )
        require(
            splits[-1] == end,
            "Final value of ragged splits must match the length the corresponding ragged values.",
        )


def row_ids(splits):
    """The row of every value."""
    return np.repeat(np.arange(len(splits) - 1), np.diff(splits))


def places(splits):
    """The position of every value within its row."""
    return np.arange(splits[-1]) - splits[:-1][row_ids(splits)]


# -- RaggedRange --------------------------------------------------------------------------------
def range_shape(starts, limits, deltas):
    rows = None
    for x in (starts, limits, deltas):
        with_rank_at_most(x, 1)
        if x.rank == 1 and x.sizes[0] is not None:
            require(rows in (None, x.sizes[0]), f"Dimensions must be equal, but are {rows} and {x.sizes[0]}")
            rows = x.sizes[0]
    if all(x.rank == 0 for x in (starts, limits, deltas)):
        rows = 1
    return [make_shape((None if rows is None else rows + 1,)), VECTOR]


@op(
    "RaggedRange",
    "starts: T, limits: T, deltas: T -> rt_nested_splits: Tsplits, rt_dense_values: T",
    T=Type((bfloat16, float32, float64, int32, int64), default=int32),
    Tsplits=SPLITS,
    shape=range_shape,
)
def ragged_range(starts, limits, deltas, *, Tsplits):
    """Row i counts from starts[i] up to limits[i] in steps of deltas[i]."""
    for name, x in (("starts", starts), ("limits", limits), ("deltas", deltas)):
        require(x.ndim <= 1, f"{name} must be a scalar or vector")
    sizes = {len(x) for x in (starts, limits, deltas) if x.ndim}
    require(len(sizes) <= 1, "starts, limits, and deltas must have the same shape")
    count = sizes.pop() if sizes else 1
    starts, limits, deltas = (np.broadcast_to(x, count) for x in (starts, limits, deltas))
    require(np.all(deltas != 0), "Requires delta != 0")
    if starts.dtype.kind in "iu":
        lengths = -((starts - limits) // deltas)
    else:
        lengths = np.ceil(np.abs((limits - starts).astype(np.float64) / deltas.astype(np.float64)))
    rising = np.where(deltas > 0, starts < limits, starts > limits)
    most = np.iinfo(np.int64).max
    require(np.all(np.where(rising, lengths, 0) < most), f"Requires ((limit - start) / delta) <= {most}")
    lengths = np.where(rising, lengths, 0).astype(np.int64)
    splits = np.concatenate([[0], np.cumsum(lengths)])
    values = np.empty(splits[-1], starts.dtype)  # one array, which may be a large part of the memory
    for first, last, start, delta in zip(splits[:-1], splits[1:], starts, deltas):
        row = values[first:last]
        row[:1], row[1:] = start, delta
        np.cumsum(row, out=row, dtype=row.dtype)
    return splits.astype(Tsplits.numpy), values


@ragged_range.samples
def _(rng):
    yield Sample(np.array([0, 5, 8], np.int32), np.array([3, 3, 12], np.int32), np.int32(1))
    yield Sample(np.array([0, 5]), np.array([3, 2]), np.array([2, -1]))
    yield Sample(np.array(0.5), np.array(2.0), np.array(0.5), T=float64, note="scalars")
    yield ErrorSample(np.int32(0), np.int32(3), np.int32(0), raises="Requires delta != 0")
    yield ErrorSample(np.array(0.0), np.array(1e300), np.array(1.0), raises="limit - start")


# -- RaggedGather -------------------------------------------------------------------------------
def gather_shape(params_nested_splits, params_dense_values, indices, *, OUTPUT_RAGGED_RANK):
    with_rank(indices, OUTPUT_RAGGED_RANK - len(params_nested_splits) + 1)
    for splits in params_nested_splits:
        with_rank(splits, 1)
    values = with_rank_at_least(params_dense_values, 1)
    row = UNKNOWN if values.rank is None else values[1:]
    return [VECTOR] * OUTPUT_RAGGED_RANK + [concatenate(VECTOR, row)]


@op(
    "RaggedGather",
    "params_nested_splits: PARAMS_RAGGED_RANK*Tsplits, "
    "params_dense_values: Tvalues, indices: Tindices -> "
    "output_nested_splits: OUTPUT_RAGGED_RANK*Tsplits, output_dense_values: Tvalues",
    Tvalues=Type(),
    Tindices=INDEX,
    Tsplits=SPLITS,
    PARAMS_RAGGED_RANK=Int(min=1),
    OUTPUT_RAGGED_RANK=Int(min=0),
    shape=gather_shape,
)
def ragged_gather(params_nested_splits, params_dense_values, indices):
    """The rows of a ragged tensor that the indices name."""
    nested, values = params_nested_splits, params_dense_values
    require(values.ndim, "params.rank must be nonzero")
    ends = [len(s) - 1 for s in nested[1:]] + [len(values)]
    for splits, end in zip(nested, ends):
        require(len(splits), "Ragged splits may not be empty")
        require(splits[0] >= 0, "Ragged splits must be non-negative")
        require(splits[-1] <= end, "Ragged splits must not point past values")
        require(np.all(np.diff(splits) >= 0), "Ragged splits must be sorted")
    rows = len(nested[0]) - 1
    for place in np.argwhere((indices < 0) | (indices >= rows))[:1]:
        require(
            False,
            f"indices{show(place) if indices.ndim else ''} = {indices[tuple(place)]} is not in [0, {rows})",
        )
    kind = nested[0].dtype
    out = [uniform_splits(indices.shape, i, kind) for i in range(indices.ndim - 1)]
    chosen = indices.reshape(-1)
    for splits in nested:
        lengths = splits[chosen + 1] - splits[chosen]
        inner = np.concatenate([[0], np.cumsum(lengths)]).astype(kind)
        chosen = splits[chosen][row_ids(inner)] + places(inner)
        out.append(inner)
    if indices.ndim == 0:  # one row: its own splits are not ragged any more
        out = out[1:]
    return out, values[chosen.astype(np.int64)]


def uniform_splits(shape, dim, kind):
    """The splits of a dimension of indices, whose rows have one length."""
    rows = math.prod(shape[: dim + 1])
    return (np.arange(rows + 1) * shape[dim + 1]).astype(kind)


@ragged_gather.gradient
def _(node, *dys):
    *nested, values, indices = node.inputs
    bounds = nested[0]  # where the rows begin among the flat values
    for splits in nested[1:]:
        bounds = gather.gather_v2(splits, bounds, 0)
    flat = array.reshape(indices, np.array([-1], np.int32))
    starts = gather.gather_v2(bounds, flat, 0)
    limits = gather.gather_v2(strided_slice.getitem(bounds, slice(1, None)), flat, 0)
    _, places = ragged_range(starts, limits, np.array(1, starts.dtype.numpy))
    dx = IndexedSlices(dys[-1], places, array.shape(values))
    return [None] * len(nested) + [dx, None]


@ragged_gather.samples
def _(rng):
    splits, values = np.array([0, 2, 2, 5]), rng.normal(size=(5, 2))
    yield Sample([splits], values, np.array([2, 0, 1]), OUTPUT_RAGGED_RANK=1)
    yield Sample([splits], values, np.array([[2], [1]]), OUTPUT_RAGGED_RANK=2)
    yield Sample([np.array([0, 1, 3]), splits], values, np.array([1, 1]), OUTPUT_RAGGED_RANK=2)
    yield Sample([splits], values, np.array(2), OUTPUT_RAGGED_RANK=0, note="one row")
    yield ErrorSample(
        [splits],
        values,
        np.array([3]),
        OUTPUT_RAGGED_RANK=1,
        raises="indices\\[0\\] = 3 is not in \\[0, 3\\)",
    )


# -- RaggedTensorToSparse -----------------------------------------------------------------------
def sparse_shape(rt_nested_splits, rt_dense_values):
    for splits in rt_nested_splits:
        with_rank(splits, 1)
    values = with_rank_at_least(rt_dense_values, 1)
    rank = None if values.rank is None else values.rank + len(rt_nested_splits)
    count = values.num_elements()
    return [make_shape(s) for s in ((count, rank), (count,), (rank,))]


@op(
    "RaggedTensorToSparse",
    "rt_nested_splits: RAGGED_RANK*Tsplits, rt_dense_values: T -> "
    "sparse_indices: int64, sparse_values: T, sparse_dense_shape: int64",
    RAGGED_RANK=Int(min=1),
    T=Type(),
    Tsplits=SPLITS,
    shape=sparse_shape,
)
def ragged_tensor_to_sparse(rt_nested_splits, rt_dense_values):
    """The same elements, sparse; the dense shape has room for the longest rows."""
    nested, values = rt_nested_splits, rt_dense_values
    check_splits(nested, len(values))
    columns = [places(splits) for splits in nested]
    rows = [row_ids(splits) for splits in nested]
    index = np.stack([rows[0], columns[0]], axis=1)
    for row, column in zip(rows[1:], columns[1:]):
        index = np.concatenate([index[row], column[:, None]], axis=1)
    inner = values.shape[1:]
    if inner:
        within = np.stack([g.reshape(-1) for g in np.indices(inner)], axis=1)
        index = np.concatenate(
            [np.repeat(index, len(within), axis=0), np.tile(within, (len(index), 1))], axis=1
        )
    widths = [int(np.diff(s).max()) if len(s) > 1 else 0 for s in nested]
    shape = np.array([len(nested[0]) - 1, *widths, *inner], np.int64)
    return index.astype(np.int64), values.reshape(-1), shape


@ragged_tensor_to_sparse.gradient
def _(node, d_indices, dy, d_shape):
    """The elements keep their order: only the values have a gradient."""
    values = node.inputs[-1]
    dx = array.reshape(dy, array.shape(values))
    return [None] * (len(node.inputs) - 1) + [dx]


@ragged_tensor_to_sparse.samples
def _(rng):
    splits = np.array([0, 2, 2, 5])
    yield Sample([splits], rng.normal(size=5))
    yield Sample([np.array([0, 1, 3]), splits], rng.normal(size=(5, 2)))
    yield Sample([np.array([0])], np.zeros(0), note="empty")
    yield ErrorSample([np.array([1, 2])], np.zeros(2), raises="First value of ragged splits")
