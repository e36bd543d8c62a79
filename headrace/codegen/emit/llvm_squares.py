"""Sweeps that cross memory: squares are read along one loop, turned in registers, used along
another.

Each line of a square is a scope of its own that knows its place in the crossing loop.  Whatever is
outside the arrays is masked, so there is one form of the code for whole squares and for edges.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.codegen.emit.llvm_ops import from_memory, memory_type
from headrace.codegen.emit.llvm_scope import PTR, Pack, Scope, split_offset
from headrace.codegen.emit.llvm_text import Builder, Value, constant, vector
from headrace.codegen.fusion.generalize import LiftedStore, LiftedSweep
from headrace.codegen.ir.kernel_ir import Expr, make
from headrace.codegen.ir.traverse import walk

if TYPE_CHECKING:
    from headrace.codegen.emit.llvm import KernelWriter


class Squares:
    """One tiled sweep."""

    def __init__(self, writer: KernelWriter, sweep: LiftedSweep, scope: Scope) -> None:
        assert sweep.tile is not None
        self.writer, self.b, self.sweep, self.scope = writer, writer.b, sweep, scope
        self.lanes = writer.k.lanes
        (self.cross, block), self.last = sweep.tile, sweep.loops[-1]
        self.extent = writer.scalar(writer.extent(self.cross), scope)
        self.end = writer.scalar(writer.extent(self.last), scope)
        self.first = self.b.op("mul", scope.loop(block), constant(self.lanes, "i64"))

    def write(self) -> None:
        start = constant(0, "i64")
        self.writer.counted(self.scope, start, self.end, self.lanes, self.square)

    def square(self, scope: Scope, i: Value) -> None:
        """A square tile: what crosses it is loaded by rows and transposed in registers, then every
        line is computed and stored in whole vectors."""
        scope.loops[self.last] = i
        scope.known.add(("loop", self.last))
        scope.vector, scope.mask = self.last, self.writer.below(i, self.end)
        lines = [self.line(scope, number) for number in range(self.lanes)]
        for x in self.crossing():
            for line, value in zip(lines, self.turned(x, i)):
                line.memo[x] = Pack((value,), False, line)
        for line in lines:
            line.block = self.b.block
            for a in self.sweep.actions:
                self.writer.emit(a.value, line)
            for a in self.sweep.actions:
                assert isinstance(a, LiftedStore)
                self.writer.store(a, line)
            scope.block = self.b.block

    def line(self, scope: Scope, number: int) -> Scope:
        b = self.b
        line = Scope(scope, b.block)
        at = b.op("add", self.first, constant(number, "i64")) if number else self.first
        line.loops[self.cross] = at
        line.known.add(("loop", self.cross))
        there = b.splat(b.compare("icmp slt", at, self.extent), self.lanes)
        line.mask = self.writer.both(scope.mask, there)
        return line

    def crossing(self) -> list[Expr]:
        """What is read along the crossing loop and not along the last one."""
        found = dict.fromkeys(
            x
            for a in self.sweep.actions
            for x in walk(a.value)
            if x.op == "fetch" and len(x.args) == 1 and self.crosses(x.args[0])
        )
        return list(found)

    def crosses(self, offset: Expr) -> bool:
        unit, _ = split_offset(offset, self.last)
        along, rest = split_offset(offset, self.cross)
        return along and not unit and ("loop", self.last) in rest.free

    def turned(self, x: Expr, start: Value) -> list[Value]:
        """The square that x reads: loaded along the crossing loop, then transposed."""
        b, lanes, element = self.b, self.lanes, memory_type(x.kind)
        _, rest = split_offset(x.args[0], self.cross)
        inside = self.writer.below(self.first, self.extent)
        rows = []
        for number in range(lanes):
            row = Scope(self.scope, b.block)
            at = b.op("add", start, constant(number, "i64")) if number else start
            row.loops[self.last] = at
            row.known.add(("loop", self.last))
            base = self.writer.scalar(make("address", (rest,), PTR, x.extra), row)
            there = b.splat(b.compare("icmp slt", at, self.end), lanes)
            mask = b.op("and", inside, there)
            address = b.offset(base, element, self.first)
            raw = b.masked_load(address, vector(element, lanes), mask)
            rows.append(from_memory(b, raw, x.kind))
        return transposed(b, rows)


def transposed(b: Builder, rows: list[Value]) -> list[Value]:
    """A square of vectors, columns as rows: exchange ever larger blocks off the diagonal."""
    size = len(rows)
    rows = list(rows)
    step = 1
    while step < size:
        low = [k if not k & step else size + k - step for k in range(size)]
        high = [k + step if not k & step else size + k for k in range(size)]
        for r in range(size):
            if not r & step:
                x, y = rows[r], rows[r + step]
                rows[r], rows[r + step] = b.merge(x, y, low), b.merge(x, y, high)
        step *= 2
    return rows
