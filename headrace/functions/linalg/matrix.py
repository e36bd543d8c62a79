"""Functions of matrices that also take a linear operator (nn.linear_operator): it answers itself."""

from __future__ import annotations

from typing import Any

from headrace.functions.math.math import real
from headrace.functions.math.reduce import reduce_sum
from headrace.functions.values.structure import name_scope
from headrace.graph.tensor import Tensor
from headrace.ops.array.constant import constant
from headrace.ops.declaration.convert import convert_to_tensor
from headrace.ops.linalg import factor
from headrace.ops.linalg import matrix_terms as terms
from headrace.ops.linalg import solve as linalg_solve
from headrace.ops.math import exponential


def is_operator(value: Any) -> bool:
    return getattr(value, "is_linear_operator", False) is True


def adjoint(matrix: Any, name: str | None = None) -> Any:
    """Every matrix [..., M, N], transposed and conjugated.

    Args:
      matrix: the matrices, or a linear operator.
      name: name of the scope.

    Returns:
      Matrices [..., N, M], or an operator.
    """
    if is_operator(matrix):
        return matrix.adjoint(name or "adjoint")
    with name_scope(name, "adjoint", [matrix]):
        return terms.adjoint(convert_to_tensor(matrix, name="matrix"))


def trace(x: Any, name: str | None = None) -> Tensor:
    """The sum of the main diagonal of every matrix [..., M, N].

    Args:
      x: the matrices, or a linear operator.
      name: name of the node.

    Returns:
      One number per matrix.
    """
    if is_operator(x):
        result: Tensor = x.trace(name or "trace")
        return result
    with name_scope(name, "Trace", [x]) as scope:
        x = convert_to_tensor(x, name="x")
        return reduce_sum(terms.diagonal(x), [-1], name=scope)


def logdet(matrix: Any, name: str | None = None) -> Tensor:
    """The logarithm of the determinant of self-adjoint positive definite matrices [..., M, M].

    Args:
      matrix: the matrices, or a linear operator that is known to be so.
      name: name of the scope.

    Returns:
      One number per matrix.
    """
    if is_operator(matrix):
        if matrix.is_positive_definite and matrix.is_self_adjoint:
            result: Tensor = matrix.log_abs_determinant(name or "log_abs_det")
            return result
        raise ValueError("Expected matrix to be self-adjoint positive definite.")
    with name_scope(name, "logdet", [matrix]):
        diagonal = terms.diagonal(factor.cholesky(matrix))
        total = reduce_sum(exponential.log(real(diagonal)), [-1])
        return total * constant(2, total.dtype)


def cholesky(input: Any, name: str | None = None) -> Any:
    """The lower triangular L with L @ adjoint(L) = input, for positive definite [..., M, M].

    Args:
      input: the matrices, of which only the lower triangle is looked at; or a linear operator.
      name: name of the node.

    Returns:
      Matrices [..., M, M], or an operator.
    """
    if is_operator(input):
        return input.cholesky(name or "cholesky")
    return factor.cholesky(input, name=name)


def matrix_determinant(input: Any, name: str | None = None) -> Tensor:
    """The determinant of every matrix [..., M, M].

    Args:
      input: the matrices, or a linear operator.
      name: name of the node.

    Returns:
      One number per matrix.
    """
    if is_operator(input):
        result: Tensor = input.determinant(name or "det")
        return result
    return linalg_solve.matrix_determinant(input, name=name)


def matrix_inverse(input: Any, adjoint: bool = False, name: str | None = None) -> Any:
    """The inverse of every matrix [..., M, M].

    Args:
      input: the matrices, or a linear operator.
      adjoint: give the inverse of the adjoint.
      name: name of the node.

    Returns:
      Matrices [..., M, M], or an operator.
    """
    if is_operator(input):
        found = input.inverse(name or "inverse")
        return found.adjoint() if adjoint else found
    return linalg_solve.matrix_inverse(input, adjoint=adjoint, name=name)


def matrix_solve(matrix: Any, rhs: Any, adjoint: bool = False, name: str | None = None) -> Any:
    """x with matrix @ x = rhs.

    Args:
      matrix: [..., M, M], or a linear operator.
      rhs: [..., M, K]; an operator only beside an operator.
      adjoint: solve with the adjoint of `matrix`.
      name: name of the node.

    Returns:
      [..., M, K], or an operator.
    """
    if is_operator(matrix):
        return matrix.solve(rhs, adjoint=adjoint, name=name or "solve")
    if is_operator(rhs):
        raise ValueError("Passing in `matrix` as a Tensor and `rhs` as a LinearOperator is not supported.")
    return linalg_solve.matrix_solve(matrix, rhs, adjoint=adjoint, name=name)
