"""Element-wise functions that also take a SparseTensor: they map its values."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from headrace.functions.sparse.tensor import SparseTensor
from headrace.functions.values.structure import name_scope
from headrace.graph.tensor import Tensor
from headrace.ops.declaration.convert import convert_to_tensor
from headrace.ops.math import arithmetic, special, trigonometry

Unary = Callable[..., Any]


def maps_sparse(function: Unary) -> Unary:
    """Let `function(x, name)` take a SparseTensor too: the result has its indices and shape."""

    @wraps(function)
    def mapped(x: Any, name: str | None = None) -> Any:
        if isinstance(x, SparseTensor):
            return SparseTensor(x.indices, function(x.values, name), x.dense_shape)
        return function(x, name)

    return mapped


@maps_sparse
def abs_(x: Any, name: str | None = None) -> Tensor:
    """The magnitude of every element; of a complex number sqrt(a*a + b*b), a real one.

    Args:
      x: a number or a `Tensor` or `SparseTensor` of numbers.
      name: name of the node.

    Returns:
      A tensor like `x`; float32 for complex64, float64 for complex128.
    """
    with name_scope(name, "Abs", [x]) as scope:
        return arithmetic.magnitude(convert_to_tensor(x, name="x"), scope)


@maps_sparse
def negative(x: Any, name: str | None = None) -> Tensor:
    """-x, element by element."""
    return arithmetic.neg(x, name=name)


@maps_sparse
def sign(x: Any, name: str | None = None) -> Tensor:
    """-1, 0 or 1 by the sign of every element; x / |x| for complex numbers."""
    return arithmetic.sign(x, name=name)


@maps_sparse
def square(x: Any, name: str | None = None) -> Tensor:
    """x * x, element by element."""
    return arithmetic.square(x, name=name)


@maps_sparse
def sqrt(x: Any, name: str | None = None) -> Tensor:
    """The square root of every element; NaN for a negative one."""
    return arithmetic.sqrt(x, name=name)


@maps_sparse
def erf(x: Any, name: str | None = None) -> Tensor:
    """The error function of every element."""
    return special.erf(x, name=name)


@maps_sparse
def tanh(x: Any, name: str | None = None) -> Tensor:
    """The hyperbolic tangent of every element."""
    return trigonometry.tanh(x, name=name)


@maps_sparse
def bessel_i0e(x: Any, name: str | None = None) -> Tensor:
    """exp(-|x|) times the modified Bessel function of order 0, element by element."""
    return special.bessel_i0e(x, name=name)


@maps_sparse
def bessel_i1e(x: Any, name: str | None = None) -> Tensor:
    """exp(-|x|) times the modified Bessel function of order 1, element by element."""
    return special.bessel_i1e(x, name=name)
