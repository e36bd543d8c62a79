"""Operators whose size is an argument: the identity, multiples of it, zero."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from headrace.core import dtypes
from headrace.core.dtypes import DTypeLike
from headrace.core.errors import InvalidArgumentError
from headrace.core.fields import reads
from headrace.core.shapes import Shape, make_shape
from headrace.functions.array import array as array_functions
from headrace.functions.array import checks, rank_checks
from headrace.functions.control.grouping import with_dependencies
from headrace.functions.math import reduce
from headrace.functions.values.structure import name_scope
from headrace.graph.node import Node
from headrace.graph.tensor import Tensor
from headrace.nn.linear_operator import batch
from headrace.nn.linear_operator.base import LinearOperator
from headrace.nn.linear_operator.shaped import Hint, hinted, sized_hints
from headrace.ops.array.constant import pack
from headrace.ops.declaration import array
from headrace.ops.declaration.constants import constant as constant_value
from headrace.ops.declaration.convert import convert_to_tensor
from headrace.ops.linalg import matrix_terms as terms
from headrace.ops.math import arithmetic, cast, exponential
from headrace.variables.variable import Variable


class _Sized(LinearOperator):
    """An operator whose size is an argument: a number, or a tensor."""

    _assert_proper_shapes: bool

    def _checked_size(self, value: Any, name: str, rank: int = 0) -> tuple[Tensor, Any]:
        """(the sizes as a tensor, their value if it is known)."""
        if isinstance(value, Variable):
            raise TypeError(f"Argument {name} cannot be reference type. Found: {type(value)}")
        empty = rank == 1 and isinstance(value, (list, tuple)) and not value
        tensor = convert_to_tensor(value, dtype=dtypes.int32 if empty else None, name=name)
        if self._assert_proper_shapes:
            message = f"Argument {name} must be a {rank}-D Tensor."
            positive = f"Argument {name} must be non-negative."
            conditions = [
                rank_checks.assert_rank(tensor, rank, message=message),
                checks.assert_non_negative(tensor, message=positive),
            ]
            tensor = with_dependencies(conditions, tensor)
        if not tensor.dtype.is_integer:
            raise TypeError(f"Argument {name} must be integer type.  Found: {tensor}")
        known = constant_value(convert_to_tensor(value, dtype=tensor.dtype))
        if known is not None:
            if np.ndim(known) != rank:
                raise ValueError(f"Argument {name} must be a {rank}-D Tensor.  Found: {known}")
            if np.any(np.asarray(known) < 0):
                raise ValueError(f"Argument {name} must be non-negative.  Found: {known}")
        return tensor, known

    def _set_batch(self, batch_shape: Any) -> None:
        self._batch_arg: Any = None
        self._batch_known: Any = None
        if batch_shape is not None:
            self._batch_arg, self._batch_known = self._checked_size(batch_shape, "batch_shape", 1)

    def _batch(self) -> Shape:
        if self._batch_arg is None:
            return make_shape(())
        if self._batch_known is not None:
            return make_shape(int(n) for n in self._batch_known)
        count = self._batch_arg.shape.dim(0)
        return make_shape(None if count is None else [None] * count)

    def _fits(self, x: Tensor, adjoint_arg: bool) -> Tensor:
        """The argument, adjoint if asked for, its rows checked if asked for."""
        x = terms.adjoint(x) if adjoint_arg else x
        if self._assert_proper_shapes:
            result: Tensor = with_dependencies([batch.assert_rows_fit(self, x)], x)
            return result
        return x

    def _along_diagonal(self, value: int) -> Tensor:
        rows, columns = self.shape.dim(-2), self.shape.dim(-1)
        if rows is not None and columns is not None:
            side: Any = min(rows, columns)
        else:
            side = reduce.reduce_min(self.shape_tensor()[-2:])
        return self._all(value, side)

    def _all(self, value: int, *inner: Any) -> Tensor:
        """A tensor of one value: the batch shape, and these sizes."""
        fill = array_functions.ones if value else array_functions.zeros
        return fill(self._sizes(*inner), dtype=self.dtype)


def _square_of(size: Any) -> Shape:
    side = None if size is None else int(size)
    return make_shape((side, side))


class LinearOperatorIdentity(_Sized):
    """The identity.

    Args:
      num_rows: N.
      batch_shape: [B1, ..., Bb]; broadcasts with everything if not given.
      dtype: element type; float32 if not given.
      is_non_singular: must be true.
      is_self_adjoint: must be true.
      is_positive_definite: must be true.
      is_square: must be true.
      assert_proper_shapes: check at run time that sizes fit.
      name: name of the operator.
    """

    @hinted(
        sized_hints,
        is_non_singular=True,
        is_self_adjoint=True,
        is_positive_definite=True,
        name="LinearOperatorIdentity",
    )
    def __init__(
        self,
        num_rows: Any,
        batch_shape: Any = None,
        dtype: DTypeLike | None = None,
        *,
        assert_proper_shapes: bool,
        name: str,
        **hints: Hint,
    ) -> None:
        self._assert_proper_shapes = assert_proper_shapes
        with name_scope(name):
            for what in ("self adjoint", "non-singular", "positive-definite", "square"):
                if not hints["is_" + re.sub("[ -]", "_", what)]:
                    raise ValueError(f"An identity operator is always {what}.")
            super().__init__(dtype or dtypes.float32, None, **hints, name=name)
            self._num_rows, self._rows_known = self._checked_size(num_rows, "num_rows")
            self._set_batch(batch_shape)

    def _shape(self) -> Shape:
        return self._batch().concatenate(_square_of(self._rows_known))

    def _shape_tensor(self) -> Tensor:
        matrix = pack([self._num_rows, self._num_rows])
        if self._batch_arg is None:
            return matrix
        return array.concat_v2([self._batch_arg, matrix], 0)

    def _assert_non_singular(self) -> Node:
        return batch.nothing("assert_non_singular")

    def _assert_positive_definite(self) -> Node:
        return batch.nothing("assert_positive_definite")

    def _assert_self_adjoint(self) -> Node:
        return batch.nothing("assert_self_adjoint")

    def _matmul(self, x: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        x = self._fits(x, adjoint_arg)
        return x if self._batch_arg is None else batch.with_batch_of(self, x)

    def _solve(self, rhs: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        return self._matmul(rhs, adjoint_arg=adjoint_arg)

    def _determinant(self) -> Tensor:
        return self._all(1)

    def _log_abs_determinant(self) -> Tensor:
        return self._all(0)

    def _trace(self) -> Tensor:
        return self._all(1) * cast.cast(self.domain_dimension_tensor(), self.dtype)

    def _diag_part(self) -> Tensor:
        return self._along_diagonal(1)

    def add_to_tensor(self, mat: Any, name: str = "add_to_tensor") -> Tensor:
        """The identity plus a tensor [..., N, N].

        Args:
          mat: the tensor.
          name: name of the scope.

        Returns:
          A tensor like `mat`.
        """
        with self._scope(name):
            mat = convert_to_tensor(mat, name="mat")
            return terms.with_diagonal(mat, 1 + terms.diagonal(mat))


class LinearOperatorScaledIdentity(_Sized):
    """Multiples of the identity.

    Args:
      num_rows: N.
      multiplier: the factors [B1, ..., Bb].
      is_non_singular: see LinearOperator.
      is_self_adjoint: see LinearOperator; true for real types.
      is_positive_definite: see LinearOperator.
      is_square: must be true.
      assert_proper_shapes: check at run time that sizes fit.
      name: name of the operator.
    """

    @hinted(sized_hints, name="LinearOperatorScaledIdentity")
    def __init__(
        self, num_rows: Any, multiplier: Any, *, assert_proper_shapes: bool, name: str, **hints: Hint
    ) -> None:
        self._assert_proper_shapes = assert_proper_shapes
        with name_scope(name, values=[multiplier, num_rows]):
            self._multiplier = batch.kept(multiplier, "multiplier")
            if not self._multiplier.dtype.is_complex:
                if hints["is_self_adjoint"] is False:
                    raise ValueError("A real diagonal operator is always self adjoint.")
                hints["is_self_adjoint"] = True
            if not hints["is_square"]:
                raise ValueError("A ScaledIdentity operator is always square.")
            super().__init__(self._multiplier.dtype, None, **hints, name=name)
            self._num_rows, self._rows_known = self._checked_size(num_rows, "num_rows")

    multiplier: Any = reads("_multiplier", "The factors [B1, ..., Bb].")

    def _factor(self, *, inner: int, conj: bool = False) -> Tensor:
        """The factors with `inner` dimensions of size 1 behind."""
        out = convert_to_tensor(self._multiplier)
        for _ in range(inner):
            out = array.expand_dims(out, -1)
        return batch.conj_if(out, conj)

    def _shape(self) -> Shape:
        result: Shape = self._multiplier.shape.concatenate(_square_of(self._rows_known))
        return result

    def _shape_tensor(self) -> Tensor:
        matrix = pack([self._num_rows, self._num_rows])
        return array.concat_v2([array.shape(self._multiplier), matrix], 0)

    def _assert_non_singular(self) -> Node:
        return batch.assert_no_zeros(self._factor(inner=0), "LinearOperator was singular")

    def _assert_positive_definite(self) -> Node:
        result: Node = checks.assert_positive(
            batch.real(self._factor(inner=0)), message="LinearOperator was not positive definite."
        )
        return result

    def _assert_self_adjoint(self) -> Node:
        return batch.assert_real(self._factor(inner=0), "LinearOperator was not self-adjoint")

    def _matmul(self, x: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        return self._fits(x, adjoint_arg) * self._factor(inner=2, conj=adjoint)

    def _solve(self, rhs: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        return self._fits(rhs, adjoint_arg) / self._factor(inner=2, conj=adjoint)

    def _determinant(self) -> Tensor:
        return exponential.pow_(self._factor(inner=0), cast.cast(self._num_rows, self.dtype))

    def _log_abs_determinant(self) -> Tensor:
        size = arithmetic.magnitude(self._factor(inner=0))
        return cast.cast(self._num_rows, size.dtype) * exponential.log(size)

    def _trace(self) -> Tensor:
        return self._factor(inner=0) * cast.cast(self._num_rows, self.dtype)

    def _diag_part(self) -> Tensor:
        return self._along_diagonal(1) * self._factor(inner=1)

    def add_to_tensor(self, mat: Any, name: str = "add_to_tensor") -> Tensor:
        """The operator plus a tensor [..., N, N].

        Args:
          mat: the tensor.
          name: name of the scope.

        Returns:
          A tensor [..., N, N].
        """
        with self._scope(name):
            mat = batch.with_batch_of(self, convert_to_tensor(mat, name="mat"))
            return terms.with_diagonal(mat, self._factor(inner=1) + terms.diagonal(mat))


class LinearOperatorZeros(_Sized):
    """Matrices of zeros.

    Args:
      num_rows: M.
      num_columns: N; M if not given.
      batch_shape: [B1, ..., Bb]; broadcasts with everything if not given.
      dtype: element type; float32 if not given.
      is_non_singular: must be false.
      is_self_adjoint: must be true for square matrices.
      is_positive_definite: must be false.
      is_square: whether M equals N.
      assert_proper_shapes: check at run time that sizes fit.
      name: name of the operator.
    """

    @hinted(
        sized_hints,
        is_non_singular=False,
        is_self_adjoint=True,
        is_positive_definite=False,
        name="LinearOperatorZeros",
    )
    def __init__(
        self,
        num_rows: Any,
        num_columns: Any = None,
        batch_shape: Any = None,
        dtype: DTypeLike | None = None,
        *,
        assert_proper_shapes: bool,
        name: str,
        **hints: Hint,
    ) -> None:
        self._assert_proper_shapes, is_square = assert_proper_shapes, hints["is_square"]
        with name_scope(name):
            wrong = {
                "self adjoint": is_square and not hints["is_self_adjoint"],
                "singular": hints["is_non_singular"],
                "not positive-definite": hints["is_positive_definite"],
            }
            for what, contradicted in wrong.items():
                if contradicted:
                    raise ValueError(f"A zero operator is always {what}.")
            super().__init__(dtype or dtypes.float32, None, **hints, name=name)
            self._num_rows, rows = self._checked_size(num_rows, "num_rows")
            columns_arg = num_rows if num_columns is None else num_columns
            self._num_columns, columns = self._checked_size(columns_arg, "num_columns")
            if is_square and None not in (rows, columns) and rows != columns:
                raise ValueError(
                    "LinearOperatorZeros initialized as is_square=True, but got "
                    f"num_rows({rows}) != num_columns({columns})"
                )
            known = (None if n is None else int(n) for n in (rows, columns))
            self._matrix_shape = make_shape(known)
            self._set_batch(batch_shape)

    def _shape(self) -> Shape:
        return self._batch().concatenate(self._matrix_shape)

    def _shape_tensor(self) -> Tensor:
        matrix = pack([self._num_rows, self._num_columns])
        if self._batch_arg is None:
            return matrix
        return array.concat_v2([self._batch_arg, matrix], 0)

    def _assert_non_singular(self) -> Node:
        raise InvalidArgumentError(None, None, "Zero operators are always non-invertible.")

    def _assert_positive_definite(self) -> Node:
        raise InvalidArgumentError(None, None, "Zero operators are always non-positive definite.")

    def _assert_self_adjoint(self) -> Node:
        return batch.nothing("assert_self_adjoint")

    def _matmul(self, x: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        x = self._fits(x, adjoint_arg)
        sizes = array.shape(x)
        rows = self._num_columns if adjoint else self._num_rows
        zeros = array_functions.zeros(batch.join(sizes[:-2], rows, sizes[-1]), dtype=x.dtype)
        return zeros if self._batch_arg is None else batch.with_batch_of(self, zeros)

    def _determinant(self) -> Tensor:
        return self._all(0)

    def _trace(self) -> Tensor:
        return self._all(0)

    def _diag_part(self) -> Tensor:
        return self._along_diagonal(0)

    def add_to_tensor(self, mat: Any, name: str = "add_to_tensor") -> Tensor:
        """A tensor [..., M, N], broadcast against the batch shape.

        Args:
          mat: the tensor.
          name: name of the scope.

        Returns:
          The tensor.
        """
        with self._scope(name):
            mat = convert_to_tensor(mat, name="mat")
            return mat if self._batch_arg is None else batch.with_batch_of(self, mat)
