"""Functions of complex numbers in terms of real ones.

Special values follow C's Annex G where they matter: what is infinite stays so, and a zero times
something infinite is a zero.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from headrace.codegen.ir import kernel_ir as ir
from headrace.codegen.ir.complex_numbers import Complex, Element
from headrace.codegen.ir.kernel_ir import F64, I32, I64, Expr, Scalar
from headrace.codegen.lowering.lower import Emitter

_FAR = {"f32": 11.0, "f64": 22.0}  # from here on tanh is 1


def _fn(name: str, x: Expr) -> Expr:
    return ir.unary(name, x)


def _is_inf(x: Expr) -> Expr:
    return ir.unary("is_inf", x, ir.BOOL)


def _is_finite(x: Expr) -> Expr:
    return ir.unary("is_finite", x, ir.BOOL)


def _is_negative(x: Expr) -> Expr:
    """The sign bit: -0.0 has it."""
    return ir.make("bitcast", (x,), I64 if x.kind is F64 else I32) < 0


def _signed(size: Expr, sign: Expr) -> Expr:
    return ir.select(_is_negative(sign), -size, size)


def _scaled(size: Expr, x: Expr) -> Expr:
    """size * x, and 0 where x is 0 though the size be infinite."""
    return ir.select(x == 0, x, size * x)


def _extremes(z: Complex) -> tuple[Expr, Expr]:
    a, b = _fn("abs", z.re), _fn("abs", z.im)
    return ir.binary("max", a, b), ir.binary("min", a, b)


def magnitude(z: Complex) -> Expr:
    large, small = _extremes(z)
    ratio = small / large
    size = ir.select(large == 0, large, large * _fn("sqrt", 1.0 + ratio * ratio))
    return ir.select(_is_inf(z.re) | _is_inf(z.im), ir.const(math.inf, z.re.kind), size)


def angle(z: Complex) -> Expr:
    return ir.binary("atan2", z.im, z.re)


def _log(z: Complex) -> Complex:
    large, small = _extremes(z)
    ratio = small / large
    size = _fn("log", large)
    size = ir.select(large == 0, size, size + 0.5 * _fn("log1p", ratio * ratio))
    size = ir.select(_is_inf(z.re) | _is_inf(z.im), ir.const(math.inf, z.re.kind), size)
    return Complex(size, angle(z))


def _log1p(z: Complex) -> Complex:
    return _log(Complex(z.re + 1.0, z.im))


def _exp(z: Complex) -> Complex:
    size = _fn("exp", z.re)
    re, im = size * _fn("cos", z.im), _scaled(size, _fn("sin", z.im))
    vanishes = (size == 0) & ~_is_finite(z.im)
    explodes = _is_inf(z.re) & (z.re > 0) & ~_is_finite(z.im)
    re = ir.select(vanishes, size, ir.select(explodes, z.re, re))
    return Complex(re, ir.select(vanishes, size, im))


def _expm1(z: Complex) -> Complex:
    half = _fn("sin", z.im * 0.5)
    re = _fn("expm1", z.re) * _fn("cos", z.im) - 2.0 * half * half
    return Complex(re, _fn("exp", z.re) * _fn("sin", z.im))


def _sqrt(z: Complex) -> Complex:
    a, b = z.re, z.im
    size = _fn("abs", a)
    root = _fn("sqrt", 0.5 * size + 0.5 * magnitude(z))
    other = _fn("abs", b) / (2.0 * root)
    is_zero = (a == 0) & (b == 0)
    other = ir.select(is_zero, root, other)
    # The real part is infinite: the other root is 0, unless nothing is known of b.
    other = ir.select(_is_inf(a) & ~_is_inf(b), _fn("abs", b - b), other)
    on_right = ~(a < 0)
    re, im = ir.select(on_right, root, other), _signed(ir.select(on_right, other, root), b)
    above = ir.const(math.inf, a.kind)
    return Complex(ir.select(_is_inf(b), above, re), ir.select(_is_inf(b), b, im))


def _rsqrt(z: Complex) -> Complex:
    return 1.0 / _sqrt(z)


def _far_away(z: Complex, re: Expr) -> Expr:
    """The real part of sinh or cosh: infinite where that of z is and nothing is known of the angle."""
    return ir.select(_is_inf(z.re) & ~_is_finite(z.im), ir.const(math.inf, z.re.kind), re)


def _sinh(z: Complex) -> Complex:
    re = _scaled(_fn("cos", z.im), _fn("sinh", z.re))
    return Complex(_far_away(z, re), _scaled(_fn("cosh", z.re), _fn("sin", z.im)))


def _cosh(z: Complex) -> Complex:
    cross = _scaled(_fn("sinh", z.re), _fn("sin", z.im))
    re = _fn("cosh", z.re) * _fn("cos", z.im)
    return Complex(_far_away(z, re), ir.select(z.re == 0, z.re * 0, cross))


def _tanh(z: Complex) -> Complex:
    """Kahan's: by the tangent of the imaginary part, and by what is left of it far from 0."""
    tangent, s = _fn("tan", z.im), _fn("sinh", z.re)
    beta = 1.0 + tangent * tangent
    below = 1.0 + beta * s * s
    slope = beta * _fn("sqrt", 1.0 + s * s) * s / below
    near = Complex(ir.select(z.re == 0, z.re, slope), ir.select(z.im == 0, z.im, tangent / below))
    size = _fn("abs", z.re)
    rest = 4.0 * _fn("sin", z.im) * _fn("cos", z.im) * _fn("exp", -2.0 * size)
    is_far = size > _FAR[z.re.kind.name]
    one = _signed(ir.const(1, z.re.kind), z.re)
    rest = ir.select(_is_inf(size), ir.const(0, size.kind), rest)
    return Complex(ir.select(is_far, one, near.re), ir.select(is_far, rest, near.im))


