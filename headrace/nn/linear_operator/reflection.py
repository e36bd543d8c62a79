"""LinearOperatorHouseholder: reflections at the plane through the origin that is normal to an axis."""

from __future__ import annotations

from typing import Any

from headrace.core.errors import InvalidArgumentError
from headrace.core.fields import reads
from headrace.core.shapes import Shape
from headrace.functions.array import array as array_functions
from headrace.functions.linalg.linalg import matmul
from headrace.functions.math.norm import norm
from headrace.functions.values.structure import name_scope
from headrace.graph.node import Node
from headrace.graph.tensor import Tensor
from headrace.nn.linear_operator import batch
from headrace.nn.linear_operator.base import LinearOperator
from headrace.nn.linear_operator.shaped import Hint, hinted
from headrace.ops.declaration import array
from headrace.ops.declaration.convert import convert_to_tensor
from headrace.ops.linalg import matrix_terms as terms
from headrace.ops.math import cast


class LinearOperatorHouseholder(LinearOperator):
    """I - 2 v v^H for unit vectors v: its own adjoint and its own inverse.

    Args:
      reflection_axis: the axes [B1, ..., Bb, N], of any length but zero.
      is_non_singular: must not be False.
      is_self_adjoint: must not be False.
      is_positive_definite: must not be True.
      is_square: must not be False.
      name: name of the operator.
    """

    @hinted(name="LinearOperatorHouseholder")
    def __init__(self, reflection_axis: Any, *, name: str, **hints: Hint) -> None:
        with name_scope(name, values=[reflection_axis]):
            self._axis = batch.kept(reflection_axis, "reflection_axis")
            if self._axis.shape.rank == 0:
                raise ValueError(
                    f"Argument reflection_axis must have at least 1 dimension.  Found: {self._axis}"
                )
            if hints["is_self_adjoint"] is False:
                raise ValueError("A Householder operator is always self adjoint.")
            if hints["is_positive_definite"] is True:
                raise ValueError("A Householder operator is always non-positive definite.")
            if hints["is_square"] is False:
                raise ValueError("A Householder operator is always square.")
            super().__init__(
                self._axis.dtype, [self._axis], hints["is_non_singular"], True, False, True, name
            )

    reflection_axis: Any = reads("_axis", "The axes.")

    def _unit(self) -> Tensor:
        """The axes as columns of length 1."""
        axis = convert_to_tensor(self._axis)
        return array.expand_dims(axis / norm(axis, axis=-1, keepdims=True), -1)

    def _shape(self) -> Shape:
        result: Shape = self._axis.shape.concatenate(self._axis.shape[-1:])
        return result

    def _shape_tensor(self) -> Tensor:
        sizes = array.shape(self._axis)
        return array.concat_v2([sizes, sizes[-1:]], 0)

    def _assert_non_singular(self) -> Node:
        return batch.nothing("assert_non_singular")

    def _assert_positive_definite(self) -> Node:
        raise InvalidArgumentError(None, None, "Householder operators are always non-positive definite.")

    def _assert_self_adjoint(self) -> Node:
        return batch.nothing("assert_self_adjoint")

    def _matmul(self, x: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        x, unit = terms.adjoint(x) if adjoint_arg else x, self._unit()
        return x - unit * matmul(unit, x, adjoint_a=True) * 2

    def _solve(self, rhs: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        return self._matmul(rhs, adjoint, adjoint_arg)

    def _determinant(self) -> Tensor:
        return -array_functions.ones(self._sizes(), dtype=self.dtype)

    def _log_abs_determinant(self) -> Tensor:
        return array_functions.zeros(self._sizes(), dtype=self.dtype)

    def _trace(self) -> Tensor:
        size = cast.cast(self.domain_dimension_tensor() - 2, self.dtype)
        return size * array_functions.ones(self._sizes(), dtype=self.dtype)

    def _diag_part(self) -> Tensor:
        unit = array.squeeze(self._unit(), [-1])
        return 1 - unit * terms.conj(unit) * 2
