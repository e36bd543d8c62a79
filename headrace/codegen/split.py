"""Long reductions with few results are done in parts, which threads share.

    out[j] = f(sum over r of t(r, j))   ->   part[c, j] = sum over r in stretch c of t(r, j)
                                             out[j] = f(sum over c of part[c, j])

The number of stretches depends on shapes alone, so results do not depend on the number of threads.
Sums down the columns are done row by row (codegen.columns).
"""

from __future__ import annotations

from math import prod

from headrace.codegen import kernel_ir as ir
from headrace.codegen.columns import Columns, is_wide
from headrace.codegen.kernel_ir import BF16, F16, F32, Compute, Expr, Tensor, Var, var
from headrace.codegen.walks import rewrite, substitute, walk

# Results that a thread computes side by side count as one; rows can be shared one by one.
FEW_COLUMNS, FEW_ROWS, LONG = 512, 32, 1 << 16
STRETCHES = (16, 15, 14, 12, 10, 9, 8, 7, 6, 5, 4)
_KINDS = frozenset({"sum", "prod", "max", "min", "any", "all"})


def split(
    tensor: Tensor, made: Compute, is_down: bool
) -> tuple[Compute, list[tuple[Tensor, Compute | Columns]]]:
    """The stage with its long reductions replaced, and the stages that do their parts.  `is_down`:
    they run down the columns."""
    by_rows = is_down and is_wide(made)
    if not by_rows and tensor.count > (FEW_COLUMNS if is_down else FEW_ROWS):
        return made, []
    changed: dict[int, Expr] = {}
    parts: list[tuple[Tensor, Compute | Columns]] = []
    for x in walk(made.body):
        if x.op == "reduce" and _is_long(x, tensor):
            found = _stretch(x)
            if found is not None:
                changed[id(x)], part = _in_parts(x, tensor, made, *found, by_rows)
                parts.append(part)
    if not parts:
        return made, []
    body = rewrite(made.body, lambda old, args: changed.get(id(old)))
    return Compute(made.vars, body), parts


def _is_long(x: Expr, tensor: Tensor) -> bool:
    how, loops = x.extra
    total = prod(v.extent for v in loops) * max(tensor.count, 1)
    inner = any(y.op == "reduce" for y in walk(x.args[0]))
    outside = all(isinstance(v, Var) for v in x.free)
    return how in _KINDS and total >= LONG and not inner and outside


def _stretch(x: Expr) -> tuple[Var, int] | None:
    """The loop to cut, the outermost that can be, and into how many stretches."""
    for loop in x.extra[1]:
        for count in STRETCHES:
            if loop.extent % count == 0 and loop.extent > count:
                return loop, count
    return None


def _in_parts(
    x: Expr, tensor: Tensor, made: Compute, cut: Var, count: int, by_rows: bool
) -> tuple[Expr, tuple[Tensor, Compute | Columns]]:
    how, loops = x.extra
    kind = F32 if x.kind in (F16, BF16) else x.kind
    # The result's own dimensions stay innermost: the parts lie side by side.
    stretch, own = Var(count), tuple(Var(v.extent) for v in made.vars)
    inner = {v: Var(cut.extent // count if v is cut else v.extent) for v in loops}
    values = {v: var(w) for v, w in zip(made.vars, own)} | {v: var(w) for v, w in inner.items()}
    values[cut] = var(stretch) * (cut.extent // count) + var(inner[cut])
    zero = ir.const(0, ir.INDEX)
    values |= {v: zero for v in made.vars if v.extent == 1}
    term = ir.cast(substitute(x.args[0], values), kind)
    folded = ir.make("reduce", (term,), kind, (how, tuple(inner.values())))
    part = Tensor((count, *tensor.shape), kind, name="part")
    place = tuple(var(v) if v.extent != 1 else zero for v in made.vars)
    total = ir.reduce(how, (count,), lambda c: part[(c, *place)])
    part.source = Compute((stretch, *own), folded)
    if by_rows and how == "sum" and kind.is_float:
        return ir.cast(total, x.kind), (part, Columns(stretch, own, tuple(inner.values()), term))
    return ir.cast(total, x.kind), (part, part.source)
