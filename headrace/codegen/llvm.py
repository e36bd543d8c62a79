"""Lifted kernel -> LLVM IR text.

    void kernel(ptr *buffers, i64 *params, i64 begin, i64 end, i64 thread)

A `Scope` is a loop body (or the function).  An expression is computed in the outermost scope that
knows the loops it depends on, once: that is hoisting and common subexpressions in one.  In a
vector loop, what depends on the loop is a vector (`unroll` of them), the rest stays scalar and is
spread where needed. The last elements of a vector loop run masked, one vector at a time.
"""

from __future__ import annotations

from collections.abc import Callable

from headrace.codegen import llvm_ops
from headrace.codegen.kernel_ir import INDEX, Expr, Kind, const, constant_value, make, walk
from headrace.codegen.lift import Lifted, LiftedAccumulate, LiftedStore, LiftedSweep
from headrace.codegen.llvm_fold import Fold
from headrace.codegen.llvm_ops import from_memory, memory_type, number, to_memory
from headrace.codegen.llvm_scope import PTR, Pack, Scope, split_offset
from headrace.codegen.llvm_squares import Squares
from headrace.codegen.llvm_text import Block, Builder, Value, constant, vector
from headrace.codegen.target import host

AHEAD = 12 << 10
_LEAVES = frozenset({"fetch", "fold", "const", "param", "loop", "result", "address", "buffer"})
ATTRIBUTES = (
    'attributes #0 = { nounwind "prefer-vector-width"="512" "min-legal-vector-width"="512" }'
)


