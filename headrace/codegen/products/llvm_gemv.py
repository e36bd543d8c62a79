"""A few rows times a matrix, as code of our own: LLVM text for one kernel.

Such a product takes as long as the matrix takes to arrive, so it is read once, from end to end:

    as it is:     for each block of columns (threads share them):     the results stay in the first cache
                      for a few k at a time:  results += a[k] * b[k, columns]
    transposed:   for each few columns (rows in memory), side by side: sums of a[k] * b[column, k]
"""

from __future__ import annotations

from headrace.codegen.emit.llvm_text import Value
from headrace.codegen.products.llvm_gemm_text import TURNED, GemmText, i64

PARAMS = "n k a_row a_k b_step c_step width".split()
SUMS = 16  # vectors of sums that are added to side by side


class FewRows(GemmText):
    """Buffers are A, B and C.  A unit of work is `width` columns of the result."""

    def write(self, symbol: str) -> str:
        b = self.b
        self.a, self.bb, self.c = self.begin(3, PARAMS)

        def unit(w: Value) -> None:
            first = b.op("mul", w, self.p["width"])
            count = self.least(b.op("sub", self.p["n"], first), self.p["width"])
            (self.turned if self.s.b == TURNED else self.plain)(first, count)

        self.loop(Value("%begin", "i64"), Value("%end", "i64"), 1, unit)
        return self.end(symbol)

    def of_a(self, row: int, k: Value) -> Value:
        b, p = self.b, self.p
        at = b.op("add", b.op("mul", i64(row), p["a_row"]), b.op("mul", k, p["a_k"]))
        return self.at(self.a, at)

    # -- rows of B are rows in memory -----------------------------------------------------------
    def plain(self, first: Value, count: Value) -> None:
        b, p, rows = self.b, self.p, self.s.tile_m
        lines = [self.at(self.c, b.op("add", b.op("mul", i64(r), p["c_step"]), first))
                 for r in range(rows)]  # fmt: skip
        zero = Value("zeroinitializer", self.wide)

        def clear(j: Value, mask: Value | None) -> None:
            for line in lines:
                self.put(self.at(line, j), zero, mask)

        self.along(count, clear)
        few = SUMS // 2 // rows
        whole = b.op("sub", p["k"], b.op("urem", p["k"], i64(few)))
        self.loop(i64(0), whole, few, lambda k: self.add_rows(k, few, first, count, lines))
        self.loop(whole, p["k"], 1, lambda k: self.add_rows(k, 1, first, count, lines))

    def add_rows(self, k: Value, few: int, first: Value, count: Value, lines: list[Value]) -> None:
        """c += a[k] b[k], for a few k."""
        b, p = self.b, self.p
        each = [b.op("add", k, i64(i)) for i in range(few)]
        factors = [
            [b.splat(b.load(self.of_a(r, i), self.s.element), self.s.lanes) for i in each]
            for r in range(len(lines))
        ]
        sources = [self.at(self.bb, b.op("add", b.op("mul", i, p["b_step"]), first)) for i in each]

        def some(j: Value, mask: Value | None) -> None:
            right = [self.read(self.at(source, j), mask) for source in sources]
            for line, left in zip(lines, factors):
                place = self.at(line, j)
                total = self.read(place, mask)
                for x, y in zip(left, right):
                    total = b.intrinsic("fma", x, y, total)
                self.put(place, total, mask)

        self.along(count, some)

    # -- columns of B are rows in memory ----------------------------------------------------------
    def turned(self, first: Value, count: Value) -> None:
        b, p, rows = self.b, self.p, self.s.tile_m
        few = SUMS // 2 // rows
        last = b.op("sub", count, i64(1))

        def columns(j: Value) -> None:
            each = [self.least(b.op("add", j, i64(i)), last) for i in range(few)]
            lines = [
                self.at(self.bb, b.op("mul", b.op("add", first, i), p["b_step"])) for i in each
            ]
            sums = self.dots(lines)
            for r in range(rows):
                line = self.at(self.c, b.op("add", b.op("mul", i64(r), p["c_step"]), first))
                for i, at in reversed(list(enumerate(each))):  # the last one has the last word
                    b.store(self.at(line, at), self.total(sums[r * few + i]))

        self.loop(i64(0), count, few, columns)

    def dots(self, lines: list[Value]) -> list[Value]:
        """Vectors of sums along k, rows of A times lines of B."""
        b, p, rows, lanes = self.b, self.p, self.s.tile_m, self.s.lanes

        def step(k: Value, mask: Value | None, sums: list[Value]) -> list[Value]:
            right = [self.read(self.at(line, k), mask) for line in lines]
            left = [self.read(self.at(self.of_a(r, i64(0)), k), mask) for r in range(rows)]
            return [
                b.intrinsic("fma", x, y, sums[r * len(lines) + i])
                for r, x in enumerate(left)
                for i, y in enumerate(right)
            ]

        zeros = [Value("zeroinitializer", self.wide)] * (rows * len(lines))
        whole = b.op("sub", p["k"], b.op("urem", p["k"], i64(lanes)))
        sums = self.loop(i64(0), whole, lanes, lambda k, *s: step(k, None, list(s)), zeros)
        rest = b.op("sub", p["k"], whole)
        return self.loop(
            whole, p["k"], lanes, lambda k, *s: step(k, self.mask(rest), list(s)), sums
        )

    def total(self, x: Value) -> Value:
        """The sum of all lanes: halves, quarters, ..."""
        b = self.b
        while x.lanes > 2:
            half = x.lanes // 2
            x = b.op("fadd", *(b.shuffle(x, range(k, k + half)) for k in (0, half)))
        return b.op("fadd", b.lane(x, 0), b.lane(x, 1)) if x.lanes == 2 else x
