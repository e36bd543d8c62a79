"""Scalar expressions over loop indices: what rules build and kernels are made of.

Expressions are immutable and interned, so equal ones are the same object.  A `Var` is a loop; an
expression of kind INDEX computes with loops and shapes, all other kinds compute with data.
`Array` is what expressions read; `Compute` says how one is made.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Hashable, Iterable, Sequence
from math import prod
from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias
from weakref import ReferenceType, ref

import numpy as np

from headrace.codegen.ir.machine_types import BF16 as BF16
from headrace.codegen.ir.machine_types import BOOL as BOOL
from headrace.codegen.ir.machine_types import F16 as F16
from headrace.codegen.ir.machine_types import F32 as F32
from headrace.codegen.ir.machine_types import F64 as F64
from headrace.codegen.ir.machine_types import I8 as I8
from headrace.codegen.ir.machine_types import I16 as I16
from headrace.codegen.ir.machine_types import I32 as I32
from headrace.codegen.ir.machine_types import I64 as I64
from headrace.codegen.ir.machine_types import INDEX as INDEX
from headrace.codegen.ir.machine_types import TO_DTYPE
from headrace.codegen.ir.machine_types import U8 as U8
from headrace.codegen.ir.machine_types import U16 as U16
from headrace.codegen.ir.machine_types import U32 as U32
from headrace.codegen.ir.machine_types import U64 as U64
from headrace.codegen.ir.machine_types import Kind as Kind
from headrace.codegen.ir.machine_types import TypeLike as TypeLike
from headrace.codegen.ir.machine_types import kind_of as kind_of
from headrace.codegen.ir.order import Moment
from headrace.codegen.ir.ranges import interval as interval
from headrace.core import dtypes
from headrace.core.dtypes import DType, NDArray, NDType
from headrace.core.records import record
from headrace.core.sizes import MOST_BYTES, hint, is_open, note_bytes, whole
from headrace.ops.declaration import emit as rules
from headrace.ops.declaration.emit import Decline

if TYPE_CHECKING:
    from headrace.codegen.ir.kernel import Acc
    from headrace.codegen.ir.stages import Source

Number = float | np.number[Any] | np.bool_  # Python's or NumPy's
Scalar: TypeAlias = "Expr | rules.Expr | Number"  # what operators take beside an expression
Index: TypeAlias = "Expr | rules.Expr | int"
Free: TypeAlias = "Var | Acc | tuple[str, int]"  # a loop or a reduction's result; by number in lifted kernels
_serial = itertools.count()


class Var:
    """One loop: its index runs from 0 to extent - 1."""

    __slots__ = ("extent", "serial")

    def __init__(self, extent: int) -> None:
        self.extent, self.serial = whole(extent), next(_serial)

    def __repr__(self) -> str:
        return f"v{self.serial}<{self.extent}"


# What depends on the lane: in kernels whose every value is a vector (loops.Kernel.width).
LANE = ("lane", 0)
# Plain references, without callbacks: Python code that runs while objects die swallows a Ctrl-C that
# arrives there.  Entries of the dead are swept out when the table has doubled.
_interned: dict[tuple[object, ...], ReferenceType[Expr]] = {}
_SWEEP = 4096
_limit = _SWEEP


class Expr:
    """A scalar: an operation on other scalars.  Operators build more of them."""

    __slots__ = ("__weakref__", "args", "below", "extra", "free", "kind", "op")

    op: str
    args: tuple[Expr, ...]
    kind: Kind
    extra: Any  # by the op: a number, a loop, an Array, (how, loops) of a reduction
    free: frozenset[Free]  # the loops (and reduction results) that the value depends on
    below: tuple[Expr, ...] | None  # all that it is made of, once somebody asked (walks.walk)

    @property
    def dtype(self) -> DType:
        return TO_DTYPE[self.kind]

    def __repr__(self) -> str:
        inner = [repr(a) for a in self.args]
        if self.extra is not None:
            inner.insert(0, repr(self.extra))
        return f"{self.op}({', '.join(inner)})"

    def __bool__(self) -> bool:
        raise TypeError("the value of an expression is known only when the kernel runs: use e.select")

    __hash__ = object.__hash__

    def __add__(self, other: Scalar) -> Expr:
        return binary("add", self, other)

    def __radd__(self, other: Scalar) -> Expr:
        return binary("add", other, self)

    def __sub__(self, other: Scalar) -> Expr:
        return binary("sub", self, other)

    def __rsub__(self, other: Scalar) -> Expr:
        return binary("sub", other, self)

    def __mul__(self, other: Scalar) -> Expr:
        return binary("mul", self, other)

    def __rmul__(self, other: Scalar) -> Expr:
        return binary("mul", other, self)

    def __truediv__(self, other: Scalar) -> Expr:
        return binary("div", self, other)

    def __rtruediv__(self, other: Scalar) -> Expr:
        return binary("div", other, self)

    def __floordiv__(self, other: Scalar) -> Expr:
        return binary("floordiv", self, other)

    def __rfloordiv__(self, other: Scalar) -> Expr:
        return binary("floordiv", other, self)

    def __mod__(self, other: Scalar) -> Expr:
        return binary("floormod", self, other)

    def __rmod__(self, other: Scalar) -> Expr:
        return binary("floormod", other, self)

    def __and__(self, other: Scalar) -> Expr:
        return binary("and", self, other)

    def __rand__(self, other: Scalar) -> Expr:
        return binary("and", other, self)

    def __or__(self, other: Scalar) -> Expr:
        return binary("or", self, other)

    def __ror__(self, other: Scalar) -> Expr:
        return binary("or", other, self)

    def __xor__(self, other: Scalar) -> Expr:
        return binary("xor", self, other)

    def __rxor__(self, other: Scalar) -> Expr:
        return binary("xor", other, self)

    def __lshift__(self, other: Scalar) -> Expr:
        return binary("shl", self, other)

    def __rshift__(self, other: Scalar) -> Expr:
        return binary("shr", self, other)

    def __neg__(self) -> Expr:
        return make("neg", (self,), self.kind) if self.kind is not INDEX else 0 - self

    def __invert__(self) -> Expr:
        return make("not", (self,), self.kind)

    def __lt__(self, other: Scalar) -> Expr:
        return compare("lt", self, other)

    def __le__(self, other: Scalar) -> Expr:
        return compare("le", self, other)

    def __gt__(self, other: Scalar) -> Expr:
        return compare("gt", self, other)

    def __ge__(self, other: Scalar) -> Expr:
        return compare("ge", self, other)

    def __eq__(self, other: object) -> Expr:  # type: ignore[override]
        return compare("eq", self, other)

    def __ne__(self, other: object) -> Expr:  # type: ignore[override]
        return compare("ne", self, other)


def make(op: str, args: tuple[Expr, ...], kind: Kind, extra: Hashable = None) -> Expr:
    """The interned expression."""
    # An array by its id: an expression that is alive holds it, and the entry of a dead one must not.
    named = id(extra) if type(extra) is Array else extra
    key = (op, tuple(map(id, args)), kind.name, named, type(extra))
    known = _interned.get(key)
    found = None if known is None else known()
    if found is None:
        found = object.__new__(Expr)
        found.op, found.args, found.kind, found.extra = op, args, kind, extra
        found.free, found.below = _free(op, args, extra), None
        _interned[key] = ref(found)
        if len(_interned) > _limit:
            _sweep()
    return found


def _sweep() -> None:
    global _limit
    for key, known in list(_interned.items()):
        if known() is None and _interned.get(key) is known:
            _interned.pop(key, None)
    _limit = max(_SWEEP, 2 * len(_interned))


def _free(op: str, args: tuple[Expr, ...], extra: Any) -> frozenset[Free]:
    if op in ("var", "acc"):
        return frozenset((extra,))
    if op in ("loop", "result"):  # what they become in lifted kernels
        return frozenset(((op, extra),))
    if op == "lane":
        return frozenset((LANE,))
    if op == "lane_result":
        return frozenset((LANE, ("result", extra)))
    inner: frozenset[Free] = frozenset().union(*(a.free for a in args))
    if op == "reduce":
        return inner - frozenset(extra[1])
    return inner - {("loop", n) for n in extra[1]} if op == "fold" else inner


# -- building ------------------------------------------------------------------------------------
def const(value: Number, kind: Kind) -> Expr:
    """A number of this kind, rounded to it; one that follows from open sizes is the kernel's argument."""
    if is_open(value) and kind is not INDEX:
        return size(value, kind)  # type: ignore[arg-type]
    return make("const", (), kind, _rounded(value, kind))


