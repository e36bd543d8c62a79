"""Operators that keep their matrices: full and lower triangular ones."""

from __future__ import annotations

from typing import Any

from headrace.core import dtypes
from headrace.core.shapes import Shape
from headrace.functions.linalg import linalg
from headrace.functions.math import reduce
from headrace.functions.values.structure import name_scope
from headrace.graph.node import Node
from headrace.graph.tensor import Tensor
from headrace.nn.linear_operator import batch
from headrace.nn.linear_operator.base import LinearOperator
from headrace.nn.linear_operator.shaped import Hint, hinted
from headrace.ops.declaration import array
from headrace.ops.linalg import matrix_terms as terms
from headrace.ops.math import arithmetic, exponential

FLOATS = (dtypes.float16, dtypes.float32, dtypes.float64, dtypes.complex64, dtypes.complex128)


def _checked(tensor: Any, name: str) -> Any:
    if tensor.dtype.base not in FLOATS:
        raise TypeError(f"Argument {name} must have dtype in {list(FLOATS)}.  Found: {tensor.dtype}")
    if tensor.shape.rank is not None and tensor.shape.rank < 2:
        raise ValueError(f"Argument {name} must have at least 2 dimensions.  Found: {tensor}")
    return tensor


class LinearOperatorFullMatrix(LinearOperator):
    """The operator of the matrices in a tensor.

    Args:
      matrix: [B1, ..., Bb, M, N].
      is_non_singular: see LinearOperator.
      is_self_adjoint: see LinearOperator.
      is_positive_definite: see LinearOperator.
      is_square: see LinearOperator.
      name: name of the operator.
    """

    @hinted(name="LinearOperatorFullMatrix")
    def __init__(self, matrix: Any, *, name: str, **hints: Hint) -> None:
        with name_scope(name, values=[matrix]):
            self._matrix = _checked(batch.kept(matrix, "matrix"), "matrix")
            super().__init__(self._matrix.dtype, [self._matrix], **hints, name=name)

    def _shape(self) -> Shape:
        result: Shape = self._matrix.shape
        return result

    def _shape_tensor(self) -> Tensor:
        return array.shape(self._matrix)

    def _matmul(self, x: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        return linalg.matmul(self._matrix, x, adjoint_a=adjoint, adjoint_b=adjoint_arg)

    def _to_dense(self) -> Tensor:
        result: Tensor = self._matrix
        return result


class LinearOperatorLowerTriangular(LinearOperator):
    """The operator of the lower triangles of matrices; what stands above is not looked at.

    Args:
      tril: [B1, ..., Bb, N, N].
      is_non_singular: whether no diagonal entry is zero.
      is_self_adjoint: see LinearOperator.
      is_positive_definite: see LinearOperator.
      is_square: see LinearOperator.
      name: name of the operator.
    """

    @hinted(name="LinearOperatorLowerTriangular")
    def __init__(self, tril: Any, *, name: str, **hints: Hint) -> None:
        if hints["is_square"] is False:
            raise ValueError("Only square lower triangular operators supported at this time.")
        with name_scope(name, values=[tril]):
            self._tril = _checked(batch.kept(tril, "tril"), "tril")
            super().__init__(self._tril.dtype, [self._tril], **hints | {"is_square": True}, name=name)

    def _shape(self) -> Shape:
        result: Shape = self._tril.shape
        return result

    def _shape_tensor(self) -> Tensor:
        return array.shape(self._tril)

    def _assert_non_singular(self) -> Node:
        return batch.assert_no_zeros(self._diag_part(), "Singular operator:  Diagonal contained zero values.")

    def _matmul(self, x: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        return linalg.matmul(self._to_dense(), x, adjoint_a=adjoint, adjoint_b=adjoint_arg)

    def _determinant(self) -> Tensor:
        return reduce.reduce_prod(self._diag_part(), axis=[-1])

    def _log_abs_determinant(self) -> Tensor:
        sizes = exponential.log(arithmetic.magnitude(self._diag_part()))
        return reduce.reduce_sum(sizes, axis=[-1])

    def _solve(self, rhs: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        rhs = terms.adjoint(rhs) if adjoint_arg else rhs
        return batch.triangular_solve(self._to_dense(), rhs, adjoint)

    def _to_dense(self) -> Tensor:
        return terms.lower_triangle(self._tril)

    def _diag_part(self) -> Tensor:
        return terms.diagonal(self._tril)
