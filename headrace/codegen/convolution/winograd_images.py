"""Winograd's convolution as one kernel: forward, or the gradient of the image.

    for each block of tiles (threads share the blocks):
        transform the patches of the image
        for each group of output channels:
            16 products with the transformed weights, a tile of each in registers
            transform back, into the result

What a block needs stays in the second cache.  Nothing waits for another thread.
"""

from __future__ import annotations

from headrace.codegen.convolution.winograd_text import GEOMETRY, POSITIONS, RESULT, WHOLE_TILE, Text
from headrace.codegen.emit.llvm_text import Value
from headrace.codegen.products.llvm_gemm_text import i64

PARAMS = [*GEOMETRY, *"group parts v_step m_step u_step scratch skipped".split()]


class Images(Text):
    """Buffers are the image, weights, the result, scratch, the flag, and a bias if there is one.  A
    unit of work is a block of tiles, for one of `parts` of the output channels."""

    def write(self, symbol: str) -> str:
        """A unit transforms its patches once, then computes group after group of output channels:
        products of a group stay in the cache until they are transformed back."""
        b = self.b
        src, weights, dst, scratch, flag, *bias = self.begin(5 + self.variant.has_bias, PARAMS)
        p = self.p
        self.bias = bias[0] if bias else None
        self.weights = self.at(weights, p["skipped"])
        self.v = b.offset(scratch, "i8", self.mul(Value("%thread", "i64"), p["scratch"]))
        self.m = self.at(self.v, self.mul(p["v_step"], POSITIONS))
        self.places = self.at(self.m, self.mul(p["m_step"], POSITIONS))

        def unit(w: Value, bad: Value) -> list[Value]:
            """A block of tiles and its share of the output channels."""
            block, part = b.op("udiv", w, p["parts"]), b.op("urem", w, p["parts"])
            first = self.mul(block, p["block"])
            count = self.least(self.sub(p["tiles"], first), p["block"])
            begin = b.op("udiv", self.mul(p["outs"], part), p["parts"])
            end = b.op("udiv", self.mul(p["outs"], self.add(part, 1)), p["parts"])
            self.note_places(self.places, first, count)
            self.patches(src, self.places, count, self.v, p["v_step"], i64(0), p["ins"])

            def group(k0: Value, bad: Value) -> list[Value]:
                k1 = self.least(self.add(k0, p["group"]), end)
                self.products(count, k0, k1)
                return self.results(dst, count, k0, k1, bad)

            return self.loop(begin, end, p["group"], group, [bad])

        units = Value("%begin", "i64"), Value("%end", "i64")
        self.tell(self.loop(*units, 1, unit, [self.zero])[0], flag)
        return self.end(symbol)

    def products(self, count: Value, k0: Value, k1: Value) -> None:
        """m[position][block of outputs][tile] for the outputs from k0 to k1."""
        b, p = self.b, self.p
        depth = self.mul(p["ins"], self.lanes * self.lanes)
        line = self.mul(p["block"], self.lanes)
        pairs = self.sub(k1, b.op("urem", self.sub(k1, k0), i64(self.variant.vectors)))

        def position(at: Value) -> None:
            """One of the 16 products: panels of `vectors` blocks of outputs, then single ones."""
            v = self.at(self.v, self.mul(at, p["v_step"]))
            m = self.at(self.m, self.mul(at, p["m_step"]))
            u = self.at(self.weights, self.mul(at, p["u_step"]))

            def panel(k: Value, vectors: int) -> None:
                right = [self.at(u, self.mul(self.add(k, i), depth)) for i in range(vectors)]
                outs = [self.at(m, self.mul(self.sub(self.add(k, i), k0), line)) for i in range(vectors)]

                def tile(t: Value) -> None:
                    at = self.mul(t, self.lanes)
                    self.tile_of_product(self.at(v, at), right, [self.at(x, at) for x in outs], line)

                self.loop(i64(0), count, self.variant.rows, tile)

            self.loop(k0, pairs, self.variant.vectors, lambda k: panel(k, self.variant.vectors))
            self.loop(pairs, k1, 1, lambda k: panel(k, 1))

        self.loop(i64(0), i64(POSITIONS), 1, position)

    def tile_of_product(self, a: Value, right: list[Value], outs: list[Value], line: Value) -> None:
        """`rows` tiles of images times a few vectors of outputs.  Rows behind the last tile are
        computed from whatever lies there, and read by nobody."""
        b, lanes, rows, vectors = self.b, self.lanes, self.variant.rows, len(right)

        def channels(_: Value, a: Value, *rest: Value) -> list[Value]:
            lines, sums = rest[:vectors], list(rest[vectors:])
            for c in range(lanes):
                w = [self.load(self.at(x, i64(c * lanes))) for x in lines]
                for r in range(rows):
                    x = b.splat(b.load(self.at(a, i64(r * lanes + c)), "float"), lanes)
                    for j in range(vectors):
                        at = r * vectors + j
                        sums[at] = b.intrinsic("fma", x, w[j], sums[at])
            return [self.at(a, line), *(self.at(x, i64(lanes * lanes)) for x in lines), *sums]

        start = [a, *right, *[self.zero] * (rows * vectors)]
        sums = self.loop(i64(0), self.p["ins"], 1, channels, start)[1 + vectors :]
        for r in range(rows):
            for j in range(vectors):
                b.store(self.at(outs[j], i64(r * lanes)), sums[r * vectors + j])

    def results(self, dst: Value, count: Value, k0: Value, k1: Value, bad: Value) -> list[Value]:
        """Transform products back to tiles, add the bias, and store them; `bad` collects whether anything
        is not finite."""
        p = self.p

        def channels(k: Value, bad: Value) -> list[Value]:
            """One block of output channels: every tile of the block."""
            plane = self.at(dst, self.mul(k, p["dst_block"]))
            line = self.at(self.m, self.mul(self.sub(k, k0), p["block"], self.lanes))
            bias = None
            if self.bias is not None:
                bias = self.load(self.at(self.bias, self.mul(k, self.lanes)))

            def tile(t: Value, bad: Value) -> list[Value]:
                _, at, _, kept = self.noted(self.places, t)
                products = self.get_positions(self.at(line, self.mul(t, self.lanes)), p["m_step"])
                y = self.both_ways(self.to_tile, products)
                if bias is not None:
                    y = [[self.fadd(x, bias) for x in row] for row in y]
                return [self.put_tile(y, self.at(plane, at), kept, bad)]

            return self.loop(i64(0), count, 1, tile, [bad])

        return self.loop(k0, k1, 1, channels, [bad])

    def put_tile(self, y: list[list[Value]], corner: Value, kept: Value, bad: Value) -> Value:
        """Store what belongs to the result."""
        b, p = self.b, self.p
        right = [self.at(corner, p["dst_pixel"])]
        below = self.at(corner, p["dst_row"])
        places = [[corner, right[0]], [below, self.at(below, p["dst_pixel"])]]
        has_right, has_below = self.has(kept, 0), self.has(kept, 1)
        b.store(corner, y[0][0])

        def rest() -> None:
            for i, j in ((0, 1), (1, 0), (1, 1)):
                b.store(places[i][j], y[i][j])

        def some() -> None:
            self.when(has_right, lambda: b.store(places[0][1], y[0][1]))
            self.when(has_below, lambda: b.store(places[1][0], y[1][0]))

        self.when(b.compare("icmp eq", kept, i64(WHOLE_TILE)), rest, some)
        held = {(0, 1): has_right, (1, 0): has_below, (1, 1): b.op("and", has_right, has_below)}
        for i in range(RESULT):
            for j in range(RESULT):
                x = y[i][j] if (i, j) == (0, 0) else b.select(held[i, j], y[i][j], self.zero)
                bad = self.doubt(bad, x)
        return bad
