"""Operators made of several: their product, their direct sum, their Kronecker product."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce as fold
from typing import Any

from headrace.core.errors import InvalidArgumentError
from headrace.core.fields import reads
from headrace.core.shapes import Dim, Shape, make_shape
from headrace.functions.array.array import broadcast_static_shape
from headrace.functions.array.rank_checks import assert_proper_iterable
from headrace.functions.control.grouping import group
from headrace.functions.values.structure import name_scope
from headrace.graph.node import Node
from headrace.graph.tensor import Tensor
from headrace.nn.linear_operator import batch
from headrace.nn.linear_operator.base import LinearOperator
from headrace.nn.linear_operator.shaped import Hint, hinted
from headrace.ops.array import broadcast as broadcast_ops
from headrace.ops.array.constant import pack
from headrace.ops.declaration import array
from headrace.ops.linalg import matrix_terms as terms
from headrace.ops.math import cast, exponential
from headrace.ops.math.sequence import range_


def _product(values: Sequence[Any]) -> Any:
    return fold(lambda a, b: a * b, values)


def _sum(values: Sequence[Any]) -> Any:
    return fold(lambda a, b: a + b, values)


def _known(values: list[Dim], combine: Callable[[Any], Any]) -> Dim:
    return None if None in values else combine(values)


class _Several(LinearOperator):
    """What all three share: operators of one type, a batch shape that they broadcast to."""

    _word: str  # joins the names of the operators
    _result: str  # what the result is called in messages
    _keeps: tuple[str, ...] = ()  # hints that hold for the result if they hold for every part

    @hinted()
    def __init__(self, operators: Any, *, name: str | None, **hints: Hint) -> None:
        assert_proper_iterable(operators)
        self._operators: list[LinearOperator] = list(operators)
        if not self._operators:
            raise ValueError(f"Expected a non-empty list of operators. Found: {self._operators}")
        dtype = self._operators[0].dtype
        if any(o.dtype != dtype for o in self._operators):
            types = "   ".join(str((o.name, o.dtype)) for o in self._operators)
            raise TypeError(f"Expected all operators to have the same dtype.  Found {types}")
        for key in self._keeps:
            if all(getattr(o, key) for o in self._operators):
                if hints[key] is False:
                    words = key.removeprefix("is_").replace("_", "-")
                    raise ValueError(f"The {self._result} of {words} operators is always {words}.")
                hints[key] = True
        parents = [p for o in self._operators for p in o.graph_parents]
        name = name or self._word.join(o.name for o in self._operators)
        with name_scope(name, values=parents):
            super().__init__(dtype, parents, name=name, **hints)

    operators: list[LinearOperator] = reads("_operators", "The operators that this one is made of.")

    def _batch(self) -> Shape:
        return fold(broadcast_static_shape, (o.batch_shape for o in self._operators))

    def _shape_tensor(self) -> Tensor:
        lead = fold(broadcast_ops.broadcast_args, (o.batch_shape_tensor() for o in self._operators))
        return batch.join(lead, *self._matrix_sizes())

    def _matrix_sizes(self) -> tuple[Tensor, Tensor]:
        raise NotImplementedError

    def _rows(self) -> list[Tensor]:
        return [o.range_dimension_tensor() for o in self._operators]

    def _columns(self) -> list[Tensor]:
        return [o.domain_dimension_tensor() for o in self._operators]


class _Factors(_Several):
    """The determinant is the product of those of the operators."""

    def _determinant(self) -> Tensor:
        result: Tensor = _product([o.determinant() for o in self._operators])
        return result

    def _log_abs_determinant(self) -> Tensor:
        result: Tensor = _sum([o.log_abs_determinant() for o in self._operators])
        return result


class LinearOperatorComposition(_Factors):
    """The product A1 @ A2 @ ... of operators.

    Args:
      operators: the factors, of one type, with sizes that fit.
      is_non_singular: see LinearOperator; true if all factors are.
      is_self_adjoint: see LinearOperator.
      is_positive_definite: see LinearOperator.
      is_square: see LinearOperator.
      name: name of the operator; those of the factors joined by "_o_" if not given.
    """

    _word, _result, _keeps = "_o_", "composition", ("is_non_singular",)

    def _shape(self) -> Shape:
        for left, right in zip(self._operators, self._operators[1:]):
            left.domain_dimension.assert_is_compatible_with(right.range_dimension)
        first, last = self._operators[0], self._operators[-1]
        return self._batch().concatenate([first.range_dimension, last.domain_dimension])

    def _matrix_sizes(self) -> tuple[Tensor, Tensor]:
        first, last = self._operators[0], self._operators[-1]
        return first.range_dimension_tensor(), last.domain_dimension_tensor()

    def _matmul(self, x: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        first, *rest = self._operators if adjoint else self._operators[::-1]
        x = first.matmul(x, adjoint=adjoint, adjoint_arg=adjoint_arg)
        for operator in rest:
            x = operator.matmul(x, adjoint=adjoint)
        return x

    def _solve(self, rhs: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        first, *rest = self._operators[::-1] if adjoint else self._operators
        rhs = first.solve(rhs, adjoint=adjoint, adjoint_arg=adjoint_arg)
        for operator in rest:
            rhs = operator.solve(rhs, adjoint=adjoint)
        return rhs


class LinearOperatorBlockDiag(_Factors):
    """The direct sum: square operators as blocks along the diagonal, zeros elsewhere.

    Args:
      operators: the blocks, square and of one type.
      is_non_singular: see LinearOperator; true if all blocks are.
      is_self_adjoint: see LinearOperator; true if all blocks are.
      is_positive_definite: see LinearOperator; true if all blocks are.
      is_square: must be true.
      name: name of the operator; those of the blocks joined by "_ds_" if not given.
    """

    _word, _result = "_ds_", "direct sum"
    _keeps = ("is_non_singular", "is_self_adjoint", "is_positive_definite")

    @hinted(is_square=True)
    def __init__(self, operators: Any, *, name: str | None, **hints: Hint) -> None:
        assert_proper_iterable(operators)
        operators = list(operators)
        if not (hints["is_square"] and all(o.is_square for o in operators)):
            raise ValueError("Can only represent a block diagonal of square matrices.")
        super().__init__(operators, **hints | {"is_square": True}, name=name)

    def _shape(self) -> Shape:
        side = _known([o.shape.dim(-1) for o in self._operators], sum)
        return self._batch().concatenate(make_shape((side, side)))

    def _matrix_sizes(self) -> tuple[Tensor, Tensor]:
        side = _sum(self._columns())
        return side, side

    def _blockwise(self, x: Tensor, adjoint_arg: bool, act: Callable[..., Tensor]) -> Tensor:
        """Each block acts on its own rows of x."""
        known = [o.shape.dim(-1) for o in self._operators]
        sizes: Any = self._columns() if None in known else known
        axis = -1 if adjoint_arg else -2
        parts = array.split_v(x, pack(list(sizes)), axis, num_split=len(self._operators))
        return self._stacked([act(o, part) for o, part in zip(self._operators, parts)])

    def _stacked(self, parts: list[Tensor]) -> Tensor:
        """Below each other, with the batch shape that they broadcast to."""
        if len(parts) == 1:
            return parts[0]
        widest = parts[0]
        for part in parts[1:]:
            widest = batch.together(widest, part)[0]
        return array.concat_v2([batch.together(part, widest)[0] for part in parts], -2)

    def _matmul(self, x: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        return self._blockwise(
            x, adjoint_arg, lambda o, part: o.matmul(part, adjoint=adjoint, adjoint_arg=adjoint_arg)
        )

    def _solve(self, rhs: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        return self._blockwise(
            rhs, adjoint_arg, lambda o, part: o.solve(part, adjoint=adjoint, adjoint_arg=adjoint_arg)
        )

    def _trace(self) -> Tensor:
        result: Tensor = _sum([o.trace() for o in self._operators])
        return result

    def _diag_part(self) -> Tensor:
        columns: list[Tensor] = [array.expand_dims(o.diag_part(), -1) for o in self._operators]
        return array.squeeze(self._stacked(columns), [-1])

    def _assert_non_singular(self) -> Node:
        return group(*(o.assert_non_singular() for o in self._operators))

    def _assert_self_adjoint(self) -> Node:
        return group(*(o.assert_self_adjoint() for o in self._operators))

    def _assert_positive_definite(self) -> Node:
        return group(*(o.assert_positive_definite() for o in self._operators))


class LinearOperatorKronecker(_Several):
    """The Kronecker product of operators.

    Args:
      operators: the factors, of one type.
      is_non_singular: see LinearOperator; true if all factors are.
      is_self_adjoint: see LinearOperator; true if all factors are.
      is_positive_definite: see LinearOperator; true if all factors are.
      is_square: see LinearOperator.
      name: name of the operator; those of the factors joined by "_x_" if not given.
    """

    _word, _result = "_x_", "Kronecker product"
    _keeps = ("is_non_singular", "is_self_adjoint", "is_positive_definite")

    def _shape(self) -> Shape:
        rows = _known([o.shape.dim(-2) for o in self._operators], _product)
        columns = _known([o.shape.dim(-1) for o in self._operators], _product)
        return self._batch().concatenate(make_shape((rows, columns)))

    def _matrix_sizes(self) -> tuple[Tensor, Tensor]:
        return _product(self._rows()), _product(self._columns())

    def _act(self, x: Tensor, adjoint_arg: bool, sizes: list[Tensor], act: Any) -> Tensor:
        """Each factor acts on its own axis of x, seen as [..., d1, d2, ..., columns].

        Axes before the one at work are a batch dimension in front, those behind it are columns.
        """
        x = self._with_own_rank(terms.adjoint(x) if adjoint_arg else x)
        columns = array.shape(x)[-1]
        rest = _product(sizes)
        lead = array.shape(x)[:-2]
        current = array.reshape(x, batch.join(lead, 1, rest * columns))
        for operator, size in zip(self._operators, sizes):
            shape = array.shape(current)
            inner = shape[-1] // size
            split = array.reshape(current, batch.join(shape[:-1], size, inner))
            acted = _moved(act(operator, _moved(split, to_front=True)), to_front=False)
            now = array.shape(acted)
            current = array.reshape(acted, batch.join(now[:-3], now[-3] * now[-2], now[-1]))
        if x.shape.rank is not None:
            lead_shape = broadcast_static_shape(x.shape[:-2], self.batch_shape)
            current.set_shape(lead_shape.concatenate([None, x.shape[-1]]))
        return current

    def _with_own_rank(self, x: Tensor) -> Tensor:
        """`x` with at least as many batch dimensions as the operator, so that the one in front
        stays in front."""
        if x.shape.rank is None or self.tensor_rank is None:
            return batch.with_batch_of(self, x)
        for _ in range(self.tensor_rank - x.shape.rank):
            x = array.expand_dims(x, 0)
        return x

    def _matmul(self, x: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        sizes = self._rows() if adjoint else self._columns()
        return self._act(x, adjoint_arg, sizes, lambda o, part: o.matmul(part, adjoint=adjoint))

    def _solve(self, rhs: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        sizes = self._columns() if adjoint else self._rows()
        return self._act(rhs, adjoint_arg, sizes, lambda o, part: o.solve(part, adjoint=adjoint))

    def _power_of_each(self) -> list[Tensor]:
        """How often the determinant of each factor counts."""
        total = self.domain_dimension_tensor()
        return [cast.cast(total // n, self.dtype) for n in self._columns()]

    def _determinant(self) -> Tensor:
        powers = zip(self._operators, self._power_of_each())
        result: Tensor = _product([exponential.pow_(o.determinant(), power) for o, power in powers])
        return result

    def _log_abs_determinant(self) -> Tensor:
        powers = zip(self._operators, self._power_of_each())
        result: Tensor = _sum([o.log_abs_determinant() * power for o, power in powers])
        return result

    def _trace(self) -> Tensor:
        result: Tensor = _product([o.trace() for o in self._operators])
        return result

    def _to_dense(self) -> Tensor:
        product = self._operators[0].to_dense()
        for operator in self._operators[1:]:
            left = array.expand_dims(array.expand_dims(product, -1), -3)
            right = array.expand_dims(array.expand_dims(operator.to_dense(), -2), -4)
            cross = left * right
            s = array.shape(cross)
            product = array.reshape(cross, batch.join(s[:-4], s[-4] * s[-3], s[-2] * s[-1]))
        product.set_shape(self.shape)
        return product

    def _require_squares(self, what: str) -> None:
        if not all(o.is_square for o in self._operators):
            raise InvalidArgumentError(
                None, None, f"All Kronecker factors must be square for the product to be {what}."
            )

    def _assert_non_singular(self) -> Node:
        self._require_squares("invertible")
        return group(*(o.assert_non_singular() for o in self._operators))

    def _assert_self_adjoint(self) -> Node:
        self._require_squares("self adjoint")
        return group(*(o.assert_self_adjoint() for o in self._operators))


def _moved(x: Tensor, to_front: bool) -> Tensor:
    """[..., p, rows, columns] as [p, ..., rows, columns], or back."""
    rank = x.shape.rank
    if rank is not None:
        lead = list(range(rank - 3))
        perm: Any = [rank - 3, *lead] if to_front else [*range(1, rank - 2), 0]
        return array.transpose(x, [*perm, rank - 2, rank - 1])
    axes = range_(0, array.rank(x), 1)
    if to_front:
        return array.transpose(x, array.concat_v2([axes[-3:-2], axes[:-3], axes[-2:]], 0))
    return array.transpose(x, array.concat_v2([axes[1:-2], axes[:1], axes[-2:]], 0))
