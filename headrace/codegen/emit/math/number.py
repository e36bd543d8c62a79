"""`Num`: a value with arithmetic, so that formulas read as formulas while they emit code."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from headrace.codegen.emit.llvm_text import Builder, Value, bits_of, constant

Bounds = tuple[float, float]
ANYTHING: Bounds = (float("-inf"), float("inf"))


class Num:
    """A float (or, after `bits`, an integer) scalar or vector under construction.  What is known of
    a float is in `low` and `high`; it may always be NaN besides."""

    __slots__ = ("b", "high", "low", "value")

    def __init__(self, b: Builder, value: Value, bounds: Bounds = ANYTHING) -> None:
        self.b, self.value = b, value
        self.low, self.high = bounds

    @property
    def type(self) -> str:
        return self.value.type

    @property
    def is_double(self) -> bool:
        return self.value.element == "double"

    @property
    def is_float(self) -> bool:
        return self.value.element[0] != "i"

    def of(self, value: Num | float) -> Num:
        """A constant of this type, or the Num itself."""
        return value if isinstance(value, Num) else Num(self.b, constant(value, self.type))

    def _op(self, code: str, other: Num | float) -> Num:
        full = ("f" if self.is_float else "") + code
        return Num(self.b, self.b.op(full, self.value, self.of(other).value))

    def __add__(self, other: Num | float) -> Num:
        return self._op("add", other)

    def __radd__(self, other: Num | float) -> Num:
        return self.of(other)._op("add", self)

    def __sub__(self, other: Num | float) -> Num:
        return self._op("sub", other)

    def __rsub__(self, other: Num | float) -> Num:
        return self.of(other)._op("sub", self)

    def __mul__(self, other: Num | float) -> Num:
        return self._op("mul", other)

    def __rmul__(self, other: Num | float) -> Num:
        return self.of(other)._op("mul", self)

    def __truediv__(self, other: Num | float) -> Num:
        return self._op("div", other)

    def __rtruediv__(self, other: Num | float) -> Num:
        return self.of(other)._op("div", self)

    def __neg__(self) -> Num:
        negated = self.b.emit(f"fneg {self.type} {self.value.text}", self.type)
        return Num(self.b, negated, (-self.high, -self.low))

    def _integer(self, code: str, other: Num | float) -> Num:
        return Num(self.b, self.b.op(code, self.value, self.of(other).value))

    def __and__(self, other: Num | float) -> Num:
        return self._integer("and", other)

    def __or__(self, other: Num | float) -> Num:
        return self._integer("or", other)

    def __xor__(self, other: Num | float) -> Num:
        return self._integer("xor", other)

    def __lshift__(self, count: int) -> Num:
        return self._integer("shl", count)

    def __rshift__(self, count: int) -> Num:
        return self._integer("ashr", count)

    def fma(self, factor: Num | float, addend: Num | float) -> Num:
        """self * factor + addend, fused where the processor can."""
        args = (self.value, self.of(factor).value, self.of(addend).value)
        return Num(self.b, self.b.intrinsic("fmuladd", *args))

    def polynomial(self, coefficients: Sequence[float]) -> Num:
        """Coefficients from the constant term up.  Horner's rule for the square, on pairs of terms:
        half as many operations wait for one another."""
        *pairs, last = [coefficients[i : i + 2] for i in range(0, len(coefficients), 2)]
        result = self._pair(last)
        square = self * self
        for pair in reversed(pairs):
            result = result.fma(square, self._pair(pair))
        return result

    def _pair(self, terms: Sequence[float]) -> Num:
        return self.fma(terms[1], terms[0]) if len(terms) > 1 else self.of(terms[0])

    # -- comparisons: an i1 Num; false for NaN -----------------------------------------------
    def _compare(self, code: str, other: Num | float) -> Num:
        full = f"fcmp o{code}" if self.is_float else f"icmp {'' if code in ('eq', 'ne') else 's'}{code}"
        return Num(self.b, self.b.compare(full, self.value, self.of(other).value))

    def __lt__(self, other: Num | float) -> Num:
        return self._compare("lt", other)

    def __gt__(self, other: Num | float) -> Num:
        return self._compare("gt", other)

    def __le__(self, other: Num | float) -> Num:
        return self._compare("le", other)

    def __ge__(self, other: Num | float) -> Num:
        return self._compare("ge", other)

    def equals(self, other: Num | float) -> Num:
        return self._compare("eq", other)

    def pick(self, x: Num, y: Num | float) -> Num:
        """self is a condition: x where it holds, else y."""
        return Num(self.b, self.b.select(self.value, x.value, x.of(y).value))

    def clamp(self, low: float, high: float) -> Num:
        """Limited to [low, high], as far as it is not known to be; NaN stays NaN."""
        x = self
        if self.low < low:
            x = (self < low).pick(self.of(low), self)
        if self.high > high:
            x = (x > high).pick(self.of(high), x)
        return x.within(max(self.low, low), min(self.high, high))

    def within(self, low: float, high: float) -> Num:
        """The same, known to be in these bounds or NaN."""
        return Num(self.b, self.value, (low, high))

    @property
    def largest(self) -> float:
        """A bound of the magnitude."""
        return max(-self.low, self.high)

    # -- representation ----------------------------------------------------------------------
    def bits(self) -> Num:
        return Num(self.b, self.b.convert("bitcast", self.value, f"i{bits_of(self.value.element)}"))

    def from_bits(self) -> Num:
        element = {32: "float", 64: "double"}[bits_of(self.value.element)]
        return Num(self.b, self.b.convert("bitcast", self.value, element))

    def to_double(self) -> Num:
        wide = self.b.convert("fpext", self.value, "double")
        return Num(self.b, wide, (self.low, self.high))

    def to_float(self) -> Num:
        return Num(self.b, self.b.convert("fptrunc", self.value, "float"))

    def from_integer(self, element: str) -> Num:
        return Num(self.b, self.b.convert("sitofp", self.value, element))

    def abs(self) -> Num:
        return Num(self.b, self.b.intrinsic("fabs", self.value), (0.0, self.largest))

    def sqrt(self) -> Num:
        return Num(self.b, self.b.intrinsic("sqrt", self.value))

    def floor(self) -> Num:
        return Num(self.b, self.b.intrinsic("floor", self.value))

    def with_sign_of(self, other: Num) -> Num:
        return Num(self.b, self.b.intrinsic("copysign", self.value, other.value))

    def any(self) -> Num:
        """self is a condition: whether it holds in any lane (a scalar)."""
        if self.value.lanes == 1:
            return self
        name = f"llvm.vector.reduce.or.v{self.value.lanes}i1"
        return Num(self.b, self.b.call(name, "i1", self.value))


def each_lane(b: Builder, function: str, *args: Value) -> Value:
    """A scalar function of the C library, lane by lane."""
    first = args[0]
    if first.lanes == 1:
        return b.call(function, first.type, *args)
    result = Value("poison", first.type)
    for i in range(first.lanes):
        one = b.call(function, first.element, *(b.lane(a, i) for a in args))
        result = b.with_lane(result, i, one)
    return result


def where_rare(condition: Num, common: Num, rare: Callable[[], Num]) -> Num:
    """`common`, replaced by `rare()` in the lanes that need it; costs a branch when none does."""
    b = condition.b
    some = condition.any()
    before, then, after = b.block, b.new_block(), b.new_block()
    b.branch_if(some.value, then, after)
    b.block = then
    fixed = condition.pick(rare(), common)
    end = b.block
    b.branch(after)
    b.block = after
    value = b.emit(
        f"phi {common.type} [ {common.value.text}, %{before.label} ], [ {fixed.value.text}, %{end.label} ]",
        common.type,
    )
    return Num(b, value)