class KernelWriter:
    """Writes one kernel.  `b.block` always is the block of the scope being written."""

    def __init__(self, kernel: Lifted) -> None:
        self.k, self.b = kernel, Builder(has_scalef="+avx512f" in host().features)
        self.root = Scope(None, self.b.block)
        self.row_scope = self.root
        self.dummy: Value | None = None
        self.own: dict[Expr, bool] = {}

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

    def decode(self, flat: Value, extents: list[Value]) -> list[Value]:
        """The row's indices from its number.  No division by zero where there are no rows."""
        found: list[Value] = []
        zero, one = constant(0, "i64"), constant(1, "i64")
        for n in reversed(extents[1:]):
            extent = self.b.select(self.b.compare("icmp eq", n, zero), one, n)
            found.insert(0, self.b.op("urem", flat, extent))
            flat = self.b.op("udiv", flat, extent)
        return [flat, *found]

    def advance(self, indices: list[Value], extents: list[Value]) -> list[Value]:
        b = self.b
        carry = constant(1, "i1")
        following: list[Value] = []
        for i, n in zip(reversed(indices), reversed(extents)):
            moved = b.op("add", i, b.convert("zext", carry, "i64"))
            carry = b.compare("icmp eq", moved, n)
            following.insert(0, b.select(carry, constant(0, "i64"), moved))
        # The outermost index never wraps: `end` stops the loop first.
        return following

    def counted(
        self,
        scope: Scope,
        first: Value,
        end: Value,
        step: int,
        body: Callable[[Scope, Value], None],
    ) -> None:
        """for i = first; i < end; i += step.  The new scope's code is written by `body`."""
        b = self.b
        scope.block = b.block
        head, inside, after = b.new_block(), b.new_block(), b.new_block()
        name = b.name()
        index = Value(name, "i64")
        inner = Scope(scope, inside)
        b.block = head
        b.branch_if(b.compare("icmp slt", index, end), inside, after)
        b.block = inside
        body(inner, index)
        moved = b.op("add", index, constant(step, "i64"))
        self.close(scope, head, [(name, first, moved)])
        b.block = scope.block = after

    def close(self, outside: Scope, head: Block, phis: list[tuple[str, Value, Value]]) -> None:
        """End a loop.  Only now is it known which block leads into it: code that was hoisted out of
        the body may have split the one that did at first."""
        before, last = outside.block, self.b.block
        for name, first, following in phis:
            head.lines.insert(
                0,
                f"{name} = phi i64 [ {first.text}, %{before.label} ], "
                f"[ {following.text}, %{last.label} ]",
            )
        self.b.branch(head)
        before.end = f"br label %{head.label}"

    def sequential(
        self, scope: Scope, loops: tuple[int, ...], body: Callable[[Scope], None]
    ) -> None:
        """Plain nested loops."""
        if not loops:
            body(scope)
            return
        end = self.scalar(self.extent(loops[0]), scope)

        def inside(inner: Scope, index: Value) -> None:
            inner.loops[loops[0]] = index
            inner.known.add(("loop", loops[0]))
            self.sequential(inner, loops[1:], body)
            inner.block = self.b.block

        self.counted(scope, constant(0, "i64"), end, 1, inside)

    # -- sweeps ------------------------------------------------------------------------------
    def sweeps(self, scope: Scope) -> None:
        for sweep in self.k.sweeps:
            self.sweep(sweep, scope)

    def sweep(self, sweep: LiftedSweep, scope: Scope) -> None:
        if sweep.tile is not None:
            Squares(self, sweep, scope).write()
            return
        lanes = self.k.lanes if sweep.loops and sweep.is_vector else 1
        copies = self.k.unroll if lanes > 1 else 1
        folds: dict[int, Fold] = {}
        for a in sweep.actions:
            if isinstance(a, LiftedAccumulate):
                folds[a.acc] = Fold(self.b, a.how, a.value.kind, lanes, copies)

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
            self.sequential(scope, tuple(outer), lambda s: self.innermost(last, s, lanes, act))
        scope.block = self.b.block
        for a in sweep.actions:
            if isinstance(a, LiftedAccumulate):
                result = make("result", (), folds[a.acc].result_kind, a.acc)
                scope.known.add(("result", a.acc))
                scope.memo[result] = Pack((folds[a.acc].finish(),), True, scope)

    def next_row(self, sweep: LiftedSweep) -> list[tuple[int, Expr, Expr]]:
        """What the first sweep will read of the next rows, while the longest of the others computes:
        buffer, place of this row, distance to the next."""
        sweeps = [s for s in self.k.sweeps if s.is_vector and s.loops and s.tile is None]
        if not sweeps or not self.k.rows or sweep is not max(sweeps[1:] or sweeps, key=_length):
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

    def innermost(self, n: int, scope: Scope, lanes: int, act: Callable[[Scope], None]) -> None:
        first, end = self.bounds(n, scope)
        if lanes == 1:
            self.counted(scope, first, end, 1, lambda s, i: self.enter(s, n, i, act))
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

        self.counted(scope, first, whole, step, full)

        self.counted(scope, whole, end, lanes, masked)

    def below(self, first: Value, end: Value) -> Value:
        """Which lanes, counted from `first`, are before `end`."""
        b, lanes = self.b, self.k.lanes
        index = b.op("add", b.splat(first, lanes), b.iota(lanes))
        return b.compare("icmp slt", index, b.splat(end, lanes))

    def bounds(self, n: int, scope: Scope) -> tuple[Value, Value]:
        if self.k.is_ranged:
            return Value("%begin", "i64"), Value("%end", "i64")
        return constant(0, "i64"), self.scalar(self.extent(n), scope)

    def enter(self, scope: Scope, n: int, index: Value, act: Callable[[Scope], None]) -> None:
        scope.loops[n] = index
        scope.known.add(("loop", n))
        act(scope)
        scope.block = self.b.block

    def extent(self, n: int) -> Expr:
        return make("param", (), INDEX, self.k.extents[n])

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

    def store_vector(
        self, address: Value, kind: Kind, value: Value, mask: Value | None, how: str
    ) -> None:
        b = self.b
        if mask is None:
            type = vector(memory_type(kind), value.lanes)
            if how != "set":
                value = llvm_ops.OPS[how](
                    b, kind, from_memory(b, b.load(address, type), kind), value
                )
            b.store(address, to_memory(b, value, kind))
            return
        if how != "set":
            type = vector(memory_type(kind), value.lanes)
            old = from_memory(b, b.masked_load(address, type, mask), kind)
            value = llvm_ops.OPS[how](b, kind, old, value)
        b.masked_store(address, to_memory(b, value, kind), mask)

    # -- expressions -------------------------------------------------------------------------
    def emit(self, x: Expr, scope: Scope) -> Pack:
        """The value of x, computed where its loops allow; `scope` is being written."""
        for part in self.parts(x, scope):
            self.emit_one(part, scope)
        return self.emit_one(x, scope)

    def parts(self, x: Expr, scope: Scope) -> list[Expr]:
        """What x is computed from, innermost first: a long chain must not become deep recursion."""
        order: list[Expr] = []
        stack = [(x, False)]
        seen: set[int] = set()
        while stack:
            part, done = stack.pop()
            if done:
                order.append(part)
            elif id(part) not in seen:
                seen.add(id(part))
                if part.op in _LEAVES or part in self.home(part, scope).memo:
                    continue
                stack.append((part, True))
                stack.extend((a, False) for a in reversed(part.args))
        return order[:-1]

    def emit_one(self, x: Expr, scope: Scope) -> Pack:
        home = self.home(x, scope)
        found = home.memo.get(x)
        if found is None:
            here = self.b.block
            is_here = here is home.block
            self.b.block = home.block
            found = home.memo[x] = self.compute(x, home)
            home.block = self.b.block  # functions with branches leave another block behind
            self.b.block = home.block if is_here else here
        return found

    def home(self, x: Expr, scope: Scope) -> Scope:
        """The outermost scope that knows all of x's loops.  What this kernel writes is read in its
        own row, after the sweep that wrote it."""
        lowest = self.row_scope.depth if self.reads_own(x) else 0
        home = scope
        while home.parent is not None and home.depth > lowest:
            if not all(home.parent.knows(name) for name in x.free):
                break
            home = home.parent
        return home

    def reads_own(self, x: Expr) -> bool:
        """Whether the value depends on memory that this kernel writes."""
        if x not in self.own:
            for y in walk(x):
                reads = y.op == "fetch" and y.extra in self.k.written
                self.own[y] = reads or any(self.own[a] for a in y.args)
        return self.own[x]

    def compute(self, x: Expr, scope: Scope) -> Pack:
        varies = scope.vector is not None and ("loop", scope.vector) in x.free
        match x.op:
            case "fetch":
                return self.fetch(x, scope, varies)
            case "fold":
                return self.fold(x, scope)
        if not varies:
            return Pack((self.compute_scalar(x, scope),), True, scope)
        if x.op == "loop":
            return Pack(self.vector_index(x.extra, scope), False, scope)
        packs = [self.emit(a, scope) for a in x.args]
        lanes = [self.lanes_of(p, scope) for p in packs]
        values = tuple(
            self.apply(x, [lane[copy] for lane in lanes]) for copy in range(scope.copies)
        )
        return Pack(values, False, scope)

    def compute_scalar(self, x: Expr, scope: Scope) -> Value:
        match x.op:
            case "loop":
                return scope.loop(x.extra)
            case "param":
                address = self.b.offset(Value("%params", "ptr"), "i64", constant(x.extra, "i64"))
                return self.b.load(address, "i64")
            case "const":
                return number(constant_value(x), x.kind)
            case "address":
                element = memory_type(self.k.buffers[x.extra].kind)
                return self.b.offset(self.base(x.extra), element, self.scalar(x.args[0], scope))
            case "buffer":
                return self.buffer_pointer(x.extra, scope)
        return self.apply(x, [self.emit(a, scope).values[0] for a in x.args])

    def apply(self, x: Expr, args: list[Value]) -> Value:
        b = self.b
        match x.op:
            case "cast":
                return llvm_ops.cast(b, x.args[0].kind, x.kind, args[0])
            case "bitcast":
                return llvm_ops.bitcast(b, x.args[0].kind, x.kind, args[0])
            case "select":
                return b.select(*args)
            case "clamp":
                zero = constant(0, args[0].type)
                above = b.select(b.compare("icmp sgt", args[0], zero), args[0], zero)
                return b.select(b.compare("icmp slt", above, args[1]), above, args[1])
        return llvm_ops.OPS[x.op](b, x.args[0].kind, *args)

    def scalar(self, x: Expr, scope: Scope) -> Value:
        pack = self.emit(x, scope)
        assert pack.is_uniform, x
        return pack.values[0]

    def lanes_of(self, pack: Pack, scope: Scope) -> tuple[Value, ...]:
        """One value per copy, as wide as the scope."""
        if scope.vector is None:
            return pack.values
        if not pack.is_uniform:
            return pack.values
        wide = pack.spread.get(self.k.lanes)
        if wide is None:
            if pack.scope is scope:
                wide = self.b.splat(pack.values[0], self.k.lanes)
            else:
                with self.b.at(pack.scope.block):
                    wide = self.b.splat(pack.values[0], self.k.lanes)
            pack.spread[self.k.lanes] = wide
        return (wide,) * scope.copies

    def vector_index(self, n: int, scope: Scope) -> tuple[Value, ...]:
        b, lanes = self.b, self.k.lanes
        first = b.op("add", b.splat(scope.loop(n), lanes), b.iota(lanes))
        step = [constant(lanes * copy, first.type) for copy in range(scope.copies)]
        return tuple(b.op("add", first, s) if c else first for c, s in enumerate(step))

    # -- reading -----------------------------------------------------------------------------
    def base(self, buffer: int) -> Value:
        return self.scalar(make("buffer", (), PTR, buffer), self.root)

    def buffer_pointer(self, buffer: int, scope: Scope) -> Value:
        b = self.b
        slot = b.offset(Value("%buffers", "ptr"), "ptr", constant(buffer, "i64"))
        pointer = b.load(slot, "ptr")
        if buffer in self.k.temporaries:
            each = self.scalar(make("param", (), INDEX, self.k.temporaries[buffer]), scope)
            skipped = b.op("mul", each, Value("%thread", "i64"))
            pointer = b.offset(pointer, "i8", skipped)
        return pointer

    def contiguous(self, buffer: int, rest: Expr, copy: int, scope: Scope) -> Value:
        """The address of lane 0 of this copy, the vector loop having stride 1."""
        base = self.scalar(make("address", (rest,), PTR, buffer), scope)
        element = memory_type(self.k.buffers[buffer].kind)
        assert scope.vector is not None
        index = scope.loop(scope.vector)
        if copy:
            index = self.b.op("add", index, constant(copy * self.k.lanes, "i64"))
        return self.b.offset(base, element, index)

    def fetch(self, x: Expr, scope: Scope, varies: bool) -> Pack:
        kind, element = x.kind, memory_type(x.kind)
        if not varies:
            return Pack((self.fetch_scalar(x, scope),), True, scope)
        assert scope.vector is not None
        unit, rest = split_offset(x.args[0], scope.vector)
        guards: tuple[Value, ...] | None = None
        if len(x.args) > 1:
            guards = self.lanes_of(self.emit(x.args[1], scope), scope)
        offsets = None if unit else self.lanes_of(self.emit(x.args[0], scope), scope)
        values = []
        for copy in range(scope.copies):
            mask = self.both(scope.mask, guards[copy] if guards else None)
            type = vector(element, self.k.lanes)
            if offsets is None:
                address = self.contiguous(x.extra, rest, copy, scope)
                raw = (
                    self.b.load(address, type)
                    if mask is None
                    else self.b.masked_load(address, type, mask)
                )
            else:
                addresses = self.b.offset(self.base(x.extra), element, offsets[copy])
                full = mask or constant(1, vector("i1", self.k.lanes))
                raw = self.b.gather(addresses, element, full)
            values.append(from_memory(self.b, raw, kind))
        return Pack(tuple(values), False, scope)

    def fetch_scalar(self, x: Expr, scope: Scope) -> Value:
        b, element = self.b, memory_type(x.kind)
        offset = self.scalar(x.args[0], scope)
        if len(x.args) == 1:
            address = b.offset(self.base(x.extra), element, offset)
            return from_memory(b, b.load(address, element), x.kind)
        # Outside the array a zero of our own is read instead.
        inside = self.scalar(x.args[1], scope)
        safe = b.select(inside, offset, constant(0, "i64"))
        start = b.select(inside, self.base(x.extra), self.zero())
        return from_memory(b, b.load(b.offset(start, element, safe), element), x.kind)

    def zero(self) -> Value:
        if self.dummy is None:
            self.dummy = self.b.stack("i64")
            with self.b.at(self.b.blocks[0]):
                self.b.store(self.dummy, constant(0, "i64"))
        return self.dummy

    def both(self, x: Value | None, y: Value | None) -> Value | None:
        if x is None or y is None:
            return x or y
        return self.b.op("and", x, y)

    # -- reductions inside a vector ----------------------------------------------------------
    def fold(self, x: Expr, scope: Scope) -> Pack:
        """Sequential loops; each lane has its own result."""
        how, loops = x.extra
        varies = scope.vector is not None and ("loop", scope.vector) in x.free
        lanes = self.k.lanes if varies else 1
        copies = scope.copies if varies else 1
        fold = Fold(self.b, how, x.args[0].kind, lanes, copies)

        def inside(inner: Scope) -> None:
            if not varies:
                inner.vector, inner.copies, inner.mask = None, 1, None
            pack = self.emit(x.args[0], inner)
            positions = None
            if fold.is_arg:
                at = self.emit(make("loop", (), INDEX, loops[-1]), inner)
                positions = self.lanes_of(at, inner)
            # Lanes beyond the end compute garbage that is never stored.
            fold.add(self.lanes_of(pack, inner), None, positions)

        self.sequential(scope, loops, inside)
        scope.block = self.b.block
        return Pack(fold.per_lane(), not varies, scope)


def _length(sweep: LiftedSweep) -> int:
    return len(walk(*(a.value for a in sweep.actions)))


def write_module(kernel: Lifted, symbol: str) -> str:
    return KernelWriter(kernel).write(symbol)
