"""How much memory a program will need at least, before it is made (see codegen.program.prefault)."""

from __future__ import annotations

from collections.abc import Iterable

from headrace.codegen.fusion.inlining import collect, dependencies
from headrace.codegen.ir.kernel_ir import Array, Compute
from headrace.codegen.ir.order import Moment
from headrace.codegen.ir.stages import Called, Update
from headrace.core.sizes import hint

SURE = 0.9  # of the estimate


def at_least(roots: Iterable[Array], updates: list[Update]) -> int:
    """Bytes that the operands and results of library calls take where most of them are needed at
    once: they are always stored, in an order that hardly changes.  What only updates read dies at
    once."""
    order = collect(roots)
    late = {u.value for u in updates}
    given: set[Array] = set()
    last: dict[Array, Moment] = {}
    for array in reversed(order):
        users = last.get(array)
        if users is None and isinstance(array.source, Compute):
            late.add(array)
        if array in late and isinstance(array.source, Compute):
            continue
        if isinstance(array.source, Called):
            given.update(array.source.inputs)
        for t in dependencies(array):
            last.setdefault(t, array.moment)
    changes: list[tuple[Moment, int]] = []
    for array in order:
        if array in last and (isinstance(array.source, Called) or array in given):
            changes += [(array.moment, hint(array.nbytes)), (last[array], -hint(array.nbytes))]
    alive = most = 0
    for _, change in sorted(changes, key=lambda c: c[0]):
        alive += change
        most = max(most, alive)
    return int(SURE * most)
