"""Which results of a kernel may lie where one of its operands did.

A kernel computes all values of an index before it stores any, row after row.  So a result may take the
memory of an operand that nobody reads later if, in the sweep that stores the result, the operand is read
at the very place that is stored; in earlier sweeps anywhere within the row; in later ones not at all.
That is one array less to bring into the caches, and in the arena.
"""

from __future__ import annotations

from collections import Counter

from headrace.codegen.fusion.generalize import linear, strides
from headrace.codegen.ir.kernel import Kernel, Store
from headrace.codegen.ir.kernel_ir import Array, Expr, Var
from headrace.codegen.ir.stages import memory
from headrace.codegen.ir.traverse import loads
from headrace.codegen.program.instruction import Pair
from headrace.core.records import record
from headrace.core.sizes import same


@record
class _Place:
    """An access: its sweep, its offset as a sum, and what that becomes if all loops of the sweep
    inside of a row are run through."""

    sweep: int
    terms: frozenset[tuple[int, int]]  # (id of a loop's or other expression, step)
    start: int
    row: frozenset[tuple[int, int]]
    inner: frozenset[tuple[tuple[int, int], int]]  # ((step, extent), how many)

    def is_within(self, other: _Place) -> bool:
        """Whether both run through the same elements of every row."""
        return (self.row, self.inner, self.start) == (other.row, other.inner, other.start)


def pairs(kernel: Kernel) -> list[Pair]:
    """Operands and results of equal size, of which one may take the other's memory."""
    if any(s.tile is not None for s in kernel.sweeps):
        return []  # squares are read whole before they are turned and stored
    keep: list[Expr] = []  # ids of expressions stay theirs
    read: dict[Array, list[_Place]] = {}
    stored: dict[Array, list[_Place]] = {}
    for number, sweep in enumerate(kernel.sweeps):
        inside = frozenset(sweep.loops)
        for action in sweep.actions:
            index = action.index if isinstance(action, Store) else ()
            for x in loads(action.value, *index):
                place = _place(number, x.extra, x.args, inside, keep)
                read.setdefault(memory(x.extra), []).append(place)
            if isinstance(action, Store):
                place = _place(number, action.array, action.index, inside, keep)
                stored.setdefault(memory(action.array), []).append(place)
                if action.how != "set":
                    stored[memory(action.array)].append(place)  # it reads what it changes
    mine = kernel.temporaries
    return [
        (operand, result)
        for result, (place, *more) in stored.items()
        if not more and result not in mine and result not in read
        for operand, places in read.items()
        if operand not in mine and operand not in stored and same(operand.nbytes, result.nbytes)
        if operand.kind.bytes == result.kind.bytes and all(_is_harmless(p, place) for p in places)
    ]


def _is_harmless(read: _Place, stored: _Place) -> bool:
    if read.sweep == stored.sweep:
        return (read.terms, read.start) == (stored.terms, stored.start)
    return read.sweep < stored.sweep and read.is_within(stored)


def _place(
    sweep: int, array: Array, index: tuple[Expr, ...], inside: frozenset[Var], keep: list[Expr]
) -> _Place:
    terms, start = linear(index, strides(array.shape))
    keep += [x for x, _ in terms]
    within = [(x, step) for x, step in terms if x.op == "var" and x.extra in inside]
    walked = Counter((step, x.extra.extent) for x, step in within)
    whole = frozenset((id(x), step) for x, step in terms)
    outside = whole - {(id(x), step) for x, step in within}
    return _Place(sweep, whole, start, outside, frozenset(walked.items()))
