"""What Winograd's convolutions are written with: tiles, their places in images, the transforms.

A tile is 2x2 places of the result; it depends on a patch of 4x4 places of the image.  Patch and filter
are transformed to 16 positions each, multiplied position by position (summed over channels: 16 matrix
products), and the products transformed back.  That takes 16 multiplications where the definition has
36.  Each result depends on its own 3x3 window alone, rounding included: differences that reach further
(as with larger tiles) do not occur.

Images have a vector of channels at every place; sizes and strides are parameters, so one kernel serves
images with blocks of channels and channels-last ones.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from headrace.codegen.emit.llvm_text import Value
from headrace.codegen.products.llvm_gemm_copies import Copies
from headrace.codegen.products.llvm_gemm_text import PANELS, ROWS, Shape, i64
from headrace.core.records import record

EDGE, RESULT, TAPS = 4, 2, 3  # places of a patch, a tile and a filter, each way
POSITIONS = EDGE * EDGE
GAP = 16  # elements between the positions of a block: no power of two, which would crowd a cache set
WORDS = 4  # that are noted for each tile of a block
WHOLE_PATCH, WHOLE_TILE = (1 << POSITIONS) - 1, 3

GEOMETRY = (
    "tiles block across down top left height width out_height out_width ins outs "
    "src_image src_block src_row src_pixel dst_image dst_block dst_row dst_pixel"
).split()

Grid = list[list[Value]]


@record
class Variant:
    """What the code depends on."""

    role: str
    lanes: int
    rows: int  # of a tile of a product
    vectors: int
    has_bias: bool = False

    def identity(self) -> str:
        bias = " bias" if self.has_bias else ""
        return f"winograd {self.role} x{self.lanes} tile {self.rows}x{self.vectors}{bias}"


class Text(Copies):
    """Parts that kernels share.  Elements are floats, an index counts elements."""

    def __init__(self, variant: Variant) -> None:
        super().__init__(Shape("float", variant.lanes, variant.rows, variant.vectors, ROWS, PANELS))
        self.variant, self.lanes = variant, variant.lanes
        self.zero = Value("zeroinitializer", self.wide)

    # -- short words -------------------------------------------------------------------------
    def mul(self, x: Value, *more: Value | int) -> Value:
        for y in more:
            x = self.b.op("mul", x, i64(y) if isinstance(y, int) else y)
        return x

    def add(self, x: Value, y: Value | int) -> Value:
        return self.b.op("add", x, i64(y) if isinstance(y, int) else y)

    def sub(self, x: Value, y: Value | int) -> Value:
        return self.b.op("sub", x, i64(y) if isinstance(y, int) else y)

    def fadd(self, x: Value, y: Value) -> Value:
        return self.b.op("fadd", x, y)

    def fsub(self, x: Value, y: Value) -> Value:
        return self.b.op("fsub", x, y)

    def load(self, address: Value) -> Value:
        return self.b.load(address, self.wide)

    def multiples(self, step: Value, count: int) -> list[Value]:
        return [self.mul(step, i) for i in range(count)]

    def when(self, condition: Value, yes: Callable[[], None], no: Callable[[], None] | None = None) -> None:
        b = self.b
        first, second, after = b.new_block(), b.new_block(), b.new_block()
        b.branch_if(condition, first, second)
        for block, write in ((first, yes), (second, no)):
            b.block = block
            if write is not None:
                write()
            b.branch(after)
        b.block = after

    # -- where the tiles of a block are ------------------------------------------------------
    def note_places(self, table: Value, first: Value, count: Value) -> None:
        """Per tile: where its patch begins in the image, where it is in the result, which places of
        the patch and of the tile there are."""
        b, p = self.b, self.p
        per_image = self.mul(p["across"], p["down"])

        def note(t: Value) -> None:
            """Unsigned comparisons find coordinates before 0 and behind the end at once."""
            at = self.add(first, t)
            image, rest = b.op("udiv", at, per_image), b.op("urem", at, per_image)
            y = self.mul(b.op("udiv", rest, p["across"]), RESULT)
            x = self.mul(b.op("urem", rest, p["across"]), RESULT)
            y0, x0 = self.sub(y, p["top"]), self.sub(x, p["left"])
            rows = [b.compare("icmp ult", self.add(y0, i), p["height"]) for i in range(EDGE)]
            columns = [b.compare("icmp ult", self.add(x0, i), p["width"]) for i in range(EDGE)]
            right = b.compare("icmp ult", self.add(x, 1), p["out_width"])
            below = b.compare("icmp ult", self.add(y, 1), p["out_height"])
            noted = (
                self.place("src", image, y0, x0),
                self.place("dst", image, y, x),
                self.bits([b.op("and", r, c) for r in rows for c in columns]),
                self.bits([right, below]),
            )
            line = b.offset(table, "i64", self.mul(t, WORDS))
            for i, word in enumerate(noted):
                b.store(b.offset(line, "i64", i64(i)), word)

        self.loop(i64(0), count, 1, note)

    def place(self, name: str, image: Value, y: Value, x: Value) -> Value:
        p = self.p
        start = self.add(self.mul(image, p[f"{name}_image"]), self.mul(y, p[f"{name}_row"]))
        return self.add(start, self.mul(x, p[f"{name}_pixel"]))

    def bits(self, flags: Sequence[Value]) -> Value:
        b, total = self.b, i64(0)
        for i, flag in enumerate(flags):
            total = b.op("or", total, b.op("shl", b.convert("zext", flag, "i64"), i64(i)))
        return total

    def noted(self, table: Value, t: Value) -> list[Value]:
        line = self.b.offset(table, "i64", self.mul(t, WORDS))
        return [self.b.load(self.b.offset(line, "i64", i64(i)), "i64") for i in range(WORDS)]

    def has(self, bits: Value, i: int) -> Value:
        return self.b.compare("icmp ne", self.b.op("and", bits, i64(1 << i)), i64(0))

    # -- from images to positions ------------------------------------------------------------
    def patches(
        self, image: Value, table: Value, count: Value, target: Value, step: Value, first: Value, end: Value
    ) -> None:
        """target[position][block of channels][tile]: the patches of an image, transformed."""
        b, p = self.b, self.p
        rows, columns = self.multiples(p["src_row"], EDGE), self.multiples(p["src_pixel"], EDGE)

        def channels(c: Value) -> None:
            """One block of channels: every tile of the block."""
            plane = self.at(image, self.mul(c, p["src_block"]))
            line = self.at(target, self.mul(self.sub(c, first), p["block"], self.lanes))

            def tile(t: Value) -> None:
                """A patch that lies inside is loaded as it is; of others, loads of missing places are
                aimed at the start of the plane and replaced by zeros."""
                start, _, seen, _ = self.noted(table, t)
                place = self.at(line, self.mul(t, self.lanes))

                def whole() -> None:
                    lines = [self.at(self.at(plane, start), r) for r in rows]
                    self.put_patch([[self.load(self.at(y, x)) for x in columns] for y in lines], place, step)

                def part() -> None:
                    found: Grid = []
                    for i, row in enumerate(rows):
                        found.append([])
                        for j, column in enumerate(columns):
                            held = self.has(seen, EDGE * i + j)
                            at = b.op("add", start, b.op("add", row, column))
                            x = self.load(self.at(plane, b.select(held, at, i64(0))))
                            found[-1].append(b.select(held, x, self.zero))
                    self.put_patch(found, place, step)

                self.when(b.compare("icmp eq", seen, i64(WHOLE_PATCH)), whole, part)

            self.loop(i64(0), count, 1, tile)

        self.loop(first, end, 1, channels)

    def put_patch(self, d: Grid, place: Value, step: Value) -> None:
        self.put_positions(self.both_ways(self.from_patch, d), place, step)

    def put_positions(self, values: Grid, place: Value, step: Value) -> None:
        for row in values:
            for x in row:
                self.b.store(place, x)
                place = self.at(place, step)

    def get_positions(self, place: Value, step: Value) -> Grid:
        found: Grid = []
        for _ in range(EDGE):
            found.append([])
            for _ in range(EDGE):
                found[-1].append(self.load(place))
                place = self.at(place, step)
        return found

    # -- the transforms, in one direction ----------------------------------------------------
    def both_ways(self, transform: Callable[[list[Value]], list[Value]], x: Grid) -> Grid:
        columns = [transform([row[j] for row in x]) for j in range(len(x[0]))]
        return [transform([c[i] for c in columns]) for i in range(len(columns[0]))]

    def from_patch(self, d: list[Value]) -> list[Value]:
        return [self.fsub(d[0], d[2]), self.fadd(d[1], d[2]), self.fsub(d[2], d[1]), self.fsub(d[1], d[3])]

    def from_filter(self, g: list[Value]) -> list[Value]:
        ends = self.fadd(g[0], g[2])
        return [g[0], self.half(self.fadd(ends, g[1])), self.half(self.fsub(ends, g[1])), g[2]]

    def to_tile(self, m: list[Value]) -> list[Value]:
        return [self.fadd(self.fadd(m[0], m[1]), m[2]), self.fsub(self.fsub(m[1], m[2]), m[3])]

    def from_tile(self, y: list[Value]) -> list[Value]:
        """The transpose of `to_tile`."""
        return [y[0], self.fadd(y[0], y[1]), self.fsub(y[0], y[1]), self.fsub(self.zero, y[1])]

    def to_filter(self, u: list[Value]) -> list[Value]:
        """The transpose of `from_filter`."""
        middle = self.half(self.fadd(u[1], u[2]))
        return [self.fadd(u[0], middle), self.half(self.fsub(u[1], u[2])), self.fadd(middle, u[3])]

    def half(self, x: Value) -> Value:
        return self.b.op("fmul", x, Value("splat (float 5.0e-01)", self.wide))

    # -- whether all results are numbers -----------------------------------------------------
    def doubt(self, bad: Value, x: Value) -> Value:
        """NaN once an x is not finite, else 0.  What is not finite anywhere in between cannot
        become finite again on its way to a result."""
        return self.b.intrinsic("fma", x, self.zero, bad)

    def tell(self, bad: Value, flag: Value) -> None:
        b, kind = self.b, f"i{self.lanes}"
        lanes = b.compare("fcmp uno", bad, bad)
        bits = b.emit(f"bitcast {lanes.type} {lanes.text} to {kind}", kind)
        some = b.compare("icmp ne", bits, Value("0", kind))
        self.when(some, lambda: b.store(flag, Value("1", "i8")))
