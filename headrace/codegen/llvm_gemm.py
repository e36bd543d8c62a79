"""Matrix products as code of our own: LLVM text for one kernel.

    for each cell of the result (threads share the cells):
        for each block of k:
            copy a block of A so that its rows are close together
            for each panel of columns of B, copied likewise if that pays:
                for each panel of rows of A: a tile of the result, kept in registers

The text depends on `Shape` alone: how many rows and columns a tile has, how the operands lie in
memory.  Sizes and strides are parameters (PARAMS), so few kernels serve all products.  A tile at
the edge computes with whatever lies behind its operands' copies; only what belongs to the result
is stored.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from headrace.codegen.llvm_text import Block, Builder, Value, constant, vector

PARAMS = (
    "m n k a_step b_step c_step block cells columns cell_m cell_n a_batch b_batch c_batch".split()
)
PANEL_PARAMS = "n k b_step pitch".split()
DEPTH = 256  # of a block of k, at most
PITCH = DEPTH + 16  # between rows of the copy of A: no power of two, which would crowd a cache set
HEIGHT = 512  # rows of A that are copied at a time, about

# A: k is contiguous, or m is; copied, or read where it is
ROWS, COLUMNS, ROWS_DIRECT, COLUMNS_DIRECT = "rows", "columns", "rows direct", "columns direct"
# B: as it is, copied, copied with k contiguous before, or in panels already
DIRECT, COPIED, TURNED, PANELS = "direct", "copied", "turned", "panels"

ATTRIBUTES = (
    'attributes #0 = { nounwind "prefer-vector-width"="512" "min-legal-vector-width"="512" }'
)


@dataclass(frozen=True, slots=True)
class Shape:
    """What the code depends on."""

    element: str  # float or double
    lanes: int
    tile_m: int
    vectors: int  # columns of a tile, in vectors
    a: str
    b: str

    @property
    def tile_n(self) -> int:
        return self.lanes * self.vectors

    @property
    def size(self) -> int:
        return 4 if self.element == "float" else 8

    @property
    def a_is_direct(self) -> bool:
        return self.a in (ROWS_DIRECT, COLUMNS_DIRECT)

    @property
    def slot(self) -> int:
        """Elements per k in a copied panel of columns of A."""
        return -(-self.tile_m // self.lanes) * self.lanes

    @property
    def height(self) -> int:
        """Rows of A between two copies."""
        return 1 << 40 if self.a_is_direct else max(HEIGHT // self.tile_m, 1) * self.tile_m

    @property
    def a_bytes(self) -> int:
        if self.a_is_direct:
            return 0
        panels = self.height // self.tile_m
        rows = self.tile_m * PITCH if self.a == ROWS else self.slot * DEPTH
        return panels * rows * self.size

    @property
    def scratch(self) -> int:
        """Bytes that a thread needs for its copies."""
        b = 0 if self.b in (DIRECT, PANELS) else (DEPTH + self.lanes) * self.tile_n * self.size
        return max(-(-(self.a_bytes + b) // 64) * 64, 64)

    def identity(self, role: str) -> str:
        return f"{role} {self.element}x{self.lanes} tile {self.tile_m}x{self.vectors} {self.a} {self.b}"


def i64(n: int) -> Value:
    return constant(n, "i64")


class Writer:
    """Writes the kernel: buffers are A, B, C and scratch."""

    def __init__(self, shape: Shape) -> None:
        self.s, self.b = shape, Builder()
        self.wide = vector(shape.element, shape.lanes)

    def write(self, symbol: str) -> str:
        """The product: buffers are A, B, C and scratch."""
        b = self.b
        a, bb, c, scratch = self.begin(4, PARAMS)
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
            self.copy_b(bb, j, width, i64(0), self.p["k"], self.masks(width))

        self.loop(Value("%begin", "i64"), Value("%end", "i64"), 1, panel)
        return self.end(symbol)

    def begin(self, buffers: int, params: Sequence[str]) -> list[Value]:
        b = self.b
        self.p = {
            name: b.load(b.offset(Value("%params", "ptr"), "i64", i64(i)), "i64")
            for i, name in enumerate(params)
        }
        slots = (b.offset(Value("%buffers", "ptr"), "ptr", i64(i)) for i in range(buffers))
        return [b.load(slot, "ptr") for slot in slots]

    def end(self, symbol: str) -> str:
        b = self.b
        b.block.end = "ret void"
        head = (
            f"define void @{symbol}(ptr noalias %buffers, ptr noalias %params, "
            "i64 %begin, i64 %end, i64 %thread) #0 {"
        )
        return "\n".join([head, b.body(), "}", *b.declarations.values(), ATTRIBUTES, ""])

    # -- structure ---------------------------------------------------------------------------
    def loop(
        self,
        first: Value,
        end: Value,
        step: int | Value,
        body: Callable[..., Sequence[Value] | None],
        carried: Sequence[Value] = (),
    ) -> list[Value]:
        """for i = first; i < end; i += step: carried = body(i, *carried)."""
        b = self.b
        before = b.block
        head, inside, after = b.new_block(), b.new_block(), b.new_block()
        b.branch(head)
        index = Value(b.name(), "i64")
        values = [Value(b.name(), v.type) for v in carried]
        b.block = head
        b.branch_if(b.compare("icmp slt", index, end), inside, after)
        b.block = inside
        results = list(body(index, *values) or ())
        moved = b.op("add", index, i64(step) if isinstance(step, int) else step)
        b.branch(head)
        for phi, start, next_ in zip([index, *values], [first, *carried], [moved, *results]):
            self.phi(head, phi, (start, before), (next_, b.block))
        b.block = after
        return values

    def phi(self, block: Block, name: Value, *sources: tuple[Value, Block]) -> None:
        pairs = ", ".join(f"[ {v.text}, %{origin.label} ]" for v, origin in sources)
        block.lines.insert(0, f"{name.text} = phi {name.type} {pairs}")

    def least(self, x: Value, y: Value) -> Value:
        return self.b.select(self.b.compare("icmp slt", x, y), x, y)

    def at(self, base: Value, index: Value) -> Value:
        return self.b.offset(base, self.s.element, index)

    def mask(self, left: Value) -> Value:
        """The first `left` lanes."""
        b, lanes = self.b, self.s.lanes
        return b.compare("icmp slt", b.iota(lanes), b.splat(left, lanes))

    def masks(self, width: Value) -> list[Value]:
        """Per vector of a tile, the columns that there are."""
        lanes = self.s.lanes
        return [self.mask(self.b.op("sub", width, i64(v * lanes))) for v in range(self.s.vectors)]

    # -- loops -------------------------------------------------------------------------------
    def cell(self, w: Value, a: Value, bb: Value, c: Value) -> None:
        b, p = self.b, self.p
        batch, cell = b.op("udiv", w, p["cells"]), b.op("urem", w, p["cells"])
        row, column = b.op("udiv", cell, p["columns"]), b.op("urem", cell, p["columns"])
        a, bb, c = (
            self.at(x, b.op("mul", batch, p[name]))
            for x, name in ((a, "a_batch"), (bb, "b_batch"), (c, "c_batch"))
        )
        top, left = b.op("mul", row, p["cell_m"]), b.op("mul", column, p["cell_n"])
        bottom = self.least(b.op("add", top, p["cell_m"]), p["m"])
        right = self.least(b.op("add", left, p["cell_n"]), p["n"])

        def depth(k0: Value) -> None:
            deep = self.least(b.op("sub", p["k"], k0), p["block"])
            self.loop(
                top,
                bottom,
                self.s.height,
                lambda i0: self.rows(i0, k0, deep, bottom, left, right, a, bb, c),
            )

        self.loop(i64(0), p["k"], p["block"], depth)

    def rows(
        self, i0: Value, k0: Value, deep: Value, bottom: Value, left: Value, right: Value,
        a: Value, bb: Value, c: Value,
    ) -> None:  # fmt: skip
        b, s, p = self.b, self.s, self.p
        i1 = self.least(b.op("add", i0, i64(s.height)), bottom)
        if not s.a_is_direct:
            self.copy_a(a, i0, i1, k0, deep)
        is_later = b.compare("icmp sgt", k0, i64(0))

        def panel(j: Value) -> None:
            width = b.op("sub", right, j)
            masks = self.masks(width)
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

    # -- copies ------------------------------------------------------------------------------
    def copy_a(self, a: Value, i0: Value, i1: Value, k0: Value, deep: Value) -> None:
        b, s, p = self.b, self.s, self.p
        if s.a == ROWS:

            def row(i: Value) -> None:
                source = self.at(a, b.op("add", b.op("mul", i, p["a_step"]), k0))
                target = self.at(self.a_copy, b.op("mul", b.op("sub", i, i0), i64(PITCH)))

                def some(k: Value) -> None:
                    mask = self.mask(b.op("sub", deep, k))
                    b.store(self.at(target, k), b.masked_load(self.at(source, k), self.wide, mask))

                self.loop(i64(0), deep, s.lanes, some)

            self.loop(i0, i1, 1, row)
            return
        pieces = s.slot // s.lanes

        def panel(i: Value) -> None:
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
        self, bb: Value, j: Value, width: Value, k0: Value, deep: Value, masks: list[Value]
    ) -> None:
        b, s, p = self.b, self.s, self.p
        if s.b == COPIED:
            start = self.at(bb, b.op("add", b.op("mul", k0, p["b_step"]), j))

            def one(k: Value) -> None:
                source = self.at(start, b.op("mul", k, p["b_step"]))
                place = self.at(self.b_copy, b.op("mul", k, i64(s.tile_n)))
                for v in range(s.vectors):
                    at = i64(v * s.lanes)
                    found = b.masked_load(self.at(source, at), self.wide, masks[v])
                    b.store(self.at(place, at), found)

            self.loop(i64(0), deep, 1, one)
            return
        # k is contiguous: squares of lanes x lanes are turned.
        last = b.op("sub", width, i64(1))
        for v in range(s.vectors):
            rows = []
            for r in range(s.lanes):
                column = b.op("add", j, self.least(i64(v * s.lanes + r), last))
                rows.append(self.at(bb, b.op("add", b.op("mul", column, p["b_step"]), k0)))

            def square(k: Value, rows: list[Value] = rows, v: int = v) -> None:
                mask = self.mask(b.op("sub", deep, k))
                found = [b.masked_load(self.at(r, k), self.wide, mask) for r in rows]
                place = self.at(self.b_copy, b.op("mul", k, i64(s.tile_n)))
                for r, turned in enumerate(self.turn(found)):
                    b.store(self.at(place, i64(r * s.tile_n + v * s.lanes)), turned)

            self.loop(i64(0), deep, s.lanes, square)

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

    # -- the tile ----------------------------------------------------------------------------
    def tile(
        self, left: Callable[[Value], list[Value]], bb: Value, deep: Value, lines: list[Value],
        masks: list[Value], is_later: Value,
    ) -> None:  # fmt: skip
        """c (+)= a b.  Rows that the result does not have are aimed at its last one and written
        first, so that the last one itself has the last word."""
        b, s = self.b, self.s
        b_step = self.p["b_step"] if s.b == DIRECT else i64(s.tile_n)
        to_next = b.op("mul", self.p["b_step"], i64(s.tile_n))

        def step(k: Value, *sums: Value) -> list[Value]:
            line = self.at(bb, b.op("mul", k, b_step))
            if s.b == PANELS:  # the next panel comes while this one is used
                for v in range(s.vectors):
                    b.prefetch(self.at(self.at(line, to_next), i64(v * s.lanes)), "2")
            right = []
            for v in range(s.vectors):
                at = self.at(line, i64(v * s.lanes))
                masked = s.b == DIRECT
                right.append(
                    b.masked_load(at, self.wide, masks[v]) if masked else b.load(at, self.wide)
                )
            new = []
            for i, at in enumerate(left(k)):
                x = b.splat(b.load(at, s.element), s.lanes)
                for v in range(s.vectors):
                    new.append(b.intrinsic("fma", x, right[v], sums[i * s.vectors + v]))
            return new

        zeros = [Value("zeroinitializer", self.wide)] * (s.tile_m * s.vectors)
        sums = self.loop(i64(0), deep, 1, step, zeros)
        sums = self.together(sums, lines, masks, is_later)
        for i in reversed(range(s.tile_m)):
            for v in range(s.vectors):
                at = self.at(lines[i], i64(v * s.lanes))
                b.masked_store(at, sums[i * s.vectors + v], masks[v])

    def together(
        self, sums: list[Value], lines: list[Value], masks: list[Value], is_later: Value
    ) -> list[Value]:
        """With what earlier blocks of k left in the result."""
        b, s = self.b, self.s
        before, again, done = b.block, b.new_block(), b.new_block()
        b.branch_if(is_later, again, done)
        b.block = again
        old = [
            b.masked_load(self.at(line, i64(v * s.lanes)), self.wide, masks[v])
            for line in lines
            for v in range(s.vectors)
        ]
        more = [b.op("fadd", x, y) for x, y in zip(sums, old)]
        b.branch(done)
        b.block = done
        values = [Value(b.name(), self.wide) for _ in sums]
        for value, alone, both in zip(values, sums, more):
            self.phi(done, value, (alone, before), (both, again))
        return values
