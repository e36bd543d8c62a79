"""Sums down long columns, row by row: memory is read in the order in which it lies.

    part[c, j] = sum over r in stretch c of t(r, j)   ->   part[c, :] = 0
                                                           for r in stretch c: part[c, :] += t(r, :)

One result per lane, the other way to do it, walks down the array once for every few columns.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from math import prod

from headrace.codegen.fusion.collapse import collapse
from headrace.codegen.fusion.generalize import linear, strides
from headrace.codegen.fusion.inlining import weight
from headrace.codegen.ir import kernel_ir as ir
from headrace.codegen.ir.kernel import Kernel, Store, Sweep
from headrace.codegen.ir.kernel_ir import Array, Compute, Expr, Var, var
from headrace.codegen.ir.traverse import loads, substitute
from headrace.codegen.machine.target import host
from headrace.core.sizes import hint, is_open

NARROW, CLOSE = 8, 1 << 14  # vectors of columns that are walked down as fast, columns of a row
LIGHT = 40  # the cost of a term of which several are added at a time
TOGETHER = (4, 3, 2)  # rows
ADDED = 64  # times that a sum in memory is added to: each time it is rounded


@dataclass(frozen=True, slots=True, eq=False)
class Columns:
    """part[stretches, own] = sum over `down` of term."""

    stretches: tuple[Var, ...]
    own: tuple[Var, ...]
    down: tuple[Var, ...]
    term: Expr

    @property
    def is_many(self) -> bool:
        """Whether the parts had better be added up in parts."""
        return prod(v.extent for v in self.stretches) > ADDED * TOGETHER[0]


def is_wide(made: Compute) -> bool:
    """Whether a row of results is worth a vector loop of its own, and stays close to the core."""
    own = _loops(made.vars)
    along, row = hint(_along(own, made.body)), hint(prod(v.extent for v in own))
    return along > NARROW * host().lanes(32) and row <= CLOSE


def _along(own: tuple[Var, ...], body: Expr) -> int:
    """How many results lie side by side, and what they are made of too."""
    read = [_steps(x) for x in loads(body)]
    count = own[-1].extent
    for outer, inner in reversed(list(pairwise(own))):
        if any(s.get(outer, 0) != s.get(inner, 0) * inner.extent for s in read):
            break
        count *= outer.extent
    return count


def _steps(load: Expr) -> dict[Var, int]:
    terms, _ = linear(load.args, strides(load.extra.shape))
    return {t.extra: step for t, step in terms if t.op == "var"}


def longest_stretch(term: Expr) -> int:
    """Rows of a stretch, at most."""
    return ADDED * TOGETHER[0] if weight(term) <= LIGHT else ADDED


def schedule_columns(part: Array, how: Columns, lanes: int) -> Kernel:
    """A kernel with one row per stretch."""
    rows, own = (_loops(group) for group in (how.stretches, how.own))
    down, term = _several(how)
    cleared = {v: Var(v.extent) for v in own}  # loops that merge belong to one sweep each
    zero = ir.const(0, ir.INDEX)

    def place(own: dict[Var, Var]) -> tuple[Expr, ...]:
        loops = (*how.stretches, *how.own)
        return tuple(var(own.get(v, v)) if v.extent != 1 else zero for v in loops)

    clear = Store(part, place(cleared), ir.const(0, part.kind))
    add = Store(part, place({}), term, "add")
    (rows, first, second), (_, start, more) = collapse(
        [rows, tuple(cleared.values()), (*down, *own)], [[], [clear], [add]]
    )
    sweeps = (Sweep(first, tuple(start)), Sweep(second, tuple(more)))
    unroll = 4 if prod(hint(v.extent) for v in own) >= 4 * lanes else 1
    return Kernel(rows, sweeps, lanes, unroll, name="columns")


def _several(how: Columns) -> tuple[tuple[Var, ...], Expr]:
    """A few rows at a time, so that the sums are fetched and stored less often."""
    down = _loops(how.down)
    every = (*how.stretches, *how.down, *how.own)
    ones = {v: ir.const(0, ir.INDEX) for v in every if v.extent == 1}
    term = substitute(how.term, ones) if ones else how.term
    if not down or weight(term) > LIGHT:
        return down, term
    last = down[-1]
    for count in () if is_open(last.extent) else TOGETHER:
        if last.extent % count == 0 and last.extent > count:
            block = Var(last.extent // count)
            terms = [substitute(term, {last: var(block) * count + k}) for k in range(count)]
            total = terms[0]
            for other in terms[1:]:
                total = total + other
            return (*down[:-1], block), total
    return down, term


def _loops(given: tuple[Var, ...]) -> tuple[Var, ...]:
    """Those with more than one round."""
    return tuple(v for v in given if v.extent != 1)
