"""Diagonals of matrices: MatrixDiag(V2), MatrixDiagPart(V2), MatrixSetDiag(V2).

A band of diagonals lower..upper (0 the main one, positive above it) is kept with the uppermost
first, each from its first element on, padded behind to the length of the longest.
"""

from __future__ import annotations

import numpy as np

from headrace.core.dtypes import named
from headrace.core.errors import require
from headrace.core.shapes import UNKNOWN, Dim, Shape, make_shape, show
from headrace.ops.array import fill
from headrace.ops.array.diagonals.diagonal import zero_of
from headrace.ops.declaration.declare import op
from headrace.ops.declaration.samples import ErrorSample, Sample
from headrace.ops.declaration.shape_checks import (
    concatenate,
    merge,
    merge_sizes,
    with_rank,
    with_rank_at_least,
    with_rank_at_most,
)
from headrace.ops.declaration.signature import Type

_TYPES = named("bfloat16 float16 float32 float64 int32 int64 complex64 complex128")


# -- the band of matrices -----------------------------------------------------------------------
def _band(k):
    """(lower, upper) of an array with one or two numbers."""
    require(
        k.ndim <= 1, f"diag_index must be a scalar or vector, received shape: {show(make_shape(k.shape))}"
    )
    require(1 <= k.size <= 2, f"diag_index must have only one or two elements, received {k.size} elements.")
    lower, upper = int(k.flat[0]), int(k.flat[-1])
    require(lower <= upper, f"lower_diag_index must not be larger than upper_diag_index: {lower} > {upper}")
    return lower, upper


def _check_inside(lower: int, upper: int, rows: Dim, columns: Dim) -> None:
    if rows is None or columns is None:
        return
    for what, d in (("lower", lower), ("upper", upper)):
        require(
            d == 0 or -rows < d < columns,
            f"{what}_diag_index is out of bound: {d}. It must be between {-rows} and {columns}",
        )


def _longest(lower: int, upper: int, rows: int, columns: int) -> int:
    return min(rows + min(upper, 0), columns - max(lower, 0))


def _places(lower: int, upper: int, rows: int, columns: int):
    """(diagonal, place in it, row, column) of every element of the band."""
    parts = []
    for m, d in enumerate(range(upper, lower - 1, -1)):
        n = np.arange(max(0, min(rows + min(d, 0), columns - max(d, 0))))
        parts.append((np.full_like(n, m), n, n - min(d, 0), n + max(d, 0)))
    return [np.concatenate(column) for column in zip(*parts)]


# -- MatrixDiag ---------------------------------------------------------------------------------
def _matrix_from(diagonal, k, rows, columns, padding):
    lower, upper = _band(k)
    require(
        diagonal.ndim > 0,
        f"diagonal must be at least 1-dim, received shape: {show(make_shape(diagonal.shape))}",
    )
    if lower == upper:
        diagonal = np.expand_dims(diagonal, -2)
    count = upper - lower + 1
    require(
        diagonal.ndim > 1 and diagonal.shape[-2] == count,
        "The number of diagonals provided in the input does not match the lower_diag_index and "
        "upper_diag_index range.",
    )
    rows, columns = _matrix_size(diagonal.shape[-1], lower, upper, rows, columns)
    out = np.full((*diagonal.shape[:-2], rows, columns), padding, diagonal.dtype)
    which, place, row, column = _places(lower, upper, rows, columns)
    out[..., row, column] = diagonal[..., which, place]
    return out


def _matrix_size(length: int, lower: int, upper: int, rows: int, columns: int) -> tuple[int, int]:
    """The sizes given, or the smallest that hold the diagonals (a square if neither is given)."""
    least_rows, least_columns = length - min(upper, 0), length + max(lower, 0)
    require(rows == -1 or rows >= least_rows, "num_rows is too small: The number of rows is too small.")
    require(
        columns == -1 or columns >= least_columns,
        "num_cols is too small: The number of columns is too small.",
    )
    if rows == columns == -1:
        rows = columns = max(least_rows, least_columns)
    rows = least_rows if rows == -1 else rows
    columns = least_columns if columns == -1 else columns
    require(
        rows == least_rows or columns == least_columns,
        "num_rows and num_cols are not consistent with lower_diag_index, upper_diag_index, and the "
        "length of the given diagonals.",
    )
    return rows, columns


def matrix_diag_shape(diagonal):
    diagonal = with_rank_at_least(diagonal, 1)
    if diagonal.rank is None:
        return UNKNOWN
    return make_shape((*diagonal.sizes, diagonal.sizes[-1]))