def _rounded(value: Number, kind: Kind) -> bool | int | str:
    if kind is BOOL:
        return bool(value)
    if kind.is_integer:
        return whole(value)
    return float(np.asarray(value, TO_DTYPE[kind].numpy)).hex()  # tells 0.0 from -0.0, finds NaN


def constant_value(x: Expr) -> float:
    """The number of a const."""
    return float.fromhex(x.extra) if x.kind.is_float else x.extra


def var(v: Var) -> Expr:
    return make("var", (), INDEX, v)


def lane(count: int) -> Expr:
    """The number of the lane, in a kernel whose values are vectors of `count` numbers."""
    return make("lane", (), INDEX, count)


def size(n: int, kind: Kind) -> Expr:
    """A number that follows from shapes: becomes an argument of the kernel."""
    return make("size", (), kind, whole(n))


class NotScalar(TypeError):
    """A rule computes with something that is no scalar expression."""


def as_expr(value: object, kind: Kind) -> Expr:
    """A Python or NumPy number becomes a constant of this kind."""
    if isinstance(value, Expr):
        return value
    if isinstance(value, (bool, int, float, np.number, np.bool_)):
        return const(value, kind)
    if is_open(value):
        return size(value, kind)  # type: ignore[arg-type]
    raise NotScalar(f"not a scalar expression: {value!r}")


