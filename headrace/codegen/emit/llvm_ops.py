"""One scalar operation -> LLVM instructions, on a scalar or a vector.

Kinds in registers: bool is i1; f16 and bf16 are kept as float, rounded after every operation, so
that a fused chain gives the numbers of the unfused one.  No operation traps, and none is
undefined: division by zero, shifts by too much and conversions of NaN have fixed results.
"""

from __future__ import annotations

from collections.abc import Callable

from headrace.codegen.emit.llvm_text import Builder, Value, constant, vector
from headrace.codegen.emit.math import error, exponential, trigonometric
from headrace.codegen.emit.math.number import ANYTHING, Bounds, Num, each_lane
from headrace.codegen.ir.kernel_ir import BF16, BOOL, F16, F32, F64, I32, I64, INDEX, Kind

_MEMORY = {F16: "half", BF16: "i16", F32: "float", F64: "double", BOOL: "i8", INDEX: "i64"}
_REGISTER = {F16: "float", BF16: "float", BOOL: "i1"}


def memory_type(kind: Kind) -> str:
    return _MEMORY.get(kind) or f"i{kind.bits}"


def register_type(kind: Kind, lanes: int = 1) -> str:
    return vector(_REGISTER.get(kind) or memory_type(kind), lanes)


def number(value: float | int | bool, kind: Kind, lanes: int = 1) -> Value:
    if kind.family == "u" and value >= 1 << (kind.bits - 1):
        value = int(value) - (1 << kind.bits)  # LLVM's integers have no sign
    return constant(value, register_type(kind, lanes))


# -- memory <-> register -------------------------------------------------------------------------
def from_memory(b: Builder, x: Value, kind: Kind) -> Value:
    if kind is F16:
        return b.convert("fpext", x, "float")
    if kind is BF16:
        wide = b.convert("zext", x, "i32")
        return b.convert("bitcast", b.op("shl", wide, constant(16, wide.type)), "float")
    if kind is BOOL:
        return b.compare("icmp ne", x, constant(0, x.type))
    return x


def to_memory(b: Builder, x: Value, kind: Kind) -> Value:
    if kind is F16:
        return b.convert("fptrunc", x, "half")
    if kind is BF16:
        bits = b.convert("bitcast", x, "i32")
        return b.convert("trunc", b.op("lshr", bits, constant(16, bits.type)), "i16")
    if kind is BOOL:
        return b.convert("zext", x, "i8")
    return x


def rounded(b: Builder, x: Value, kind: Kind) -> Value:
    """A float rounded to what the kind can hold."""
    if kind is F16:
        return b.convert("fpext", b.convert("fptrunc", x, "half"), "float")
    if kind is BF16:
        return _to_bfloat(b, x)
    return x


def _to_bfloat(b: Builder, x: Value) -> Value:
    """Nearest even in the upper 16 bits; NaN stays NaN."""
    bits = Num(b, b.convert("bitcast", x, "i32"))
    low = Num(b, b.op("lshr", bits.value, constant(16, bits.type))) & 1
    nearest = (bits + low + 0x7FFF) & -0x10000
    quiet = (bits | 0x400000) & -0x10000
    is_nan = Num(b, b.compare("fcmp uno", x, x))
    return is_nan.pick(quiet, nearest).from_bits().value


# -- arithmetic ----------------------------------------------------------------------------------
def _arithmetic(code: str) -> Callable[..., Value]:
    def emit(b: Builder, kind: Kind, x: Value, y: Value) -> Value:
        if kind.is_float:
            return rounded(b, b.op("f" + code, x, y), kind)
        return b.op(code, x, y)

    return emit


def _logic(code: str) -> Callable[..., Value]:
    return lambda b, kind, x, y: b.op(code, x, y)


def _neg(b: Builder, kind: Kind, x: Value) -> Value:
    if kind.is_float:
        return b.emit(f"fneg {x.type} {x.text}", x.type)
    return b.op("sub", constant(0, x.type), x)


def _not(b: Builder, kind: Kind, x: Value) -> Value:
    return b.op("xor", x, constant(1 if kind is BOOL else -1, x.type))


def _abs(b: Builder, kind: Kind, x: Value) -> Value:
    if kind.is_float:
        return b.intrinsic("fabs", x)
    if not kind.is_signed:
        return x
    negative = b.compare("icmp slt", x, constant(0, x.type))
    return b.select(negative, _neg(b, kind, x), x)


