"""Diagonals of tensors and bands of matrices: Diag, DiagPart, MatrixBandPart."""

from __future__ import annotations

import math

import numpy as np

from headrace.core.dtypes import named
from headrace.core.errors import require
from headrace.core.shapes import UNKNOWN, make_shape, show
from headrace.ops.declaration.declare import op
from headrace.ops.declaration.samples import ErrorSample, Sample
from headrace.ops.declaration.shape_checks import concatenate, merge, scalars, with_rank_at_least
from headrace.ops.declaration.signature import INDEX64, Type

_TYPES = named("bfloat16 float16 float32 float64 int32 int64 complex64 complex128")


def zero_of(dtype):
    """What stands off the diagonal: 0, or an empty string."""
    return b"" if dtype.kind == "O" else np.zeros((), dtype)


# -- Diag, DiagPart -----------------------------------------------------------------------------
def diag_shape(diagonal):
    diagonal = with_rank_at_least(diagonal, 1)
    return concatenate(diagonal, diagonal)


@op("Diag", "diagonal: T -> output: T", T=_TYPES, shape=diag_shape)
def diag(diagonal):
    """Zeros of shape d + d with `diagonal`, of shape d, where both indices are equal."""
    require(diagonal.ndim > 0, "Input must be at least rank 1, got 0")
    out = np.zeros((diagonal.size, diagonal.size), diagonal.dtype)
    np.fill_diagonal(out, diagonal.ravel())
    return out.reshape(diagonal.shape * 2)


@diag.gradient
def _(node, dy):
    return diag_part(dy)


@diag.samples
def _(rng):
    yield Sample(rng.normal(size=(3,)))
    yield Sample(rng.normal(size=(2, 3)))
    yield Sample(np.zeros(0), note="empty")
    yield ErrorSample(np.array(1.0), raises="at least rank 1")


def diag_part_shape(input):
    if input.rank is None:
        return UNKNOWN
    require(
        input.rank % 2 == 0 and input.rank > 0,
        f"Input must have even and non-zero rank, input rank is {input.rank}",
    )
    half = input.rank // 2
    return merge(make_shape(input.sizes[:half]), make_shape(input.sizes[half:]))


@op("DiagPart", "input: T -> diagonal: T", T=_TYPES, shape=diag_part_shape)
def diag_part(input):
    """The elements of a tensor of shape d + d where both indices are equal."""
    text = show(make_shape(input.shape))
    require(
        input.ndim % 2 == 0 and input.ndim > 0,
        f"The rank of the tensor should be even and positive, got shape {text}",
    )
    half = input.ndim // 2
    for i in range(half):
        require(
            input.shape[i] == input.shape[i + half],
            f"Invalid shape {text}: dimensions {i} and {i + half} do not match.",
        )
    sizes = input.shape[:half]
    side = math.prod(sizes)
    return input.reshape(side, side).diagonal().reshape(sizes).copy()


@diag_part.gradient
def _(node, dy):
    return diag(dy)


@diag_part.samples
def _(rng):
    yield Sample(rng.normal(size=(3, 3)))
    yield Sample(rng.normal(size=(2, 3, 2, 3)))
    yield ErrorSample(np.ones((2, 3)), raises="must be equal|do not match")
    yield ErrorSample(np.ones(3), raises="even and")


# -- MatrixBandPart -----------------------------------------------------------------------------
def band_shape(input, num_lower, num_upper):
    scalars(num_lower, num_upper)
    return input.plain()


def _check_band(input, num_lower, num_upper):
    text = show(make_shape(input.shape))
    require(len(input.shape) > 1, f"input must be at least 2-dim, received shape: {text}")
    for what, value in (("num_lower", num_lower), ("num_upper", num_upper)):
        text = show(make_shape(value.shape))
        require(len(value.shape) == 0, f"{what} must be scalar, got shape {text}")


@op(
    "MatrixBandPart",
    "input: T, num_lower: Tindex, num_upper: Tindex -> band: T",
    T=Type(),
    Tindex=INDEX64,
    shape=band_shape,
)
def matrix_band_part(input, num_lower, num_upper):
    """Matrices with zeros outside a band: so many diagonals below and above the main one are kept,
    all of them where the number is negative."""
    _check_band(input, num_lower, num_upper)
    rows, columns = input.shape[-2:]
    require(
        num_lower <= rows,
        f"num_lower must be negative or less or equal to number of rows ({rows}) got: {num_lower}",
    )
    require(
        num_upper <= columns,
        f"num_upper must be negative or less or equal to number of columns ({columns}) got: {num_upper}",
    )
    above = np.arange(columns) - np.arange(rows)[:, None]
    kept = np.ones((rows, columns), bool)
    if num_lower >= 0:
        kept &= -above <= num_lower
    if num_upper >= 0:
        kept &= above <= num_upper
    return np.where(kept, input, zero_of(input.dtype))


@matrix_band_part.gradient
def _(node, dy):
    _, lower, upper = node.inputs
    return matrix_band_part(dy, lower, upper), None, None


@matrix_band_part.lower
def _(e, x, num_lower, num_upper):
    _check_band(x, num_lower, num_upper)

    def element(*i):
        row, column = e.cast(i[-2], num_lower.dtype), e.cast(i[-1], num_lower.dtype)
        low, high = num_lower[()], num_upper[()]
        e.require(low <= x.shape[-2], "num_lower must be negative or less or equal to number of rows")
        e.require(high <= x.shape[-1], "num_upper must be negative or less or equal to number of columns")
        inside = ((low < 0) | (row - column <= low)) & ((high < 0) | (column - row <= high))
        return e.select(inside, x[i], e.const(0, x.dtype))

    return e.compute(x.shape, element)


@matrix_band_part.samples
def _(rng):
    for low, high in ((0, 0), (-1, 1), (1, -1), (2, 3)):
        yield Sample(rng.normal(size=(2, 3, 4)), np.array(low), np.array(high))
    yield Sample(np.zeros((0, 3, 4)), np.array(0, np.int32), np.array(0, np.int32), note="empty")
    yield ErrorSample(np.ones((3, 4)), np.array(4), np.array(0), raises="num_lower must be neg")
    yield ErrorSample(np.ones(3), np.array(-1), np.array(-1), raises="at least 2-dim|at least rank 2")


@op(
    "BatchMatrixBandPart",
    "input: T, num_lower: int64, num_upper: int64 -> band: T",
    T=Type(),
    deprecated=(14, "Use MatrixBandPart"),
    shape=band_shape,
)
def batch_matrix_band_part(input, num_lower, num_upper):
    """MatrixBandPart under its older name."""
    return matrix_band_part.reference(input, num_lower, num_upper)


batch_matrix_band_part.samples(lambda rng: [Sample(rng.normal(size=(3, 4)), np.array(1), np.array(0))])
