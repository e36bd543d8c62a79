"""Products, solutions, inverses, adjoints and Cholesky factors of operators, as operators.

Each question has a table, from special to general: the first row whose kinds match answers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headrace.nn.linear_operator.base import LinearOperator
from headrace.nn.linear_operator.circulant import LinearOperatorCirculant as Circulant
from headrace.nn.linear_operator.dense import LinearOperatorLowerTriangular as LowerTriangular
from headrace.nn.linear_operator.derived import LinearOperatorAdjoint as Adjoint
from headrace.nn.linear_operator.derived import LinearOperatorInversion as Inversion
from headrace.nn.linear_operator.diagonal import LinearOperatorDiag as Diag
from headrace.nn.linear_operator.identity import LinearOperatorIdentity as Identity
from headrace.nn.linear_operator.identity import LinearOperatorScaledIdentity as ScaledIdentity
from headrace.nn.linear_operator.identity import LinearOperatorZeros as Zeros
from headrace.nn.linear_operator.reflection import LinearOperatorHouseholder as Householder
from headrace.nn.linear_operator.several import LinearOperatorBlockDiag as BlockDiag
from headrace.nn.linear_operator.several import LinearOperatorComposition as Composition
from headrace.nn.linear_operator.several import LinearOperatorKronecker as Kronecker
from headrace.nn.linear_operator.shaped import Hint
from headrace.ops.declaration import array
from headrace.ops.declaration.convert import convert_to_tensor
from headrace.ops.linalg import factor
from headrace.ops.linalg import matrix_terms as terms
from headrace.ops.math import arithmetic

Any_ = LinearOperator
Pair = tuple[type, type, Callable[[Any, Any], LinearOperator]]
Single = tuple[type, Callable[[Any], LinearOperator]]


# -- hints --------------------------------------------------------------------------------------
def _both_non_singular(a: Any_, b: Any_) -> Hint:
    if a.is_non_singular is False or b.is_non_singular is False:
        return False
    return a.is_non_singular and b.is_non_singular


def _commuting(a: Any_, b: Any_) -> dict[str, Any]:
    """Hints of the product of two operators that commute."""
    self_adjoint: Hint = None
    if a.is_self_adjoint and b.is_self_adjoint:
        self_adjoint = True
    elif {a.is_self_adjoint, b.is_self_adjoint} == {True, False}:
        self_adjoint = False
    positive = all(o.is_positive_definite and o.is_self_adjoint for o in (a, b))
    return {
        "is_non_singular": _both_non_singular(a, b),
        "is_self_adjoint": self_adjoint,
        "is_positive_definite": positive or None,
        "is_square": True,
    }


def _with_triangle(a: Any_, b: Any_) -> dict[str, Any]:
    # A triangular matrix is self-adjoint only where it is diagonal: then it commutes.
    return _commuting(a, b) | {"is_positive_definite": None}


def _product_is_square(a: Any_, b: Any_) -> Hint:
    if a.is_square and b.is_square:
        return True
    if a.is_square is False and b.is_square is False:
        found: Hint = a.range_dimension == b.domain_dimension
        return found
    return None if None in (a.is_square, b.is_square) else False


def _same(a: Any_) -> dict[str, Any]:
    """Hints that an operator shares with its adjoint, its inverse."""
    return {
        "is_non_singular": a.is_non_singular,
        "is_self_adjoint": a.is_self_adjoint,
        "is_positive_definite": a.is_positive_definite,
        "is_square": True,
    }


def _composed(a: Any_, b: Any_, left: Any_) -> LinearOperator:
    square = _product_is_square(a, b)
    if square is False:
        return Composition([left, b], False, False, False, False)
    return Composition(
        [left, b], is_non_singular=_both_non_singular(a, b) if square else None, is_square=square
    )


def _zeros(zeros: Any, other: Any_) -> LinearOperator:
    if not zeros.is_square or not other.is_square:
        raise ValueError(
            "Matmul with non-square `LinearOperator`s or non-square `LinearOperatorZeros` not "
            "supported at this time."
        )
    result: LinearOperator = zeros
    return result


def _column(x: Any) -> Any:
    return array.expand_dims(x, -1)


def _scaled(operator: ScaledIdentity) -> Any:
    """The factors, in a shape that broadcasts against a diagonal."""
    return _column(operator.multiplier)


PRODUCTS: tuple[Pair, ...] = (
    (Identity, Any_, lambda a, b: b),
    (Any_, Identity, lambda a, b: a),
    (Zeros, Any_, lambda a, b: _zeros(a, b)),
    (Any_, Zeros, lambda a, b: _zeros(b, a)),
    (Diag, Diag, lambda a, b: Diag(a.diag * b.diag, **_commuting(a, b))),
    (Diag, ScaledIdentity, lambda a, b: Diag(a.diag * _scaled(b), **_commuting(a, b))),
    (ScaledIdentity, Diag, lambda a, b: Diag(b.diag * _scaled(a), **_commuting(a, b))),
    (Diag, LowerTriangular,
     lambda a, b: LowerTriangular(_column(a.diag) * b.to_dense(), **_with_triangle(a, b))),
    (LowerTriangular, Diag,
     lambda a, b: LowerTriangular(a.to_dense() * array.expand_dims(b.diag, -2),
                                  **_with_triangle(a, b))),
    (Circulant, Circulant,
     lambda a, b: Circulant(a.spectrum * b.spectrum, a.dtype, **_commuting(a, b))),
    (Any_, Any_, lambda a, b: _composed(a, b, a)),
)  # fmt: skip

SOLUTIONS: tuple[Pair, ...] = (
    (Inversion, Any_, lambda a, b: a.operator.matmul(b)),
    (Identity, Any_, lambda a, b: b),
    (Diag, Diag, lambda a, b: Diag(b.diag / a.diag, **_commuting(a, b))),
    (Diag, ScaledIdentity, lambda a, b: Diag(_scaled(b) / a.diag, **_commuting(a, b))),
    (ScaledIdentity, Diag, lambda a, b: Diag(b.diag / _scaled(a), **_commuting(a, b))),
    (
        Diag,
        LowerTriangular,
        lambda a, b: LowerTriangular(b.to_dense() / _column(a.diag), **_with_triangle(a, b)),
    ),
    (Circulant, Circulant, lambda a, b: Circulant(b.spectrum / a.spectrum, a.dtype, **_commuting(a, b))),
    (Any_, Any_, lambda a, b: _composed(a, b, Inversion(a))),
)


def _of_parts(kind: Any, question: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """The answer for a sum or product of parts: the same, of the answers for the parts."""
    return lambda a: kind([question(part) for part in a.operators], **_same(a))


def _reciprocal(x: Any) -> Any:
    return arithmetic.reciprocal(convert_to_tensor(x))


def _conj(x: Any) -> Any:
    return terms.conj(convert_to_tensor(x))


INVERSES: tuple[Single, ...] = (
    (Identity, lambda a: a),
    (Householder, lambda a: a),
    (Inversion, lambda a: a.operator),
    (ScaledIdentity, lambda a: ScaledIdentity(a._num_rows, _reciprocal(a.multiplier), **_same(a))),
    (Diag, lambda a: Diag(_reciprocal(a.diag), **_same(a))),
    (BlockDiag, _of_parts(BlockDiag, lambda part: part.inverse())),
    (Kronecker, _of_parts(Kronecker, lambda part: part.inverse())),
    (Circulant, lambda a: Circulant(_reciprocal(a.spectrum), a.dtype, **_same(a))),
    (Any_, lambda a: Inversion(a)),
)

ADJOINTS: tuple[Single, ...] = (
    (Identity, lambda a: a),
    (Householder, lambda a: a),
    (Adjoint, lambda a: a.operator),
    (ScaledIdentity, lambda a: ScaledIdentity(a._num_rows, _conj(a.multiplier), **_same(a))),
    (Diag, lambda a: Diag(_conj(a.diag), **_same(a))),
    (BlockDiag, _of_parts(BlockDiag, lambda part: part.adjoint())),
    (Kronecker, _of_parts(Kronecker, lambda part: part.adjoint())),
    (Circulant, lambda a: Circulant(_conj(a.spectrum), a.dtype, **_same(a))),
    (Any_, lambda a: Adjoint(a)),
)

FACTORS: tuple[Single, ...] = (
    (Identity, lambda a: a),
    (ScaledIdentity, lambda a: ScaledIdentity(a._num_rows, arithmetic.sqrt(a.multiplier), True, True, True)),
    (Diag, lambda a: Diag(arithmetic.sqrt(a.diag), True, True, True)),
    (BlockDiag, lambda a: BlockDiag([part.cholesky() for part in a.operators], True)),
    (Kronecker, lambda a: Kronecker([part.cholesky() for part in a.operators], True)),
    (Any_, lambda a: LowerTriangular(factor.cholesky(a.to_dense()), True, False)),
)


def _pairwise(table: tuple[Pair, ...], a: Any_, b: Any_) -> LinearOperator:
    for left, right, answer in table:
        if isinstance(a, left) and isinstance(b, right):
            return answer(a, b)
    raise AssertionError("a table ends with the general case")


def _single(table: tuple[Single, ...], a: Any_) -> LinearOperator:
    for kind, answer in table:
        if isinstance(a, kind):
            return answer(a)
    raise AssertionError("a table ends with the general case")


def matmul(a: Any_, b: Any_) -> LinearOperator:
    return _pairwise(PRODUCTS, a, b)


def solve(a: Any_, b: Any_) -> LinearOperator:
    return _pairwise(SOLUTIONS, a, b)


def inverse(a: Any_) -> LinearOperator:
    return _single(INVERSES, a)


def adjoint(a: Any_) -> LinearOperator:
    return _single(ADJOINTS, a)


def cholesky(a: Any_) -> LinearOperator:
    return _single(FACTORS, a)
