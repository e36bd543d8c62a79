"""Special functions made of ops: the beta function's logarithm, Bessel functions."""

from __future__ import annotations

from typing import Any

from headrace.functions.math import elementwise
from headrace.functions.math.reduce import reduce_sum
from headrace.functions.values.structure import name_scope
from headrace.graph.tensor import Tensor
from headrace.ops.declaration.convert import convert_to_tensor
from headrace.ops.math import exponential, special


def lbeta(x: Any, name: str | None = None) -> Tensor:
    """The logarithm of |Beta(z)| for every vector z in the last dimension.

    Beta(z) is the product of Gamma(z_j), divided by Gamma of their sum; for no z_j at all the
    result is minus infinity.

    Args:
      x: floats [..., K].
      name: name of the scope.

    Returns:
      [...].
    """
    with name_scope(name, "lbeta", [x]):
        x = convert_to_tensor(x, name="x")
        product = reduce_sum(special.lgamma(x), axis=[-1])
        return product - special.lgamma(reduce_sum(x, axis=[-1]))


def bessel_i0(x: Any, name: str | None = None) -> Any:
    """The modified Bessel function of order 0; `bessel_i0e` overflows later.

    Args:
      x: floats, dense or sparse.
      name: name of the scope.

    Returns:
      A tensor like `x`.
    """
    with name_scope(name, "bessel_i0", [x]):
        return exponential.exp(elementwise.abs_(x)) * elementwise.bessel_i0e(x)


def bessel_i1(x: Any, name: str | None = None) -> Any:
    """The modified Bessel function of order 1; `bessel_i1e` overflows later.

    Args:
      x: floats, dense or sparse.
      name: name of the scope.

    Returns:
      A tensor like `x`.
    """
    with name_scope(name, "bessel_i1", [x]):
        return exponential.exp(elementwise.abs_(x)) * elementwise.bessel_i1e(x)
