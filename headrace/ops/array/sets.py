"""Sets along the last dimension: sizes, differences, intersections, unions.

A set is what stands in one row, given densely or sparsely; results are sparse, sorted within a row.
"""

from __future__ import annotations

import numpy as np

from headrace.core.dtypes import int8, int16, int32, int64, string, uint8, uint16
from headrace.core.errors import require
from headrace.core.shapes import UNKNOWN, show
from headrace.ops.declaration.declare import op
from headrace.ops.declaration.samples import ErrorSample, Sample
from headrace.ops.declaration.shape_checks import merge, merge_sizes, with_rank, with_rank_at_least
from headrace.ops.declaration.signature import String
from headrace.ops.sparse.layout import (
    check_kinds,
    check_order,
    check_parts,
    check_sizes,
    check_sparse,
    sparse_shapes,
)

ELEMENTS = (int8, int16, int32, int64, uint8, uint16, string)
RESULT = "-> result_indices: int64, result_values: T, result_shape: int64"
OPERATIONS = {
    "a-b": lambda a, b: a - b,
    "b-a": lambda a, b: b - a,
    "intersection": lambda a, b: a & b,
    "union": lambda a, b: a | b,
}


class Rows:
    """The sets of an operand, by the place of their row.  A row without elements has none."""

    def __init__(self, sizes, sets):
        self.sizes, self.sets = sizes, sets

    @staticmethod
    def dense(array):
        require(array.ndim >= 2, f"Invalid rank {array.ndim}.")
        rows = array.reshape(-1, array.shape[-1]) if array.size else ()
        places = np.ndindex(*array.shape[:-1])
        return Rows(array.shape, {p: set(r.tolist()) for p, r in zip(places, rows)})

    @staticmethod
    def sparse(indices, values, shape, validate):
        check_kinds(indices, values, shape)
        sizes = check_sizes(shape)
        require(len(sizes) >= 2, f"Invalid rank {len(sizes)}.")
        check_parts(indices, values, shape)
        if validate:
            check_order(indices, sizes)
        sets = {}
        for place, value in zip(map(tuple, indices[:, :-1].tolist()), values.tolist()):
            sets.setdefault(place, set()).add(value)
        return Rows(sizes, sets)


def _combined(a, b, operation, dtype):
    """The sparse result of an operation, row by row."""
    combine = OPERATIONS.get(operation.lower())
    require(combine is not None, f"Invalid set_operation {operation.lower()}.")
    group = a.sizes[:-1]
    require(group == b.sizes[:-1], f"Mismatched shapes {show(group)} vs {show(b.sizes[:-1])}")
    places, values, widest = [], [], 0
    for place in sorted(a.sets.keys() | b.sets.keys()):
        found = sorted(combine(a.sets.get(place, set()), b.sets.get(place, set())))
        places += [(*place, i) for i in range(len(found))]
        values += found
        widest = max(widest, len(found))
    out = np.empty(len(values), dtype)
    out[:] = values
    indices = np.array(places, np.int64).reshape(-1, len(group) + 1)
    return indices, out, np.array([*group, widest], np.int64)


# -- SetSize ------------------------------------------------------------------------------------
@op(
    "SetSize",
    "set_indices: int64, set_values: T, set_shape: int64 -> size: int32",
    validate_indices=True,
    T=ELEMENTS,
    shape=lambda *inputs: UNKNOWN,
)
def set_size(set_indices, set_values, set_shape, *, validate_indices):
    """How many different elements each row has."""
    rows = Rows.sparse(set_indices, set_values, set_shape, validate_indices)
    out = np.zeros(rows.sizes[:-1], np.int32)
    for place, found in rows.sets.items():
        out[place] = len(found)
    return out


PLACES = np.array([[0, 0], [0, 1], [2, 0]])
SPARSE = PLACES, np.array([5, 5, 7]), np.array([3, 2])


@set_size.samples
def _(rng):
    yield Sample(*SPARSE)
    yield Sample(PLACES, np.array([b"a", b"b", b"a"], object), SPARSE[2])
    yield ErrorSample(PLACES[::-1], *SPARSE[1:], raises="is out of order")