def _sign(b: Builder, kind: Kind, x: Value) -> Value:
    zero, one = constant(0, x.type), constant(1, x.type)
    if not kind.is_float:
        above = b.select(_compare(b, "gt", kind, x, zero), one, zero)
        if not kind.is_signed:
            return above
        return b.select(b.compare("icmp slt", x, zero), constant(-1, x.type), above)
    # What is neither above nor below is 0: NaN, as in TF 1.15, and a denormal.
    below = b.select(b.compare("fcmp olt", x, zero), constant(-1.0, x.type), zero)
    return b.select(b.compare("fcmp ogt", x, zero), constant(1.0, x.type), below)


_SIGNED = {"lt": "slt", "le": "sle", "gt": "sgt", "ge": "sge", "eq": "eq", "ne": "ne"}
_UNSIGNED = {"lt": "ult", "le": "ule", "gt": "ugt", "ge": "uge", "eq": "eq", "ne": "ne"}


def _compare(b: Builder, op: str, kind: Kind, x: Value, y: Value) -> Value:
    if kind.is_float:
        return b.compare("fcmp une" if op == "ne" else f"fcmp o{op}", x, y)
    return b.compare("icmp " + (_SIGNED if kind.is_signed else _UNSIGNED)[op], x, y)


def _comparison(op: str) -> Callable[..., Value]:
    return lambda b, kind, x, y: _compare(b, op, kind, x, y)


def _extreme(op: str) -> Callable[..., Value]:
    """max or min; NaN if either is NaN."""

    def emit(b: Builder, kind: Kind, x: Value, y: Value) -> Value:
        better = b.select(_compare(b, op, kind, x, y), x, y)
        if not kind.is_float:
            return better
        return b.select(b.compare("fcmp uno", x, x), x, better)

    return emit


def _safe_divisor(b: Builder, kind: Kind, x: Value, y: Value) -> tuple[Value, Value]:
    """A divisor that cannot trap, and where it differs from y because y is 0."""
    one, zero = constant(1, y.type), constant(0, y.type)
    is_zero = b.compare("icmp eq", y, zero)
    bad = is_zero
    if kind.is_signed:
        lowest = constant(-(1 << (kind.bits - 1)), x.type)
        minus = b.compare("icmp eq", y, constant(-1, y.type))
        overflow = b.op("and", b.compare("icmp eq", x, lowest), minus)
        bad = b.op("or", is_zero, overflow)  # lowest / 1 is the wrapped lowest / -1
    return b.select(bad, one, y), is_zero


def _truncate_div(b: Builder, kind: Kind, x: Value, y: Value) -> Value:
    safe, is_zero = _safe_divisor(b, kind, x, y)
    quotient = b.op("sdiv" if kind.is_signed else "udiv", x, safe)
    return b.select(is_zero, constant(0, x.type), quotient)


def _truncate_mod(b: Builder, kind: Kind, x: Value, y: Value) -> Value:
    if kind.is_float:
        return rounded(b, each_lane(b, "fmod" if kind is F64 else "fmodf", x, y), kind)
    safe, is_zero = _safe_divisor(b, kind, x, y)
    remainder = b.op("srem" if kind.is_signed else "urem", x, safe)
    return b.select(is_zero, constant(0, x.type), remainder)


def _floor_div(b: Builder, kind: Kind, x: Value, y: Value) -> Value:
    if kind.is_float:
        return b.intrinsic("floor", rounded(b, b.op("fdiv", x, y), kind))
    quotient = _truncate_div(b, kind, x, y)
    if not kind.is_signed:
        return quotient
    rest = b.op("sub", x, b.op("mul", quotient, y))
    return b.select(_crosses(b, kind, rest, y), b.op("sub", quotient, constant(1, x.type)), quotient)


def _floor_mod(b: Builder, kind: Kind, x: Value, y: Value) -> Value:
    rest = _truncate_mod(b, kind, x, y)
    if not (kind.is_signed or kind.is_float):
        return rest
    moved = _arithmetic("add")(b, kind, rest, y)
    return b.select(_crosses(b, kind, rest, y), moved, rest)


def _crosses(b: Builder, kind: Kind, rest: Value, y: Value) -> Value:
    """The remainder is not 0 and its sign differs from the divisor's (false for divisor 0)."""
    zero = constant(0, y.type)
    negative, y_negative = _compare(b, "lt", kind, rest, zero), _compare(b, "lt", kind, y, zero)
    differ = b.op("xor", negative, y_negative)
    there = b.op("and", _compare(b, "ne", kind, rest, zero), _compare(b, "ne", kind, y, zero))
    return b.op("and", differ, there)


