"""Batches of matrices for operators: shapes as tensors, broadcasting, checks that kinds share."""

from __future__ import annotations

from typing import Any

from headrace.core import dtypes
from headrace.core.shapes import Shape
from headrace.functions.array import array, checks
from headrace.functions.math.math import imag
from headrace.functions.math.math import real as real_part
from headrace.graph.node import Node
from headrace.graph.tensor import Tensor
from headrace.ops.array import broadcast as broadcast_ops
from headrace.ops.array import source
from headrace.ops.array.constant import constant, pack
from headrace.ops.declaration import array as array_ops
from headrace.ops.declaration.convert import convert_to_tensor
from headrace.ops.linalg import solve
from headrace.ops.linalg.matrix_terms import conj
from headrace.ops.math import arithmetic
from headrace.variables.variable import Variable


def is_tensor(value: Any) -> bool:
    return isinstance(value, (Tensor, Variable))


def implied(cause: Any, hint: bool | None, otherwise: str) -> bool | None:
    """A hint that follows from a cause, where that holds; `otherwise` is what a hint to the contrary
    gets told."""
    if cause and hint is False:
        raise ValueError(otherwise)
    return True if cause else hint


def kept(value: Any, name: str) -> Any:
    """A variable as it is (so that later values count), anything else as a tensor."""
    if isinstance(value, Variable):
        return value
    return convert_to_tensor(value, name=name)


def sizes(shape: Shape) -> Tensor:
    """A known shape as a tensor."""
    return constant(shape.as_list(), dtypes.int32)


def join(lead: Any, *inner: Any) -> Tensor:
    """A vector of sizes, from a vector and numbers behind."""
    lead = convert_to_tensor(lead, dtype=dtypes.int32)
    return array_ops.concat_v2([lead, pack(list(inner))], 0) if inner else lead


def real(x: Tensor) -> Tensor:
    return real_part(x)


def conj_if(x: Tensor, yes: bool) -> Tensor:
    return conj(x) if yes else x


def together(a: Any, b: Any) -> tuple[Tensor, Tensor]:
    """Both with the batch shape that they broadcast to."""
    a, b = convert_to_tensor(a), convert_to_tensor(b)
    left, right = a.shape[:-2], b.shape[:-2]
    if left.is_full and right.is_full:
        lead: Any = array.broadcast_static_shape(left, right)
        if lead == left and lead == right:
            return a, b
        lead = sizes(lead)
    else:
        lead = broadcast_ops.broadcast_args(array_ops.shape(a)[:-2], array_ops.shape(b)[:-2])
    return spread(a, lead), spread(b, lead)


def spread(x: Tensor, lead: Any) -> Tensor:
    """`x` with this batch shape."""
    return array_ops.broadcast_to(x, array_ops.concat_v2([lead, array_ops.shape(x)[-2:]], 0))


def with_batch_of(operator: Any, x: Tensor) -> Tensor:
    """`x`, broadcast against the batch shape of the operator."""
    own, given = operator.batch_shape, x.shape
    if own.is_full and given.rank is not None:
        lead = array.broadcast_static_shape(own, given[:-2])
        if given[:-2].is_full and lead == given[:-2]:
            return x
    shape = operator.batch_shape_tensor()
    return spread(x, broadcast_ops.broadcast_args(shape, array_ops.shape(x)[:-2]))


def triangular_solve(matrix: Tensor, rhs: Tensor, adjoint: bool) -> Tensor:
    matrix, rhs = together(matrix, rhs)
    return solve.matrix_triangular_solve(matrix, rhs, lower=True, adjoint=adjoint)


# -- checks -------------------------------------------------------------------------------------
def nothing(name: str) -> Node:
    """A check that always holds."""
    return source.no_op(name=name)


def assert_no_zeros(x: Tensor, message: str) -> Node:
    result: Node = checks.assert_positive(arithmetic.magnitude(x), message=message)
    return result


def assert_real(x: Tensor, message: str) -> Node:
    if not x.dtype.is_complex:
        return nothing("assert_real")
    parts = imag(x)
    return checks.assert_equal(array_ops.zeros_like(parts), parts, message=message)


def assert_rows_fit(operator: Any, x: Tensor) -> Node:
    return checks.assert_equal(
        array_ops.shape(x)[-2],
        operator.domain_dimension_tensor(),
        message="Dimensions are not compatible.  shape[-2] of argument to be the same as this operator",
    )
