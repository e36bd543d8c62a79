"""Matrix products as code of our own: LLVM text for one kernel.

    for each cell of the result (threads share the cells):
        for each block of k:
            copy a block of A so that its rows are close together
            for each panel of columns of B, copied likewise if that pays:
                for each panel of rows of A: a tile of the result, kept in registers

A tile at
the edge computes with whatever lies behind its operands' copies; only what belongs to the result
is stored.
"""

from __future__ import annotations

from collections.abc import Callable

from headrace.codegen.emit.llvm_text import Value
from headrace.codegen.products.llvm_gemm_copies import Copies
from headrace.codegen.products.llvm_gemm_text import (
    DEPTH,
    DIRECT,
    PANEL_PARAMS,
    PANELS,
    PARAMS,
    PITCH,
    ROWS,
    ROWS_DIRECT,
    STACK,
    i64,
)

LINE = 64  # bytes that a cache reads at a time


class Writer(Copies):
    """Writes the kernel: buffers are A, B, C and scratch."""

    def write(self, symbol: str) -> str:
        """The product: buffers are A, B, C and scratch."""
        b = self.b
        loops = [f"{name}{i}" for i in range(self.s.stacks) for name in STACK]
        a, bb, c, scratch = self.begin(4, [*PARAMS, *loops])
        own = b.op("mul", Value("%thread", "i64"), i64(self.s.scratch))
        self.a_copy = b.offset(scratch, "i8", own)
        self.b_copy = b.offset(self.a_copy, "i8", i64(self.s.a_bytes))
        self.loop(Value("%begin", "i64"), Value("%end", "i64"), 1, lambda w: self.cell(w, a, bb, c))
        return self.end(symbol)

    def write_panels(self, symbol: str) -> str:
        """B in panels, for products to come: buffers are B and the panels, one per unit of work."""
        b = self.b
        bb, target = self.begin(2, PANEL_PARAMS)

        def panel(w: Value) -> None:
            j = b.op("mul", w, i64(self.s.tile_n))
            self.b_copy = self.at(target, b.op("mul", j, self.p["pitch"]))
            width = b.op("sub", self.p["n"], j)
            deep = self.p["k"]
            self.cut(width, lambda masks: self.copy_b(bb, j, width, i64(0), deep, masks))

        self.loop(Value("%begin", "i64"), Value("%end", "i64"), 1, panel)
        return self.end(symbol)

    def cell(self, w: Value, a: Value, bb: Value, c: Value) -> None:
        """One unit of work: a block of the result of one matrix of the batch, k in blocks that stay
        in the cache."""
        b, p = self.b, self.p
        cells = b.op("mul", p["rows"], p["columns"])
        batch, cell = b.op("udiv", w, cells), b.op("urem", w, cells)
        row, column = b.op("udiv", cell, p["columns"]), b.op("urem", cell, p["columns"])
        a, bb, c = self.matrices(batch, a, bb, c)
        top, bottom = self.share(row, p["rows"], p["m"], self.s.tile_m)
        left, right = self.share(column, p["columns"], p["n"], self.s.tile_n)

        def depth(k0: Value) -> None:
            deep = self.least(b.op("sub", p["k"], k0), p["block"])
            self.loop(
                top, bottom, self.s.height, lambda i0: self.rows(i0, k0, deep, bottom, left, right, a, bb, c)
            )

        self.loop(i64(0), p["k"], p["block"], depth)

    def matrices(self, number: Value, a: Value, bb: Value, c: Value) -> list[Value]:
        """Where the operands' matrices begin for that matrix of the result."""
        b, p, found = self.b, self.p, [a, bb, c]
        for loop in reversed(range(self.s.stacks)):
            at = number
            if loop:  # of the outermost loop the number is what is left
                extent = p[f"extent{loop}"]
                number, at = b.op("udiv", number, extent), b.op("urem", number, extent)
            steps = (p[f"{name}{loop}"] for name in "abc")
            found = [self.at(x, b.op("mul", at, step)) for x, step in zip(found, steps)]
        return found

    def share(self, which: Value, of: Value, extent: Value, tile: int) -> tuple[Value, Value]:
        """Where a cell begins and ends: all have the same number of tiles, or one more."""
        b = self.b
        tiles = b.op("udiv", b.op("add", extent, i64(tile - 1)), i64(tile))

        def edge(number: Value) -> Value:
            before = b.op("udiv", b.op("mul", number, tiles), of)
            return self.least(b.op("mul", before, i64(tile)), extent)

        return edge(which), edge(b.op("add", which, i64(1)))

    def rows(
        self,
        i0: Value,
        k0: Value,
        deep: Value,
        bottom: Value,
        left: Value,
        right: Value,
        a: Value,
        bb: Value,
        c: Value,
    ) -> None:
        """Some rows of A against all panels of B.  A is copied where its rows do not fit the
        kernel; blocks of k behind the first add to what is in C."""
        b, s, p = self.b, self.s, self.p
        i1 = self.least(b.op("add", i0, i64(s.height)), bottom)
        if not s.a_is_direct:
            self.copy_a(a, i0, i1, k0, deep)
        is_later = b.compare("icmp sgt", k0, i64(0))

        def panel(j: Value) -> None:
            width = b.op("sub", right, j)
            self.cut(width, lambda masks: columns(j, width, masks))

        def columns(j: Value, width: Value, masks: list[Value | None]) -> None:
            """One panel of B (where it is, prepared, or copied now), and down the rows of C tile by tile."""
            if s.b == DIRECT:
                source = self.at(bb, b.op("add", b.op("mul", k0, p["b_step"]), j))
            elif s.b == PANELS:
                skipped = b.op("add", b.op("mul", j, p["b_step"]), b.op("mul", k0, i64(s.tile_n)))
                source = self.at(bb, skipped)
            else:
                self.copy_b(bb, j, width, k0, deep, masks)
                source = self.b_copy

            def tile(i: Value) -> None:
                last = b.op("sub", b.op("sub", i1, i), i64(1))
                rows = [self.least(i64(r), last) for r in range(s.tile_m)]
                target = self.at(c, b.op("add", b.op("mul", i, p["c_step"]), j))
                lines = [self.at(target, b.op("mul", r, p["c_step"])) for r in rows]
                left = self.left_operand(a, i, i0, k0, rows)
                self.tile(left, source, deep, lines, masks, is_later)

            self.loop(i0, i1, s.tile_m, tile)

        self.loop(left, right, s.tile_n, panel)

    def left_operand(
        self, a: Value, i: Value, i0: Value, k0: Value, rows: list[Value]
    ) -> Callable[[Value], list[Value]]:
        """k -> where the elements of A are, row by row."""
        b, s, step = self.b, self.s, self.p["a_step"]
        if s.a_is_direct:
            far, near = (i, k0) if s.a == ROWS_DIRECT else (k0, i)
            corner = self.at(a, b.op("add", b.op("mul", far, step), near))
            if s.a == ROWS_DIRECT:
                starts = [self.at(corner, b.op("mul", r, step)) for r in rows]
                return lambda k: [self.at(start, k) for start in starts]
            starts = [self.at(corner, r) for r in rows]

            def places(k: Value) -> list[Value]:
                skipped = b.op("mul", k, step)
                return [self.at(start, skipped) for start in starts]

            return places
        which = b.op("udiv", b.op("sub", i, i0), i64(s.tile_m))
        size = s.tile_m * PITCH if s.a == ROWS else s.slot * DEPTH
        panel = self.at(self.a_copy, b.op("mul", which, i64(size)))

        def copied(k: Value) -> list[Value]:
            column = self.at(panel, k if s.a == ROWS else b.op("mul", k, i64(s.slot)))
            return [self.at(column, i64(r * PITCH if s.a == ROWS else r)) for r in range(s.tile_m)]

        return copied

    def tile(
        self,
        left: Callable[[Value], list[Value]],
        bb: Value,
        deep: Value,
        lines: list[Value],
        masks: list[Value | None],
        is_later: Value,
    ) -> None:
        """c (+)= a b.  Rows that the result does not have are aimed at its last one and written
        first, so that the last one itself has the last word."""
        b, s = self.b, self.s
        b_step = self.p["b_step"] if s.b == DIRECT else i64(s.tile_n)
        to_next = b.op("mul", self.p["b_step"], i64(s.tile_n))

        def step(k: Value, *sums: Value) -> list[Value]:
            """One k: a column of A times a row of B, added to the tile in registers."""
            line = self.at(bb, b.op("mul", k, b_step))
            if s.b == PANELS:  # the next panel comes while this one is used
                for skipped in range(0, s.tile_n, LINE // s.size):
                    b.prefetch(self.at(self.at(line, to_next), i64(skipped)), "2")
            right = []
            for v in range(s.vectors):
                at = self.at(line, i64(v * s.lanes))
                right.append(self.read(at, masks[v] if s.b == DIRECT else None))
            new = []
            for i, at in enumerate(left(k)):
                x = b.splat(b.load(at, s.element), s.lanes)
                for v in range(s.vectors):
                    new.append(b.intrinsic("fma", x, right[v], sums[i * s.vectors + v]))
            return new

        for at in lines:  # what is needed when the sums are done
            b.prefetch(at)
        zeros = [Value("zeroinitializer", self.wide)] * (s.tile_m * s.vectors)
        sums = self.loop(i64(0), deep, 1, step, zeros)
        sums = self.together(sums, lines, masks, is_later)
        for i in reversed(range(s.tile_m)):
            for v in range(s.vectors):
                at = self.at(lines[i], i64(v * s.lanes))
                self.put(at, sums[i * s.vectors + v], masks[v])

    def together(
        self, sums: list[Value], lines: list[Value], masks: list[Value | None], is_later: Value
    ) -> list[Value]:
        """With what earlier blocks of k left in the result."""
        b, s = self.b, self.s
        before, again, done = b.block, b.new_block(), b.new_block()
        b.branch_if(is_later, again, done)
        b.block = again
        old = [
            self.read(self.at(line, i64(v * s.lanes)), masks[v]) for line in lines for v in range(s.vectors)
        ]
        more = [b.op("fadd", x, y) for x, y in zip(sums, old)]
        b.branch(done)
        b.block = done
        values = [Value(b.name(), self.wide) for _ in sums]
        for value, alone, both in zip(values, sums, more):
            self.phi(done, value, (alone, before), (both, again))
        return values