@op("MatrixDiag", "diagonal: T -> output: T", T=Type(), shape=matrix_diag_shape)
def matrix_diag(diagonal):
    """A batch of square matrices with these main diagonals and zeros elsewhere."""
    return _matrix_from(diagonal, np.array(0), -1, -1, zero_of(diagonal.dtype))


@matrix_diag.gradient
def _(node, dy):
    return matrix_diag_part(dy)


@matrix_diag.samples
def _(rng):
    yield Sample(rng.normal(size=(3,)))
    yield Sample(rng.normal(size=(2, 3)))
    yield Sample(np.zeros((2, 0)), note="empty")
    yield ErrorSample(np.array(1.0), raises="at least (rank )?1")


def _known_band(k):
    """(lower, upper), or None where it is not known while the graph is built."""
    with_rank_at_most(k, 1)
    value = k.value
    if value is None:
        return None
    require(
        value.size in (1, 2),
        f"diag_index must be a vector with one or two elements. It has {value.size} elements.",
    )
    require(value.flat[0] <= value.flat[-1], "lower_diag_index is greater than upper_diag_index")
    return int(value.flat[0]), int(value.flat[-1])


def matrix_diag_v2_shape(diagonal, k, num_rows, num_cols, padding_value):
    diagonal, band = with_rank_at_least(diagonal, 1), _known_band(k)
    for scalar in (num_rows, num_cols, padding_value):
        with_rank(scalar, 0)
    if diagonal.rank is None or band is None:
        return UNKNOWN
    lower, upper = band
    if lower < upper:
        with_rank_at_least(diagonal, 2)
        count = diagonal.sizes[-2]
        require(
            count in (None, upper - lower + 1),
            "The number of rows of `diagonal` doesn't match the number of diagonals implied from "
            f"`d_lower` and `d_upper`.\nnum_diags = {count}, d_lower = {lower}, d_upper = {upper}",
        )
    batch = make_shape(diagonal.sizes[: -1 if lower == upper else -2])
    length, rows, columns = diagonal.sizes[-1], num_rows.value, num_cols.value
    if length is None or rows is None or columns is None:
        return concatenate(batch, make_shape((None, None)))
    return concatenate(batch, make_shape(_matrix_size(length, lower, upper, int(rows), int(columns))))


@op(
    "MatrixDiagV2",
    "diagonal: T, k: int32, num_rows: int32, num_cols: int32, padding_value: T -> output: T",
    T=Type(),
    shape=matrix_diag_v2_shape,
)
def matrix_diag_v2(diagonal, k, num_rows, num_cols, padding_value):
    """A batch of matrices with these diagonals and `padding_value` elsewhere."""
    return _matrix_from(diagonal, k, int(num_rows), int(num_cols), padding_value)


@matrix_diag_v2.gradient
def _(node, dy):
    zero = np.zeros((), dy.dtype.numpy)
    return matrix_diag_part_v2(dy, node.inputs[1], zero), None, None, None, None


def _int(value):
    return np.array(value, np.int32)


@matrix_diag_v2.samples
def _(rng):
    zero, free = np.array(0.0), _int(-1)
    yield Sample(rng.normal(size=(2, 3)), _int(0), free, free, zero)
    yield Sample(rng.normal(size=(2, 3)), _int(1), free, free, np.array(7.0))
    yield Sample(rng.normal(size=(3,)), _int([-1]), _int(4), _int(5), zero)
    yield Sample(rng.normal(size=(2, 3, 3)), _int([-1, 1]), free, free, zero)
    yield Sample(np.array([b"a"], object), _int(0), free, free, np.array(b"", object), note="text")
    yield ErrorSample(np.ones(3), _int(0), _int(2), free, zero, raises="too small")
    yield ErrorSample(np.ones((2, 3)), _int([0, 2]), free, free, zero, raises="number of")


# -- MatrixDiagPart -----------------------------------------------------------------------------
def _diagonals_of(input, k, padding):
    lower, upper = _band(k)
    require(input.ndim > 1, f"input must be at least 2-dim, received shape: {show(make_shape(input.shape))}")
    rows, columns = input.shape[-2:]
    _check_inside(lower, upper, rows, columns)
    length, count = max(0, _longest(lower, upper, rows, columns)), upper - lower + 1
    out = np.full((*input.shape[:-2], count, length), padding, input.dtype)
    which, place, row, column = _places(lower, upper, rows, columns)
    out[..., which, place] = input[..., row, column]
    return out if count > 1 else out[..., 0, :]


