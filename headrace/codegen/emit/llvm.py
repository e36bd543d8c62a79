"""Lifted kernel -> LLVM IR text.

    void kernel(ptr *buffers, i64 *params, i64 begin, i64 end, i64 thread)

A `Scope` is a loop body (or the function).  In a vector loop, `unroll` vectors are worked on at a
time; the last elements run masked, one vector at a time.
"""

from __future__ import annotations

from collections.abc import Callable

from headrace.codegen.emit import llvm_ops
from headrace.codegen.emit.llvm_expressions import ExpressionWriter
from headrace.codegen.emit.llvm_fold import Fold
from headrace.codegen.emit.llvm_ops import from_memory, memory_type, to_memory
from headrace.codegen.emit.llvm_pairwise import Pairwise
from headrace.codegen.emit.llvm_scope import Pack, Scope, split_offset
from headrace.codegen.emit.llvm_squares import Squares
from headrace.codegen.emit.llvm_text import Value, constant, vector
from headrace.codegen.fusion.generalize import Lifted, LiftedAccumulate, LiftedStore, LiftedSweep
from headrace.codegen.ir.kernel_ir import INDEX, Expr, Kind, const, make
from headrace.codegen.ir.traverse import walk
from headrace.codegen.machine.target import host

AHEAD = 12 << 10
ATTRIBUTES = 'attributes #0 = { nounwind "prefer-vector-width"="512" "min-legal-vector-width"="512" }'