def _shift(left: bool) -> Callable[..., Value]:
    """The count is limited to [0, bits - 1], as in TF."""

    def emit(b: Builder, kind: Kind, x: Value, y: Value) -> Value:
        top = constant(kind.bits - 1, y.type)
        if kind.is_signed:
            negative = b.compare("icmp slt", y, constant(0, y.type))
            y = b.select(negative, constant(0, y.type), y)
        count = b.select(b.compare("icmp ult", y, top), y, top)
        return b.op("shl" if left else "ashr" if kind.is_signed else "lshr", x, count)

    return emit


def _rounding(name: str) -> Callable[..., Value]:
    def emit(b: Builder, kind: Kind, x: Value) -> Value:
        return b.intrinsic(name, x) if kind.is_float else x

    return emit


# -- functions -----------------------------------------------------------------------------------
def _own(function: Callable[[Num], Num]) -> Callable[..., Value]:
    """Written for float and double alike."""

    def emit(b: Builder, kind: Kind, x: Value, bounds: Bounds = ANYTHING) -> Value:
        return rounded(b, function(Num(b, x, bounds)).value, kind)

    return emit


def _through_double(function: Callable[[Num], Num], library: str | None) -> Callable[..., Value]:
    """Floats in double arithmetic; doubles there too, or, if named, by the C library."""

    def emit(b: Builder, kind: Kind, x: Value, bounds: Bounds = ANYTHING) -> Value:
        if kind is F64:
            return each_lane(b, library, x) if library else function(Num(b, x, bounds)).value
        return rounded(b, function(Num(b, x, bounds).to_double()).to_float().value, kind)

    return emit


def _library(float_name: str, double_name: str) -> Callable[..., Value]:
    def emit(b: Builder, kind: Kind, *args: Value) -> Value:
        return rounded(b, each_lane(b, double_name if kind is F64 else float_name, *args), kind)

    return emit


def _pow(b: Builder, kind: Kind, x: Value, y: Value) -> Value:
    if kind is F64:
        return each_lane(b, "pow", x, y)
    power = exponential.pow_double(Num(b, x).to_double(), Num(b, y).to_double())
    return rounded(b, power.to_float().value, kind)


def _erf(b: Builder, kind: Kind, x: Value, bounds: Bounds = ANYTHING) -> Value:
    if kind is F64:
        return each_lane(b, "erf", x)
    return rounded(b, error.erf_float(Num(b, x, bounds)).value, kind)


def _rsqrt(b: Builder, kind: Kind, x: Value) -> Value:
    root = rounded(b, b.intrinsic("sqrt", x), kind)
    return rounded(b, b.op("fdiv", constant(1.0, x.type), root), kind)


def _is_nan(b: Builder, kind: Kind, x: Value) -> Value:
    if not kind.is_float:
        return constant(0, vector("i1", x.lanes))
    return b.compare("fcmp uno", x, x)


def _is_inf(b: Builder, kind: Kind, x: Value) -> Value:
    return b.compare("fcmp oeq", b.intrinsic("fabs", x), constant(float("inf"), x.type))


def _is_finite(b: Builder, kind: Kind, x: Value) -> Value:
    return b.compare("fcmp olt", b.intrinsic("fabs", x), constant(float("inf"), x.type))


# -- conversion ----------------------------------------------------------------------------------
def cast(b: Builder, source: Kind, target: Kind, x: Value) -> Value:
    """Convert as NumPy's astype does; integers of one width share a register type."""
    if source is target:
        return x
    if target is BOOL:
        return _compare(b, "ne", source, x, constant(0, x.type))
    if source is BOOL:
        if target.is_float:
            return b.convert("uitofp", x, register_type(target))
        return b.convert("zext", x, register_type(target))
    if source.is_float and target.is_float:
        return _between_floats(b, target, x)
    if target.is_float:
        code = "sitofp" if source.is_signed else "uitofp"
        return rounded(b, b.convert(code, x, register_type(target)), target)
    if source.is_float:
        return _float_to_integer(b, target, x)
    if source.bits == target.bits:
        return x
    code = "trunc" if source.bits > target.bits else "sext" if source.is_signed else "zext"
    return b.convert(code, x, register_type(target))


def _between_floats(b: Builder, target: Kind, x: Value) -> Value:
    if target is F64:
        return b.convert("fpext", x, "double")
    return rounded(b, b.convert("fptrunc", x, "float") if x.element == "double" else x, target)


