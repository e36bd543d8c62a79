"""Bounds of float expressions: what functions may leave out.

Sound, not tight: every operation widens what it makes by more than it can err.  NaN is always
possible besides.  Nothing is assumed of fed or computed arrays, variables and sums: bounds come from
functions, and from constants of the plan.  A function carries the bounds of its argument in the
kernel's text, widened to powers of two, so that few texts differ.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable

from headrace.codegen.ir.kernel_ir import BOOL, F32, Array, Expr, constant_value
from headrace.codegen.ir.traverse import walk

Bounds = tuple[float, float]
ANYTHING: Bounds = (-math.inf, math.inf)
_SLACK = {16: 2.0**-5, 32: 2.0**-19, 64: 2.0**-48}  # relative, by the size of the kind
_LARGEST = {16: 6e4, 32: 3e38, 64: 1e308}  # beyond it, a result may have become infinite
_TINY = 2.0**-120
_FEW = 64  # elements of a constant that is looked at
BOUNDED = frozenset(
    "exp expm1 log log1p sigmoid tanh erf erfc sin cos tan atan asin acos sinh cosh asinh acosh atanh".split()
)


class FloatRanges:
    """The bounds of one kernel's expressions."""

    def __init__(self) -> None:
        self.known: dict[Expr, Bounds] = {}

    def of(self, x: Expr) -> Bounds:
        if x not in self.known:
            for part in walk(x):
                if part not in self.known:
                    self.known[part] = self.one(part)
        return self.known[x]

    def one(self, x: Expr) -> Bounds:
        """Bounds of a value from those of its arguments, widened by the rounding of its kind."""
        if not x.kind.is_float:
            return _integers(x)
        if x.op == "const":
            return _widened((constant_value(x), constant_value(x)), x)
        if x.op == "bitcast":
            return _bits(x)
        if x.op == "load":
            return _widened(_constant(x.extra), x)
        rule = _RULES.get(x.op)
        if rule is None:
            return ANYTHING
        if x.op == "mul" and x.args[0] is x.args[1]:
            rule = _square
        args = [self.known[a] for a in x.args]
        return _widened(rule(*args), x)


def _widened(found: Bounds, x: Expr) -> Bounds:
    """Made safe from rounding; infinite where it may be."""
    low, high = found
    if math.isnan(low) or math.isnan(high):
        return ANYTHING
    slack, largest = _SLACK[x.kind.bits], _LARGEST[x.kind.bits]
    low, high = low - abs(low) * slack - _TINY, high + abs(high) * slack + _TINY
    return (low if low > -largest else -math.inf, high if high < largest else math.inf)


def coarse(bounds: Bounds) -> Bounds | None:
    """The next powers of two outside; None if nothing is known."""
    low, high = bounds
    found = (-_power(-low, up=low < 0), _power(high, up=high > 0))
    return None if found == ANYTHING else found


def _power(x: float, up: bool) -> float:
    """x in magnitude a power of two: the next one above, or below."""
    if not math.isfinite(x) or x == 0.0:
        return x
    mantissa, exponent = math.frexp(abs(x))  # in [0.5, 1)
    exponent -= 0 if up and mantissa > 0.5 else 1
    return math.copysign(2.0 ** max(exponent, -20 if up else -100), x)


def _constant(array: Array) -> Bounds:
    """Of an array whose value is part of the plan."""
    value = array.value
    if value is None or not 0 < value.size <= _FEW:
        return ANYTHING
    return (float(value.min()), float(value.max()))


def _integers(x: Expr) -> Bounds:
    """What a float made of it may be; wide kinds are left alone."""
    if x.kind is BOOL:
        return (0.0, 1.0)
    if x.kind.family not in "iu" or x.kind.bits > 16:
        return ANYTHING
    low = -(1 << (x.kind.bits - 1)) if x.kind.is_signed else 0
    return (float(low), float(low + (1 << x.kind.bits) - 1))


def _bits(x: Expr) -> Bounds:
    """A float put together as (anything & mask) | rest, without a sign: floats and their bits have
    one order."""
    inner = x.args[0]
    if x.kind is F32 and inner.op == "or" and inner.args[1].op == "const":
        masked, rest = inner.args[0], inner.args[1].extra
        if masked.op == "and" and masked.args[1].op == "const":
            top = masked.args[1].extra | rest
            if 0 <= rest <= top < 0x7F800000:
                low, high = struct.unpack("<2f", struct.pack("<2I", rest, top))
                return (low, high)
    return ANYTHING


# -- rules ---------------------------------------------------------------------------------------
def _product(a: Bounds, b: Bounds) -> Bounds:
    ends = [x * y for x in a for y in b]
    if any(map(math.isnan, ends)):
        return ANYTHING
    return (min(ends), max(ends))


def _quotient(a: Bounds, b: Bounds) -> Bounds:
    if b[0] <= 0 <= b[1]:
        return ANYTHING
    return _product(a, (1 / b[1], 1 / b[0]))


def _square(a: Bounds, _: Bounds) -> Bounds:
    return (0.0, max(a[0] * a[0], a[1] * a[1]))


def _absolute(a: Bounds) -> Bounds:
    return (max(a[0], -a[1], 0.0), max(-a[0], a[1]))


def _rising(function: Callable[[float], float], low: float, high: float) -> Callable[..., Bounds]:
    """A function that never falls, where it can be computed; results are in [low, high]."""

    def bounds(a: Bounds) -> Bounds:
        return (max(_at(function, a[0], low), low), min(_at(function, a[1], high), high))

    return bounds


def _at(function: Callable[[float], float], x: float, otherwise: float) -> float:
    try:
        return function(x) if math.isfinite(x) else otherwise
    except (ValueError, OverflowError):
        return otherwise


def _hull(_: Bounds, a: Bounds, b: Bounds) -> Bounds:
    return (min(a[0], b[0]), max(a[1], b[1]))


def _limited(low: float, high: float) -> Callable[..., Bounds]:
    return lambda *_: (low, high)


def _erfc(a: Bounds) -> Bounds:
    return (_at(math.erfc, a[1], 0.0), _at(math.erfc, a[0], 2.0))


_INF = math.inf
_RULES: dict[str, Callable[..., Bounds]] = {
    "add": lambda a, b: (a[0] + b[0], a[1] + b[1]),
    "sub": lambda a, b: (a[0] - b[1], a[1] - b[0]),
    "mul": _product,
    "div": _quotient,
    "neg": lambda a: (-a[1], -a[0]),
    "abs": _absolute,
    "max": lambda a, b: (max(a[0], b[0]), max(a[1], b[1])),
    "min": lambda a, b: (min(a[0], b[0]), min(a[1], b[1])),
    "select": _hull,
    "cast": lambda a: a,
    "sign": _limited(-1.0, 1.0),
    "sin": _limited(-1.0, 1.0),
    "cos": _limited(-1.0, 1.0),
    "sqrt": _rising(math.sqrt, 0.0, _INF),
    "exp": _rising(math.exp, 0.0, _INF),
    "expm1": _rising(math.expm1, -1.0, _INF),
    "log": _rising(math.log, -_INF, _INF),
    "log1p": _rising(math.log1p, -_INF, _INF),
    "tanh": _rising(math.tanh, -1.0, 1.0),
    "sigmoid": _rising(lambda x: 1 / (1 + math.exp(-x)), 0.0, 1.0),
    "erf": _rising(math.erf, -1.0, 1.0),
    "erfc": _erfc,
    "atan": _rising(math.atan, -1.6, 1.6),
}
