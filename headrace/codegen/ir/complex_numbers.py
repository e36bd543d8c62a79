"""Complex numbers as pairs of floats.

In a region a complex array is two arrays of floats, the `Planes`, and a complex scalar two
expressions, so that all that follows (fusion, vectors, products) knows floats alone.  Where an array
enters or leaves a region, and in loops and branches, its two parts stand side by side in memory, as
in NumPy: the `whole`, with a last dimension of 2.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import NoReturn, TypeAlias

import numpy as np

from headrace.codegen.ir import kernel_ir as ir
from headrace.codegen.ir.kernel_ir import F64, Array, Compute, Expr, Index, Scalar, Var, var
from headrace.codegen.ir.stages import Assembled, ViewOf
from headrace.core import dtypes
from headrace.core.dtypes import DType, NDArray, NDType
from headrace.ops.declaration.emit import Decline

_PART = {dtypes.complex64: dtypes.float32, dtypes.complex128: dtypes.float64}


def is_complex(dtype: DType | NDType) -> bool:
    return dtypes.as_dtype(dtype).base.kind == "c"


def part_type(dtype: DType | NDType) -> DType:
    """The type of the two parts."""
    return _PART[dtypes.as_dtype(dtype).base]


class Complex:
    """A scalar: two expressions.  Beside a real number it adds and multiplies part by part."""

    __slots__ = ("im", "re")

    def __init__(self, re: Expr, im: Expr) -> None:
        self.re, self.im = re, im

    @property
    def dtype(self) -> DType:
        return dtypes.complex128 if self.re.kind is F64 else dtypes.complex64

    def __bool__(self) -> bool:
        raise TypeError("the value of an expression is known only when the kernel runs")

    def __lt__(self, other: object) -> NoReturn:
        raise Decline("complex numbers have no order")

    __le__ = __gt__ = __ge__ = __floordiv__ = __mod__ = __lt__

    def __add__(self, other: Complex | Scalar) -> Complex:
        if isinstance(other, Complex):
            return Complex(self.re + other.re, self.im + other.im)
        return Complex(self.re + other, self.im)

    __radd__ = __add__

    def __sub__(self, other: Complex | Scalar) -> Complex:
        if isinstance(other, Complex):
            return Complex(self.re - other.re, self.im - other.im)
        return Complex(self.re - other, self.im)

    def __rsub__(self, other: Complex | Scalar) -> Complex:
        return self.of(other) - self

    def __mul__(self, other: Complex | Scalar) -> Complex:
        if isinstance(other, Complex):
            a, b, c, d = self.re, self.im, other.re, other.im
            return Complex(a * c - b * d, a * d + b * c)
        return Complex(self.re * other, self.im * other)

    __rmul__ = __mul__

    def __truediv__(self, other: Complex | Scalar) -> Complex:
        if isinstance(other, Complex):
            return _quotient(self, other)
        return Complex(self.re / other, self.im / other)

    def __rtruediv__(self, other: Complex | Scalar) -> Complex:
        return self.of(other) / self

    def __neg__(self) -> Complex:
        return Complex(-self.re, -self.im)

    def __eq__(self, other: object) -> Expr:  # type: ignore[override]
        y = self.of(other)
        return (self.re == y.re) & (self.im == y.im)

    def __ne__(self, other: object) -> Expr:  # type: ignore[override]
        y = self.of(other)
        return (self.re != y.re) | (self.im != y.im)

    __hash__ = object.__hash__

    def of(self, value: object) -> Complex:
        """A number, or a real expression, as one of these."""
        if isinstance(value, Complex):
            return value
        if isinstance(value, Expr):
            return Complex(value, ir.const(0, value.kind))
        if not isinstance(value, (complex, float, int, np.number, np.bool_)):
            raise ir.NotScalar(f"not a scalar expression: {value!r}")
        number = complex(value)
        return Complex(ir.const(number.real, self.re.kind), ir.const(number.imag, self.re.kind))


def _quotient(x: Complex, y: Complex) -> Complex:
    """By the larger part of the divisor (Smith's way): neither overflows on the way."""
    a, b, c, d = x.re, x.im, y.re, y.im
    size_c, size_d = ir.unary("abs", c), ir.unary("abs", d)
    by_real = size_c >= size_d
    large, small = ir.select(by_real, c, d), ir.select(by_real, d, c)
    ratio = small / large
    scale = 1.0 / (large + small * ratio)
    re = (ir.select(by_real, a, b) + ir.select(by_real, b, a) * ratio) * scale
    im = ir.select(by_real, b - a * ratio, b * ratio - a) * scale
    is_zero = (size_c == 0) & (size_d == 0)
    return Complex(ir.select(is_zero, a / size_c, re), ir.select(is_zero, b / size_c, im))


class Planes:
    """A complex array: its real and its imaginary part, each an array."""

    __slots__ = ("dtype", "im", "name", "re", "shape", "value", "whole")

    def __init__(
        self, re: Array, im: Array, whole: Array | None = None, value: NDArray | None = None
    ) -> None:
        self.re, self.im, self.shape, self.value = re, im, re.shape, value
        self.dtype = dtypes.complex128 if re.kind is F64 else dtypes.complex64
        self.name = re.name
        self.whole = _joined(self) if whole is None else whole

    @property
    def count(self) -> int:
        return prod(self.shape)

    def __getitem__(self, index: Index | tuple[Index, ...]) -> Complex:
        return Complex(self.re[index], self.im[index])

    def __iter__(self) -> NoReturn:
        raise TypeError("an operand is not iterable: index it")


Element: TypeAlias = Expr | Complex  # what rules compute with
Operand: TypeAlias = Array | Planes  # and what they read and make


def boundary(shape: Sequence[int], dtype: DType, name: str = "") -> Array:
    """An array from outside of a region, as its kernels see it."""
    if not is_complex(dtype):
        return Array(shape, dtype.base, name=name)
    array = Array((*shape, 2), part_type(dtype), name=name)
    array.outer = (tuple(shape), dtype.base)
    return array


def show(whole: Array, dtype: DType) -> Array:
    """Say that outside of the region this array is one of complex numbers."""
    if is_complex(dtype):
        whole.outer = (whole.shape[:-1], dtype.base)
    return whole


def known(value: NDArray, dtype: DType, name: str = "") -> Planes:
    """A constant."""
    array = np.asarray(value, dtype.base.numpy)
    part = part_type(dtype)
    re, im = (
        Array(array.shape, part, value=np.ascontiguousarray(p), name=name) for p in (array.real, array.imag)
    )
    both = np.stack((array.real, array.imag), axis=-1)
    whole = Array(both.shape, part, value=both, name=name)
    return Planes(re, im, whole, array)


def split(whole: Array) -> Planes:
    """The parts of an array in which they stand side by side."""
    if whole.value is not None:
        value = whole.value[..., 0] + 1j * whole.value[..., 1]
        value.real, value.imag = whole.value[..., 0], whole.value[..., 1]
        dtype = dtypes.complex128 if whole.kind is F64 else dtypes.complex64
        return known(value, dtype, whole.name)
    shape = whole.shape[:-1]
    parts = []
    for k in (0, 1):
        loops = tuple(Var(n) for n in shape)
        body = whole[(*map(var, loops), k)]
        parts.append(Array(shape, whole.dtype, source=Compute(loops, body), name=whole.name))
    return Planes(parts[0], parts[1], whole)


def _joined(x: Planes) -> Array:
    """Both parts side by side; made only where somebody reads it."""
    shape = (*x.shape, 2)
    start = (0,) * len(x.shape)
    blocks = tuple(
        ((*start, k), Array((*x.shape, 1), part.dtype, source=ViewOf(_base(part))))
        for k, part in enumerate((x.re, x.im))
        if part.count
    )
    return Array(shape, x.re.dtype, source=Assembled(blocks))


def _base(array: Array) -> Array:
    return array.source.base if isinstance(array.source, ViewOf) else array
