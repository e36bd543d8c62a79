"""Operators made of one other: its adjoint, its inverse."""

from __future__ import annotations

from headrace.core.fields import reads
from headrace.core.shapes import Shape, make_shape
from headrace.functions.values.structure import name_scope
from headrace.graph.node import Node
from headrace.graph.tensor import Tensor
from headrace.nn.linear_operator.base import LinearOperator
from headrace.nn.linear_operator.shaped import Hint, hinted
from headrace.ops.declaration import array
from headrace.ops.linalg import matrix_terms as terms
from headrace.ops.math import arithmetic


def combined(operator: LinearOperator, name: str, given: Hint, message: str) -> Hint:
    """A hint that must be the same for both; either may be unknown."""
    own: Hint = getattr(operator, name)
    if None not in (own, given) and own is not given:
        raise ValueError(message)
    return given if own is None else own


class _Derived(LinearOperator):
    """Hints are those of the operator that it is made of."""

    _what: str
    _suffix: str

    @hinted()
    def __init__(self, operator: LinearOperator, *, name: str | None, **hints: Hint) -> None:
        self._operator = operator
        given = {
            "is_square": (hints["is_square"], "square"),
            "is_non_singular": (hints["is_non_singular"], "non-singular"),
            "is_self_adjoint": (hints["is_self_adjoint"], "self-adjoint"),
            "is_positive_definite": (hints["is_positive_definite"], "positive-definite"),
        }
        found = {
            key: combined(
                operator, key, hint, f"An operator is {word} if and only if its {self._what} is {word}."
            )
            for key, (hint, word) in given.items()
        }
        name = name or operator.name + self._suffix
        with name_scope(name, values=operator.graph_parents):
            super().__init__(operator.dtype, operator.graph_parents, name=name, **found)

    operator: LinearOperator = reads("_operator", "The operator that this one is made of.")

    def _assert_non_singular(self) -> Node:
        return self.operator.assert_non_singular()

    def _assert_positive_definite(self) -> Node:
        return self.operator.assert_positive_definite()

    def _assert_self_adjoint(self) -> Node:
        return self.operator.assert_self_adjoint()


class LinearOperatorAdjoint(_Derived):
    """The adjoint of an operator.

    Args:
      operator: the operator.
      is_non_singular: see LinearOperator.
      is_self_adjoint: see LinearOperator.
      is_positive_definite: see LinearOperator.
      is_square: see LinearOperator.
      name: name of the operator; that of the other with "_adjoint" if not given.
    """

    _what, _suffix = "adjoint", "_adjoint"

    def _shape(self) -> Shape:
        shape = self.operator.shape
        if shape.rank is None:
            return shape
        *lead, rows, columns = shape.sizes
        return make_shape((*lead, columns, rows))

    def _shape_tensor(self) -> Tensor:
        sizes = self.operator.shape_tensor()
        return array.concat_v2([sizes[:-2], sizes[-1:], sizes[-2:-1]], 0)

    def _matmul(self, x: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        result: Tensor = self.operator.matmul(x, adjoint=not adjoint, adjoint_arg=adjoint_arg)
        return result

    def _matvec(self, x: Tensor, adjoint: bool = False) -> Tensor:
        return self.operator.matvec(x, adjoint=not adjoint)

    def _solve(self, rhs: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        result: Tensor = self.operator.solve(rhs, adjoint=not adjoint, adjoint_arg=adjoint_arg)
        return result

    def _solvevec(self, rhs: Tensor, adjoint: bool = False) -> Tensor:
        return self.operator.solvevec(rhs, adjoint=not adjoint)

    def _determinant(self) -> Tensor:
        return terms.conj(self.operator.determinant())

    def _log_abs_determinant(self) -> Tensor:
        return self.operator.log_abs_determinant()

    def _trace(self) -> Tensor:
        return terms.conj(self.operator.trace())

    def _to_dense(self) -> Tensor:
        return terms.adjoint(self.operator.to_dense())


class LinearOperatorInversion(_Derived):
    """The inverse of an operator.

    Args:
      operator: the operator, which must not be known to be singular or not square.
      is_non_singular: see LinearOperator.
      is_self_adjoint: see LinearOperator.
      is_positive_definite: see LinearOperator.
      is_square: see LinearOperator.
      name: name of the operator; that of the other with "_inv" if not given.
    """

    _what, _suffix = "inverse", "_inv"

    @hinted()
    def __init__(self, operator: LinearOperator, *, name: str | None, **hints: Hint) -> None:
        for word, own, given in (
            ("is_non_singular", operator.is_non_singular, hints["is_non_singular"]),
            ("is_square", operator.is_square, hints["is_square"]),
        ):
            if own is False or given is False:
                raise ValueError(
                    f"operator and supplied hints must have `{word}` equal to `True` or `None`.  "
                    f"Found {own}, {given}"
                )
        super().__init__(operator, **hints, name=name)

    def _shape(self) -> Shape:
        return self.operator.shape

    def _shape_tensor(self) -> Tensor:
        return self.operator.shape_tensor()

    def _matmul(self, x: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        result: Tensor = self.operator.solve(x, adjoint=adjoint, adjoint_arg=adjoint_arg)
        return result

    def _solve(self, rhs: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        result: Tensor = self.operator.matmul(rhs, adjoint=adjoint, adjoint_arg=adjoint_arg)
        return result

    def _determinant(self) -> Tensor:
        return arithmetic.reciprocal(self.operator.determinant())

    def _log_abs_determinant(self) -> Tensor:
        return -self.operator.log_abs_determinant()