def _smaller(a: Dim, b: Dim) -> Dim:
    return 0 if 0 in (a, b) else None if a is None or b is None else min(a, b)


def matrix_diag_part_shape(input):
    input = with_rank_at_least(input, 2)
    if input.rank is None:
        return UNKNOWN
    return make_shape((*input.sizes[:-2], _smaller(*input.sizes[-2:])))


@op("MatrixDiagPart", "input: T -> diagonal: T", T=Type(), shape=matrix_diag_part_shape)
def matrix_diag_part(input):
    """The main diagonals of a batch of matrices."""
    return _diagonals_of(input, np.array(0), zero_of(input.dtype))


@matrix_diag_part.gradient
def _(node, dy):
    x = node.inputs[0]
    if x.shape.rank is not None and x.shape.sizes[-2] == x.shape.sizes[-1] is not None:
        return matrix_diag(dy)
    return matrix_set_diag(fill.zeros_like(x), dy)


@matrix_diag_part.samples
def _(rng):
    yield Sample(rng.normal(size=(3, 3)))
    yield Sample(rng.normal(size=(2, 3, 4)))
    yield Sample(np.zeros((2, 0, 4)), note="empty")
    yield ErrorSample(np.ones(3), raises="at least (rank )?2")


def matrix_diag_part_v2_shape(input, k, padding_value):
    input, band = with_rank_at_least(input, 2), _known_band(k)
    with_rank(padding_value, 0)
    if input.rank is None or band is None:
        return UNKNOWN
    (lower, upper), (rows, columns) = band, input.sizes[-2:]
    _check_inside(lower, upper, rows, columns)
    known = rows is not None and columns is not None
    length = max(0, _longest(lower, upper, rows, columns)) if known else None
    count = () if lower == upper else (upper - lower + 1,)
    return make_shape((*input.sizes[:-2], *count, length))


@op(
    "MatrixDiagPartV2",
    "input: T, k: int32, padding_value: T -> diagonal: T",
    T=Type(),
    shape=matrix_diag_part_v2_shape,
)
def matrix_diag_part_v2(input, k, padding_value):
    """Some diagonals of a batch of matrices; short ones are padded behind."""
    require(padding_value.size == 1, "Padding must be scalar.")
    return _diagonals_of(input, k, padding_value)


@matrix_diag_part_v2.gradient
def _(node, dy):
    x, k, _ = node.inputs
    if x.shape.rank is not None and None not in x.shape.sizes[-2:]:
        rows, columns = x.shape.sizes[-2:]
        zero = np.zeros((), dy.dtype.numpy)
        return matrix_diag_v2(dy, k, rows, columns, zero), None, None
    return matrix_set_diag_v2(fill.zeros_like(x), dy, k), None, None


@matrix_diag_part_v2.samples
def _(rng):
    zero = np.array(0.0)
    for k in (0, 1, -2, [-1, 1], [0, 2]):
        yield Sample(rng.normal(size=(2, 3, 4)), _int(k), zero)
    yield ErrorSample(np.ones((3, 4)), _int(4), zero, raises="out of bound")
    yield ErrorSample(np.ones((3, 4)), _int([1, 0]), zero, raises="larger than|greater than")


# -- MatrixSetDiag ------------------------------------------------------------------------------
def _with_diagonals(input, diagonal, k):
    lower, upper = _band(k)
    require(input.ndim > 1, f"input must be at least 2-dim, received shape: {show(make_shape(input.shape))}")
    require(
        diagonal.ndim > 0,
        f"diagonal must be at least 1-dim, received shape: {show(make_shape(diagonal.shape))}",
    )
    rows, columns = input.shape[-2:]
    _check_inside(lower, upper, rows, columns)
    count = () if lower == upper else (upper - lower + 1,)
    wanted = (*input.shape[:-2], *count, max(0, _longest(lower, upper, rows, columns)))
    require(
        diagonal.shape == wanted,
        "Either first dimensions of diagonal don't match input.shape[:-2], or diagonal.shape[:-1] "
        "is not equal to the longests diagonal in range [lower_diag_index:upper_diag_index]."
        f"\nInput shape: {show(make_shape(input.shape))}\nDiagonal shape: "
        f"{show(make_shape(diagonal.shape))}\nExpected diagonal shape: {show(make_shape(wanted))}",
    )
    band = diagonal if count else np.expand_dims(diagonal, -2)
    which, place, row, column = _places(lower, upper, rows, columns)
    out = np.array(input)
    out[..., row, column] = band[..., which, place]
    return out