def _turned(function: Callable[[Complex], Complex]) -> Callable[[Complex], Complex]:
    """-i f(iz): sin from sinh, tan from tanh."""

    def turned(z: Complex) -> Complex:
        found = function(Complex(-z.im, z.re))
        return Complex(found.im, -found.re)

    return turned


def _cos(z: Complex) -> Complex:
    return _cosh(Complex(-z.im, z.re))


def _sigmoid(z: Complex) -> Complex:
    return 1.0 / (1.0 + _exp(-z))


def _sign(z: Complex) -> Complex:
    size = magnitude(z)
    none, unit = size == 0, z / z.of(size)
    return Complex(ir.select(none, 0.0, unit.re), ir.select(none, 0.0, unit.im))


def power(x: Complex, y: Complex) -> Complex:
    """exp(y log x); anything to the 0 is 1, and 0 to a positive power 0."""
    found = _exp(y * _log(x))
    kind = x.re.kind
    nothing, nan = ir.const(0, kind), ir.const(math.nan, kind)
    from_zero = (x.re == 0) & (x.im == 0)
    at_zero = ir.select(y.re > 0, nothing, nan)
    one = (y.re == 0) & (y.im == 0)
    re, im = ir.select(from_zero, at_zero, found.re), ir.select(from_zero, at_zero, found.im)
    return Complex(ir.select(one, 1.0, re), ir.select(one, 0.0, im))


_FUNCTIONS: dict[str, Callable[[Complex], Element]] = {
    "exp": _exp, "expm1": _expm1, "log": _log, "log1p": _log1p, "sqrt": _sqrt, "rsqrt": _rsqrt,
    "sinh": _sinh, "cosh": _cosh, "tanh": _tanh, "sin": _turned(_sinh), "tan": _turned(_tanh),
    "cos": _cos, "sigmoid": _sigmoid, "sign": _sign, "abs": magnitude, "angle": angle,
    "real": lambda z: z.re, "imag": lambda z: z.im, "conj": lambda z: Complex(z.re, -z.im),
}  # fmt: skip


class Functions:
    """The functions that rules know, for numbers of both kinds."""

    real_emitter: Emitter

    def pow(self, x: Complex | Scalar, y: Complex | Scalar) -> Element:
        if isinstance(x, Complex):
            return power(x, x.of(y))
        return power(y.of(x), y) if isinstance(y, Complex) else self.real_emitter.pow(x, y)


def _method(name: str, function: Callable[[Complex], Element]) -> Callable[[Functions, Element], Element]:
    def method(self: Functions, x: Element) -> Element:
        if isinstance(x, Complex):
            return function(x)
        found: Expr = getattr(self.real_emitter, name)(x)
        return found

    method.__name__ = name
    return method


for _name, _function in _FUNCTIONS.items():
    setattr(Functions, _name, _method(_name, _function))
