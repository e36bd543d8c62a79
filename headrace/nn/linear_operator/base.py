"""LinearOperator: the interface, and what follows from products alone.

A subclass gives `_shape`, `_shape_tensor` and `_matmul`, and replaces what it can do better:
`_solve`, `_determinant`, `_log_abs_determinant`, `_trace`, `_diag_part`, `_to_dense`, ...
"""

from __future__ import annotations

from typing import Any

import numpy as np

from headrace.core.modules import late
from headrace.core.shapes import Dimension
from headrace.functions.array import array, checks
from headrace.functions.linalg import linalg
from headrace.functions.math import reduce
from headrace.graph.node import Node
from headrace.graph.tensor import Tensor
from headrace.nn.linear_operator import batch
from headrace.nn.linear_operator.shaped import Shaped
from headrace.ops.declaration.convert import convert_to_tensor
from headrace.ops.linalg import factor as linalg_factor
from headrace.ops.linalg import matrix_terms as terms
from headrace.ops.linalg import solve as linalg_solve
from headrace.ops.math import arithmetic, cast, exponential

algebra = late("headrace.nn.linear_operator.algebra")


class LinearOperator(Shaped):
    """A batch of matrices A [B1, ..., Bb, M, N] that acts on tensors.

    Args:
      dtype: element type of the matrices and of what they act on.
      graph_parents: tensors that the operator depends on.
      is_non_singular: expect that A can be inverted.
      is_self_adjoint: expect that A equals its adjoint.
      is_positive_definite: expect that the real part of <x, A x> is positive for every x.
      is_square: expect that A is square.
      name: name of the operator, and of the scopes of its methods.

    Raises:
      ValueError: hints that contradict each other, or a parent that is no tensor.

    A hint that is None is not known; a hint is a promise, and is not checked.
    """

    is_linear_operator = True  # how functions below this folder tell it from a tensor

    # -- checks ------------------------------------------------------------------------------
    def assert_non_singular(self, name: str = "assert_non_singular") -> Node:
        """A node that fails where the matrices can not be inverted."""
        with self._scope(name):
            return self._assert_non_singular()

    def assert_positive_definite(self, name: str = "assert_positive_definite") -> Node:
        """A node that fails where the matrices are not positive definite."""
        with self._scope(name):
            return self._assert_positive_definite()

    def assert_self_adjoint(self, name: str = "assert_self_adjoint") -> Node:
        """A node that fails where the matrices do not equal their adjoints."""
        with self._scope(name):
            return self._assert_self_adjoint()

    def _assert_non_singular(self) -> Node:
        if self._can_use_cholesky():
            return self.assert_positive_definite()
        values = linalg.svd(self.to_dense(), compute_uv=False)
        condition = reduce.reduce_max(values, -1) / reduce.reduce_min(values, -1)
        sizes = cast.cast(self.shape_tensor()[-2:], values.dtype)
        largest = arithmetic.maximum(reduce.reduce_max(sizes), 100.0)
        epsilon = largest * float(np.finfo(values.dtype.numpy).eps)
        return checks.assert_less(
            condition, 1.0 / epsilon, message="Singular matrix up to precision epsilon."
        )

    def _assert_positive_definite(self) -> Node:
        if not self.is_self_adjoint:
            raise NotImplementedError("assert_positive_definite is not implemented.")
        diagonal = terms.diagonal(linalg_factor.cholesky(self.to_dense()))
        result: Node = checks.assert_positive(
            batch.real(diagonal), message="Matrix was not positive definite."
        )
        return result

    def _assert_self_adjoint(self) -> Node:
        dense = self.to_dense()
        return checks.assert_equal(
            dense, terms.adjoint(dense), message="Matrix was not equal to its adjoint."
        )

    def _check_input(self, x: Any, name: str, axis: int, argument_axis: int) -> Tensor:
        """A tensor argument, whose type and size must fit."""
        tensor = convert_to_tensor(x, name=name)
        if tensor.dtype.base != self.dtype:
            raise TypeError(
                f"Expected argument to have dtype {self.dtype}.  Found: {tensor.dtype} in tensor {tensor}"
            )
        if self.shape.rank is not None and tensor.shape.rank is not None:
            own = Dimension(self.shape.sizes[axis])
            own.assert_is_compatible_with(tensor.shape.sizes[argument_axis])
        return tensor

    # -- products ----------------------------------------------------------------------------
    def matmul(self, x: Any, adjoint: bool = False, adjoint_arg: bool = False, name: str = "matmul") -> Any:
        """A @ x.

        Args:
          x: a tensor [..., N, R], or an operator.
          adjoint: use the adjoint of A.
          adjoint_arg: use the adjoint of x.
          name: name of the scope.

        Returns:
          A tensor [..., M, R], or an operator.
        """
        if isinstance(x, LinearOperator):
            left, right = self._pair(x, adjoint, adjoint_arg, "x")
            with self._scope(name):
                return algebra.matmul(left, right)
        with self._scope(name):
            x = self._check_input(x, "x", -2 if adjoint else -1, -1 if adjoint_arg else -2)
            return self._matmul(x, adjoint=adjoint, adjoint_arg=adjoint_arg)

    def _pair(self, other: Any, adjoint: bool, adjoint_arg: bool, name: str) -> tuple[Any, Any]:
        left = self.adjoint() if adjoint else self
        right = other.adjoint() if adjoint_arg else other
        own, given = left.domain_dimension, right.range_dimension
        if not own.is_compatible_with(given):
            raise ValueError(
                f"Operators are incompatible. Expected `{name}` to have dimension {own} but got {given}."
            )
        return left, right

    def __matmul__(self, other: Any) -> Any:
        return self.matmul(other)

    def _matmul(self, x: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        raise NotImplementedError("_matmul is not implemented.")

    def matvec(self, x: Any, adjoint: bool = False, name: str = "matvec") -> Tensor:
        """A @ x for vectors x.

        Args:
          x: vectors [..., N].
          adjoint: use the adjoint of A.
          name: name of the scope.

        Returns:
          Vectors [..., M].
        """
        with self._scope(name):
            x = self._check_input(x, "x", -2 if adjoint else -1, -1)
            return self._matvec(x, adjoint=adjoint)

    def _matvec(self, x: Tensor, adjoint: bool = False) -> Tensor:
        column = array.expand_dims(x, -1)
        return array.squeeze(self.matmul(column, adjoint=adjoint), axis=[-1])

    # -- solutions ---------------------------------------------------------------------------
    def solve(self, rhs: Any, adjoint: bool = False, adjoint_arg: bool = False, name: str = "solve") -> Any:
        """X with A @ X = rhs.

        Args:
          rhs: a tensor [..., M, R], or an operator.
          adjoint: use the adjoint of A.
          adjoint_arg: use the adjoint of rhs.
          name: name of the scope.

        Returns:
          A tensor [..., N, R], or an operator.

        Raises:
          NotImplementedError: the operator is known to be singular or not square.
        """
        for hint, what in ((self.is_non_singular, "be singular"), (self.is_square, "not be square")):
            if hint is False:
                raise NotImplementedError(
                    f"Exact solve not implemented for an operator that is expected to {what}."
                )
        if isinstance(rhs, LinearOperator):
            left, right = self._pair(rhs, adjoint, adjoint_arg, "rhs")
            with self._scope(name):
                return algebra.solve(left, right)
        with self._scope(name):
            rhs = self._check_input(rhs, "rhs", -1 if adjoint else -2, -1 if adjoint_arg else -2)
            return self._solve(rhs, adjoint=adjoint, adjoint_arg=adjoint_arg)

    def _solve(self, rhs: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        rhs = terms.adjoint(rhs) if adjoint_arg else rhs
        if self._can_use_cholesky():
            factor, rhs = batch.together(linalg_factor.cholesky(self.to_dense()), rhs)
            return linalg.cholesky_solve(factor, rhs)
        dense, rhs = batch.together(self.to_dense(), rhs)
        return linalg_solve.matrix_solve(dense, rhs, adjoint=adjoint)

    def solvevec(self, rhs: Any, adjoint: bool = False, name: str = "solve") -> Tensor:
        """x with A @ x = rhs for vectors.

        Args:
          rhs: vectors [..., M].
          adjoint: use the adjoint of A.
          name: name of the scope.

        Returns:
          Vectors [..., N].
        """
        with self._scope(name):
            rhs = self._check_input(rhs, "rhs", -1 if adjoint else -2, -1)
            return self._solvevec(rhs, adjoint=adjoint)

    def _solvevec(self, rhs: Tensor, adjoint: bool = False) -> Tensor:
        column = array.expand_dims(rhs, -1)
        return array.squeeze(self.solve(column, adjoint=adjoint), axis=[-1])

    # -- numbers -----------------------------------------------------------------------------
    def determinant(self, name: str = "det") -> Tensor:
        """The determinant of every matrix [B1, ..., Bb]."""
        self._require_square("Determinant")
        with self._scope(name):
            return self._determinant()

    def log_abs_determinant(self, name: str = "log_abs_det") -> Tensor:
        """The logarithm of the absolute value of every determinant [B1, ..., Bb]."""
        self._require_square("Determinant")
        with self._scope(name):
            return self._log_abs_determinant()

    def _require_square(self, what: str) -> None:
        if self.is_square is False:
            raise NotImplementedError(
                f"{what} not implemented for an operator that is expected to not be square."
            )

    def _determinant(self) -> Tensor:
        if self._can_use_cholesky():
            return exponential.exp(self.log_abs_determinant())
        return linalg_solve.matrix_determinant(self.to_dense())

    def _log_abs_determinant(self) -> Tensor:
        if self._can_use_cholesky():
            diagonal = terms.diagonal(linalg_factor.cholesky(self.to_dense()))
            return reduce.reduce_sum(exponential.log(diagonal), axis=[-1]) * 2
        return linalg_solve.log_matrix_determinant(self.to_dense())[1]

    def trace(self, name: str = "trace") -> Tensor:
        """The sum of the diagonal of every matrix [B1, ..., Bb]."""
        with self._scope(name):
            return self._trace()

    def _trace(self) -> Tensor:
        return reduce.reduce_sum(self.diag_part(), axis=-1)

    # -- other forms -------------------------------------------------------------------------
    def adjoint(self, name: str = "adjoint") -> LinearOperator:
        """The operator of the adjoint matrices; `H` is the same."""
        if self.is_self_adjoint is True:
            return self

        with self._scope(name):
            result: LinearOperator = algebra.adjoint(self)
            return result

    H = property(adjoint, None)

    def inverse(self, name: str = "inverse") -> LinearOperator:
        """The operator of the inverse matrices.

        Raises:
          ValueError: the operator is known to be singular or not square.
        """
        for hint, what in ((self.is_square, "non square"), (self.is_non_singular, "singular")):
            if hint is False:
                raise ValueError(f"Cannot take the Inverse: This operator represents a {what} matrix.")

        with self._scope(name):
            result: LinearOperator = algebra.inverse(self)
            return result

    def cholesky(self, name: str = "cholesky") -> LinearOperator:
        """The operator of the lower triangular L with L @ adjoint(L) = A.

        Raises:
          ValueError: the operator is not known to be self-adjoint and positive definite.
        """
        if not self._can_use_cholesky():
            raise ValueError(
                "Cannot take the Cholesky decomposition: Not a positive definite self adjoint matrix."
            )

        with self._scope(name):
            result: LinearOperator = algebra.cholesky(self)
            return result

    def to_dense(self, name: str = "to_dense") -> Tensor:
        """The matrices as a tensor [B1, ..., Bb, M, N]."""
        with self._scope(name):
            return self._to_dense()

    def _to_dense(self) -> Tensor:
        full = self.batch_shape.is_full
        batch_shape: Any = self.batch_shape.as_list() if full else self.batch_shape_tensor()
        columns = self.shape.dim(-1)
        side = self.domain_dimension_tensor() if columns is None else columns
        result: Tensor = self.matmul(linalg.eye(side, batch_shape=batch_shape, dtype=self.dtype))
        return result

    def diag_part(self, name: str = "diag_part") -> Tensor:
        """The diagonal of every matrix [B1, ..., Bb, min(M, N)]."""
        with self._scope(name):
            return self._diag_part()

    def _diag_part(self) -> Tensor:
        return terms.diagonal(self.to_dense())

    def add_to_tensor(self, x: Any, name: str = "add_to_tensor") -> Tensor:
        """A + x.

        Args:
          x: a tensor [..., M, N].
          name: name of the scope.

        Returns:
          A tensor [..., M, N].
        """
        with self._scope(name):
            return self._add_to_tensor(self._check_input(x, "x", -1, -1))

    def _add_to_tensor(self, x: Tensor) -> Tensor:
        return self.to_dense() + x

    def _can_use_cholesky(self) -> bool:
        return bool(self.is_self_adjoint and self.is_positive_definite)
