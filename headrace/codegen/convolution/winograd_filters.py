"""Filters and Winograd's positions: weights transformed before a convolution, and their gradient.

The gradient is a sum over tiles: 16 matrix products (channels of the image, tiles) x (tiles, channels
of the result), transformed back at the end.  A unit of work is a group of channels each way, and a
part of the tiles; a second kernel adds the parts and transforms the sums.
"""

from __future__ import annotations

from headrace.codegen.convolution.winograd_text import (
    EDGE,
    GEOMETRY,
    POSITIONS,
    RESULT,
    TAPS,
    WHOLE_TILE,
    Grid,
    Text,
)
from headrace.codegen.emit.llvm_text import Value
from headrace.codegen.products.llvm_gemm_text import i64

FILTER_PARAMS = ["ins", "outs", "u_step", "skipped"]  # blocks of channels
GRADIENT_PARAMS = [
    *GEOMETRY,
    *"in_group out_group in_groups out_groups parts v_step d_step u_step scratch".split(),
]
SUM_PARAMS = ["ins", "outs", "u_step", "parts"]


class Filters(Text):
    """Weights (rows, columns, in, out) as [position][block of outputs][input][output of a block].
    Buffers are the weights and the target; a unit of work is a block of outputs."""

    def write(self, symbol: str) -> str:
        """Per input channel: the nine taps of a vector of outputs, transformed, into 16 positions."""
        lanes = self.lanes
        weights, target = self.begin(2, FILTER_PARAMS)
        p = self.p
        target = self.at(target, p["skipped"])
        ins, outs = self.mul(p["ins"], lanes), self.mul(p["outs"], lanes)
        tap = self.mul(ins, outs)
        taps = self.multiples(tap, TAPS * TAPS)

        def unit(k: Value) -> None:
            def channel(c: Value) -> None:
                start = self.at(weights, self.add(self.mul(c, outs), self.mul(k, lanes)))
                g = [
                    [self.load(self.at(start, taps[TAPS * i + j])) for j in range(TAPS)] for i in range(TAPS)
                ]
                place = self.at(target, self.mul(self.add(self.mul(k, ins), c), lanes))
                self.put_positions(self.both_ways(self.from_filter, g), place, p["u_step"])

            self.loop(i64(0), ins, 1, channel)

        self.loop(Value("%begin", "i64"), Value("%end", "i64"), 1, unit)
        return self.end(symbol)


class TurnedFilters(Text):
    """The same for the gradient of the image: filters turned around, inputs and outputs exchanged.
    A unit of work is a block of inputs."""

    def write(self, symbol: str) -> str:
        """Per block of outputs: squares of `lanes` inputs by outputs are transposed on the stack, so that
        the transform works on vectors of inputs; taps are read backwards."""
        b, lanes = self.b, self.lanes
        weights, target = self.begin(2, FILTER_PARAMS)
        p = self.p
        target = self.at(target, p["skipped"])
        ins, outs = self.mul(p["ins"], lanes), self.mul(p["outs"], lanes)
        tap = self.mul(ins, outs)
        taps = self.multiples(tap, TAPS * TAPS)
        square = b.stack(f"[{TAPS * TAPS * lanes} x {self.wide}]")

        def unit(c: Value) -> None:
            """A block of inputs."""

            def channels(k: Value) -> None:
                """Transpose each tap's square, then transform line by line."""
                start = self.at(weights, self.add(self.mul(c, lanes, outs), self.mul(k, lanes)))
                for i in range(TAPS * TAPS):
                    rows = [
                        self.load(self.at(self.at(start, taps[i]), self.mul(outs, r))) for r in range(lanes)
                    ]
                    for r, x in enumerate(self.turn(rows)):
                        b.store(self.at(square, i64((i * lanes + r) * lanes)), x)

                def one(r: Value) -> None:
                    at = self.at(square, self.mul(r, lanes))
                    g = [
                        [
                            self.load(self.at(at, i64((TAPS * i + j) * lanes * lanes)))
                            for j in reversed(range(TAPS))
                        ]
                        for i in reversed(range(TAPS))
                    ]
                    line = self.add(self.mul(c, outs), self.add(self.mul(k, lanes), r))
                    place = self.at(target, self.mul(line, lanes))
                    self.put_positions(self.both_ways(self.from_filter, g), place, p["u_step"])

                self.loop(i64(0), i64(lanes), 1, one)

            self.loop(i64(0), p["outs"], 1, channels)

        self.loop(Value("%begin", "i64"), Value("%end", "i64"), 1, unit)
        return self.end(symbol)