class KernelWriter(ExpressionWriter):
    """Writes one kernel."""

    def write(self, symbol: str) -> str:
        """The whole module."""
        b = self.b
        if self.k.rows:
            self.rows(self.sweeps)
        else:
            self.sweeps(self.root)
        b.block.end = "ret void"
        head = (
            f"define void @{symbol}(ptr noalias %buffers, ptr noalias %params, "
            "i64 %begin, i64 %end, i64 %thread) #0 {"
        )
        return "\n".join([head, b.body(), "}", *b.declarations.values(), ATTRIBUTES, ""])

    # -- loops -------------------------------------------------------------------------------
    def rows(self, write_row: Callable[[Scope], None]) -> None:
        """for row in [begin, end): the row's indices advance like an odometer."""
        b, rows = self.b, self.k.rows
        extents = [self.scalar(self.extent(n), self.root) for n in rows]
        start = self.decode(Value("%begin", "i64"), extents)
        self.root.block = b.block
        head, body, after = b.new_block(), b.new_block(), b.new_block()
        b.block = head
        names = [b.name() for _ in range(len(rows) + 1)]
        counter = Value(names[0], "i64")
        scope = Scope(self.root, body)
        for n, name in zip(rows, names[1:]):
            scope.loops[n] = Value(name, "i64")
            scope.known.add(("loop", n))
        b.branch_if(b.compare("icmp slt", counter, Value("%end", "i64")), body, after)
        b.block = body
        self.row_scope = scope
        write_row(scope)
        following = [b.op("add", counter, constant(1, "i64"))]
        following += self.advance([scope.loops[n] for n in rows], extents)
        first = [Value("%begin", "i64"), *start]
        self.close(self.root, head, list(zip(names, first, following)))
        b.block = self.root.block = after

    # -- sweeps ------------------------------------------------------------------------------
    def sweeps(self, scope: Scope) -> None:
        for sweep in self.k.sweeps:
            self.sweep(sweep, scope)

    def sweep(self, sweep: LiftedSweep, scope: Scope) -> None:
        """One loop nest with its actions; a sum has one accumulator for each unrolled vector, so
        that additions do not wait for each other."""
        if sweep.tile is not None:
            Squares(self, sweep, scope).write()
            return
        if self.k.width > 1:
            self.wide_sweep(sweep, scope)
            return
        lanes = self.k.lanes if sweep.loops and sweep.is_vector else 1
        copies = self.k.unroll if lanes > 1 else 1
        folds: dict[int, Fold] = {}
        for a in sweep.actions:
            if isinstance(a, LiftedAccumulate):
                folds[a.acc] = Fold(self.b, a.how, a.value.kind, lanes, copies)
        pairwise = self.pairwise(list(folds.values()), sweep.is_long)
        ahead = self.next_row(sweep)

        def act(inner: Scope) -> None:
            for buffer, row, step in ahead if inner.mask is None else ():
                self.fetch_ahead(buffer, row, step, inner)
            # Every value first: a store may overwrite what another action still reads.
            for a in sweep.actions:
                self.emit(a.value, inner)
            for a in sweep.actions:
                if isinstance(a, LiftedStore):
                    self.store(a, inner)
                else:
                    self.accumulate(folds[a.acc], a.value, inner, sweep.loops)

        *outer, last = sweep.loops or (None,)
        if last is None:
            act(scope)
        else:
            self.sequential(scope, tuple(outer), lambda s: self.innermost(last, s, lanes, act, pairwise))
        if pairwise is not None:
            pairwise.finish(scope)
        scope.block = self.b.block
        for a in sweep.actions:
            if isinstance(a, LiftedAccumulate):
                result = make("result", (), folds[a.acc].result_kind, a.acc)
                scope.known.add(("result", a.acc))
                scope.memo[result] = Pack((folds[a.acc].finish(),), True, scope)

    def wide_sweep(self, sweep: LiftedSweep, scope: Scope) -> None:
        """Plain loops; several rounds of the last one at a time, with sums of their own."""
        folds: dict[int, Fold] = {}
        for a in sweep.actions:
            if isinstance(a, LiftedAccumulate):
                folds[a.acc] = Fold(self.b, a.how, a.value.kind, self.k.width, self.k.unroll)
        pairwise = self.pairwise(list(folds.values()), sweep.is_long)

        def act(inner: Scope, copy: int) -> None:
            for a in sweep.actions:
                self.emit(a.value, inner)
            for a in sweep.actions:
                value = self.wide(self.emit(a.value, inner))
                if isinstance(a, LiftedAccumulate):
                    folds[a.acc].add_to(copy, value)
                else:
                    address = self.lane_address(a.buffer, a.offset, inner)
                    kind = self.k.buffers[a.buffer].kind
                    self.b.store(address, to_memory(self.b, value, kind))

        *outer, last = sweep.loops or (None,)
        if last is None:
            act(scope, 0)
        else:
            self.sequential(scope, tuple(outer), lambda s: self.rounds(last, s, act, pairwise))
        if pairwise is not None:
            pairwise.finish(scope)
        scope.block = self.b.block
        for number, fold in folds.items():
            result = make("lane_result", (), fold.result_kind, number)
            scope.known.add(("result", number))
            scope.memo[result] = Pack((fold.together(),), False, scope)

    def rounds(
        self, n: int, scope: Scope, act: Callable[[Scope, int], None], pairwise: Pairwise | None
    ) -> None:
        """A loop, `unroll` rounds at a time, and what is left of it."""
        b, step = self.b, self.k.unroll
        end = self.scalar(self.extent(n), scope)
        whole = b.op("sub", end, b.op("srem", end, constant(step, "i64")))

        def several(count: int) -> Callable[[Scope, Value], None]:
            def write(inner: Scope, i: Value) -> None:
                for copy in range(count):
                    one = Scope(inner, b.block)
                    index = b.op("add", i, constant(copy, "i64")) if copy else i
                    self.enter(one, n, index, lambda s, copy=copy: act(s, copy))  # type: ignore[misc]
                    inner.block = b.block

            return write

        self.counted_in(pairwise, scope, constant(0, "i64"), whole, step, several(step))
        self.counted_in(pairwise, scope, whole, end, 1, several(1))

    def next_row(self, sweep: LiftedSweep) -> list[tuple[int, Expr, Expr]]:
        """What the first sweep will read of the next rows, while the longest of the others computes:
        buffer, place of this row, distance to the next."""
        sweeps = [s for s in self.k.sweeps if s.is_vector and s.loops and s.tile is None]
        if not host().fetches_ahead or not sweeps or not self.k.rows:
            return []
        if sweep is not max(sweeps[1:] or sweeps, key=_length):
            return []
        found: dict[int, tuple[int, Expr, Expr]] = {}
        first, row = sweeps[0], make("loop", (), INDEX, self.k.rows[-1])
        for x in walk(*(a.value for a in first.actions)):
            if x.op == "fetch" and x.extra not in self.k.written and len(x.args) == 1:
                unit, rest = split_offset(x.args[0], first.loops[-1])
                if unit and rest.op == "mul" and rest.args[0] is row:
                    found[x.extra] = (x.extra, rest, rest.args[1])
        return list(found.values())

    def fetch_ahead(self, buffer: int, row: Expr, step: Expr, scope: Scope) -> None:
        """Ask for the line that lies about AHEAD bytes further on, in a later row."""
        kind = self.k.buffers[buffer].kind
        element, enough = memory_type(kind), const(AHEAD // kind.bytes, INDEX)
        one = const(1, INDEX)
        rows = make("max", (make("truncdiv", (enough, step), INDEX), one), INDEX)
        distance = self.scalar(make("mul", (step, rows), INDEX), scope)
        for copy in range(scope.copies):
            here = self.contiguous(buffer, row, copy, scope)
            self.b.prefetch(self.b.offset(here, element, distance))

    def innermost(
        self, n: int, scope: Scope, lanes: int, act: Callable[[Scope], None], pairwise: Pairwise | None
    ) -> None:
        """The loop that is vectorized: `unroll` whole vectors at a time, then one masked vector at
        a time for the rest."""
        first, end = self.bounds(n, scope)
        if lanes == 1:
            self.counted_in(pairwise, scope, first, end, 1, lambda s, i: self.enter(s, n, i, act))
            return
        b, step = self.b, lanes * self.k.unroll
        whole = b.op("sub", end, b.op("srem", b.op("sub", end, first), constant(step, "i64")))

        def full(inner: Scope, i: Value) -> None:
            inner.vector, inner.copies, inner.mask = n, self.k.unroll, None
            self.enter(inner, n, i, act)

        def masked(inner: Scope, i: Value) -> None:
            inner.mask = self.below(i, end)
            inner.vector, inner.copies = n, 1
            self.enter(inner, n, i, act)

        self.counted_in(pairwise, scope, first, whole, step, full)
        self.counted_in(pairwise, scope, whole, end, lanes, masked)

    def below(self, first: Value, end: Value) -> Value:
        """Which lanes, counted from `first`, are before `end`."""
        b, lanes = self.b, self.k.lanes
        index = b.op("add", b.splat(first, lanes), b.iota(lanes))
        return b.compare("icmp slt", index, b.splat(end, lanes))

    def bounds(self, n: int, scope: Scope) -> tuple[Value, Value]:
        if self.k.is_ranged:
            return Value("%begin", "i64"), Value("%end", "i64")
        return constant(0, "i64"), self.scalar(self.extent(n), scope)

    # -- actions -----------------------------------------------------------------------------
    def accumulate(self, fold: Fold, value: Expr, scope: Scope, loops: tuple[int, ...]) -> None:
        pack = self.emit(value, scope)
        positions = None
        if fold.is_arg:
            at = make("loop", (), INDEX, loops[-1]) if loops else const(0, INDEX)
            positions = self.lanes_of(self.emit(at, scope), scope)
        fold.add(self.lanes_of(pack, scope), scope.mask, positions)

    def store(self, a: LiftedStore, scope: Scope) -> None:
        """All lanes of the value, then memory: contiguous, scattered or one element."""
        kind = self.k.buffers[a.buffer].kind
        values = self.lanes_of(self.emit(a.value, scope), scope)
        if scope.vector is None:
            self.store_scalar(a, kind, values[0], scope)
            return
        unit, rest = split_offset(a.offset, scope.vector)
        guards = self.lanes_of(self.emit(a.guard, scope), scope) if a.guard is not None else None
        for copy, value in enumerate(values):
            mask = self.both(scope.mask, guards[copy] if guards else None)
            if unit:
                address = self.contiguous(a.buffer, rest, copy, scope)
                self.store_vector(address, kind, value, mask, a.how)
            else:
                assert a.how == "set" and ("loop", scope.vector) in a.offset.free, a
                offset = self.lanes_of(self.emit(a.offset, scope), scope)[copy]
                base = self.base(a.buffer)
                addresses = self.b.offset(base, memory_type(kind), offset)
                full = mask or constant(1, vector("i1", self.k.lanes))
                self.b.scatter(addresses, to_memory(self.b, value, kind), full)

    def store_scalar(self, a: LiftedStore, kind: Kind, value: Value, scope: Scope) -> None:
        b = self.b
        address = b.offset(self.base(a.buffer), memory_type(kind), self.scalar(a.offset, scope))
        if a.guard is None:
            self.write_at(address, kind, value, a.how)
            return
        then, after = b.new_block(), b.new_block()
        b.branch_if(self.scalar(a.guard, scope), then, after)
        b.block = then
        self.write_at(address, kind, value, a.how)
        b.branch(after)
        b.block = scope.block = after

    def write_at(self, address: Value, kind: Kind, value: Value, how: str) -> None:
        if how != "set":
            old = from_memory(self.b, self.b.load(address, memory_type(kind)), kind)
            value = llvm_ops.OPS[how](self.b, kind, old, value)
        self.b.store(address, to_memory(self.b, value, kind))

    def store_vector(self, address: Value, kind: Kind, value: Value, mask: Value | None, how: str) -> None:
        """Store, or combine with what is there; under a mask only the lanes inside of the array are
        touched."""
        b = self.b
        if mask is None:
            type = vector(memory_type(kind), value.lanes)
            if how != "set":
                value = llvm_ops.OPS[how](b, kind, from_memory(b, b.load(address, type), kind), value)
            b.store(address, to_memory(b, value, kind))
            return
        if how != "set":
            type = vector(memory_type(kind), value.lanes)
            old = from_memory(b, b.masked_load(address, type, mask), kind)
            value = llvm_ops.OPS[how](b, kind, old, value)
        b.masked_store(address, to_memory(b, value, kind), mask)


def _length(sweep: LiftedSweep) -> int:
    return len(walk(*(a.value for a in sweep.actions)))


def write_module(kernel: Lifted, symbol: str) -> str:
    return KernelWriter(kernel).write(symbol)
