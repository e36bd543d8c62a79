"""Expressions of a lifted kernel in LLVM text: each computed once, where its loops allow.

An expression is computed in the outermost scope that knows the loops it depends on: that is hoisting
and common subexpressions in one.  In a vector loop, what depends on the loop is a vector (one per
copy), the rest stays scalar and is spread where needed.
"""

from __future__ import annotations

from collections.abc import Callable

from headrace.codegen.emit import llvm_ops
from headrace.codegen.emit.llvm_fold import Fold
from headrace.codegen.emit.llvm_loops import LoopWriter
from headrace.codegen.emit.llvm_ops import from_memory, memory_type, number
from headrace.codegen.emit.llvm_pairwise import Pairwise
from headrace.codegen.emit.llvm_scope import PTR, Pack, Scope, split_lane, split_offset
from headrace.codegen.emit.llvm_text import Builder, Value, constant, vector
from headrace.codegen.fusion.generalize import Lifted
from headrace.codegen.ir.kernel_ir import INDEX, LANE, Expr, constant_value, make
from headrace.codegen.ir.traverse import walk

TOGETHER = 2  # copies whose instructions take turns, so that neither waits for its own results
_LEAVES = frozenset({"fetch", "fold", "const", "param", "loop", "result", "lane_result", "address", "buffer"})


class ExpressionWriter(LoopWriter):
    """The values of one kernel."""

    def __init__(self, kernel: Lifted) -> None:
        super().__init__(Builder())
        self.k = kernel
        self.root = Scope(None, self.b.block)
        self.root.known.add(LANE)
        self.row_scope = self.root
        self.dummy: Value | None = None
        self.own: dict[Expr, bool] = {}

    def extent(self, n: int) -> Expr:
        return make("param", (), INDEX, self.k.extents[n])

    def sequential(self, scope: Scope, loops: tuple[int, ...], body: Callable[[Scope], None]) -> None:
        """Plain nested loops."""
        if not loops:
            body(scope)
            return
        end = self.scalar(self.extent(loops[0]), scope)

        def inside(inner: Scope, index: Value) -> None:
            self.enter(inner, loops[0], index, lambda s: self.sequential(s, loops[1:], body))

        self.counted(scope, constant(0, "i64"), end, 1, inside)

    def enter(self, scope: Scope, n: int, index: Value, act: Callable[[Scope], None]) -> None:
        """The body of a loop, which `scope` is."""
        scope.loops[n] = index
        scope.known.add(("loop", n))
        act(scope)
        scope.block = self.b.block

    def pairwise(self, folds: list[Fold], is_long: bool) -> Pairwise | None:
        """For those of the reductions that are float sums, where there is much to add up."""
        sums = [f for f in folds if f.how == "sum" and f.inner.is_float]
        return Pairwise(self, sums) if is_long else None

    def counted_in(
        self,
        pairwise: Pairwise | None,
        scope: Scope,
        first: Value,
        end: Value,
        step: int,
        body: Callable[[Scope, Value], None],
    ) -> None:
        """A loop whose sums may be added up in blocks."""
        loop = self.counted if pairwise is None else pairwise.loop
        loop(scope, first, end, step, body)

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
        """An expression for all copies of the vector loop.  What does not vary with that loop is a
        scalar, computed once."""
        if LANE in x.free:
            return Pack((self.compute_lanes(x, scope),), False, scope)
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
        values: list[Value] = []
        for first in range(0, scope.copies, TOGETHER):
            with self.b.dealing() as deal:
                for copy in range(first, min(first + TOGETHER, scope.copies)):
                    values.append(self.apply(x, [lane[copy] for lane in lanes]))
                    deal()
        return Pack(tuple(values), False, scope)

    def compute_lanes(self, x: Expr, scope: Scope) -> Value:
        """A value that is a vector outside of vector loops."""
        if x.op == "fetch":
            raw = self.b.load(
                self.lane_address(x.extra, x.args[0], scope), vector(memory_type(x.kind), self.k.width)
            )
            return from_memory(self.b, raw, x.kind)
        return self.apply(x, [self.wide(self.emit(a, scope)) for a in x.args])

    def wide(self, pack: Pack) -> Value:
        """The value in every lane."""
        value = pack.values[0]
        return self.b.splat(value, self.k.width) if pack.is_uniform else value

    def lane_address(self, buffer: int, offset: Expr, scope: Scope) -> Value:
        """Where the first lane is."""
        unit, rest = split_lane(offset)
        assert unit, offset
        return self.scalar(make("address", (rest,), PTR, buffer), scope)

    def compute_scalar(self, x: Expr, scope: Scope) -> Value:
        """An expression that is the same in all lanes."""
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
        """One operation on values that are computed, scalars or vectors alike."""
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
        bounds = () if x.extra is None else (x.extra,)
        return llvm_ops.OPS[x.op](b, x.args[0].kind, *args, *bounds)

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

    # -- reading ---------------------------------------------------------------------------------
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
        """Load the elements that the lanes need: a scalar, one contiguous vector, or a gather.
        Where an index may lie outside, the guard masks the load."""
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
                raw = self.b.load(address, type) if mask is None else self.b.masked_load(address, type, mask)
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

    # -- reductions inside a vector --------------------------------------------------------------
    def fold(self, x: Expr, scope: Scope) -> Pack:
        """Sequential loops; each lane has its own result."""
        how, (*outer, last), is_long = x.extra
        varies = scope.vector is not None and ("loop", scope.vector) in x.free
        lanes = self.k.lanes if varies else 1
        copies = scope.copies if varies else 1
        fold = Fold(self.b, how, x.args[0].kind, lanes, copies, is_each=True)
        pairwise = self.pairwise([fold], is_long)

        def inside(inner: Scope) -> None:
            if not varies:
                inner.vector, inner.copies, inner.mask = None, 1, None
            pack = self.emit(x.args[0], inner)
            positions = None
            if fold.is_arg:
                at = self.emit(make("loop", (), INDEX, last), inner)
                positions = self.lanes_of(at, inner)
            # Lanes beyond the end compute garbage that is never stored.
            fold.add(self.lanes_of(pack, inner), None, positions)

        def along(s: Scope) -> None:
            first, end = constant(0, "i64"), self.scalar(self.extent(last), s)
            self.counted_in(pairwise, s, first, end, 1, lambda inner, i: self.enter(inner, last, i, inside))

        self.sequential(scope, tuple(outer), along)
        if pairwise is not None:
            pairwise.finish(scope)
        scope.block = self.b.block
        return Pack(fold.per_lane(), not varies, scope)
