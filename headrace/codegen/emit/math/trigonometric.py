"""sin, cos, tan, atan, asin, acos in double arithmetic; float callers convert.

x = n pi/2 + r.  Arguments too large for three parts of pi/2 go to the C library, lane by lane.
"""

from __future__ import annotations

from headrace.codegen.emit.math import tables
from headrace.codegen.emit.math.number import Num, each_lane, where_rare

_LIMIT = 500000.0
# pi/2 in three parts of 33 bits: n times the first two is exact for n below 2^20.
_HALF_PI = (1.5707963267341256, 6.077100506303966e-11, 2.0222662487959506e-21)
_MAGIC = 6755399441055744.0


def _quadrant(x: Num) -> tuple[Num, Num]:
    shifted = x.fma(0.6366197723675814, _MAGIC)
    n = shifted - _MAGIC
    r = x
    for part in _HALF_PI:
        r = n.fma(-part, r)
    return shifted.bits(), r


def _sin_cos(r: Num) -> tuple[Num, Num]:
    z = r * r
    sine = (r * z).fma(z.polynomial(tables.SIN_F64), r)
    cosine = (z * z).fma(z.polynomial(tables.COS_F64), z.fma(-0.5, 1.0))
    return sine, cosine


def _turned(x: Num, turn: int) -> Num:
    """sin(x + turn * pi/2)."""
    q, r = _quadrant(x)
    sine, cosine = _sin_cos(r)
    if turn:
        q = q + turn
    swapped = (q & 1).equals(1).pick(cosine, sine)
    return (swapped.bits() ^ ((q & 2) << 62)).from_bits()


def sin_double(x: Num) -> Num:
    return _or_library(x, x.equals(0.0).pick(x, _turned(x, 0)), "sin")


def cos_double(x: Num) -> Num:
    return _or_library(x, _turned(x, 1), "cos")


def tan_double(x: Num) -> Num:
    q, r = _quadrant(x)
    sine, cosine = _sin_cos(r)
    odd = (q & 1).equals(1)
    common = odd.pick(-cosine, sine) / odd.pick(sine, cosine)
    return _or_library(x, x.equals(0.0).pick(x, common), "tan")


def _or_library(x: Num, common: Num, name: str) -> Num:
    """The C library's result where x may be too large, and is."""
    if x.largest <= _LIMIT:
        return common
    library = lambda: Num(x.b, each_lane(x.b, name, x.value))
    return where_rare(x.abs() > _LIMIT, common, library)


def atan_double(x: Num) -> Num:
    """atan a = atan t + offset: t = a, (a-1)/(a+1) or -1/a, whichever is below tan(pi/8)."""
    a = x.abs()
    middle, large = a > 0.41421356237309503, a > 2.414213562373095
    above = large.pick(a.of(-1.0), middle.pick(a - 1.0, a))
    below = large.pick(a, middle.pick(a + 1.0, a.of(1.0)))
    offset = large.pick(a.of(1.5707963267948966), middle.pick(a.of(0.7853981633974483), 0.0))
    t = above / below
    z = t * t
    return (offset + (t * z).fma(z.polynomial(tables.ATAN_F64), t)).with_sign_of(x)


def asin_double(x: Num) -> Num:
    return atan_double(x / ((1.0 - x) * (x + 1.0)).sqrt())


def acos_double(x: Num) -> Num:
    half = atan_double(((1.0 - x) / (x + 1.0)).sqrt())
    return half + half
