"""Long reductions with few results are done in parts, which threads share.

    out[j] = f(sum over r of t(r, j))   ->   part[c, j] = sum over r in stretch c of t(r, j)
                                             out[j] = f(sum over c of part[c, j] + the rest)

Where no number of stretches divides the loop, its last few rounds are the rest, added with the parts.  The
number of stretches depends on shapes alone, so results do not depend on the number of threads.

Sums down the columns are done row by row (columns.py), each addition rounded in memory: their
stretches are short, and many parts are added up in parts again.
"""

from __future__ import annotations

from math import prod

from headrace.codegen.fusion.columns import Columns, is_wide, longest_stretch
from headrace.codegen.ir import kernel_ir as ir
from headrace.codegen.ir.kernel_ir import BF16, F16, F32, Array, Compute, Expr, Var, var
from headrace.codegen.ir.traverse import rewrite, substitute, walk
from headrace.core.records import record
from headrace.core.sizes import LEAST, at_least, hint, is_open

# Results that a thread computes side by side count as one; rows can be shared one by one.
FEW_COLUMNS, FEW_ROWS, LONG = 512, 32, 1 << 16
STRETCHES = (16, 15, 14, 12, 10, 9, 8, 7, 6, 5, 4)
SMALL = 16  # a rest is at most this part of a loop
EVEN = 4  # rows that are best added at a time
_COMBINE = {"sum": "add", "prod": "mul", "max": "max", "min": "min", "any": "or", "all": "and"}

Parts = list[tuple[Array, Compute | Columns]]


@record
class Cut:
    """A loop as `count` stretches, and some rounds that are left.  `whole`: loops around it of which
    each round is a stretch."""

    loop: Var
    count: int
    length: int
    whole: tuple[Var, ...] = ()

    @property
    def done(self) -> int:
        return self.count * self.length

    @property
    def rest(self) -> int:
        """Of a loop whose extent is open always at least LEAST: 0 and 1 would be other loops."""
        left = self.loop.extent - self.done
        return at_least(left, LEAST) if is_open(left) else left

    @property
    def most_rest(self) -> int:
        """The rest, or, of a loop whose extent is open, the largest that it may be."""
        if not is_open(self.rest):
            return self.rest
        return (self.length if is_open(self.count) else self.count) + LEAST - 1


def split(array: Array, made: Compute, is_down: bool) -> tuple[Compute, Parts]:
    """The stage with its long reductions replaced, and the stages that do their parts, in order.
    `is_down`: they run down the columns."""
    by_rows = is_down and is_wide(made)
    if not by_rows and hint(array.count) > (FEW_COLUMNS if is_down else FEW_ROWS):
        return made, []
    changed: dict[int, Expr] = {}
    parts: Parts = []
    for x in walk(made.body):
        if x.op != "reduce" or not _is_long(x, array):
            continue
        is_added = by_rows and x.extra[0] == "sum" and x.kind.is_float
        cut = _short_stretches(x) if is_added else _few_stretches(x)
        if cut is not None:
            changed[id(x)], part = _in_parts(x, array, made, cut, is_added)
            parts.append(part)
    if not parts:
        return made, []
    body = rewrite(made.body, lambda old, args: changed.get(id(old)))
    again = any(isinstance(how, Columns) and how.is_many for _, how in parts)
    made, more = split(array, Compute(made.vars, body), is_down) if again else (Compute(made.vars, body), [])
    return made, parts + more


def _is_long(x: Expr, array: Array) -> bool:
    how, loops = x.extra
    total = prod(hint(v.extent) for v in loops) * max(hint(array.count), 1)
    inner = any(y.op == "reduce" for y in walk(x.args[0]))
    outside = all(isinstance(v, Var) for v in x.free)
    return how in _COMBINE and total >= LONG and not inner and outside


def _divided(extent: int, n: int) -> int:
    return (extent - LEAST) // n if is_open(extent) else extent // n


def _few_stretches(x: Expr) -> Cut | None:
    """The outermost loop that can be cut without a rest, else the outermost with a small one."""
    for share in (0, 1):
        for loop in x.extra[1]:
            now = hint(loop.extent)
            found = [Cut(loop, n, _divided(loop.extent, n)) for n in STRETCHES if n < now]
            good = [c for c in found if c.most_rest * SMALL <= now * share]
            if good:
                return min(good, key=lambda c: hint(c.rest))
    return None


def _short_stretches(x: Expr) -> Cut | None:
    """Stretches of at most as many rounds as may be added one after the other; few where these do."""
    loops, most = x.extra[1], longest_stretch(x.args[0])
    few = _few_stretches(x)
    if (
        few is not None
        and not is_open(few.length)
        and prod(v.extent for v in loops) // few.loop.extent * few.length <= most
    ):
        return few
    inner = 1
    for number in reversed(range(len(loops))):
        loop, room = loops[number], most // inner
        if hint(loop.extent) > room:
            step = EVEN if room > 2 * EVEN else 1
            lengths = range(room - room % step, room // 2, -step)
            cuts = [Cut(loop, _divided(loop.extent, n), n, loops[:number]) for n in lengths]
            return min(cuts, key=lambda c: hint(c.rest))
        inner *= hint(loop.extent)
    return few


def _in_parts(
    x: Expr, array: Array, made: Compute, cut: Cut, is_added: bool
) -> tuple[Expr, tuple[Array, Compute | Columns]]:
    """A reduction as two: partial results of stretches, which threads share, then the reduction of
    these.  Partial sums of half-precision floats are kept as float32."""
    how, loops = x.extra
    kind = F32 if x.kind in (F16, BF16) else x.kind
    # The result's own dimensions stay innermost: the parts lie side by side.
    own = tuple(Var(v.extent) for v in made.vars)
    stretch = Var(cut.count)
    stretches = (*(Var(v.extent) for v in cut.whole), stretch)
    inner = {v: Var(cut.length if v is cut.loop else v.extent) for v in loops if v not in cut.whole}
    values = {v: var(w) for v, w in zip((*made.vars, *cut.whole), (*own, *stretches))}
    values |= {v: var(w) for v, w in inner.items()}
    values[cut.loop] = var(stretch) * cut.length + var(inner[cut.loop])
    zero = ir.const(0, ir.INDEX)
    values |= {v: zero for v in made.vars if v.extent == 1}
    term = ir.cast(substitute(x.args[0], values), kind)
    extents = tuple(v.extent for v in stretches)
    part = Array((*extents, *array.shape), kind, name="part")
    place = tuple(var(v) if v.extent != 1 else zero for v in made.vars)
    total = ir.reduce(how, extents, lambda *c: part[(*c, *place)])
    if is_open(cut.rest) or cut.rest:
        total = ir.binary(_COMBINE[how], total, _rest(x, cut, kind))
    total = ir.cast(total, x.kind)
    down = tuple(inner.values())
    part.source = Compute((*stretches, *own), ir.make("reduce", (term,), kind, (how, down)))
    return total, (part, Columns(stretches, own, down, term) if is_added else part.source)


def _rest(x: Expr, cut: Cut, kind: ir.Kind) -> Expr:
    """What the stretches leave."""
    how, loops = x.extra
    left = {v: Var(cut.rest if v is cut.loop else v.extent) for v in loops}
    values = {v: var(w) for v, w in left.items()}
    values[cut.loop] = var(left[cut.loop]) + cut.done
    term = ir.cast(substitute(x.args[0], values), kind)
    return ir.make("reduce", (term,), kind, (how, tuple(left.values())))
