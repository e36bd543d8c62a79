"""The operator of diagonal matrices."""

from __future__ import annotations

from typing import Any

from headrace.core.fields import reads
from headrace.core.shapes import Shape
from headrace.functions.array import checks
from headrace.functions.math import reduce
from headrace.functions.values.structure import name_scope
from headrace.graph.node import Node
from headrace.graph.tensor import Tensor
from headrace.nn.linear_operator import batch
from headrace.nn.linear_operator.base import LinearOperator
from headrace.nn.linear_operator.shaped import Hint, hinted
from headrace.ops.declaration import array
from headrace.ops.declaration.convert import convert_to_tensor
from headrace.ops.linalg import matrix_terms as terms
from headrace.ops.math import arithmetic, cast, exponential


class LinearOperatorDiag(LinearOperator):
    """The operator of diagonal matrices.

    Args:
      diag: the diagonals [B1, ..., Bb, N].
      is_non_singular: see LinearOperator.
      is_self_adjoint: see LinearOperator; true for real types.
      is_positive_definite: see LinearOperator.
      is_square: must not be False.
      name: name of the operator.
    """

    @hinted(name="LinearOperatorDiag")
    def __init__(self, diag: Any, *, name: str, **hints: Hint) -> None:
        with name_scope(name, values=[diag]):
            self._diag = batch.kept(diag, "diag")
            if self._diag.shape.rank == 0:
                raise ValueError(f"Argument diag must have at least 1 dimension.  Found: {self._diag}")
            if not self._diag.dtype.is_complex:
                if hints["is_self_adjoint"] is False:
                    raise ValueError("A real diagonal operator is always self adjoint.")
                hints["is_self_adjoint"] = True
            if hints["is_square"] is False:
                raise ValueError("Only square diagonal operators currently supported.")
            super().__init__(self._diag.dtype, [self._diag], **hints | {"is_square": True}, name=name)

    diag: Any = reads("_diag", "The diagonals.")

    def _shape(self) -> Shape:
        result: Shape = self._diag.shape.concatenate(self._diag.shape[-1:])
        return result

    def _shape_tensor(self) -> Tensor:
        sizes = array.shape(self._diag)
        return array.concat_v2([sizes, sizes[-1:]], 0)

    def _assert_non_singular(self) -> Node:
        return batch.assert_no_zeros(
            convert_to_tensor(self._diag), "Singular operator:  Diagonal contained zero values."
        )

    def _assert_positive_definite(self) -> Node:
        result: Node = checks.assert_positive(
            batch.real(convert_to_tensor(self._diag)),
            message="Operator was not positive definite: the real part of its diagonal was not all positive.",
        )
        return result

    def _assert_self_adjoint(self) -> Node:
        return batch.assert_real(
            convert_to_tensor(self._diag),
            "This diagonal operator contained non-zero imaginary values.  Thus it was not self-adjoint.",
        )

    def _column(self, adjoint: bool) -> Tensor:
        return batch.conj_if(array.expand_dims(self._diag, -1), adjoint)

    def _matmul(self, x: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        return self._column(adjoint) * (terms.adjoint(x) if adjoint_arg else x)

    def _matvec(self, x: Tensor, adjoint: bool = False) -> Tensor:
        return batch.conj_if(convert_to_tensor(self._diag), adjoint) * x

    def _solve(self, rhs: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        return (terms.adjoint(rhs) if adjoint_arg else rhs) / self._column(adjoint)

    def _determinant(self) -> Tensor:
        return reduce.reduce_prod(self._diag, axis=[-1])

    def _log_abs_determinant(self) -> Tensor:
        sizes = exponential.log(arithmetic.magnitude(convert_to_tensor(self._diag)))
        total = reduce.reduce_sum(sizes, axis=[-1])
        return cast.cast(total, self.dtype) if self.dtype.is_complex else total

    def _to_dense(self) -> Tensor:
        return terms.diagonal_matrix(convert_to_tensor(self._diag))

    def _diag_part(self) -> Tensor:
        return convert_to_tensor(self._diag)

    def _add_to_tensor(self, x: Tensor) -> Tensor:
        x = batch.with_batch_of(self, x)
        return terms.with_diagonal(x, self._diag + terms.diagonal(x))
