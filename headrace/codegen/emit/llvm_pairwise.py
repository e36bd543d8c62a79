"""Long sums: what a loop adds up is taken out of its accumulators now and then, and added in pairs.

    after every BLOCK rounds:   carry the sums up a counter: 1 block + 1 block = 2 blocks, 2 + 2 = 4, ...
    at the end:                 add what the counter still holds, small stretches first

A plain accumulator of n numbers is off by up to n/2 units in its last place; here it is BLOCK/2 and one half
per doubling of n, whatever n is.  The loops stay as they are: only how many rounds they had is counted.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from headrace.codegen.emit.llvm_fold import Fold
from headrace.codegen.emit.llvm_scope import Scope
from headrace.codegen.emit.llvm_text import Value, constant
from headrace.codegen.fusion.generalize import BLOCK

if TYPE_CHECKING:
    from headrace.codegen.emit.llvm_loops import LoopWriter

LEVELS = 48  # doublings of a block


def i64(n: int) -> Value:
    return constant(n, "i64")


class Pairwise:
    """The float sums of one loop nest: their blocks are full at the same time."""

    def __init__(self, writer: LoopWriter, folds: list[Fold]) -> None:
        self.writer, self.b, self.folds = writer, writer.b, folds
        self.rounds, self.blocks = (self.b.stack("i64") for _ in range(2))
        for cell in (self.rounds, self.blocks):
            self.b.store(cell, i64(0))
        self.levels = [[self.b.stack(f"[{LEVELS} x {f.type}]") for _ in f.groups] for f in folds]

    def loop(
        self, scope: Scope, first: Value, end: Value, step: int, body: Callable[[Scope, Value], None]
    ) -> None:
        """for i = first; i < end; i += step, in blocks."""
        b = self.b

        def block(outer: Scope, i: Value) -> None:
            far = b.op("add", i, i64(step * BLOCK))
            stop = b.select(b.compare("icmp slt", far, end), far, end)
            self.writer.counted(outer, i, stop, step, body)
            left = b.op("sub", stop, i)
            self.had(outer, b.op("udiv", b.op("add", left, i64(step - 1)), i64(step)))

        self.writer.counted(scope, first, end, step * BLOCK, block)

    def had(self, scope: Scope, rounds: Value) -> None:
        """So many more rounds were done: perhaps a block is full."""
        b = self.b
        total = b.op("add", b.load(self.rounds, "i64"), rounds)
        b.store(self.rounds, total)
        then, after = b.new_block(), b.new_block()
        b.branch_if(b.compare("icmp sge", total, i64(BLOCK)), then, after)
        b.block = then
        self.carry(Scope(scope, then))
        b.branch(after)
        b.block = scope.block = after

    def carry(self, scope: Scope) -> None:
        """One more block: it is added to those of equal length, as a binary counter counts."""
        b = self.b
        blocks = b.load(self.blocks, "i64")
        ones = b.call(
            "llvm.cttz.i64", "i64", b.op("xor", blocks, i64(-1)), Value("false", "i1")
        )  # the counter's last digits
        for fold in self.folds:
            fold.gather()

        def add(inner: Scope, level: Value) -> None:
            for fold, levels in zip(self.folds, self.levels):
                for group, places in enumerate(levels):
                    at = b.offset(places, fold.type, level)
                    fold.add_to_group(group, b.load(at, fold.type))

        self.writer.counted(scope, i64(0), ones, 1, add)
        for fold, levels in zip(self.folds, self.levels):
            for group, places in enumerate(levels):
                b.store(b.offset(places, fold.type, ones), fold.take_group(group))
        b.store(self.blocks, b.op("add", blocks, i64(1)))
        b.store(self.rounds, i64(0))

    def finish(self, scope: Scope) -> None:
        """All blocks, into the accumulators."""
        b = self.b
        blocks = b.load(self.blocks, "i64")
        unused = b.call("llvm.ctlz.i64", "i64", blocks, Value("false", "i1"))
        for fold in self.folds:
            fold.gather()

        def add(inner: Scope, level: Value) -> None:
            digit = b.op("and", b.op("lshr", blocks, level), i64(1))
            is_there = b.compare("icmp ne", digit, i64(0))
            for fold, levels in zip(self.folds, self.levels):
                for group, places in enumerate(levels):
                    value = b.load(b.offset(places, fold.type, level), fold.type)
                    fold.add_to_group(group, b.select(is_there, value, fold.start))

        self.writer.counted(scope, i64(0), b.op("sub", i64(64), unused), 1, add)
