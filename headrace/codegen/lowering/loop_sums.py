"""Sums of products over the iterations of a loop, as one product after it.

    for t:  total += a[t]^T b[t]      ->      for t:  kept[t] = b[t]
                                              total = [a[0]; a[1]; ...]^T [kept[0]; kept[1]; ...]

where a[t] comes off a stack: its values lie side by side already.  That is the gradient of a weight
that a loop uses; a product of a few rows per iteration becomes one of all rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from headrace.codegen.fusion.inlining import collect, dependencies
from headrace.codegen.ir.kernel_ir import Array, Compute, Var, var
from headrace.codegen.ir.stages import Called, Cell, Part, Row, Stacked, Temporary, Zeroed
from headrace.codegen.products import limits
from headrace.codegen.program.native_control import HOLES, PUT, REST
from headrace.core import dtypes
from headrace.ops.declaration.emit import LibraryCall, View

if TYPE_CHECKING:
    from headrace.codegen.lowering.specialize import Specializer


@dataclass(slots=True, eq=False)
class LoopSum:
    """A variable that left its loop."""

    start: Array
    call: LibraryCall
    stacked: Stacked
    kept: Array
    flags: Array

    def result(self, s: Specializer) -> Array:
        """The sum, after the loop: as far as terms were kept."""
        rows = []
        is_limited = limits.supports(self.call)
        for memory in (self.stacked.stack, self.kept):
            whole = Array(
                memory.shape,
                memory.dtype,
                source=Row(memory, self.flags, HOLES if is_limited else REST),
                name="rows",
            )
            s.emitter.effects.append(whole)
            shape = (memory.shape[0] * memory.shape[1], *memory.shape[2:])
            rows.append(s.emitter.view(whole, shape))
        total = Array(self.start.shape, self.start.dtype, name="sum")
        views = self.call.views
        call = LibraryCall(
            self.call.kind,
            src=View(rows[0], views["src"].order),
            weights=View(rows[1], views["weights"].order),
            dst=View(total, views["dst"].order),
            **self.call.options,
            **({limits.FLAGS: self.flags} if is_limited else {}),
        )
        total.source = Called(call, (rows[0], rows[1]))
        loops = tuple(Var(n) for n in total.shape)
        index = tuple(map(var, loops))
        return Array(total.shape, total.dtype, source=Compute(loops, self.start[index] + total[index]))


def take_out(
    body: Part, others: list[Array], starts: list[Array], carried: list[Array], nexts: list[Array]
) -> dict[int, LoopSum]:
    """The variables that are such sums, unless `others` need them; the body keeps their terms
    instead."""
    users: dict[Array, int] = {}
    roots = [*body.roots, *nexts, *others]
    for array in collect(roots, carried[0].moment if carried else body.first):
        for used in dict.fromkeys(dependencies(array)):
            users[used] = users.get(used, 0) + 1
    for array in roots:
        users[array] = users.get(array, 0) + 1
    found: dict[int, LoopSum] = {}
    for i, (start, leaf, following) in enumerate(zip(starts, carried, nexts)):
        product = _term(leaf, following, users)
        if product is None or product.moment < body.first:
            continue
        assert isinstance(product.source, Called)
        call = product.source.call
        stacked = _stacked(call, body)
        if stacked is None:
            continue
        value = call.views["weights"].operand
        room = stacked.stack.shape[0]
        zeros = Zeroed()
        flags = Array((max(room, 1),), dtypes.uint8, source=zeros, name="flags")
        kept = Array((room, *value.shape), value.dtype, source=Temporary(), name="terms")
        flags.moment = carried[0].moment.after()
        kept.moment = flags.moment.after()
        zeros.held.append(kept)
        effect = Cell(kept, stacked.height, flags, PUT, value)
        body.effects.append(Array((), "bool", source=effect, name="term"))
        found[i] = LoopSum(start, call, stacked, kept, flags)
    return found


def _term(leaf: Array, following: Array, users: dict[Array, int]) -> Array | None:
    """The product in: variable + product, if nobody else uses either."""
    source = following.source
    if not isinstance(source, Compute) or source.body.op != "add":
        return None
    index = tuple(map(var, source.vars))
    loads = source.body.args
    if any(x.op != "load" or [*map(id, x.args)] != [*map(id, index)] for x in loads):
        return None
    arrays = [x.extra for x in loads]
    if leaf not in arrays:
        return None
    product: Array = arrays[1 - arrays.index(leaf)]
    alone = users.get(leaf) == users.get(product) == users.get(following) == 1
    is_product = isinstance(product.source, Called) and product.source.call.kind == "matmul"
    return product if alone and is_product and len(product.shape) == 2 else None


def _stacked(call: LibraryCall, body: Part) -> Stacked | None:
    """Where its first operand comes from, if that is a stack with a limit and both operands have
    the summed dimension first."""
    src, weights = call.views["src"], call.views["weights"]
    if src.sizes is not None or weights.sizes is not None or call.options.get("post_ops"):
        return None
    source = src.operand.source
    if not isinstance(source, Stacked) or source.room is None or src.operand.moment < body.first:
        return None
    is_tall = src.order == (1, 0) and weights.order == (0, 1)
    return source if is_tall and len(src.operand.shape) == 2 else None
