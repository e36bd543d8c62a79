"""What the sparse ops share: checking the three parts, sorting places, walking groups of them.

Places are compared column by column, never as one flat number: a dense shape may have more elements
than int64 can count.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from headrace.core.errors import require
from headrace.core.shapes import Dim, Shape, make_shape, show
from headrace.ops.declaration.shape_checks import merge_sizes, with_rank

Array = Any


# -- checks of values ---------------------------------------------------------------------------
def check_sizes(sizes: Array) -> tuple[int, ...]:
    """The dense shape as Python ints; refused where it can not be one."""
    total = 1
    for size in sizes.tolist():
        require(size >= 0, f"Dimension {size} must be >= 0")
        require(
            total * size < 2**63, f"Encountered overflow when multiplying {total} with {size}, result: -1"
        )
        total *= size
    return tuple(sizes.tolist())


def check_parts(indices: Array, values: Array, shape: Array) -> None:
    """A matrix, a vector and a vector that fit each other."""
    check_kinds(indices, values, shape)
    require(
        len(indices) == len(values),
        "indices and values rows (indexing dimension) must match. "
        f"(indices = {len(indices)}, values = {len(values)})",
    )
    require(indices.shape[1] == len(shape), "Shape rank must be SparseTensor rank.")


def check_kinds(indices: Array, values: Array, shape: Array) -> None:
    where = "should be a {} but received shape {}"
    require(indices.ndim == 2, "Input indices " + where.format("matrix", show(indices.shape)))
    require(values.ndim == 1, "Input values " + where.format("vector", show(values.shape)))
    require(shape.ndim == 1, "Input shape " + where.format("vector", show(shape.shape)))


def check_order(indices: Array, sizes: tuple[int, ...]) -> None:
    """Every place lies inside, and behind the one before it."""
    if not len(indices):
        return
    inside = np.all((indices >= 0) & (indices < np.array(sizes, np.int64)), axis=1)
    step = direction(indices)
    bad = ~inside
    bad[1:] |= step <= 0
    if not bad.any():
        return
    n = int(np.argmax(bad))
    place = f"indices[{n}] = {show(indices[n])}"
    require(inside[n], f"{place} is out of bounds: need 0 <= index < {show(sizes)}")
    require(
        step[n - 1] == 0,
        f"{place} is out of order. Many sparse ops require sorted indices.\n"
        "    Use `tf.sparse.reorder` to create a correctly ordered copy.\n\n",
    )
    require(False, f"{place} is repeated")


def check_pair(a: tuple[Array, Array, Array], b: tuple[Array, Array, Array]) -> None:
    """Two sparse tensors of one dense shape."""
    (a_indices, a_values, a_shape), (b_indices, b_values, b_shape) = a, b
    require(
        a_indices.ndim == 2 == b_indices.ndim,
        "Input indices should be matrices but received shapes: "
        f"{show(a_indices.shape)} and {show(b_indices.shape)}",
    )
    require(
        a_values.ndim == 1 == b_values.ndim,
        "Input values should be vectors but received shapes: "
        f"{show(a_values.shape)} and {show(b_values.shape)}",
    )
    require(
        len(a_values) == len(a_indices) and len(b_values) == len(b_indices),
        f"Expected {len(a_indices)} and {len(b_indices)} non-empty input values, got "
        f"{len(a_values)} and {len(b_values)}",
    )
    require(
        a_shape.ndim == 1 == b_shape.ndim,
        "Input shapes should be a vector but received shapes "
        f"{show(a_shape.shape)} and {show(b_shape.shape)}",
    )
    require(
        len(a_shape) == len(b_shape) == a_indices.shape[1] == b_indices.shape[1],
        f"Operands do not have the same ranks; got shapes: {a_shape} and {b_shape}",
    )
    for i, (x, y) in enumerate(zip(a_shape.tolist(), b_shape.tolist())):
        require(x == y, f"Operands' shapes do not match: got {x} and {y} for dimension {i}")


# -- places -------------------------------------------------------------------------------------
def direction(indices: Array) -> Array:
    """For every row but the first: 1 behind the row before it, 0 equal, -1 in front of it."""
    step = np.sign(np.diff(indices, axis=0))
    if not step.shape[1]:
        return np.zeros(len(step), np.int64)
    first = np.argmax(step != 0, axis=1)
    return step[np.arange(len(step)), first]


def order(indices: Array) -> Array:
    """The permutation that sorts places in row-major order; equal ones keep theirs."""
    if not indices.shape[1]:
        return np.arange(len(indices))
    return np.lexsort(indices.T[::-1])


def group_starts(indices: Array) -> Array:
    """Where a new place begins among sorted ones."""
    if not len(indices):
        return np.zeros(0, np.int64)
    return np.flatnonzero(np.concatenate([[True], direction(indices) != 0]))


def group_of(indices: Array) -> Array:
    """The number of its group for every one of sorted places."""
    marks = np.zeros(len(indices), np.int64)
    marks[group_starts(indices)] = 1
    return np.cumsum(marks) - 1


def flat_places(indices: Array, sizes: tuple[int, ...]) -> Array:
    """Row-major positions in a dense array that exists, so that they can be counted."""
    out = np.zeros(len(indices), np.int64)
    for column, size in enumerate(sizes):
        out = out * size + indices[:, column]
    return out


# -- shape rules --------------------------------------------------------------------------------
def sparse_shapes(rank: Dim = None) -> list[Shape]:
    """Indices, values and dense shape of a sparse tensor."""
    return [make_shape((None, rank)), make_shape((None,)), make_shape((rank,))]


def check_sparse(indices: Shape, values: Shape, shape: Shape) -> tuple[Dim, Dim]:
    """(how many elements, rank) of a sparse input, as far as they are known."""
    rows, columns = with_rank(indices, 2).sizes
    (count,), (rank,) = with_rank(values, 1).sizes, with_rank(shape, 1).sizes
    return merge_sizes(rows, count), merge_sizes(columns, rank)
