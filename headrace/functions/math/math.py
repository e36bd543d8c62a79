"""Arithmetic: what is more than one op, has old names, or looks at types first."""

from __future__ import annotations

from typing import Any

from headrace.core import dtypes
from headrace.core.families import documented
from headrace.functions.math.cast import cast
from headrace.functions.values.structure import name_scope
from headrace.graph.tensor import Tensor
from headrace.ops.array.constant import constant
from headrace.ops.declaration import array
from headrace.ops.declaration.building.operators import (
    exclusive_or,
    old_quotient,
    require_same_type,
    true_quotient,
)
from headrace.ops.declaration.convert import convert_to_tensor
from headrace.ops.declaration.indexed_slices import IndexedSlices
from headrace.ops.math import arithmetic, comparison, complex, sequence
from headrace.ops.nn import activation


# -- quotients ----------------------------------------------------------------------------------
def truediv(x: Any, y: Any, name: str | None = None) -> Tensor:
    """x / y in floating point: integers become float32 or float64 first.

    Args:
      x: the numerator, a `Tensor` of numbers.
      y: the denominator, of the same type.
      name: name of the node.

    Returns:
      The quotient.

    Raises:
      TypeError: `x` and `y` have different types.

    Example:
      >>> tf.truediv(tf.constant(3), tf.constant(2))       # 1.5
    """
    with name_scope(name, "truediv", [x, y]) as scope:
        x, y = convert_to_tensor(x, name="x"), convert_to_tensor(y, name="y")
        return true_quotient(x, y, scope)


def div(x: Any, y: Any, name: str | None = None) -> Tensor:
    """x / y as in Python 2: integers are rounded down.  Deprecated: use `tf.math.divide`.

    Args:
      x: the numerator, a `Tensor` of real numbers.
      y: the denominator, of the same type.
      name: name of the node.

    Returns:
      The quotient.
    """
    with name_scope(name, "div", [x, y]) as scope:
        x = convert_to_tensor(x, name="x")
        return old_quotient(x, convert_to_tensor(y, x.dtype.base, name="y"), scope)


def divide(x: Any, y: Any, name: str | None = None) -> Any:
    """x / y, as Python's operator does it.

    Args:
      x: the numerator.
      y: the denominator.
      name: name of the node.

    Returns:
      The quotient.
    """
    return x / y if name is None else truediv(x, y, name)


def _pair(x: Any, y: Any) -> tuple[Tensor, Tensor]:
    x = convert_to_tensor(x, name="x")
    y = convert_to_tensor(y, x.dtype.base, name="y")
    require_same_type(x, y)
    return x, y


_OF_TWO = """
    Args:
      x: a `Tensor` of floats.
      y: a `Tensor` of the same type.
      name: name of the node.

    Returns:
      The {result}.
    """


@documented(_OF_TWO, result="quotient")
def div_no_nan(x: Any, y: Any, name: str | None = None) -> Tensor:
    """x / y, and 0 where y is 0."""
    with name_scope(name, "div_no_nan", [x, y]) as scope:
        return arithmetic.div_no_nan(*_pair(x, y), name=scope)


@documented(_OF_TWO, result="product")
def multiply_no_nan(x: Any, y: Any, name: str | None = None) -> Tensor:
    """x * y, and 0 where y is 0, even if x is infinite or NaN."""
    with name_scope(name, "multiply_no_nan", [x, y]) as scope:
        return arithmetic.mul_no_nan(*_pair(x, y), name=scope)


def reciprocal_no_nan(x: Any, name: str | None = None) -> Tensor:
    """1 / x, and 0 where x is 0.

    Args:
      x: a `Tensor` of floats.
      name: name of the node.

    Returns:
      The reciprocals.
    """
    with name_scope(name, "reciprocal_no_nan", [x]) as scope:
        x = convert_to_tensor(x, name="x")
        one = constant(1, x.dtype.base, name="one")
        return arithmetic.div_no_nan(one, x, name=scope)


def floordiv(x: Any, y: Any, name: str | None = None) -> Tensor:
    """x / y rounded down, of the same type as x and y.

    Args:
      x: the numerator, a `Tensor` of real numbers.
      y: the denominator, of the same type.
      name: name of the node.

    Returns:
      The quotient.

    Example:
      >>> tf.math.floordiv(tf.constant(-3), 2)       # -2
    """
    with name_scope(name, "floordiv", [x, y]) as scope:
        return arithmetic.floor_div(x, y, name=scope)


