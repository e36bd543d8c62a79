"""exp, log and what follows from them.  Float and double; a few ulp at most (tests hold the
bounds).

exp: x = n ln2 + r, e^x = 2^n e^r.   log: x = 2^e m, m in [sqrt(1/2), sqrt(2)), log x = e ln2 +
log m.
"""

from __future__ import annotations

from headrace.codegen.llvm_text import constant
from headrace.codegen.math import tables
from headrace.codegen.math.number import Num

LOG2E = 1.4426950408889634
# ln 2 in two parts; the first has so few bits that n times it is exact.
LN2_F32 = (0.693359375, -2.1219444005469057e-4)
LN2_F64 = (0.6931471803691238, 1.9082149292705877e-10)


def _reduce(x: Num) -> tuple[Num, Num, Num]:
    """n, the same as an integer, and r, with x = n ln2 + r.  Adding 1.5 * 2^p rounds to an integer
    in the low bits; unlike a conversion it is defined for NaN."""
    magic = 6755399441055744.0 if x.is_double else 12582912.0
    high, low = LN2_F64 if x.is_double else LN2_F32
    shifted = x.fma(LOG2E, magic)
    n = shifted - magic
    r = n.fma(-low, n.fma(-high, x))
    return n, shifted.bits() - x.of(magic).bits(), r


def _power_of_two(k: Num, double: bool) -> Num:
    return ((k + (1023 if double else 127)) << (52 if double else 23)).from_bits()


def _scale(x: Num, n: Num, k: Num) -> Num:
    """x * 2^n.  In two steps, so that the result may be infinite or denormal, where no instruction
    does it."""
    scaled = x.times_power_of_two(n)
    if scaled is not None:
        return scaled
    half = k >> 1
    return x * _power_of_two(half, x.is_double) * _power_of_two(k - half, x.is_double)


def exp(x: Num) -> Num:
    x = x.clamp(-746.0, 710.0) if x.is_double else x.clamp(-104.0, 89.0)
    n, k, r = _reduce(x)
    tail = r.polynomial(tables.EXP_F64 if x.is_double else tables.EXP_F32)
    return _scale((r * r).fma(tail, r) + 1.0, n, k)


def _expm1(x: Num) -> tuple[Num, Num, Num]:
    """expm1 of the remainder, the result for arguments that are not too small, and n."""
    _, k, r = _reduce(x)
    tail = r.polynomial(tables.EXP_F64 if x.is_double else tables.EXP_F32)
    small = (r * r).fma(tail, r)
    scale = _power_of_two(k - 1, x.is_double)
    half = small.fma(scale, scale - 0.5)
    return small, half + half, k


def expm1(x: Num) -> Num:
    small, result, k = _expm1(x.clamp(-40.0, 710.0) if x.is_double else x.clamp(-20.0, 89.0))
    result = k.equals(0).pick(small, result)  # half of a tiny number would be zero
    return x.equals(0.0).pick(x, result)  # keeps -0.0


def _split(x: Num) -> tuple[Num, Num]:
    """The exponent as a float and the mantissa in [sqrt(1/2), sqrt(2)); x positive and normal."""
    shift, root = (52, 0x3FE6A09E667F3BCD) if x.is_double else (23, 0x3F3504F3)
    above = x.bits() - root
    mantissa = (above & ((1 << shift) - 1)) + root
    return (above >> shift).from_integer(x.value.element), mantissa.from_bits()


def _log_of(f: Num, exponent: Num, correction: Num | None = None) -> Num:
    """exponent * ln2 + log(1 + f) (+ a small correction)."""
    high, low = LN2_F64 if f.is_double else LN2_F32
    tail = f.polynomial(tables.LOG_F64 if f.is_double else tables.LOG_F32)
    square = f * f
    small = square.fma(f * tail, exponent * low)
    if correction is not None:
        small = small + correction
    return exponent.fma(high, f + square.fma(-0.5, small))


