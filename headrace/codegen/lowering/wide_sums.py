"""Sums into places that may be hit very often: kept in a wider type and rounded once.

In: what a Scatter that adds is made of.  Out: stages.  One after the other, n equal float32 add up with
an error of up to n/2 units; in float64 nothing is lost, and half floats are added in float32.

An array that is not much larger than what is added to it is widened as a whole.  Of a large one (a table
of embeddings) only the rows that are hit are: of equal places the last one leads, and its number is a row
of a small array of sums.
"""

from __future__ import annotations

from math import prod

from headrace.codegen.ir import kernel_ir as ir
from headrace.codegen.ir.kernel_ir import BF16, F16, F32, F64, I32, Array, Compute, Expr, Kind, Var, var
from headrace.codegen.ir.stages import Scatter, Temporary
from headrace.codegen.ir.traverse import substitute
from headrace.core.sizes import hint, is_open

SHORT = 256  # float32 terms that are added one after the other
HALF_SHORT = 4096  # half floats that are added in float32
LARGE = 2  # an array of more than so many times the terms is not widened as a whole


def wider(kind: Kind, terms: int) -> Kind | None:
    """The type for a sum of so many terms; None: its own will do."""
    if kind in (F16, BF16):
        return F32 if terms <= HALF_SHORT else F64
    return F64 if kind is F32 and (is_open(terms) or terms > SHORT) else None


def scattered(into: Array, loops: tuple[Var, ...], place: tuple[Expr, ...], value: Expr, how: str) -> Array:
    """`into` with the values added (or subtracted) at their places."""
    along = sum(1 for p, v in zip(place[::-1], loops[::-1]) if p is var(v))
    while along and any(v in p.free for p in place[: len(place) - along] for v in loops[-along:]):
        along -= 1
    outer = loops[: len(loops) - along]
    terms = prod(v.extent for v in outer)
    wide = wider(into.kind, terms)
    if wide is None or terms <= 1:
        return Array(into.shape, into.dtype, source=Scatter(into, loops, place, value, how))
    if hint(into.count) <= LARGE * hint(prod(v.extent for v in loops)):
        return _widened(into, Scatter(into, loops, place, ir.cast(value, wide), how), wide)
    return _by_leaders(into, Scatter(into, loops, place, ir.cast(value, wide), how), outer, wide)


def _widened(into: Array, adds: Scatter, wide: Kind) -> Array:
    start = _stage(into, wide)
    total = Array(into.shape, wide, source=Scatter(start, adds.vars, adds.place, adds.value, adds.how))
    return _stage(total, into.kind)


def _stage(array: Array, kind: Kind) -> Array:
    """The array in another type."""
    loops = tuple(Var(n) for n in array.shape)
    body = ir.cast(array[tuple(map(var, loops))], kind)
    return Array(array.shape, kind, source=Compute(loops, body))


def _by_leaders(into: Array, adds: Scatter, outer: tuple[Var, ...], wide: Kind) -> Array:
    inner = adds.vars[len(outer) :]
    rows = adds.place[: len(adds.place) - len(inner)]
    number = ir.const(0, ir.INDEX)
    for v in outer:
        number = number * v.extent + var(v)
    last = _set(_unwritten(into.shape[: len(rows)], I32), outer, rows, ir.cast(number, I32))
    sums = (ir.index_expr(last[rows]), *map(var, inner))
    room = (prod(v.extent for v in outer), *(v.extent for v in inner))
    start = _set(_unwritten(room, wide), adds.vars, sums, ir.cast(into[adds.place], wide))
    total = _changed(start, adds.vars, sums, adds.value, adds.how)
    return _set(into, adds.vars, adds.place, ir.cast(total[sums], into.kind))


def _unwritten(shape: tuple[int, ...], kind: Kind) -> Array:
    return Array(shape, kind, source=Temporary())


def _set(into: Array, loops: tuple[Var, ...], place: tuple[Expr, ...], value: Expr) -> Array:
    return _changed(into, loops, place, value, "set")


def _changed(into: Array, loops: tuple[Var, ...], place: tuple[Expr, ...], value: Expr, how: str) -> Array:
    """A scatter with loops of its own."""
    fresh = {v: Var(v.extent) for v in loops}
    renamed = {v: var(w) for v, w in fresh.items()}
    where = tuple(substitute(p, renamed) for p in place)
    source = Scatter(into, tuple(fresh.values()), where, substitute(value, renamed), how)
    return Array(into.shape, into.dtype, source=source)