# -- products and powers ------------------------------------------------------------------------
def scalar_mul(scalar: Any, x: Any, name: str | None = None) -> Any:
    """A scalar times a `Tensor` or `IndexedSlices`.

    Args:
      scalar: a number or a scalar `Tensor`.
      x: what to multiply.
      name: name of the node.

    Returns:
      `scalar * x`, a `Tensor` or `IndexedSlices` like `x`.

    Raises:
      ValueError: `scalar` is not a scalar.
    """
    scalar = convert_to_tensor(scalar, x.dtype.base, name="scalar")
    if scalar.shape.rank != 0:
        raise ValueError(f"Only scalar multiply works, got shape {scalar.shape}")
    if isinstance(x, IndexedSlices):
        return IndexedSlices(arithmetic.mul(scalar, x.values, name=name), x.indices, x.dense_shape)
    return arithmetic.mul(scalar, x, name=name)


def pow_(x: Any, y: Any, name: str | None = None) -> Tensor:
    """x raised to y, element by element.

    Args:
      x: a `Tensor` of numbers.
      y: a `Tensor` of the same type.
      name: name of the node.

    Returns:
      The powers.

    Example:
      >>> tf.pow(tf.constant([2, 3]), tf.constant([8, 2]))       # 256 9
    """
    with name_scope(name, "Pow", [x]) as scope:
        return arithmetic.pow_(x, y, name=scope)


def polyval(coeffs: Any, x: Any, name: str | None = None) -> Tensor:
    """The polynomial with these coefficients (highest power first) at x.

    Args:
      coeffs: a list of tensors, p[0] * x**(n-1) + ... + p[n-1].
      x: a `Tensor`.
      name: name of the scope.

    Returns:
      The values, of the type of `x`.

    Example:
      >>> tf.math.polyval([1., 0., 2.], tf.constant(3.))       # 11.
    """
    with name_scope(name, "polyval", [*coeffs, x]) as scope:
        x = convert_to_tensor(x, name="x")
        if len(coeffs) < 1:
            return array.zeros_like(x, name=scope)
        parts = [convert_to_tensor(c, name=f"coeff_{i}") for i, c in enumerate(coeffs)]
        value = parts[0]
        for part in parts[1:]:
            value = part + value * x
        return value


# -- sequences ----------------------------------------------------------------------------------
_RANKING = (dtypes.int32, dtypes.int64, dtypes.float32, dtypes.float64)


def range_(
    start: Any, limit: Any = None, delta: Any = 1, dtype: Any = None, name: str | None = "range"
) -> Tensor:
    """start, start + delta, ... up to but without limit.  With one number: from 0 up to it.

    Args:
      start: the first number, or the limit if that is not given.
      limit: where to stop.
      delta: the step.
      dtype: type of the result; follows from the numbers if not given.
      name: name of the node.

    Returns:
      A vector.

    Example:
      >>> tf.range(3, 18, 3)       # 3 6 9 12 15
    """
    if limit is None:
        start, limit = 0, start
    with name_scope(name, "Range", [start, limit, delta]) as scope:
        ends = [
            convert_to_tensor(value, dtype, name=word)
            for value, word in ((start, "start"), (limit, "limit"), (delta, "delta"))
        ]
        if dtype is None:
            assert all(end.dtype.base in _RANKING for end in ends), "a range is of numbers"
            widest = max((end.dtype.base for end in ends), key=_RANKING.index)
            ends = [cast(end, widest) for end in ends]
        return sequence.range_(*ends, name=scope)


# -- complex numbers ----------------------------------------------------------------------------
def complex_(real: Any, imag: Any, name: str | None = None) -> Tensor:
    """real + i imag.

    Args:
      real: a `Tensor` of float32 or float64.
      imag: a `Tensor` of the same type.
      name: name of the node.

    Returns:
      A tensor of complex64 or complex128.

    Raises:
      TypeError: the types are others.

    Example:
      >>> tf.complex([2.25, 3.25], [4.75, 5.75])       # 2.25+4.75j 3.25+5.75j
    """
    real, imag = convert_to_tensor(real, name="real"), convert_to_tensor(imag, name="imag")
    with name_scope(name, "Complex", [real, imag]) as scope:
        kind = real.dtype.base
        if kind is not imag.dtype.base or kind not in (dtypes.float32, dtypes.float64):
            raise TypeError(f"real and imag have incorrect types: {real.dtype.name} {imag.dtype.name}")
        return complex.complex_(real, imag, Tout=complex.complex_type(kind), name=scope)


