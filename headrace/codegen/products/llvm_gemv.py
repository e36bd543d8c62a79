"""A few rows times a matrix, as code of our own: LLVM text for one kernel.

Such a product takes as long as the matrix takes to arrive, so it is read once, from end to end:

    as it is:     for each block of columns (threads share them):     the results stay in the first cache
                      for a few k at a time:  results += a[k] * b[k, columns]
    transposed:   for each few columns (rows in memory), side by side: sums of a[k] * b[column, k]

Where k is long, stretches of it have sums of their own, and so have stretches of stretches: as many
additions as one sum sees are a few hundred, whatever k is.
"""

from __future__ import annotations

from headrace.codegen.emit.llvm_text import Value
from headrace.codegen.products.llvm_gemm_text import TURNED, GemmText, Shape, i64

PARAMS = "n k a_row a_k b_step c_step width scratch".split()
SUMS = 16  # vectors of sums that are added to side by side
STRETCH = 256  # rounds


def levels(shape: Shape, k: int) -> int:
    """How many kinds of stretches there are, one inside of the other."""
    rounds = -(-k // shape.lanes) if shape.b == TURNED else k
    found = 1
    while rounds > 2 * STRETCH**found:
        found += 1
    return found


def scratch_rows(shape: Shape, levels: int) -> int:
    """Rows of sums that a thread needs beside the result's."""
    return 0 if shape.b == TURNED else shape.tile_m * (levels - 1)


class FewRows(GemmText):
    """Buffers are A, B, C and scratch.  A unit of work is `width` columns of the result."""

    def __init__(self, shape: Shape, levels: int) -> None:
        super().__init__(shape)
        self.levels = levels

    def write(self, symbol: str) -> str:
        b = self.b
        self.a, self.bb, self.c, scratch = self.begin(4, PARAMS)
        own = b.op("mul", Value("%thread", "i64"), self.p["scratch"])
        self.scratch = b.offset(scratch, "i8", own)

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

    def span(self, level: int, each: int = 1) -> Value:
        """Elements along k of a stretch of this level, `each` of them per round."""
        return i64(STRETCH ** (self.levels - 1 - level) * each)

    # -- rows of B are rows in memory -----------------------------------------------------------
    def plain(self, first: Value, count: Value) -> None:
        b, p = self.b, self.p
        lines = [
            self.at(self.c, b.op("add", b.op("mul", i64(r), p["c_step"]), first))
            for r in range(self.s.tile_m)
        ]
        self.add_up(i64(0), p["k"], 0, first, count, lines)

    def add_up(
        self, start: Value, end: Value, level: int, first: Value, count: Value, lines: list[Value]
    ) -> None:
        """lines = the sum over all k of this stretch."""
        b, rows = self.b, self.s.tile_m
        zero = Value("zeroinitializer", self.wide)

        def clear(j: Value, mask: Value | None) -> None:
            for line in lines:
                self.put(self.at(line, j), zero, mask)

        self.along(count, clear)
        if level == self.levels - 1:
            few = SUMS // 2 // rows
            left = b.op("urem", b.op("sub", end, start), i64(few))
            whole = b.op("sub", end, left)
            self.loop(start, whole, few, lambda k: self.add_rows(k, few, first, count, lines))
            self.loop(whole, end, 1, lambda k: self.add_rows(k, 1, first, count, lines))
            return
        inner = [self.row_of_scratch(level * rows + r) for r in range(rows)]

        span = self.span(level)

        def stretch(k: Value) -> None:
            stop = self.least(b.op("add", k, span), end)
            self.add_up(k, stop, level + 1, first, count, inner)
            self.along(count, together)

        def together(j: Value, mask: Value | None) -> None:
            for line, more in zip(lines, inner):
                place = self.at(line, j)
                total = b.op("fadd", self.read(place, mask), self.read(self.at(more, j), mask))
                self.put(place, total, mask)

        self.loop(start, end, span, stretch)

    def row_of_scratch(self, number: int) -> Value:
        return self.at(self.scratch, self.b.op("mul", i64(number), self.p["width"]))

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
        """B transposed: its rows are the sums' operands, so each result is a dot product; a few of them
        at once share the loads of A. Behind the end, the last column is computed again."""
        b, p, rows = self.b, self.p, self.s.tile_m
        few = SUMS // 2 // rows
        last = b.op("sub", count, i64(1))

        def columns(j: Value) -> None:
            each = [self.least(b.op("add", j, i64(i)), last) for i in range(few)]
            lines = [self.at(self.bb, b.op("mul", b.op("add", first, i), p["b_step"])) for i in each]
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

        def stretch(start: Value, end: Value, level: int) -> list[Value]:
            if level == self.levels - 1:
                return self.loop(start, end, lanes, lambda k, *s: step(k, None, list(s)), zeros)
            span = self.span(level, lanes)

            def more(k: Value, *totals: Value) -> list[Value]:
                found = stretch(k, self.least(b.op("add", k, span), end), level + 1)
                return [b.op("fadd", x, y) for x, y in zip(totals, found)]

            return self.loop(start, end, span, more, zeros)

        whole = b.op("sub", p["k"], b.op("urem", p["k"], i64(lanes)))
        sums = stretch(i64(0), whole, 0)
        rest = b.op("sub", p["k"], whole)
        return self.loop(whole, p["k"], lanes, lambda k, *s: step(k, self.mask(rest), list(s)), sums)

    def total(self, x: Value) -> Value:
        """The sum of all lanes: halves, quarters, ..."""
        b = self.b
        while x.lanes > 2:
            half = x.lanes // 2
            x = b.op("fadd", *(b.shuffle(x, range(k, k + half)) for k in (0, half)))
        return b.op("fadd", b.lane(x, 0), b.lane(x, 1)) if x.lanes == 2 else x