class Gradient(Text):
    """Sums [part][position][block of outputs][input][output of a block].  Buffers are the image, the
    gradient of the result, the sums and scratch."""

    def write(self, symbol: str) -> str:
        """Block by block of its tiles, a unit transforms patches of the image and tiles of the gradient,
        and adds their products to its own part of the sums."""
        b = self.b
        src, grad, self.sums, scratch = self.begin(4, GRADIENT_PARAMS)
        p = self.p
        self.v = b.offset(scratch, "i8", self.mul(Value("%thread", "i64"), p["scratch"]))
        self.d = self.at(self.v, self.mul(p["v_step"], POSITIONS))
        self.places = self.at(self.d, self.mul(p["d_step"], POSITIONS))
        blocks = b.op("udiv", self.add(p["tiles"], self.sub(p["block"], 1)), p["block"])

        def unit(w: Value) -> None:
            """A group of input and one of output channels, for one part of the tiles."""
            part, rest = b.op("urem", w, p["parts"]), b.op("udiv", w, p["parts"])
            c0 = self.mul(b.op("urem", rest, p["in_groups"]), p["in_group"])
            k0 = self.mul(b.op("udiv", rest, p["in_groups"]), p["out_group"])
            c1 = self.least(self.add(c0, p["in_group"]), p["ins"])
            k1 = self.least(self.add(k0, p["out_group"]), p["outs"])
            begin = b.op("udiv", self.mul(blocks, part), p["parts"])
            end = b.op("udiv", self.mul(blocks, self.add(part, 1)), p["parts"])

            def block(i: Value) -> None:
                first = self.mul(i, p["block"])
                count = self.least(self.sub(p["tiles"], first), p["block"])
                self.note_places(self.places, first, count)
                self.patches(src, self.places, count, self.v, p["v_step"], c0, c1)
                self.tiles(grad, count, k0, k1)
                is_first = b.compare("icmp eq", i, begin)
                self.products(count, part, (c0, c1), (k0, k1), is_first)

            self.loop(begin, end, 1, block)

        self.loop(Value("%begin", "i64"), Value("%end", "i64"), 1, unit)
        return self.end(symbol)

    def tiles(self, grad: Value, count: Value, k0: Value, k1: Value) -> None:
        """d[position][block of channels][tile]: tiles of the gradient, transformed."""
        b, p = self.b, self.p

        def channels(k: Value) -> None:
            """One block of channels: every tile of the block."""
            plane = self.at(grad, self.mul(k, p["dst_block"]))
            line = self.at(self.d, self.mul(self.sub(k, k0), p["block"], self.lanes))

            def tile(t: Value) -> None:
                """At the border of the result places that do not exist count as zeros; loads are aimed at
                one that does."""
                _, at, _, kept = self.noted(self.places, t)
                place, corner = self.at(line, self.mul(t, self.lanes)), self.at(plane, at)

                def put(y: Grid) -> None:
                    self.put_positions(self.both_ways(self.from_tile, y), place, p["d_step"])

                def whole() -> None:
                    below = self.at(corner, p["dst_row"])
                    put([[self.load(x), self.load(self.at(x, p["dst_pixel"]))] for x in (corner, below)])

                def part() -> None:
                    down = b.select(self.has(kept, 1), p["dst_row"], i64(0))
                    right = b.select(self.has(kept, 0), p["dst_pixel"], i64(0))
                    y: Grid = []
                    for i in range(RESULT):
                        y.append([])
                        for j in range(RESULT):
                            at = self.at(corner, self.add(down if i else i64(0), right if j else 0))
                            x = self.load(at)
                            for bit in [1] * i + [0] * j:
                                x = b.select(self.has(kept, bit), x, self.zero)
                            y[-1].append(x)
                    put(y)

                self.when(b.compare("icmp eq", kept, i64(WHOLE_TILE)), whole, part)

            self.loop(i64(0), count, 1, tile)

        self.loop(k0, k1, 1, channels)

    def products(
        self, count: Value, part: Value, ins: tuple[Value, Value], outs: tuple[Value, Value], is_first: Value
    ) -> None:
        """Add a block of tiles to the sums; the first one begins them."""
        b, p, lanes = self.b, self.p, self.lanes
        (c0, c1), (k0, k1) = ins, outs
        depth = self.mul(p["ins"], lanes * lanes)  # of the sums of a block of outputs
        line = self.mul(p["block"], lanes)
        width = self.sub(k1, k0)
        # Threes, with one or two pairs to end with; a single block alone.
        threes = self.sub(width, self.mul(b.op("urem", self.mul(width, 2), i64(3)), 2))
        threes = b.select(b.compare("icmp slt", threes, i64(0)), i64(0), threes)
        pairs = self.sub(width, b.op("urem", self.sub(width, threes), i64(2)))
        start = self.mul(part, POSITIONS, p["u_step"])

        def position(at: Value) -> None:
            """One of the 16 products: panels of three, two or one vectors of output channels."""
            v = self.at(self.v, self.mul(at, p["v_step"]))
            d = self.at(self.d, self.mul(at, p["d_step"]))
            sums = self.at(self.sums, self.add(start, self.mul(at, p["u_step"])))

            def panel(k: Value, vectors: int) -> None:
                right = [self.at(d, self.mul(self.add(k, i), line)) for i in range(vectors)]
                lines = [self.at(sums, self.mul(self.add(self.add(k0, k), i), depth)) for i in range(vectors)]

                def channels(c: Value) -> None:
                    left = self.at(v, self.mul(self.sub(c, c0), line))
                    for r in range(0, lanes, self.variant.rows):
                        at = self.mul(self.add(self.mul(c, lanes), r), lanes)
                        places = [self.at(x, at) for x in lines]
                        self.tile_of_product(self.at(left, i64(r)), right, places, count, is_first)

                self.loop(c0, c1, 1, channels)

            self.loop(i64(0), threes, 3, lambda k: panel(k, 3))
            self.loop(threes, pairs, 2, lambda k: panel(k, 2))
            self.loop(pairs, width, 1, lambda k: panel(k, 1))

        self.loop(i64(0), i64(POSITIONS), 1, position)

    def tile_of_product(
        self, left: Value, right: list[Value], places: list[Value], count: Value, is_first: Value
    ) -> None:
        """`rows` channels of the image times a few vectors of the gradient, summed over the tiles in
        registers; stored by the first block of tiles, added by later ones."""
        b, lanes, rows, vectors = self.b, self.lanes, self.variant.rows, len(right)
        lines = [[self.at(x, i64(r * lanes)) for x in places] for r in range(rows)]

        def tile(_: Value, a: Value, *rest: Value) -> list[Value]:
            operands, sums = rest[:vectors], list(rest[vectors:])
            found = [self.load(x) for x in operands]
            for r in range(rows):
                x = b.splat(b.load(self.at(a, i64(r)), "float"), lanes)
                for j in range(vectors):
                    at = r * vectors + j
                    sums[at] = b.intrinsic("fma", x, found[j], sums[at])
            return [self.at(a, i64(lanes)), *(self.at(x, i64(lanes)) for x in operands), *sums]

        start = [left, *right, *[self.zero] * (rows * vectors)]
        sums = self.loop(i64(0), count, 1, tile, start)[1 + vectors :]
        flat = [x for row in lines for x in row]

        def begin() -> None:
            for at, x in zip(flat, sums):
                b.store(at, x)

        def go_on() -> None:
            for at, x in zip(flat, sums):
                b.store(at, self.fadd(self.load(at), x))

        self.when(is_first, begin, go_on)