def real(input: Any, name: str | None = None) -> Tensor:
    """The real part; a real tensor is returned as it is."""
    with name_scope(name, "Real", [input]) as scope:
        x = convert_to_tensor(input, name="input")
        return complex.real(x, Tout=x.dtype.real_dtype, name=scope) if x.dtype.is_complex else x


def imag(input: Any, name: str | None = None) -> Tensor:
    """The imaginary part; zeros for a real tensor."""
    with name_scope(name, "Imag", [input]) as scope:
        x = convert_to_tensor(input, name="input")
        if x.dtype.is_complex:
            return complex.imag(x, Tout=x.dtype.real_dtype, name=scope)
        return array.zeros_like(x)


def angle(input: Any, name: str | None = None) -> Tensor:
    """The angle in the complex plane, from -pi to pi; zeros for a real tensor."""
    with name_scope(name, "Angle", [input]) as scope:
        x = convert_to_tensor(input, name="input")
        if x.dtype.is_complex:
            return complex.angle(x, Tout=x.dtype.real_dtype, name=scope)
        return array.zeros_like(x)


def conj(x: Any, name: str | None = None) -> Tensor:
    """The complex conjugate; a real tensor is returned as it is.

    Raises:
      TypeError: `x` is not numeric.
    """
    if isinstance(x, Tensor) and (x.dtype.is_floating or x.dtype.is_integer):
        return x
    with name_scope(name, "Conj", [x]) as scope:
        x = convert_to_tensor(x, name="x")
        if x.dtype.is_complex or x.dtype.base is dtypes.variant:
            return complex.conj(x, name=scope)
        if x.dtype.is_floating or x.dtype.is_integer:
            result: Tensor = x
            return result
        raise TypeError(f"Expected numeric or variant tensor, got dtype {x.dtype!r}")


# -- the rest -----------------------------------------------------------------------------------
def round_(x: Any, name: str | None = None) -> Tensor:
    """The nearest whole number, halves to the even one; an integer tensor as it is.

    Args:
      x: a `Tensor` of numbers.
      name: name of the node.

    Returns:
      A tensor like `x`.

    Example:
      >>> tf.round(tf.constant([0.9, 2.5, -4.5]))       # 1. 2. -4.
    """
    x = convert_to_tensor(x, name="x")
    return x if x.dtype.is_integer else arithmetic.round_(x, name=name)


def sigmoid(x: Any, name: str | None = None) -> Tensor:
    """1 / (1 + exp(-x)), element by element.

    Args:
      x: a `Tensor` of floats or complex numbers.
      name: name of the node.

    Returns:
      A tensor like `x`.
    """
    with name_scope(name, "Sigmoid", [x]) as scope:
        return arithmetic.sigmoid(convert_to_tensor(x, name="x"), name=scope)


def log_sigmoid(x: Any, name: str | None = None) -> Tensor:
    """log(sigmoid(x)), without overflow: -softplus(-x).

    Args:
      x: a `Tensor` of floats.
      name: name of the node.

    Returns:
      A tensor like `x`.
    """
    with name_scope(name, "LogSigmoid", [x]) as scope:
        x = convert_to_tensor(x, name="x")
        return arithmetic.neg(activation.softplus(-x), name=scope)


def equal(x: Any, y: Any, name: str | None = None) -> Tensor:
    """x == y, element by element.

    Args:
      x: a `Tensor`.
      y: a `Tensor` of the same type; shapes broadcast.
      name: name of the node.

    Returns:
      A tensor of bool.
    """
    return comparison.equal(x, y, name=name)


def not_equal(x: Any, y: Any, name: str | None = None) -> Tensor:
    """x != y, element by element.  Args, and what it returns: as of `tf.equal`."""
    return comparison.not_equal(x, y, name=name)


def logical_xor(x: Any, y: Any, name: str | None = "LogicalXor") -> Tensor:
    """True where exactly one of x and y is.

    Args:
      x: a `Tensor` of bool.
      y: a `Tensor` of bool.
      name: name of the node.

    Returns:
      A tensor of bool.
    """
    return exclusive_or(x, y, name)
