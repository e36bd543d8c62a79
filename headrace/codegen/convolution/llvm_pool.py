"""The gradient of max pooling as code of our own: LLVM text for one kernel.

    for each row of the input's gradient (threads share the rows):
        for each place in it, for a vector of channels:
            sum the gradients of the windows around it whose maximum was here

A window adds nothing to what others store, so nothing waits for an earlier store: with windows that
overlap, this takes a third of the time of adding up window by window.
"""

from __future__ import annotations

from headrace.codegen.emit.llvm_text import Value, vector
from headrace.codegen.products.llvm_gemm_text import DIRECT, ROWS_DIRECT, GemmText, Shape, i64

PARAMS = "height width out_height out_width channels top left".split()


class PoolWriter(GemmText):
    """Writes the kernel: buffers are the result's gradient, the places of maxima (a byte each,
    counted along the window's rows) and the input's gradient; channels are innermost."""

    def __init__(self, lanes: int, window: tuple[int, int], strides: tuple[int, int]) -> None:
        super().__init__(Shape("float", lanes, 1, 1, ROWS_DIRECT, DIRECT))
        self.window, self.strides = window, strides

    def identity(self) -> str:
        return f"max pool gradient x{self.s.lanes} {self.window} {self.strides}"

    def write(self, symbol: str) -> str:
        self.grad, self.places, self.target = self.begin(3, PARAMS)
        self.loop(Value("%begin", "i64"), Value("%end", "i64"), 1, self.row)
        return self.end(symbol)

    def row(self, unit: Value) -> None:
        b, p = self.b, self.p
        image, y = b.op("udiv", unit, p["height"]), b.op("urem", unit, p["height"])
        first, last = self.windows(b.op("add", y, p["top"]), 0, p["out_height"])
        image_start = b.op("mul", image, p["out_height"])
        down = b.op("add", y, p["top"])

        def column(x: Value) -> None:
            across = b.op("add", x, p["left"])
            left, right = self.windows(across, 1, p["out_width"])
            here = b.op("add", b.op("mul", unit, p["width"]), x)
            target = self.at(self.target, b.op("mul", here, p["channels"]))

            def channel(c: Value) -> None:
                def window_row(i: Value, total: Value) -> list[Value]:
                    line = b.op("mul", b.op("add", image_start, i), p["out_width"])
                    tap_row = b.op("sub", down, b.op("mul", i, i64(self.strides[0])))
                    taps = b.op("add", b.op("mul", tap_row, i64(self.window[1])), across)

                    def window(j: Value, total: Value) -> list[Value]:
                        cell = b.op("mul", b.op("add", line, j), p["channels"])
                        place = b.op("add", cell, c)
                        tap = b.op("sub", taps, b.op("mul", j, i64(self.strides[1])))
                        return [self.more(total, place, tap)]

                    return self.loop(left, right, 1, window, [total])

                zero = Value("zeroinitializer", self.wide)
                (total,) = self.loop(first, last, 1, window_row, [zero])
                b.store(self.at(target, c), total)

            self.loop(i64(0), p["channels"], self.s.lanes, channel)

        self.loop(i64(0), p["width"], 1, column)

    def windows(self, at: Value, axis: int, count: Value) -> tuple[Value, Value]:
        """The first window around a place (counted with the padding), and the one after the last."""
        b, size, stride = self.b, self.window[axis], self.strides[axis]
        before = b.op("sub", at, i64(size - stride))
        first = b.select(b.compare("icmp slt", before, i64(0)), i64(0), b.op("sdiv", before, i64(stride)))
        after = b.op("add", b.op("sdiv", at, i64(stride)), i64(1))
        return first, self.least(after, count)

    def more(self, total: Value, place: Value, tap: Value) -> Value:
        """The sum with what the window at `place` adds, if its maximum is at `tap`."""
        b, lanes = self.b, self.s.lanes
        found = b.load(b.offset(self.places, "i8", place), vector("i8", lanes))
        is_here = b.compare("icmp eq", found, b.splat(b.convert("trunc", tap, "i8"), lanes))
        grad = b.load(self.at(self.grad, place), self.wide)
        return b.op("fadd", total, b.select(is_here, grad, Value("zeroinitializer", self.wide)))
