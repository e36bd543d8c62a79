"""Sums down long columns, row by row: memory is read in the order in which it lies.

    part[c, j] = sum over r in stretch c of t(r, j)   ->   part[c, :] = 0
                                                           for r in stretch c: part[c, :] += t(r, :)

One result per lane, the other way to do it, walks down the array once for every few columns.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from headrace.codegen import kernel_ir as ir
from headrace.codegen.collapse import collapse
from headrace.codegen.inline import weight
from headrace.codegen.kernel_ir import Compute, Expr, Tensor, Var, var
from headrace.codegen.loops import Kernel, Store, Sweep
from headrace.codegen.walks import substitute

WIDE, CLOSE = 64, 1 << 14  # columns
LIGHT = 40  # the cost of a term of which several are added at a time
TOGETHER = (4, 3, 2)  # rows


@dataclass(frozen=True, slots=True, eq=False)
class Columns:
    """part[stretch, own] = sum over `down` of term."""

    stretch: Var
    own: tuple[Var, ...]
    down: tuple[Var, ...]
    term: Expr


def is_wide(made: Compute) -> bool:
    """Whether a row of results is worth a vector loop of its own, and stays close to the core."""
    own = [v.extent for v in made.vars if v.extent != 1]
    return own[-1] >= WIDE and prod(own) <= CLOSE


def schedule_columns(part: Tensor, how: Columns, lanes: int) -> Kernel:
    """A kernel with one row per stretch."""
    own = tuple(v for v in how.own if v.extent != 1)
    zero = ir.const(0, ir.INDEX)
    place = (var(how.stretch), *(var(v) if v.extent != 1 else zero for v in how.own))
    down, term = _several(how)
    clear = Store(part, place, ir.const(0, part.kind))
    add = Store(part, place, term, "add")
    (rows, first, second), (_, start, more) = collapse(
        [(how.stretch,), own, (*down, *own)], [[], [clear], [add]]
    )
    sweeps = (Sweep(first, tuple(start)), Sweep(second, tuple(more)))
    unroll = 4 if prod(v.extent for v in own) >= 4 * lanes else 1
    return Kernel(rows, sweeps, lanes, unroll, name="columns")


def _several(how: Columns) -> tuple[tuple[Var, ...], Expr]:
    """A few rows at a time, so that the sums are fetched and stored less often."""
    down = tuple(v for v in how.down if v.extent != 1)
    ones = {v: ir.const(0, ir.INDEX) for v in (*how.down, *how.own) if v.extent == 1}
    term = substitute(how.term, ones) if ones else how.term
    if not down or weight(term) > LIGHT:
        return down, term
    last = down[-1]
    for count in TOGETHER:
        if last.extent % count == 0 and last.extent > count:
            block = Var(last.extent // count)
            terms = [substitute(term, {last: var(block) * count + k}) for k in range(count)]
            total = terms[0]
            for other in terms[1:]:
                total = total + other
            return (*down[:-1], block), total
    return down, term
