"""Complex numbers: made of two parts, and taken apart."""

from __future__ import annotations

from typing import Any

import numpy as np

from headrace.core.dtypes import COMPLEX, complex64, complex128, float32, float64, variant
from headrace.core.errors import require
from headrace.core.modules import late
from headrace.graph.tensor import Tensor
from headrace.ops.array.constant import constant
from headrace.ops.declaration.declare import Op
from headrace.ops.declaration.families import binary, require_broadcast, unary
from headrace.ops.declaration.indexed_slices import IndexedSlices
from headrace.ops.declaration.samples import ErrorSample, Sample
from headrace.ops.declaration.shape_rules import broadcast, same
from headrace.ops.declaration.signature import Type

array = late("headrace.ops.declaration.array")
broadcast_ops = late("headrace.ops.array.broadcast")
division = late("headrace.ops.math.division")

_REAL = (float32, float64)
_PART = "input: T -> output: Tout"
_TOUT = Type(_REAL, default=float32)


def conjugate(x: Any) -> Any:
    """The conjugate where x is complex, else x itself: what gradients of real ops multiply with."""
    if isinstance(x, (Tensor, IndexedSlices)) and (x.dtype.is_complex or x.dtype.kind == "v"):
        return conj(x)
    return x


def complex_type(real: Any) -> Any:
    return {float32: complex64, float64: complex128}[real.base]


def _require_fit(whole: Any, part: Any) -> None:
    require(
        complex_type(part) is whole.base,
        f"no kernel has {whole.base.name} numbers with parts of {part.base.name}",
    )


def _part_shape(x: Any, *, T: Any, Tout: Any) -> Any:
    """That of the complex input, whose parts have the type of the result."""
    _require_fit(T, Tout)
    return same(x)


def _whole_shape(x: Any, y: Any, *, T: Any, Tout: Any) -> Any:
    """The two parts broadcast; the result is the complex type that belongs to theirs."""
    _require_fit(Tout, T)
    return broadcast(x, y)


def _values(rng):
    z = rng.normal(size=(2, 3)) + 1j * rng.normal(size=(2, 3))
    yield Sample(z, Tout=float64, dtypes=False)
    yield Sample(z.astype(np.complex64))
    yield Sample(np.zeros((0, 3), np.complex64), note="empty")
    yield Sample(np.array([complex(np.inf, -np.inf), complex(0, np.nan)], np.complex64), grad=False)
    yield ErrorSample(z, Tout=float32, raises="complex128 numbers with parts of float32")
    yield ErrorSample(z.astype(np.complex64), Tout=float64, raises="complex64 numbers with parts of float64")


def _part(name, meaning, doc, emit, gradient, signature=_PART) -> Op:
    return unary(
        name,
        meaning,
        T=Type(COMPLEX, default=complex64),
        Tout=_TOUT,
        doc=doc,
        emit=emit,
        signature=signature,
        shape=_part_shape,
        gradient=gradient,
        samples=_values,
    )


def _zero(dy):
    return constant(0, dy.dtype.base)


def make_complex(x: Tensor, y: Tensor) -> Tensor:
    """The tensor x + iy of the type that belongs to x's."""
    return complex_(x, y, Tout=complex_type(x.dtype))


def _complex_gradient(node, dy):
    x, y = node.inputs
    part = x.dtype.base
    return broadcast_ops.unbroadcast(x, y, dy, lambda: real(dy, Tout=part), lambda: imag(dy, Tout=part))


def _combine(x, y):
    require_broadcast(x.shape, y.shape)
    out = np.empty(np.broadcast_shapes(x.shape, y.shape), np.result_type(x.dtype, np.complex64))
    out.real, out.imag = x, y
    return out


def _complex_samples(rng):
    for a, b in (((2, 3), (2, 3)), ((3,), (2, 1)), ((), (2,)), ((0, 3), (3,))):
        x, y = rng.normal(size=a), rng.normal(size=b)
        yield Sample(x, y, Tout=complex128, dtypes=False)
        yield Sample(x.astype(np.float32), y.astype(np.float32))
    x = rng.normal(size=3)
    yield ErrorSample(x, x, Tout=complex64, raises="complex64 numbers with parts of float64")
    x = x.astype(np.float32)
    yield ErrorSample(x, x, Tout=complex128, raises="complex128 numbers with parts of float32")


complex_ = binary(
    "Complex",
    _combine,
    T=Type(_REAL, default=float32),
    Tout=Type(COMPLEX, default=complex64),
    doc="real + i imag.",
    signature="real: T, imag: T -> out: Tout",
    shape=_whole_shape,
    emit="complex",
    gradient=_complex_gradient,
    samples=_complex_samples,
)
real = _part("Real", np.real, "The real part.", "real", lambda node, dy: make_complex(dy, _zero(dy)))
imag = _part("Imag", np.imag, "The imaginary part.", "imag", lambda node, dy: make_complex(_zero(dy), dy))


def _angle_gradient(node, dy):
    x, part = node.inputs[0], dy.dtype.base
    turned = make_complex(imag(x, Tout=part), real(x, Tout=part))
    return -make_complex(dy, _zero(dy)) * division.reciprocal(turned)


angle = _part("Angle", np.angle, "The angle in the complex plane, from -pi to pi.", "angle", _angle_gradient)


def _complex_abs_gradient(node, dy):
    y = node.outputs[0]
    return division.div_no_nan(
        make_complex(dy, array.zeros_like(dy)) * node.inputs[0], make_complex(y, array.zeros_like(y))
    )


complex_abs = _part(
    "ComplexAbs", np.abs, "The magnitude.", "abs", _complex_abs_gradient, signature="x: T -> y: Tout"
)


def _conj_samples(rng):
    yield Sample(rng.normal(size=(2, 3)) + 1j * rng.normal(size=(2, 3)))
    yield Sample(np.zeros((0, 3), np.complex64), note="empty")


def _conj_gradient(node, dy):
    return conj(dy)


conj = unary(
    "Conj",
    np.conj,
    T=Type((*COMPLEX, variant), default=complex64),
    doc="The complex conjugate.",
    signature="input: T -> output: T",
    emit="conj",
    gradient=_conj_gradient,
    samples=_conj_samples,
)
