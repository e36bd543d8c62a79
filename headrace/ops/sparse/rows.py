"""Rows of a sparse tensor that have no elements: SparseFillEmptyRows."""

from __future__ import annotations

import numpy as np

from headrace.core.errors import require
from headrace.core.shapes import SCALAR, make_shape, show
from headrace.ops.declaration.declare import op
from headrace.ops.declaration.samples import ErrorSample, Sample
from headrace.ops.declaration.shape_checks import with_rank
from headrace.ops.declaration.signature import Type
from headrace.ops.sparse.array import SMALL
from headrace.ops.sparse.layout import check_sparse, sparse_shapes


# -- SparseFillEmptyRows ------------------------------------------------------------------------
def fill_shape(indices, values, dense_shape, default_value):
    count, _ = check_sparse(indices, values, dense_shape)
    with_rank(default_value, 0)
    (rank,) = with_rank(dense_shape, 1).sizes
    require(rank != 0, "dense_shape must not be empty")
    sizes = dense_shape.as_sizes
    rows = sizes[0] if sizes else None
    out = sparse_shapes(rank)
    return [out[0], out[1], make_shape((rows,)), make_shape((count,))]


@op(
    "SparseFillEmptyRows",
    "indices: int64, values: T, dense_shape: int64, default_value: T -> "
    "output_indices: int64, output_values: T, empty_row_indicator: bool, reverse_index_map: int64",
    T=Type(),
    shape=fill_shape,
)
def sparse_fill_empty_rows(indices, values, dense_shape, default_value):
    """A row without elements gets `default_value` in its first place.

    Also tells which rows were empty, and where every element went.
    """
    for name, part, rank, kind in (
        ("dense_shape", dense_shape, 1, "vector"),
        ("indices", indices, 2, "matrix"),
        ("values", values, 1, "vector"),
        ("default_value", default_value, 0, "scalar"),
    ):
        require(part.ndim == rank, f"{name} must be a {kind}, saw: {show(part.shape)}")
    require(
        len(indices) == len(values),
        f"The length of `values` ({len(values)}) must match the first dimension of `indices` "
        f"({len(indices)}).",
    )
    require(len(dense_shape) > 0, "Dense shape cannot be empty.")
    rows, count = int(dense_shape[0]), len(indices)
    require(
        rows or not count, f"Received SparseTensor with dense_shape[0] = 0 but indices.shape[0] = {count}"
    )
    row = indices[:, 0]
    outside = np.flatnonzero((row < 0) | (row >= rows))
    if len(outside):
        i = outside[0]
        require(False, f"indices({i}, 0) is invalid: {row[i]} >= {rows}")
    empty = np.bincount(row, minlength=rows) == 0 if rows else np.zeros(0, bool)
    added = np.zeros((int(empty.sum()), indices.shape[1]), np.int64)
    added[:, 0] = np.flatnonzero(empty)
    filler = np.full(len(added), default_value[()], dtype=values.dtype)
    sort = np.argsort(np.concatenate([row, added[:, 0]]), kind="stable")
    where = np.empty(len(sort), np.int64)
    where[sort] = np.arange(len(sort))
    return (
        np.concatenate([indices, added])[sort],
        np.concatenate([values, filler])[sort],
        empty,
        where[:count],
    )


@sparse_fill_empty_rows.gradient
def _(node, d_indices, dy, d_empty, d_map):
    d_values, d_default = sparse_fill_empty_rows_grad(node.outputs[3], dy)
    return None, d_values, None, d_default


@sparse_fill_empty_rows.samples
def _(rng):
    yield Sample(*SMALL, np.array(-1.0))
    yield Sample(np.zeros((0, 2), np.int64), np.zeros(0), np.array([3, 2]), np.array(7.0))
    yield Sample(np.zeros((0, 2), np.int64), np.zeros(0), np.array([0, 2]), np.array(7.0))
    words = np.array([b"a", b"b", b"c", b"d"], object)
    yield Sample(SMALL[0], words, SMALL[2], np.array(b"?", object), grad=False)
    yield ErrorSample(SMALL[0], SMALL[1], np.array([2, 5]), np.array(0.0), raises="is invalid: 3")


@op(
    "SparseFillEmptyRowsGrad",
    "reverse_index_map: int64, grad_values: T -> d_values: T, d_default_value: T",
    T=Type(),
    shape=lambda m, g: [with_rank(m, 1), (with_rank(g, 1), SCALAR)[1]],
)
def sparse_fill_empty_rows_grad(reverse_index_map, grad_values):
    """Gradients of the elements, and of the filler: the sum over the rows that it went to."""
    for name, part in (("reverse_index_map", reverse_index_map), ("grad_values", grad_values)):
        require(part.ndim == 1, f"{name} must be a vector, saw: {show(part.shape)}")
    count = len(grad_values)
    for i in np.flatnonzero((reverse_index_map < 0) | (reverse_index_map >= count))[:1]:
        require(False, f"Elements in reverse index must be in [0, {count}) but got {reverse_index_map[i]}")
    filled = np.ones(count, bool)
    filled[reverse_index_map] = False
    default = grad_values[filled].sum(dtype=grad_values.dtype)
    return grad_values[reverse_index_map], np.asarray(default, grad_values.dtype)


@sparse_fill_empty_rows_grad.samples
def _(rng):
    yield Sample(np.array([2, 0, 3]), rng.normal(size=5), grad=False)
