"""Blocks of the operands of a product, copied so that a tile reads them in order."""

from __future__ import annotations

from headrace.codegen.emit.llvm_text import Value
from headrace.codegen.products.llvm_gemm_text import COPIED, DEPTH, PITCH, ROWS, GemmText, i64


class Copies(GemmText):
    """Copying A and B."""

    def copy_a(self, a: Value, i0: Value, i1: Value, k0: Value, deep: Value) -> None:
        """A block of A as the inner loop reads it: rows at a fixed pitch, or panels of columns
        where A is transposed."""
        b, s, p = self.b, self.s, self.p
        if s.a == ROWS:

            def row(i: Value) -> None:
                source = self.at(a, b.op("add", b.op("mul", i, p["a_step"]), k0))
                target = self.at(self.a_copy, b.op("mul", b.op("sub", i, i0), i64(PITCH)))

                def some(k: Value, mask: Value | None) -> None:
                    b.store(self.at(target, k), self.read(self.at(source, k), mask))

                self.along(deep, some)

            self.loop(i0, i1, 1, row)
            return
        pieces = s.slot // s.lanes

        def panel(i: Value) -> None:
            """`tile_m` columns of the transposed A, side by side for each k; masks keep loads inside of
            the last one."""
            which = b.op("udiv", b.op("sub", i, i0), i64(s.tile_m))
            target = self.at(self.a_copy, b.op("mul", which, i64(s.slot * DEPTH)))
            left = b.op("sub", i1, i)
            masks = [self.mask(b.op("sub", left, i64(v * s.lanes))) for v in range(pieces)]
            start = self.at(a, b.op("add", b.op("mul", k0, p["a_step"]), i))

            def one(k: Value) -> None:
                source = self.at(start, b.op("mul", k, p["a_step"]))
                place = self.at(target, b.op("mul", k, i64(s.slot)))
                for v in range(pieces):
                    at = i64(v * s.lanes)
                    found = b.masked_load(self.at(source, at), self.wide, masks[v])
                    b.store(self.at(place, at), found)

            self.loop(i64(0), deep, 1, one)

        self.loop(i0, i1, s.tile_m, panel)

    def copy_b(
        self, bb: Value, j: Value, width: Value, k0: Value, deep: Value, masks: list[Value | None]
    ) -> None:
        """A panel of B as the inner loop reads it: its vectors one after the other for each k;
        transposed where k is contiguous."""
        b, s, p = self.b, self.s, self.p
        if s.b == COPIED:
            start = self.at(bb, b.op("add", b.op("mul", k0, p["b_step"]), j))

            def one(k: Value) -> None:
                source = self.at(start, b.op("mul", k, p["b_step"]))
                place = self.at(self.b_copy, b.op("mul", k, i64(s.tile_n)))
                for v in range(s.vectors):
                    at = i64(v * s.lanes)
                    b.store(self.at(place, at), self.read(self.at(source, at), masks[v]))

            self.loop(i64(0), deep, 1, one)
            return
        # k is contiguous: squares of lanes x lanes are turned.
        last = b.op("sub", width, i64(1))
        for v in range(s.vectors):
            rows = []
            for r in range(s.lanes):
                column = b.op("add", j, self.least(i64(v * s.lanes + r), last))
                rows.append(self.at(bb, b.op("add", b.op("mul", column, p["b_step"]), k0)))

            def square(k: Value, mask: Value | None, rows: list[Value] = rows, v: int = v) -> None:
                found = [self.read(self.at(r, k), mask) for r in rows]
                place = self.at(self.b_copy, b.op("mul", k, i64(s.tile_n)))
                for r, turned in enumerate(self.turn(found)):
                    b.store(self.at(place, i64(r * s.tile_n + v * s.lanes)), turned)

            self.along(deep, square)

    def turn(self, rows: list[Value]) -> list[Value]:
        """The transpose of a square, by exchanging halves, quarters, ..."""
        n, distance = len(rows), 1
        while distance < n:
            new = list(rows)
            for i in range(n):
                if i & distance:
                    continue
                x, y = rows[i], rows[i | distance]
                low = [n + lane - distance if lane & distance else lane for lane in range(n)]
                high = [n + lane if lane & distance else lane + distance for lane in range(n)]
                new[i], new[i | distance] = self.mix(x, y, low), self.mix(x, y, high)
            rows, distance = new, distance * 2
        return rows

    def mix(self, x: Value, y: Value, order: list[int]) -> Value:
        mask = ", ".join(f"i32 {i}" for i in order)
        text = f"shufflevector {x.type} {x.text}, {y.type} {y.text}, <{len(order)} x i32> <{mask}>"
        return self.b.emit(text, x.type)