def _set_shape(input: Shape, diagonal: Shape, behind: int) -> Shape:
    """The input's shape; its batch may be known from the diagonals alone."""
    if diagonal.rank is None:
        return make_shape(input._sizes)
    batch = make_shape(diagonal.sizes[: diagonal.rank - behind])
    return merge(input, concatenate(batch, make_shape((None, None))))


def matrix_set_diag_shape(input, diagonal):
    input, diagonal = with_rank_at_least(input, 2), with_rank_at_least(diagonal, 1)
    if input.rank is not None:
        diagonal = with_rank(diagonal, input.rank - 1)
        merge_sizes(_smaller(*input.sizes[-2:]), diagonal.sizes[-1])
    return _set_shape(input, diagonal, 1)


@op("MatrixSetDiag", "input: T, diagonal: T -> output: T", T=Type(), shape=matrix_set_diag_shape)
def matrix_set_diag(input, diagonal):
    """A batch of matrices with other main diagonals."""
    return _with_diagonals(input, diagonal, np.array(0))


@matrix_set_diag.gradient
def _(node, dy):
    return matrix_set_diag(dy, fill.zeros_like(node.inputs[1])), matrix_diag_part(dy)


@matrix_set_diag.samples
def _(rng):
    yield Sample(rng.normal(size=(3, 4)), rng.normal(size=(3,)))
    yield Sample(rng.normal(size=(2, 3, 3)), rng.normal(size=(2, 3)))
    yield ErrorSample(np.ones((3, 4)), np.ones(4), raises="must be equal|longest")


def matrix_set_diag_v2_shape(input, diagonal, k):
    input, diagonal = with_rank_at_least(input, 2), with_rank_at_least(diagonal, 1)
    band = _known_band(k)
    if band is None:
        return make_shape(input._sizes)
    lower, upper = band
    behind = 1 if lower == upper else 2
    if input.rank is not None:
        diagonal = with_rank(diagonal, input.rank - 2 + behind)
        _check_inside(lower, upper, *input.sizes[-2:])
    return _set_shape(input, diagonal, behind)


@op(
    "MatrixSetDiagV2",
    "input: T, diagonal: T, k: int32 -> output: T",
    T=Type(),
    shape=matrix_set_diag_v2_shape,
)
def matrix_set_diag_v2(input, diagonal, k):
    """A batch of matrices with some diagonals replaced."""
    return _with_diagonals(input, diagonal, k)


@matrix_set_diag_v2.gradient
def _(node, dy):
    _, diagonal, k = node.inputs
    zero = np.zeros((), dy.dtype.numpy)
    rest = matrix_set_diag_v2(dy, fill.zeros_like(diagonal), k)
    return rest, matrix_diag_part_v2(dy, k, zero), None


@matrix_set_diag_v2.samples
def _(rng):
    yield Sample(rng.normal(size=(3, 4)), rng.normal(size=(3,)), _int(1))
    yield Sample(rng.normal(size=(2, 3, 3)), rng.normal(size=(2, 2, 3)), _int([-1, 0]))
    yield ErrorSample(np.ones((3, 4)), np.ones(3), _int(-1), raises="longest")
    yield ErrorSample(np.ones((3, 4)), np.ones(3), _int(5), raises="out of bound")


# -- older names --------------------------------------------------------------------------------
def _older(new, signature, shape):
    return op(f"Batch{new.name}", signature, T=Type(), deprecated=(14, f"Use {new.name}"), shape=shape)


@_older(matrix_diag, "diagonal: T -> output: T", matrix_diag_shape)
def batch_matrix_diag(diagonal):
    """MatrixDiag under its older name."""
    return _matrix_from(diagonal, np.array(0), -1, -1, zero_of(diagonal.dtype))


@_older(matrix_diag_part, "input: T -> diagonal: T", matrix_diag_part_shape)
def batch_matrix_diag_part(input):
    """MatrixDiagPart under its older name."""
    return _diagonals_of(input, np.array(0), zero_of(input.dtype))


@_older(matrix_set_diag, "input: T, diagonal: T -> output: T", matrix_set_diag_shape)
def batch_matrix_set_diag(input, diagonal):
    """MatrixSetDiag under its older name."""
    return _with_diagonals(input, diagonal, np.array(0))


for _old, _new in (
    (batch_matrix_diag, matrix_diag),
    (batch_matrix_diag_part, matrix_diag_part),
    (batch_matrix_set_diag, matrix_set_diag),
):
    _old.sample_rule = _new.sample_rule
