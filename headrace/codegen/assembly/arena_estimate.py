"""How much memory a program will need at least, before it is made (see codegen.program.prefault)."""

from __future__ import annotations

from collections.abc import Iterable

from headrace.codegen.fusion.inlining import collect, dependencies
from headrace.codegen.ir.kernel_ir import Compute, Tensor
from headrace.codegen.ir.order import Moment
from headrace.codegen.ir.stages import Called, Update

SURE = 0.9  # of the estimate


def at_least(roots: Iterable[Tensor], updates: list[Update]) -> int:
    """Bytes that the operands and results of library calls take where most of them are needed at
    once: they are always stored, in an order that hardly changes.  What only updates read dies at
    once."""
    order = collect(roots)
    late = {u.value for u in updates}
    given: set[Tensor] = set()
    last: dict[Tensor, Moment] = {}
    for tensor in reversed(order):
        users = last.get(tensor)
        if users is None and isinstance(tensor.source, Compute):
            late.add(tensor)
        if tensor in late and isinstance(tensor.source, Compute):
            continue
        if isinstance(tensor.source, Called):
            given.update(tensor.source.inputs)
        for t in dependencies(tensor):
            last.setdefault(t, tensor.moment)
    changes: list[tuple[Moment, int]] = []
    for tensor in order:
        if tensor in last and (isinstance(tensor.source, Called) or tensor in given):
            changes += [(tensor.moment, tensor.nbytes), (last[tensor], -tensor.nbytes)]
    alive = most = 0
    for _, change in sorted(changes, key=lambda c: c[0]):
        alive += change
        most = max(most, alive)
    return int(SURE * most)
