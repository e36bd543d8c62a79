"""exp, log and what follows from them.  Float and double; a few ulp at most (tests hold the
bounds).

exp: x = n ln2 + r, e^x = 2^n e^r.   log: x = 2^e m, m in [sqrt(1/2), sqrt(2)), log x = e ln2 +
log m.
"""

from __future__ import annotations

from headrace.codegen.emit.llvm_text import constant
from headrace.codegen.emit.math import tables
from headrace.codegen.emit.math.number import Num

LOG2E, LN2 = 1.4426950408889634, 0.6931471805599453
# ln 2 in two parts; the first has so few bits that n times it is exact.
LN2_F32 = (0.693359375, -2.1219444005469057e-4)
LN2_F64 = (0.6931471803691238, 1.9082149292705877e-10)


# 1.5 * 2^p: added to a number, it rounds it to an integer in the low bits, and unlike a conversion is
# defined for NaN.
MAGIC_F32, MAGIC_F64 = 12582912.0, 6755399441055744.0


def exp(x: Num) -> Num:
    """2^n e^r."""
    bias, digits, magic = (1023, 52, MAGIC_F64) if x.is_double else (127, 23, MAGIC_F32)
    lowest, highest = (-708.0, 709.0) if x.is_double else (-87.0, 88.0)
    if lowest <= x.low and x.high <= highest:
        shifted, _, small = _reduce(x, magic + bias)
        power = (shifted.bits() << digits).from_bits()
        return small.fma(power, power)
    # In two steps, so that the result may be infinite or denormal.
    x = x.clamp(-746.0, 710.0) if x.is_double else x.clamp(-104.0, 89.0)
    shifted, _, small = _reduce(x, magic + 2 * bias)
    k = shifted.bits()
    half = k >> 1
    first, second = (half << digits).from_bits(), ((k - half) << digits).from_bits()
    return small.fma(first, first) * second


def _reduce(x: Num, magic: float, times: int = 1) -> tuple[Num, Num, Num]:
    """n + magic, n and e^r - 1, where times x = n ln2 + r."""
    shifted = x.fma(times * LOG2E, magic)
    n = shifted - magic
    y = x if times == 1 else (x * float(times)).within(times * x.low, times * x.high)
    r = _remainder(y, n)
    tail = r.polynomial(tables.EXP_F64 if x.is_double else tables.EXP_F32)
    return shifted, n, (r * r).fma(tail, r)


def _remainder(x: Num, n: Num) -> Num:
    """x - n ln2."""
    if x.largest <= 8.0 and not x.is_double:
        return n.fma(-LN2, x)  # so few times what the float lacks of ln 2 does no harm
    high, low = LN2_F64 if x.is_double else LN2_F32
    return n.fma(-low, n.fma(-high, x))


def _half_expm1(x: Num, times: int = 1) -> tuple[Num, Num, Num]:
    """n, e^r - 1 and (e^y - 1) / 2, where y = times x = n ln2 + r."""
    magic, digits = (MAGIC_F64 + 1022, 52) if x.is_double else (MAGIC_F32 + 126, 23)
    shifted, n, small = _reduce(x, magic, times)
    half_power = (shifted.bits() << digits).from_bits()
    return n, small, small.fma(half_power, half_power - 0.5)


def expm1(x: Num) -> Num:
    n, small, half = _half_expm1(x.clamp(-40.0, 710.0) if x.is_double else x.clamp(-20.0, 89.0))
    result = n.equals(0.0).pick(small, half + half)  # half of a tiny number would be zero
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
    if x.low > 0.0:
        return result
    result = (x < 0.0).pick(result.of(float("nan")), result)
    return x.equals(0.0).pick(result.of(float("-inf")), result)


def log(x: Num) -> Num:
    tiny, up, digits = (2.0**-1022, 2.0**54, 54) if x.is_double else (2.0**-126, 2.0**25, 25)
    if x.low >= tiny:
        exponent, mantissa = _split(x)
        return _log_edges(x, _log_of(mantissa - 1.0, exponent))
    is_tiny = x < tiny
    exponent, mantissa = _split(is_tiny.pick(x * up, x))
    exponent = is_tiny.pick(exponent - float(digits), exponent)
    return _log_edges(x, _log_of(mantissa - 1.0, exponent))


def log1p(x: Num) -> Num:
    u = (x + 1.0).within(min(x.low, 0.0) + 0.999999, float("inf"))
    exponent, mantissa = _split(u)
    near = exponent.equals(0.0)  # u in [sqrt(1/2), sqrt(2)): x itself is the exact mantissa - 1
    f = near.pick(x, mantissa - 1.0)
    # What u lost of x (or, where x is large, of the 1), relative to u.
    lost = (x > 1.0).pick(1.0 - (u - x), x - (u - 1.0))
    correction = near.pick(x.of(0.0), lost / u)
    result = _log_edges(u, _log_of(f, exponent, correction))
    return x.equals(0.0).pick(x, result)


def sigmoid(x: Num) -> Num:
    """Where exp(-x) is infinite the result is less than any normal number: it may be zero."""
    return 1.0 / (exp(-x) + 1.0)


def tanh(x: Num) -> Num:
    """(e^2a - 1) / (e^2a + 1) of the magnitude a, both halved."""
    a = (x if x.low > 0.0 else x.abs()).clamp(0.0, 20.0 if x.is_double else 10.0)
    _, _, half = _half_expm1(a, times=2)
    result = half / (half + 1.0)
    return result if x.low > 0.0 else result.with_sign_of(x)


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