def pair(x: object, y: object) -> tuple[Expr, Expr]:
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


def binary(op: str, x: Scalar, y: Scalar) -> Expr:
    a, b = pair(x, y)
    if a.kind is INDEX:
        return index_binary(op, a, b)
    if op == "div" and not a.kind.is_float:
        raise TypeError(f"/ is for floats, not {a.kind}: use // or e.truncate_div")
    return make(of_kind(op, a.kind), (a, b), a.kind)


# One bit would wrap around: 1 + 1 = 0.  In C++ and NumPy any sum of trues is true.
_OF_BOOLS = {"add": "or", "mul": "and", "sum": "any", "prod": "all"}


def of_kind(op: str, kind: Kind) -> str:
    """What an operation, or a reduction, of this name is for elements of this kind."""
    if kind is not BOOL:
        return op
    if op == "sub":
        raise Decline("there is no difference of bools")
    return _OF_BOOLS.get(op, op)


_FOLD: dict[str, Callable[[int, int], int]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "floordiv": lambda a, b: a // b,
    "floormod": lambda a, b: a % b,
    "min": min,
    "max": max,
}


def index_binary(op: str, a: Expr, b: Expr) -> Expr:
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


def compare(op: str, x: object, y: object) -> Expr:
    a, b = pair(x, y)
    return make(op, (a, b), BOOL)


def unary(op: str, x: Expr, kind: Kind | None = None) -> Expr:
    return make(op, (x,), kind or x.kind)


def select(condition: Expr, x: Scalar, y: Scalar) -> Expr:
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


def index_expr(value: Index) -> Expr:
    """What stands inside [...]."""
    if isinstance(value, Expr):
        if not value.kind.is_integer:
            raise TypeError(f"an index must be an integer, not {value.kind}")
        return cast(value, INDEX)
    return const(whole(value), INDEX)  # nobody else makes expressions


def reduce(kind: str, extents: Sequence[int], rule: Callable[..., Expr]) -> Expr:
    loops = tuple(Var(n) for n in extents)
    body = rule(*map(var, loops))
    if kind in ("argmax", "argmin"):
        return make("reduce", (body,), I64, (kind, loops))
    return make("reduce", (body,), body.kind, (of_kind(kind, body.kind), loops))


# -- arrays --------------------------------------------------------------------------------------


class Array:
    """An array that expressions read: an input, or what a `source` makes."""

    __slots__ = ("dtype", "kind", "moment", "name", "outer", "shape", "source", "value")

    outer: tuple[tuple[int, ...], DType] | None

    def __init__(
        self,
        shape: Iterable[int],
        dtype: TypeLike,
        *,
        value: NDArray | None = None,
        source: Source | None = None,
        name: str = "",
    ) -> None:
        """`value`: the numbers, where they are known; `source`: how it is made, None for an input. A
        shape that no memory holds is declined here, before anything computes with its size."""
        self.shape = tuple(map(whole, shape))
        self.kind = kind_of(dtype)
        if any(n < 0 for n in self.shape) or hint(self.nbytes) > MOST_BYTES:
            raise Decline(f"no array has the shape {list(self.shape)}")
        if is_open(self.nbytes):
            note_bytes(self.nbytes)
        self.dtype = TO_DTYPE[self.kind] if isinstance(dtype, Kind) else dtypes.as_dtype(dtype)
        self.value, self.source, self.name = value, source, name
        self.outer = None  # shape and type outside of the program, where they differ
        self.moment = Moment.new()  # when it is made; passes move it

    @property
    def count(self) -> int:
        return prod(self.shape)

    @property
    def nbytes(self) -> int:
        return self.count * self.kind.bytes

    @property
    def face(self) -> tuple[tuple[int, ...], NDType]:
        """Shape and type of the array that the program gets or gives."""
        shape, dtype = self.outer or (self.shape, self.dtype)
        return shape, dtype.numpy

    def like(self, source: Source | None, name: str) -> Array:
        """Another array of this shape and type."""
        made = Array(self.shape, self.dtype, source=source, name=name)
        made.outer = self.outer
        return made

    def __getitem__(self, index: Index | tuple[Index, ...]) -> Expr:
        given = index if isinstance(index, tuple) else (index,)
        if len(given) != len(self.shape):
            raise IndexError(f"{len(given)} indices for an operand of shape {list(self.shape)}")
        return make("load", tuple(map(index_expr, given)), self.kind, self)

    def __iter__(self) -> NoReturn:
        raise TypeError("an operand is not iterable: index it")

    def __repr__(self) -> str:
        return f"{self.name or 't'}{self.moment.number}:{self.kind}{list(self.shape)}"


@record
class Compute:
    """An array as a loop: element (vars) is body."""

    vars: tuple[Var, ...]
    body: Expr
