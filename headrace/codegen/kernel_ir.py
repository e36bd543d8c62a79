"""Scalar expressions over loop indices: what rules build and kernels are made of.

Expressions are immutable and interned, so equal ones are the same object.  A `Var` is a loop; an
expression of kind INDEX computes with loops and shapes, all other kinds compute with data.
`Tensor` is an array that expressions read; `Compute` says how one is made.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any
from weakref import WeakValueDictionary

import numpy as np

from headrace.core import dtypes
from headrace.core.dtypes import DType
from headrace.ops.emit import Decline


@dataclass(frozen=True, slots=True)
class Kind:
    """An element type as the machine sees it."""

    name: str
    bits: int
    family: str  # f float, i signed, u unsigned, b bool, x index

    @property
    def is_float(self) -> bool:
        return self.family == "f"

    @property
    def is_integer(self) -> bool:
        return self.family in "iux"

    @property
    def is_signed(self) -> bool:
        return self.family in "ix"

    @property
    def bytes(self) -> int:
        return max(self.bits // 8, 1)

    def __repr__(self) -> str:
        return self.name


F16, BF16, F32, F64 = (
    Kind("f16", 16, "f"),
    Kind("bf16", 16, "f"),
    Kind("f32", 32, "f"),
    Kind("f64", 64, "f"),
)
I8, I16, I32, I64 = (Kind(f"i{b}", b, "i") for b in (8, 16, 32, 64))
U8, U16, U32, U64 = (Kind(f"u{b}", b, "u") for b in (8, 16, 32, 64))
BOOL, INDEX = Kind("bool", 1, "b"), Kind("index", 64, "x")

_OF_DTYPE = {
    dtypes.float16: F16, dtypes.bfloat16: BF16, dtypes.float32: F32, dtypes.float64: F64,
    dtypes.int8: I8, dtypes.int16: I16, dtypes.int32: I32, dtypes.int64: I64,
    dtypes.uint8: U8, dtypes.uint16: U16, dtypes.uint32: U32, dtypes.uint64: U64,
    dtypes.bool_: BOOL,
    dtypes.qint8: I8, dtypes.quint8: U8, dtypes.qint16: I16, dtypes.quint16: U16,
    dtypes.qint32: I32,
}  # fmt: skip
_TO_DTYPE = {kind: dtype for dtype, kind in reversed(_OF_DTYPE.items())} | {INDEX: dtypes.int64}


def kind_of(dtype: Any) -> Kind:
    """The kind of a DType, or of what names one."""
    if isinstance(dtype, Kind):
        return dtype
    found = _OF_DTYPE.get(dtypes.as_dtype(dtype).base_dtype)
    if found is None:
        raise Decline(f"{dtype} is not compiled")
    return found


_serial = itertools.count()


class Var:
    """One loop: its index runs from 0 to extent - 1."""

    __slots__ = ("extent", "serial")

    def __init__(self, extent: int) -> None:
        self.extent, self.serial = int(extent), next(_serial)

    def __repr__(self) -> str:
        return f"v{self.serial}<{self.extent}"


_interned: WeakValueDictionary[Any, Expr] = WeakValueDictionary()


class Expr:
    """A scalar: an operation on other scalars.  Operators build more of them."""

    __slots__ = ("__weakref__", "args", "extra", "free", "kind", "op")

    op: str
    args: tuple[Expr, ...]
    kind: Kind
    extra: Any
    free: frozenset[Any]  # the loops (and reduction results) that the value depends on

    @property
    def dtype(self) -> DType:
        return _TO_DTYPE[self.kind]

    def __repr__(self) -> str:
        inner = [repr(a) for a in self.args]
        if self.extra is not None:
            inner.insert(0, repr(self.extra))
        return f"{self.op}({', '.join(inner)})"

    def __bool__(self) -> bool:
        raise TypeError(
            "the value of an expression is known only when the kernel runs: use e.select"
        )

    __hash__ = object.__hash__

    def __add__(self, other: Any) -> Expr:
        return binary("add", self, other)

    def __radd__(self, other: Any) -> Expr:
        return binary("add", other, self)

    def __sub__(self, other: Any) -> Expr:
        return binary("sub", self, other)

    def __rsub__(self, other: Any) -> Expr:
        return binary("sub", other, self)

    def __mul__(self, other: Any) -> Expr:
        return binary("mul", self, other)

    def __rmul__(self, other: Any) -> Expr:
        return binary("mul", other, self)

    def __truediv__(self, other: Any) -> Expr:
        return binary("div", self, other)

    def __rtruediv__(self, other: Any) -> Expr:
        return binary("div", other, self)

    def __floordiv__(self, other: Any) -> Expr:
        return binary("floordiv", self, other)

    def __rfloordiv__(self, other: Any) -> Expr:
        return binary("floordiv", other, self)

    def __mod__(self, other: Any) -> Expr:
        return binary("floormod", self, other)

    def __rmod__(self, other: Any) -> Expr:
        return binary("floormod", other, self)

    def __and__(self, other: Any) -> Expr:
        return binary("and", self, other)

    def __rand__(self, other: Any) -> Expr:
        return binary("and", other, self)

    def __or__(self, other: Any) -> Expr:
        return binary("or", self, other)

    def __ror__(self, other: Any) -> Expr:
        return binary("or", other, self)

    def __xor__(self, other: Any) -> Expr:
        return binary("xor", self, other)

    def __rxor__(self, other: Any) -> Expr:
        return binary("xor", other, self)

    def __lshift__(self, other: Any) -> Expr:
        return binary("shl", self, other)

    def __rshift__(self, other: Any) -> Expr:
        return binary("shr", self, other)

    def __neg__(self) -> Expr:
        return make("neg", (self,), self.kind) if self.kind is not INDEX else 0 - self

    def __invert__(self) -> Expr:
        return make("not", (self,), self.kind)

    def __lt__(self, other: Any) -> Expr:
        return compare("lt", self, other)

    def __le__(self, other: Any) -> Expr:
        return compare("le", self, other)

    def __gt__(self, other: Any) -> Expr:
        return compare("gt", self, other)

    def __ge__(self, other: Any) -> Expr:
        return compare("ge", self, other)

    def __eq__(self, other: Any) -> Any:
        return compare("eq", self, other)

    def __ne__(self, other: Any) -> Any:
        return compare("ne", self, other)


def make(op: str, args: tuple[Expr, ...], kind: Kind, extra: Hashable = None) -> Expr:
    """The interned expression."""
    key = (op, tuple(map(id, args)), kind.name, extra, type(extra))
    found = _interned.get(key)
    if found is None:
        found = object.__new__(Expr)
        found.op, found.args, found.kind, found.extra = op, args, kind, extra
        found.free = _free(op, args, extra)
        _interned[key] = found
    return found


def _free(op: str, args: tuple[Expr, ...], extra: Any) -> frozenset[Any]:
    if op in ("var", "acc"):
        return frozenset((extra,))
    if op in ("loop", "result"):  # what they become in lifted kernels
        return frozenset(((op, extra),))
    inner: frozenset[Any] = frozenset().union(*(a.free for a in args))
    if op == "reduce":
        return inner - frozenset(extra[1])
    return inner - {("loop", n) for n in extra[1]} if op == "fold" else inner


# -- building ------------------------------------------------------------------------------------
def const(value: Any, kind: Kind) -> Expr:
    """A number of this kind, rounded to it."""
    return make("const", (), kind, _rounded(value, kind))


def _rounded(value: Any, kind: Kind) -> Any:
    if kind is BOOL:
        return bool(value)
    if kind.is_integer:
        return int(value)
    return float(np.asarray(value, _TO_DTYPE[kind].numpy)).hex()  # tells 0.0 from -0.0, finds NaN


def constant_value(x: Expr) -> Any:
    """The number of a const."""
    return float.fromhex(x.extra) if x.kind.is_float else x.extra


def var(v: Var) -> Expr:
    return make("var", (), INDEX, v)


def size(n: int, kind: Kind) -> Expr:
    """A number that follows from shapes: becomes an argument of the kernel."""
    return make("size", (), kind, int(n))


def as_expr(value: Any, kind: Kind) -> Expr:
    """A Python or NumPy number becomes a constant of this kind."""
    if isinstance(value, Expr):
        return value
    if isinstance(value, (bool, int, float, np.generic)):
        return const(value, kind)
    raise TypeError(f"not a scalar expression: {value!r}")


def pair(x: Any, y: Any) -> tuple[Expr, Expr]:
    """Both as expressions of one kind."""
    model = x if isinstance(x, Expr) else y
    if not isinstance(model, Expr):
        raise TypeError(f"one of {x!r} and {y!r} must be an expression")
    a, b = as_expr(x, model.kind), as_expr(y, model.kind)
    if a.kind is not b.kind:
        if {a.kind, b.kind} == {INDEX, I64} or INDEX in (a.kind, b.kind):
            return cast(a, INDEX), cast(b, INDEX)
        raise TypeError(f"{a.kind} and {b.kind} do not mix: cast one of them")
    return a, b


def binary(op: str, x: Any, y: Any) -> Expr:
    a, b = pair(x, y)
    if a.kind is INDEX:
        return _index_binary(op, a, b)
    if op == "div" and not a.kind.is_float:
        raise TypeError(f"/ is for floats, not {a.kind}: use // or e.truncate_div")
    return make(op, (a, b), a.kind)


_FOLD: dict[str, Callable[[int, int], int]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "floordiv": lambda a, b: a // b,
    "floormod": lambda a, b: a % b,
    "min": min,
    "max": max,
}


def _index_binary(op: str, a: Expr, b: Expr) -> Expr:
    """Index arithmetic is exact, so it is simplified on the way."""
    if a.op == "const" and b.op == "const" and op in _FOLD and not (b.extra == 0 and "floor" in op):
        return const(_FOLD[op](a.extra, b.extra), INDEX)
    if b.op == "const":
        if (op, b.extra) in (("add", 0), ("sub", 0), ("mul", 1), ("floordiv", 1)):
            return a
        if (op, b.extra) in (("mul", 0), ("floormod", 1)):
            return const(0, INDEX)
        if op in ("floordiv", "floormod") and b.extra > 0:
            low, high = interval(a)
            if 0 <= low and high < b.extra:
                return const(0, INDEX) if op == "floordiv" else a
    if a.op == "const":
        if (op, a.extra) in (("add", 0), ("mul", 1)):
            return b
        if (op, a.extra) == ("mul", 0):
            return const(0, INDEX)
    return make(op, (a, b), INDEX)


def compare(op: str, x: Any, y: Any) -> Expr:
    a, b = pair(x, y)
    return make(op, (a, b), BOOL)


def unary(op: str, x: Expr, kind: Kind | None = None) -> Expr:
    return make(op, (x,), kind or x.kind)


def select(condition: Expr, x: Any, y: Any) -> Expr:
    if condition.kind is not BOOL:
        raise TypeError(f"a condition must be bool, not {condition.kind}")
    a, b = pair(x, y)
    if condition.op == "const":
        return a if condition.extra else b
    return a if a is b else make("select", (condition, a, b), a.kind)


def cast(x: Expr, kind: Kind) -> Expr:
    if x.kind is kind:
        return x
    if x.op == "const" and kind is INDEX and x.kind.is_integer:
        return const(x.extra, INDEX)
    return make("cast", (x,), kind)


def index_expr(value: Any) -> Expr:
    """What stands inside [...]."""
    if isinstance(value, Expr):
        if not value.kind.is_integer:
            raise TypeError(f"an index must be an integer, not {value.kind}")
        return cast(value, INDEX)
    return const(int(value), INDEX)


def reduce(kind: str, extents: Sequence[int], rule: Callable[..., Any]) -> Expr:
    loops = tuple(Var(n) for n in extents)
    body = rule(*map(var, loops))
    if kind in ("argmax", "argmin"):
        return make("reduce", (body,), I64, (kind, loops))
    return make("reduce", (body,), body.kind, (kind, loops))


# -- arrays --------------------------------------------------------------------------------------
class Tensor:
    """An array that expressions read: an input, or what a `source` makes."""

    __slots__ = ("dtype", "kind", "name", "serial", "shape", "source", "value")

    def __init__(
        self,
        shape: Iterable[int],
        dtype: Any,
        *,
        value: np.ndarray[Any, Any] | None = None,
        source: Any = None,
        name: str = "",
    ) -> None:
        self.shape = tuple(int(n) for n in shape)
        self.kind = kind_of(dtype)
        self.dtype = _TO_DTYPE[self.kind] if isinstance(dtype, Kind) else dtypes.as_dtype(dtype)
        self.value, self.source, self.name = value, source, name
        self.serial = next(_serial)

    @property
    def count(self) -> int:
        return prod(self.shape)

    @property
    def nbytes(self) -> int:
        return self.count * self.kind.bytes

    def __getitem__(self, index: Any) -> Expr:
        given = index if isinstance(index, tuple) else (index,)
        if len(given) != len(self.shape):
            raise IndexError(f"{len(given)} indices for an operand of shape {list(self.shape)}")
        return make("load", tuple(map(index_expr, given)), self.kind, self)

    def __iter__(self) -> Any:
        raise TypeError("an operand is not iterable: index it")

    def __repr__(self) -> str:
        return f"{self.name or 't'}{self.serial}:{self.kind}{list(self.shape)}"


@dataclass(frozen=True, slots=True)
class Compute:
    """An array as a loop: element (vars) is body."""

    vars: tuple[Var, ...]
    body: Expr


# -- walking -------------------------------------------------------------------------------------
def walk(*roots: Expr) -> list[Expr]:
    """Every expression below the roots, arguments first, each once."""
    seen: set[int] = set()
    order: list[Expr] = []
    stack: list[tuple[Expr, bool]] = [(r, False) for r in reversed(roots)]
    while stack:
        expr, done = stack.pop()
        if done:
            order.append(expr)
        elif id(expr) not in seen:
            seen.add(id(expr))
            stack.append((expr, True))
            stack.extend((a, False) for a in reversed(expr.args))
    return order


def loads(*roots: Expr) -> list[Expr]:
    return [x for x in walk(*roots) if x.op == "load"]


def rewrite(root: Expr, change: Callable[[Expr, tuple[Expr, ...]], Expr | None]) -> Expr:
    """Rebuild from the leaves up: change(old, new arguments) is the replacement; None keeps."""
    made: dict[int, Expr] = {}
    for old in walk(root):
        args = tuple(made[id(a)] for a in old.args)
        new = change(old, args)
        if new is None:
            new = old if all(a is b for a, b in zip(args, old.args)) else rebuild(old, args)
        made[id(old)] = new
    return made[id(root)]


def rebuild(old: Expr, args: tuple[Expr, ...]) -> Expr:
    """The same operation on other arguments, simplified again where that is exact."""
    if old.kind is INDEX and len(args) == 2 and args[0].kind is INDEX:
        return _index_binary(old.op, *args)
    if old.op == "select":
        return select(*args)
    if old.op == "cast":
        return cast(args[0], old.kind)
    return make(old.op, args, old.kind, old.extra)


def substitute(root: Expr, values: dict[Var, Expr]) -> Expr:
    """The expression with loops replaced; its own reductions get fresh loops."""
    renamed: dict[Var, Expr] = dict(values)
    for x in walk(root):
        if x.op == "reduce":
            for loop in x.extra[1]:
                renamed.setdefault(loop, var(Var(loop.extent)))

    def change(old: Expr, args: tuple[Expr, ...]) -> Expr | None:
        if old.op == "var":
            return renamed.get(old.extra)
        if old.op == "reduce":
            fresh = tuple(renamed[v].extra for v in old.extra[1])
            return make("reduce", args, old.kind, (old.extra[0], fresh))
        return None

    return rewrite(root, change)


# -- ranges --------------------------------------------------------------------------------------
_ANY = (-(1 << 63), (1 << 63) - 1)


def interval(x: Expr) -> tuple[int, int]:
    """Bounds of an integer expression, from the extents of its loops.  Sound, not tight."""
    match x.op:
        case "const":
            return (x.extra, x.extra) if x.kind.is_integer else _ANY
        case "size":
            return (x.extra, x.extra)
        case "var":
            return (0, max(x.extra.extent - 1, 0))
        case "clamp":
            low, high = interval(x.args[0])
            top = max(x.extra - 1, 0)
            return (min(max(low, 0), top), min(max(high, 0), top))
        case "cast" if x.args[0].kind.is_integer and x.kind in (INDEX, I64):
            return interval(x.args[0])
        case "select":
            return _hull(interval(x.args[1]), interval(x.args[2]))
        case "load" if x.extra.value is not None and x.extra.count and x.kind.is_integer:
            return (int(x.extra.value.min()), int(x.extra.value.max()))
    if x.op in _COMBINE and x.kind is INDEX:
        return _COMBINE[x.op](interval(x.args[0]), interval(x.args[1]))
    if x.kind.family in "iu" and x.kind is not U64:
        low = -(1 << (x.kind.bits - 1)) if x.kind.is_signed else 0
        return (low, low + (1 << x.kind.bits) - 1)
    return _ANY


Range = tuple[int, int]


def _hull(a: Range, b: Range) -> Range:
    return (min(a[0], b[0]), max(a[1], b[1]))


def _product(a: Range, b: Range) -> Range:
    ends = [x * y for x in a for y in b]
    return (min(ends), max(ends))


def _quotient(a: Range, b: Range) -> Range:
    if b[0] <= 0:
        return _ANY
    ends = [x // y for x in a for y in b]
    return (min(ends), max(ends))


def _remainder(a: Range, b: Range) -> Range:
    if b[0] <= 0:
        return _ANY
    return a if 0 <= a[0] and a[1] < b[0] else (0, b[1] - 1)


_COMBINE: dict[str, Callable[[Range, Range], Range]] = {
    "add": lambda a, b: (a[0] + b[0], a[1] + b[1]),
    "sub": lambda a, b: (a[0] - b[1], a[1] - b[0]),
    "mul": _product,
    "floordiv": _quotient,
    "floormod": _remainder,
    "min": lambda a, b: (min(a[0], b[0]), min(a[1], b[1])),
    "max": lambda a, b: (max(a[0], b[0]), max(a[1], b[1])),
}
