"""The exponential of matrices: scaled until small, approximated by a quotient of polynomials,
squared back.  (Higham, "The scaling and squaring method for the matrix exponential revisited".)
"""

from __future__ import annotations

from math import factorial
from typing import Any

import numpy as np

from headrace.core import dtypes
from headrace.functions.control.while_loop import while_loop
from headrace.functions.linalg.linalg import matmul
from headrace.functions.values.structure import name_scope
from headrace.graph.tensor import Tensor
from headrace.ops.array.constant import constant
from headrace.ops.array.indexing import where
from headrace.ops.declaration import array
from headrace.ops.declaration.convert import convert_to_tensor
from headrace.ops.linalg import matrix_terms as terms
from headrace.ops.linalg import solve
from headrace.ops.math import arithmetic, cast, comparison, exponential, reduce, rounding

# Degree of the approximant, and the 1-norm up to which it has the precision of the type.
SINGLE, DOUBLE = (7, 3.925724783138660), (13, 5.371920351148152)
ORDERS = {
    dtypes.float16: SINGLE,
    dtypes.float32: SINGLE,
    dtypes.complex64: SINGLE,
    dtypes.float64: DOUBLE,
    dtypes.complex128: DOUBLE,
}


def matrix_exponential(input: Any, name: str | None = None) -> Tensor:
    """The exponential, the sum of A^n / n!, of every matrix [..., M, M].

    Args:
      input: matrices of floats or complex numbers.
      name: name of the scope.

    Returns:
      A tensor like `input`.

    Raises:
      ValueError: another type.
    """
    with name_scope(name, "matrix_exponential", [input]):
        x = convert_to_tensor(input, name="input")
        if x.dtype.base not in ORDERS:
            raise ValueError(f"tf.linalg.expm does not support matrices of type {x.dtype}")
        x.shape.with_rank_at_least(2)
        if x.shape.rank is not None and x.shape.sizes[-2:] == (0, 0):
            return x
        degree, radius = ORDERS[x.dtype.base]
        norm = reduce.max_(reduce.sum_(arithmetic.magnitude(x), -2), -1)
        halvings = _halvings(norm, radius)
        scale = exponential.pow_(constant(2.0, norm.dtype), halvings)
        small = _quotient(x / _per_matrix(scale, x.dtype), degree)
        return _squared(small, halvings)


def _halvings(norm: Tensor, radius: float) -> Tensor:
    """How often each matrix is halved, as a float."""
    excess = arithmetic.maximum(norm / constant(radius, norm.dtype), 1.0)
    return rounding.ceil(exponential.log(excess) / constant(np.log(2.0), norm.dtype))


def _per_matrix(numbers: Tensor, dtype: Any) -> Tensor:
    if numbers.dtype.base != dtype.base:
        numbers = cast.cast(numbers, dtype)
    return array.expand_dims(array.expand_dims(numbers, -1), -1)


def _quotient(x: Tensor, degree: int) -> Tensor:
    """The Pade approximant p(x) / p(-x) of exp(x); p's odd part is a multiple of x."""
    b = [
        float(factorial(2 * degree - k) // (factorial(k) * factorial(degree - k))) for k in range(degree + 1)
    ]
    identity = terms.identity_like(x)
    squared = matmul(x, x)
    power, even, odd = identity, None, None
    for k in range(0, degree + 1, 2):
        even = _plus(even, power * constant(b[k], x.dtype))
        odd = _plus(odd, power * constant(b[k + 1], x.dtype))
        if k + 2 <= degree:
            power = squared if k == 0 else matmul(power, squared)
    odd = matmul(x, odd)
    return solve.matrix_solve(even - odd, even + odd)


def _plus(total: Any, term: Tensor) -> Any:
    return term if total is None else total + term


def _squared(x: Tensor, times: Tensor) -> Tensor:
    """Every matrix squared as often as it was halved."""
    most = reduce.max_(times, terms.all_axes(times))

    def once(i: Tensor, result: Tensor) -> list[Any]:
        is_due = array.expand_dims(array.expand_dims(comparison.less(i, times), -1), -1)
        return [i + 1.0, where.select_v2(is_due, matmul(result, result), result)]

    start = constant(0.0, times.dtype)
    found: Tensor = while_loop(lambda i, _: comparison.less(i, most), once, [start, x])[1]
    return found