class Sums(Text):
    """The gradient of the weights (rows, columns, in, out) from the sums of all parts.  Buffers are the
    sums, the gradient and the flag; a unit of work is a block of outputs."""

    def write(self, symbol: str) -> str:
        """Add the parts, transform the sums back to nine taps, and note whether all are finite."""
        lanes = self.lanes
        sums, target, flag = self.begin(3, SUM_PARAMS)
        p = self.p
        ins, outs = self.mul(p["ins"], lanes), self.mul(p["outs"], lanes)
        tap = self.mul(ins, outs)
        taps = self.multiples(tap, TAPS * TAPS)
        whole = self.mul(p["u_step"], POSITIONS)

        def unit(k: Value, bad: Value) -> list[Value]:
            """A block of outputs."""

            def channel(c: Value, bad: Value) -> list[Value]:
                """The total of one vector of weights."""
                place = self.at(sums, self.mul(self.add(self.mul(k, ins), c), lanes))
                first = [x for row in self.get_positions(place, p["u_step"]) for x in row]

                def more(part: Value, *total: Value) -> list[Value]:
                    found = self.get_positions(self.at(place, self.mul(part, whole)), p["u_step"])
                    return [self.fadd(x, y) for x, y in zip(total, [x for r in found for x in r])]

                total = self.loop(i64(1), p["parts"], 1, more, first)
                u = [total[EDGE * i : EDGE * (i + 1)] for i in range(EDGE)]
                at = self.at(target, self.add(self.mul(c, outs), self.mul(k, lanes)))
                for i, row in enumerate(self.both_ways(self.to_filter, u)):
                    for j, x in enumerate(row):
                        self.b.store(self.at(at, taps[TAPS * i + j]), x)
                        bad = self.doubt(bad, x)
                return [bad]

            return self.loop(i64(0), ins, 1, channel, [bad])

        units = Value("%begin", "i64"), Value("%end", "i64")
        self.tell(self.loop(*units, 1, unit, [self.zero])[0], flag)
        return self.end(symbol)
