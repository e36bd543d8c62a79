"""Bounds of integer expressions, from the extents of their loops."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from headrace.codegen.ir.machine_types import I64, INDEX, U64

if TYPE_CHECKING:
    from headrace.codegen.ir.kernel_ir import Expr

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
        case "lane":
            return (0, x.extra - 1)
        case "clamp":
            low, high = interval(x.args[0])
            top = max(x.extra - 1, 0)
            return (min(max(low, 0), top), min(max(high, 0), top))
        case "cast" if x.args[0].kind.is_integer and x.kind in (INDEX, I64):
            return interval(x.args[0])
        case "select":
            return _hull(interval(x.args[1]), interval(x.args[2]))
        case "load" if x.extra.value is not None and x.extra.value.size and x.extra.value.dtype != object:
            if not x.kind.is_integer:
                return _ANY
            found = (int(x.extra.value.min()), int(x.extra.value.max()))
            return found if all(in_bounds(x.args, x.extra.shape)) else _hull(found, (0, 0))
    if x.op in _COMBINE and x.kind is INDEX:
        return _COMBINE[x.op](interval(x.args[0]), interval(x.args[1]))
    if x.kind.family in "iu" and x.kind is not U64:
        low = -(1 << (x.kind.bits - 1)) if x.kind.is_signed else 0
        return (low, low + (1 << x.kind.bits) - 1)
    return _ANY


def in_bounds(index: Sequence[Expr], shape: Sequence[int]) -> list[bool]:
    """Per dimension, whether the index is provably inside."""
    ranges = [interval(i) for i in index]
    return [0 <= low and high < n for (low, high), n in zip(ranges, shape)]


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