# -- two dense operands -------------------------------------------------------------------------
def dense_shape(set1, set2):
    a, b = with_rank_at_least(set1, 2), with_rank_at_least(set2, 2)
    if a.rank is None or b.rank is None:
        return sparse_shapes(b.rank if a.rank is None else a.rank)
    with_rank(b, a.rank)
    merge(a[:-1], b[:-1])
    return sparse_shapes(a.rank)


@op(
    "DenseToDenseSetOperation",
    "set1: T, set2: T " + RESULT,
    set_operation=String(),
    validate_indices=True,
    T=ELEMENTS,
    shape=dense_shape,
)
def dense_to_dense_set_operation(set1, set2, *, set_operation):
    """A set operation on the rows of two dense tensors: a-b, b-a, intersection or union."""
    return _combined(Rows.dense(set1), Rows.dense(set2), set_operation, set1.dtype)


DENSE = np.array([[1, 5], [2, 2], [7, 9]])


@dense_to_dense_set_operation.samples
def _(rng):
    for operation in OPERATIONS:
        yield Sample(DENSE, DENSE[:, ::-1] + [[0, 0], [1, 0], [0, 0]], set_operation=operation)
    yield Sample(DENSE[:, :0], DENSE, set_operation="union", note="empty")
    words = np.array([[b"b", b"a"], [b"", b"c"]], object)
    yield Sample(words, words[::-1], set_operation="union")
    yield ErrorSample(DENSE, DENSE, set_operation="xor", raises="Invalid set_operation xor")


# -- a dense and a sparse operand ---------------------------------------------------------------
def mixed_shape(set1, set2_indices, set2_values, set2_shape):
    _, rank = check_sparse(set2_indices, set2_values, set2_shape)
    return sparse_shapes(merge_sizes(with_rank_at_least(set1, 2).rank, rank))


@op(
    "DenseToSparseSetOperation",
    "set1: T, set2_indices: int64, set2_values: T, set2_shape: int64 " + RESULT,
    set_operation=String(),
    validate_indices=True,
    T=ELEMENTS,
    shape=mixed_shape,
)
def dense_to_sparse_set_operation(
    set1, set2_indices, set2_values, set2_shape, *, set_operation, validate_indices
):
    """A set operation on the rows of a dense and a sparse tensor."""
    second = Rows.sparse(set2_indices, set2_values, set2_shape, validate_indices)
    return _combined(Rows.dense(set1), second, set_operation, set1.dtype)


@dense_to_sparse_set_operation.samples
def _(rng):
    for operation in OPERATIONS:
        yield Sample(DENSE, *SPARSE, set_operation=operation)
    yield ErrorSample(DENSE[:2], *SPARSE, set_operation="union", raises="Mismatched shapes")


# -- two sparse operands ------------------------------------------------------------------------
def sparse_shape(set1_indices, set1_values, set1_shape, set2_indices, set2_values, set2_shape):
    _, first = check_sparse(set1_indices, set1_values, set1_shape)
    _, second = check_sparse(set2_indices, set2_values, set2_shape)
    for i, rank in enumerate((first, second)):
        require(rank is None or rank >= 2, f"Input {i}, expected rank >= 2, got {rank}.")
    return sparse_shapes(merge_sizes(first, second))


@op(
    "SparseToSparseSetOperation",
    "set1_indices: int64, set1_values: T, set1_shape: int64, "
    "set2_indices: int64, set2_values: T, set2_shape: int64 " + RESULT,
    set_operation=String(),
    validate_indices=True,
    T=ELEMENTS,
    shape=sparse_shape,
)
def sparse_to_sparse_set_operation(
    set1_indices,
    set1_values,
    set1_shape,
    set2_indices,
    set2_values,
    set2_shape,
    *,
    set_operation,
    validate_indices,
):
    """A set operation on the rows of two sparse tensors."""
    first = Rows.sparse(set1_indices, set1_values, set1_shape, validate_indices)
    second = Rows.sparse(set2_indices, set2_values, set2_shape, validate_indices)
    return _combined(first, second, set_operation, set1_values.dtype)


@sparse_to_sparse_set_operation.samples
def _(rng):
    other = np.array([[0, 0], [1, 0]]), np.array([5, 6]), np.array([3, 1])
    for operation in OPERATIONS:
        yield Sample(*SPARSE, *other, set_operation=operation)


for _op in (
    set_size,
    dense_to_dense_set_operation,
    dense_to_sparse_set_operation,
    sparse_to_sparse_set_operation,
):
    _op.no_gradient()
