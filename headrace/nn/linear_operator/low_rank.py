"""LinearOperatorLowRankUpdate: L + U D V^H, with solutions by Woodbury's formula."""

from __future__ import annotations

from typing import Any

from headrace.core.fields import reads
from headrace.core.shapes import Shape
from headrace.functions.array.array import broadcast_static_shape
from headrace.functions.linalg import linalg
from headrace.functions.math import reduce
from headrace.functions.values.structure import name_scope
from headrace.graph.tensor import Tensor
from headrace.nn.linear_operator import batch
from headrace.nn.linear_operator.base import LinearOperator
from headrace.nn.linear_operator.diagonal import LinearOperatorDiag
from headrace.nn.linear_operator.identity import LinearOperatorIdentity
from headrace.nn.linear_operator.shaped import Hint, hinted
from headrace.ops.array import broadcast as broadcast_ops
from headrace.ops.declaration import array
from headrace.ops.linalg import factor as linalg_factor
from headrace.ops.linalg import matrix_terms as terms
from headrace.ops.linalg import solve as linalg_solve
from headrace.ops.math import arithmetic, cast, exponential


class LinearOperatorLowRankUpdate(LinearOperator):
    """A cheap operator L, changed by a product of K columns: L + U D V^H.

    Args:
      base_operator: L [B1, ..., Bb, M, N].
      u: [B1, ..., Bb, M, K].
      diag_update: the diagonal of D [B1, ..., Bb, K]; the identity if not given.
      v: [B1, ..., Bb, N, K]; U if not given.
      is_diag_update_positive: expect that D is real and positive.
      is_non_singular: see LinearOperator.
      is_self_adjoint: see LinearOperator; true for real types if L is and V is not given.
      is_positive_definite: see LinearOperator; true if L and D are and V is not given.
      is_square: see LinearOperator.
      name: name of the operator.
    """

    @hinted(name="LinearOperatorLowRankUpdate")
    def __init__(
        self,
        base_operator: LinearOperator,
        u: Any,
        diag_update: Any = None,
        v: Any = None,
        is_diag_update_positive: Hint = None,
        *,
        name: str,
        **hints: Hint,
    ) -> None:
        dtype = base_operator.dtype
        if diag_update is None:
            if is_diag_update_positive is False:
                raise ValueError(
                    "Default diagonal is the identity, which is positive.  However, user set "
                    "'is_diag_update_positive' to False."
                )
            is_diag_update_positive = True
        symmetric = v is None and base_operator.is_self_adjoint
        self._use_cholesky = bool(
            symmetric and base_operator.is_positive_definite and is_diag_update_positive
        )
        hints["is_self_adjoint"] = batch.implied(
            symmetric and not dtype.is_complex,
            hints["is_self_adjoint"],
            "L is self-adjoint and D real, so L + UDU^H must be a self-adjoint operator.",
        )
        if self._use_cholesky:
            if False in (hints["is_positive_definite"], hints["is_self_adjoint"], hints["is_non_singular"]):
                raise ValueError("Arguments imply this is self-adjoint positive-definite operator.")
            hints["is_positive_definite"] = hints["is_self_adjoint"] = True
        with name_scope(name, values=[*base_operator.graph_parents, u, diag_update, v]):
            self._u = batch.kept(u, "u")
            self._v = self._u if v is None else batch.kept(v, "v")
            self._diag_update = None if diag_update is None else batch.kept(diag_update, "diag_update")
            self._base_operator = base_operator
            own = [p for p in (self._u, self._diag_update, self._v) if p is not None]
            super().__init__(dtype, [*base_operator.graph_parents, *own], **hints, name=name)
            self._is_diag_update_positive = is_diag_update_positive
            self._diag_operator = self._make_diag_operator()
            self._check_shapes()

    def _make_diag_operator(self) -> LinearOperator:
        if self._diag_update is not None:
            return LinearOperatorDiag(self._diag_update, is_positive_definite=self._is_diag_update_positive)
        known = self._u.shape.dim(-1)
        columns = array.shape(self._u)[-1] if known is None else known
        return LinearOperatorIdentity(columns, dtype=self.dtype)

    def _check_shapes(self) -> None:
        both = broadcast_static_shape(self._u.shape, self._v.shape)
        lead = broadcast_static_shape(self._base_operator.batch_shape, both[:-2])
        if both.rank is not None:
            self._base_operator.domain_dimension.assert_is_compatible_with(both[-2])
        if self._diag_update is not None:
            both[-1].assert_is_compatible_with(self._diag_update.shape[-1])
            broadcast_static_shape(lead, self._diag_update.shape[:-1])

    u: Any = reads("_u", "U.")
    v: Any = reads("_v", "V.")
    is_diag_update_positive: Hint = reads("_is_diag_update_positive", "Whether D is positive, if known.")
    diag_update: Any = reads("_diag_update", "The diagonal of D, or None for the identity.")
    diag_operator: LinearOperator = reads("_diag_operator", "D as an operator.")
    base_operator: LinearOperator = reads("_base_operator", "L.")

    def _shape(self) -> Shape:
        lead = broadcast_static_shape(self._base_operator.batch_shape, self._u.shape[:-2])
        return lead.concatenate(self._base_operator.shape[-2:])

    def _shape_tensor(self) -> Tensor:
        base = self._base_operator
        lead = broadcast_ops.broadcast_args(base.batch_shape_tensor(), array.shape(self._u)[:-2])
        return array.concat_v2([lead, base.shape_tensor()[-2:]], 0)

    def _sides(self, adjoint: bool) -> tuple[Any, Any]:
        """(U, V), exchanged for the adjoint."""
        return (self._v, self._u) if adjoint else (self._u, self._v)

    def _matmul(self, x: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        u, v = self._sides(adjoint)
        base = self._base_operator.matmul(x, adjoint=adjoint, adjoint_arg=adjoint_arg)
        inner = linalg.matmul(v, x, adjoint_a=True, adjoint_b=adjoint_arg)
        result: Tensor = base + linalg.matmul(u, self._diag_operator.matmul(inner, adjoint=adjoint))
        return result

    def _capacitance(self) -> Tensor:
        """D^-1 + V^H L^-1 U."""
        inner = linalg.matmul(self._v, self._base_operator.solve(self._u), adjoint_a=True)
        return self._diag_operator.inverse().add_to_tensor(inner)

    def _determinant(self) -> Tensor:
        if self.is_positive_definite:
            return exponential.exp(self.log_abs_determinant())
        # det(L + U D V^H) = det(capacitance) det(D) det(L)
        own = linalg_solve.matrix_determinant(self._capacitance())
        return own * self._diag_operator.determinant() * self._base_operator.determinant()

    def _log_abs_determinant(self) -> Tensor:
        if self._use_cholesky:
            diagonal = terms.diagonal(linalg_factor.cholesky(self._capacitance()))
            own = reduce.reduce_sum(exponential.log(diagonal), axis=[-1]) * 2
        else:
            determinant = linalg_solve.matrix_determinant(self._capacitance())
            own = exponential.log(arithmetic.magnitude(determinant))
            if self.dtype.is_complex:
                own = cast.cast(own, self.dtype)
        diagonal_part = self._diag_operator.log_abs_determinant()
        return own + diagonal_part + self._base_operator.log_abs_determinant()

    def _solve(self, rhs: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        base = self._base_operator
        if base.is_non_singular is False:
            raise ValueError(
                "Solve not implemented unless this is a perturbation of a non-singular LinearOperator."
            )
        # (L + U D V^H)^-1 = L^-1 - L^-1 U capacitance^-1 V^H L^-1
        u, v = self._sides(adjoint)
        first = base.solve(rhs, adjoint=adjoint, adjoint_arg=adjoint_arg)
        inner = linalg.matmul(v, first, adjoint_a=True)
        if self._use_cholesky:
            factor, inner = batch.together(linalg_factor.cholesky(self._capacitance()), inner)
            middle = linalg.cholesky_solve(factor, inner)
        else:
            matrix, inner = batch.together(self._capacitance(), inner)
            middle = linalg_solve.matrix_solve(matrix, inner, adjoint=adjoint)
        result: Tensor = first - base.solve(linalg.matmul(u, middle), adjoint=adjoint)
        return result
