"""Products of matrices over a very long dimension.

    c = a b   ->   part[s] = a[:, stretch s] b[stretch s, :]        one call, a stack of products
                   c = sum over s of part[s] + the last few terms   added up in pairs

A library adds up one block of terms after the other: the more there are, the less exact it is.  Stretches are
long enough to cost next to nothing.  A product that is a single number is a sum like any other.

In: a LibraryCall "matmul" that somebody does.  Out: how else its result is made.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod

from headrace.codegen.convolution import library
from headrace.codegen.ir import kernel_ir as ir
from headrace.codegen.ir.kernel_ir import F32, F64, Array, Compute, Expr, Var, var
from headrace.codegen.ir.stages import Called
from headrace.codegen.lowering.fallback import read
from headrace.codegen.products import gemv
from headrace.codegen.products.matrices import OPERANDS
from headrace.core.sizes import hint
from headrace.ops.declaration.emit import LibraryCall, View

SHORT, STRETCH = 256, 1 << 15  # terms


def split(call: LibraryCall) -> Compute | None:
    """The result in terms of shorter sums; None where the call is best as it is."""
    if call.kind != "matmul" or set(call.views) != set(OPERANDS) or call.options:
        return None
    a, b, c = (call.views[name] for name in OPERANDS)
    k = a.shape[-1]
    if c.operand.kind not in (F32, F64) or not prod(c.shape):
        return None
    if prod(c.shape) == 1 and k > SHORT:
        return _made(call, lambda *own: _terms(call, own, 0, k))
    if hint(k) <= 2 * STRETCH or gemv.prefers(call):  # those see to it themselves
        return None
    length = min(range(STRETCH, STRETCH // 2, -1), key=lambda n: (k % n, -n))
    count = k // length
    part = Array((count, *c.whole), c.operand.dtype, name="part")
    stretches = LibraryCall(
        "matmul",
        src=_cut(a, -1, count, length),
        weights=_cut(b, -2, count, length),
        dst=View(part, (0, *(axis + 1 for axis in c.order))),
    )
    if library.choose(stretches) is None:
        return None
    part.source = Called(stretches, (a.operand, b.operand))

    def total(*own: Expr) -> Expr:
        found = ir.reduce("sum", (count,), lambda s: part[(s, *own)])
        done = count * length
        return found + _terms(call, own, done, k - done) if done < k else found

    return _made(call, total)


def _cut(view: View, which: int, count: int, length: int) -> View:
    """A dimension as stretches, which become the first one; the last elements are not seen."""
    axis, steps = view.order[which], view.steps
    sizes = (*view.whole[:axis], count, length, *view.whole[axis + 1 :])
    moves = (*steps[:axis], length * steps[axis], *steps[axis:])
    order = (axis, *(i + (i >= axis) for i in view.order))
    return View(view.operand, order, sizes, moves)


def _made(call: LibraryCall, rule: Callable[..., Expr]) -> Compute:
    loops = tuple(Var(n) for n in call.views["dst"].whole)
    return Compute(loops, rule(*map(var, loops)))


def _terms(call: LibraryCall, own: tuple[Expr, ...], first: int, count: int) -> Expr:
    """The sum of some terms of one element, which `own` names in the order of memory."""
    a, b, c = (call.views[name] for name in OPERANDS)
    *lead, row, column = (own[axis] for axis in c.order)

    def at(view: View, *rest: Expr) -> Expr:
        zero = ir.const(0, ir.INDEX)
        return read(view, [*(i if n != 1 else zero for i, n in zip(lead, view.shape)), *rest])

    return ir.reduce("sum", (count,), lambda r: at(a, row, r + first) * at(b, r + first, column))