def _log_edges(x: Num, result: Num) -> Num:
    """Infinity and NaN stay, 0 gives -infinity, negatives give NaN.  (x is the argument of log.)"""
    result = (x < float("inf")).pick(result, x)
    result = (x < 0.0).pick(result.of(float("nan")), result)
    return x.equals(0.0).pick(result.of(float("-inf")), result)


def log(x: Num) -> Num:
    tiny, up, digits = (2.0**-1022, 2.0**54, 54) if x.is_double else (2.0**-126, 2.0**25, 25)
    is_tiny = x < tiny
    exponent, mantissa = _split(is_tiny.pick(x * up, x))
    exponent = is_tiny.pick(exponent - float(digits), exponent)
    return _log_edges(x, _log_of(mantissa - 1.0, exponent))


def log1p(x: Num) -> Num:
    u = x + 1.0
    exponent, mantissa = _split(u)
    near = exponent.equals(0.0)  # u in [sqrt(1/2), sqrt(2)): x itself is the exact mantissa - 1
    f = near.pick(x, mantissa - 1.0)
    # What u lost of x (or, where x is large, of the 1), relative to u.
    lost = (x > 1.0).pick(1.0 - (u - x), x - (u - 1.0))
    correction = near.pick(x.of(0.0), lost / u)
    result = _log_edges(u, _log_of(f, exponent, correction))
    return x.equals(0.0).pick(x, result)


def sigmoid(x: Num) -> Num:
    """exp(-|x|) never overflows; both halves keep their relative accuracy."""
    z = exp(-x.abs())
    return (x < 0.0).pick(z, x.of(1.0)) / (z + 1.0)


def tanh(x: Num) -> Num:
    a, limit = x.abs(), 20.0 if x.is_double else 10.0
    a = (a > limit).pick(a.of(limit), a)
    _, t, _ = _expm1(a + a)
    return (t / (t + 2.0)).with_sign_of(x)


def pow_double(x: Num, y: Num) -> Num:
    """IEEE pow for doubles that hold floats: good to about 1e-13, which rounds well to a float."""
    infinity = float("inf")
    power = exp(y * log(x.abs()))
    power = x.abs().equals(1.0).pick(power.of(1.0), power)
    whole = y.floor().equals(y)
    half = y * 0.5
    odd = Num(x.b, x.b.op("xor", half.floor().equals(half).value, constant(1, whole.type)))
    is_odd = Num(x.b, x.b.op("and", whole.value, odd.value))
    power = is_odd.pick(power.with_sign_of(x), power)
    # A negative finite number has no power that is not whole.
    bare = Num(x.b, x.b.op("and", (x < 0.0).value, (x > -infinity).value))
    unwhole = Num(x.b, x.b.op("xor", whole.value, constant(1, whole.type)))
    finite_y = y.abs() < infinity
    bad = Num(x.b, x.b.op("and", x.b.op("and", bare.value, unwhole.value), finite_y.value))
    power = bad.pick(power.of(float("nan")), power)
    # NaN in, NaN out, but for x = 1 and y = 0.
    nan = Num(x.b, x.b.compare("fcmp uno", x.value, y.value))
    power = nan.pick(x + y, power)
    return y.equals(0.0).pick(power.of(1.0), x.equals(1.0).pick(power.of(1.0), power))


def sinh_double(x: Num) -> Num:
    t = expm1(x.abs())
    both = (t < float("inf")).pick(t + t / (t + 1.0), t)
    return (both * 0.5).with_sign_of(x)


def cosh_double(x: Num) -> Num:
    t = exp(x.abs())
    return t * 0.5 + 0.5 / t


def asinh_double(x: Num) -> Num:
    a = x.abs()
    square = a * a
    above = a + square / ((square + 1.0).sqrt() + 1.0)
    return log1p((square < float("inf")).pick(above, a)).with_sign_of(x)


def acosh_double(x: Num) -> Num:
    above = x - 1.0
    result = log1p(above + (above * (x + 1.0)).sqrt())
    return (x < 1.0).pick(x.of(float("nan")), result)


def atanh_double(x: Num) -> Num:
    a = x.abs()
    return (log1p((a + a) / (1.0 - a)) * 0.5).with_sign_of(x)
