"""Tensors of matrices, combined: the vocabulary of the gradient rules of linear algebra."""

from __future__ import annotations

from typing import Any

from headrace.graph.tensor import Tensor
from headrace.ops.array.constant import constant
from headrace.ops.array.diagonals import matrix_diagonal
from headrace.ops.array.diagonals.diagonal import matrix_band_part
from headrace.ops.declaration import array
from headrace.ops.linalg import matrix
from headrace.ops.math.sequence import range_


def conj(x: Tensor) -> Tensor:
    """The conjugate; a real tensor is returned as it is."""
    return matrix.conj(x)


def times(a: Tensor, b: Tensor, adjoint_a: bool = False, adjoint_b: bool = False) -> Tensor:
    """The matrix product a @ b, either side adjoint first."""
    product: Any
    if a.shape.rank == 2 == b.shape.rank:
        a = conj(a) if adjoint_a else a
        b = conj(b) if adjoint_b else b
        product = matrix.matmul(a, b, transpose_a=adjoint_a, transpose_b=adjoint_b)
    else:
        product = matrix.batch_matmul_v2(a, b, adj_x=adjoint_a, adj_y=adjoint_b, name="MatMul")
    return product


def transposed(x: Tensor) -> Tensor:
    """Every matrix transposed."""
    swapped: Tensor
    if x.shape.rank is not None:
        *lead, rows, columns = range(x.shape.rank)
        swapped = array.transpose(x, [*lead, columns, rows])
    else:
        axes = range_(0, array.rank(x), 1)
        perm = array.concat_v2([axes[:-2], axes[-1:], axes[-2:-1]], 0)
        swapped = array.transpose(x, perm)
    return swapped


def adjoint(x: Tensor) -> Tensor:
    """Every matrix transposed and conjugated."""
    return conj(transposed(x))


def identity_like(x: Tensor) -> Tensor:
    """Identity matrices in the shape of the square matrices `x`."""
    ones = array.fill(array.shape(x)[:-1], constant(1, x.dtype))
    return matrix_diagonal.matrix_diag(ones)


def diagonal_matrix(diagonal: Tensor) -> Tensor:
    return matrix_diagonal.matrix_diag(diagonal)


def lower_triangle(x: Tensor) -> Tensor:
    return matrix_band_part(x, -1, 0)


def upper_triangle(x: Tensor) -> Tensor:
    return matrix_band_part(x, 0, -1)


def with_diagonal(x: Tensor, diagonal: Tensor) -> Tensor:
    return matrix_diagonal.matrix_set_diag(x, diagonal)


def half_diagonal(x: Tensor) -> Tensor:
    """The matrices, their diagonal halved."""
    return with_diagonal(x, half(diagonal(x)))


def per_matrix(x: Tensor) -> Tensor:
    """One number per matrix, in a shape that broadcasts against the matrices."""
    sizes = array.concat_v2([array.shape(x), constant([1, 1])], 0)
    return array.reshape(x, sizes)


def half(x: Tensor) -> Tensor:
    return x * constant(0.5, x.dtype)


def join_rows(parts: list[Tensor]) -> Tensor:
    """Matrices stacked below each other."""
    return array.concat_v2(parts, -2)


def stack_rows(rows: list[Tensor]) -> Tensor:
    """Vectors (the last dimension) as the rows of matrices."""
    return join_rows([array.expand_dims(row, -2) for row in rows])


def diagonal(x: Tensor) -> Tensor:
    """The main diagonal of every matrix."""
    return matrix_diagonal.matrix_diag_part(x)


def all_axes(x: Tensor) -> Any:
    """The axes of a tensor, as a list where their number is known."""
    rank = x.shape.rank
    return range_(0, array.rank(x), 1) if rank is None else constant(list(range(rank)), "int32")
