"""Tridiagonal matrices: their products and solutions, from three forms of the diagonals.

compact   one tensor [..., 3, M]: superdiagonal, diagonal, subdiagonal.
sequence  these three as tensors [..., M] (off the diagonal also [..., M - 1]).
matrix    the whole matrix [..., M, M]; what is off the three diagonals is not looked at.
"""

from __future__ import annotations

from typing import Any

from headrace.graph.tensor import Tensor
from headrace.ops.declaration import array
from headrace.ops.declaration.convert import convert_to_tensor
from headrace.ops.linalg import matrix_terms as terms
from headrace.ops.linalg import tridiagonal


def tridiagonal_solve(
    diagonals: Any,
    rhs: Any,
    diagonals_format: str = "compact",
    transpose_rhs: bool = False,
    conjugate_rhs: bool = False,
    name: str | None = None,
    partial_pivoting: bool = True,
) -> Tensor:
    """x with A @ x = rhs, for tridiagonal matrices A.

    Args:
      diagonals: the matrices, in the form that `diagonals_format` says.
      rhs: right hand sides [..., M] or [..., M, K].
      diagonals_format: "compact", "sequence" or "matrix".
      transpose_rhs: `rhs` is [..., K, M]; so is the result.
      conjugate_rhs: conjugate `rhs` first.
      name: name of the node.
      partial_pivoting: exchange rows where it makes the elimination more exact.

    Returns:
      A tensor of the shape of `rhs`.

    Raises:
      ValueError: sizes do not fit, or the form is not one of these.
    """
    compact = _compact(diagonals, diagonals_format)
    rhs = convert_to_tensor(rhs, dtype=compact.dtype)
    rank, rhs_rank = len(compact.shape), len(rhs.shape)
    if rank < 2:
        raise ValueError(f"Expected diagonals to have rank at least 2, got {rank}")
    if rhs_rank not in (rank, rank - 1):
        raise ValueError(f"Expected the rank of rhs to be {rank - 1} or {rank}, got {rhs_rank}")
    if compact.shape.dim(-2) not in (None, 3):
        raise ValueError(f"Expected 3 diagonals got {compact.shape.dim(-2)}")
    batch, rhs_batch = compact.shape[:-2], rhs.shape[: rank - 2]
    if not batch.is_compatible_with(rhs_batch):
        raise ValueError(f"Batch shapes {batch} and {rhs_batch} are incompatible")
    is_vector = rhs_rank == rank - 1
    if conjugate_rhs:
        rhs = terms.conj(rhs)
    if is_vector:
        rhs = array.expand_dims(rhs, -1)
    elif transpose_rhs:
        rhs = terms.transposed(rhs)
    left, right = compact.shape.dim(-1), rhs.shape.dim(-2)
    if None not in (left, right) and left != right:
        raise ValueError(
            f"Expected number of left-hand sided and right-hand sides to be equal, got {left} and {right}"
        )
    out = tridiagonal.tridiagonal_solve(compact, rhs, partial_pivoting, name=name)
    if is_vector:
        return array.squeeze(out, [-1])
    return terms.transposed(out) if transpose_rhs else out


def _compact(diagonals: Any, form: str) -> Tensor:
    if form == "compact":
        return convert_to_tensor(diagonals)
    if form == "sequence":
        return _from_sequence(diagonals)
    if form == "matrix":
        return terms.stack_rows(list(_bands(convert_to_tensor(diagonals))))
    raise ValueError(f"Unrecognized diagonals_format: {form}")


def _from_sequence(diagonals: Any) -> Tensor:
    if not isinstance(diagonals, (tuple, list)) or len(diagonals) != 3:
        raise ValueError("Expected diagonals to be a sequence of length 3.")
    above, on, below = (convert_to_tensor(d) for d in diagonals)
    if not all(d.shape[:-1].is_compatible_with(on.shape[:-1]) for d in (above, below)):
        raise ValueError(
            "Tensors representing the three diagonals must have the same shape,except for the last "
            f"dimension, got {below.shape}, {on.shape}, {above.shape}"
        )
    above = _filled_up(above, on, "superdiagonal", [0, 1])
    below = _filled_up(below, on, "subdiagonal", [1, 0])
    return terms.stack_rows([above, on, below])


def _filled_up(diagonal: Tensor, main: Tensor, what: str, padding: list[int]) -> Tensor:
    """An outer diagonal, brought to the length of the main one."""
    n, m = diagonal.shape.dim(-1), main.shape.dim(-1)
    if not n or n == m:
        return diagonal
    if m is not None and n == m - 1:
        return array.pad(diagonal, [[0, 0]] * (len(diagonal.shape) - 1) + [padding])
    raise ValueError(f"Expected {what} to be have length {m} or {None if m is None else m - 1}, got {n}.")


def _bands(matrix: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """The three diagonals of square matrices, the outer ones filled up with zero."""
    rows, columns = matrix.shape.dim(-2), matrix.shape.dim(-1)
    if rows and columns and rows != columns:
        raise ValueError(f"Expected last two dimensions of diagonals to be same, got {columns} and {rows}")
    if not (rows or columns):
        raise ValueError('The size of the matrix needs to be known for diagonals_format="matrix"')
    lead: list[list[int]] = [[0, 0]] * (len(matrix.shape) - 2)
    above = array.pad(terms.diagonal(matrix[..., :-1, 1:]), [*lead, [0, 1]])
    below = array.pad(terms.diagonal(matrix[..., 1:, :-1]), [*lead, [1, 0]])
    return above, terms.diagonal(matrix), below


def tridiagonal_matmul(
    diagonals: Any, rhs: Any, diagonals_format: str = "compact", name: str | None = None
) -> Tensor:
    """The product of tridiagonal matrices and rhs [..., M, N].

    Args:
      diagonals: the matrices, in the form that `diagonals_format` says.
      rhs: the matrices on the right.
      diagonals_format: "compact", "sequence" or "matrix".
      name: name of the node.

    Returns:
      Matrices [..., M, N].

    Raises:
      ValueError: sizes do not fit, or the form is not one of these.
    """
    if diagonals_format == "compact":
        compact = convert_to_tensor(diagonals)
        parts: Any = [compact[..., i : i + 1, :] for i in range(3)]
    elif diagonals_format == "sequence":
        parts = [array.expand_dims(d, -2) for d in diagonals]
    elif diagonals_format == "matrix":
        parts = [array.expand_dims(d, -2) for d in _bands(convert_to_tensor(diagonals))]
    else:
        raise ValueError(f"Unrecognized diagonals_format: {diagonals_format}")
    return tridiagonal.tridiagonal_matmul(*parts, rhs, name=name)