def _float_to_integer(b: Builder, target: Kind, x: Value) -> Value:
    """Truncates; NaN and what does not fit give the lowest signed number, as the processor does.
    Small types convert through 32 bits and keep the low ones; unsigned 32 through 64."""
    if target.bits == 64 and target.family == "u":
        return _float_to_u64(b, x)
    wide = I64 if target.bits == 64 or (target.bits == 32 and target.family == "u") else I32
    return b.convert("trunc", _to_signed(b, x, wide), f"i{target.bits}")


def _to_signed(b: Builder, x: Value, kind: Kind) -> Value:
    limit = float(1 << (kind.bits - 1))
    # A double has room below -2^31 that still truncates to it; otherwise the bound itself is next.
    code, low = ("ogt", -limit - 1) if x.element == "double" and kind is I32 else ("oge", -limit)
    above = b.compare("fcmp " + code, x, constant(low, x.type))
    fits = b.op("and", b.compare("fcmp olt", x, constant(limit, x.type)), above)
    inside = b.select(fits, x, constant(0.0, x.type))
    converted = b.convert("fptosi", inside, f"i{kind.bits}")
    return b.select(fits, converted, constant(-(1 << (kind.bits - 1)), converted.type))


def _float_to_u64(b: Builder, x: Value) -> Value:
    half = constant(float(1 << 63), x.type)
    large = b.compare("fcmp oge", x, half)
    low = b.select(large, b.op("fsub", x, half), x)
    signed = _to_signed(b, low, I64)
    top = constant(-(1 << 63), signed.type)
    return b.select(large, b.op("xor", signed, top), signed)


def bitcast(b: Builder, source: Kind, target: Kind, x: Value) -> Value:
    """The same bits, both kinds of one size."""
    raw = to_memory(b, x, source)
    return from_memory(b, b.convert("bitcast", raw, memory_type(target)), target)


OPS: dict[str, Callable[..., Value]] = {
    "add": _arithmetic("add"), "sub": _arithmetic("sub"), "mul": _arithmetic("mul"),
    "div": lambda b, kind, x, y: rounded(b, b.op("fdiv", x, y), kind),
    "and": _logic("and"), "or": _logic("or"), "xor": _logic("xor"), "not": _not,
    "shl": _shift(True), "shr": _shift(False),
    "floordiv": _floor_div, "floormod": _floor_mod,
    "truncdiv": _truncate_div, "truncmod": _truncate_mod,
    "max": _extreme("gt"), "min": _extreme("lt"),
    "neg": _neg, "abs": _abs, "sign": _sign,
    "floor": _rounding("floor"), "ceil": _rounding("ceil"), "trunc": _rounding("trunc"),
    "rint": _rounding("rint"),
    "sqrt": lambda b, kind, x: rounded(b, b.intrinsic("sqrt", x), kind),
    "rsqrt": _rsqrt,
    "exp": _own(exponential.exp), "expm1": _own(exponential.expm1),
    "log": _own(exponential.log), "log1p": _own(exponential.log1p),
    "sigmoid": _own(exponential.sigmoid), "tanh": _own(exponential.tanh),
    "pow": _pow, "erf": _erf, "erfc": _through_double(error.erfc_double, "erfc"),
    "sin": _through_double(trigonometric.sin_double, None),
    "cos": _through_double(trigonometric.cos_double, None),
    "tan": _through_double(trigonometric.tan_double, None),
    "atan": _through_double(trigonometric.atan_double, None),
    "asin": _through_double(trigonometric.asin_double, "asin"),
    "acos": _through_double(trigonometric.acos_double, "acos"),
    "sinh": _through_double(exponential.sinh_double, "sinh"),
    "cosh": _through_double(exponential.cosh_double, "cosh"),
    "asinh": _through_double(exponential.asinh_double, "asinh"),
    "acosh": _through_double(exponential.acosh_double, "acosh"),
    "atanh": _through_double(exponential.atanh_double, "atanh"),
    "atan2": _library("atan2f", "atan2"), "lgamma": _library("lgammaf", "lgamma"),
    "is_nan": _is_nan, "is_inf": _is_inf, "is_finite": _is_finite,
    "lt": _comparison("lt"), "le": _comparison("le"), "gt": _comparison("gt"),
    "ge": _comparison("ge"), "eq": _comparison("eq"), "ne": _comparison("ne"),
}  # fmt: skip
