"""Max pooling and its gradient where channels come first: a vector is a stretch of a row, not of channels.

The kernels of `llvm_pool` with other inner loops, bit by bit the same results.  Steps of more than `STEP`
would need the elements of too many vectors for one; a vector that reaches beyond a row has masks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod

from headrace.codegen.convolution.llvm_pool import (
    STRAIGHT,
    Form,
    MaxPoolGradWriter,
    MaxPoolWriter,
    PoolWriter,
)
from headrace.codegen.emit.llvm_ops import from_memory, memory_type, rounded, to_memory
from headrace.codegen.emit.llvm_text import Value, constant, vector
from headrace.codegen.products.llvm_gemm_text import i64

STEP = 2  # between windows along a row, at most


def supports(form: Form) -> bool:
    return form.strides[2] <= STEP and prod(form.window) <= STRAIGHT


class _Rows(PoolWriter):
    """Stretches of rows: elements from a place on, those that a row has."""

    def element(self, i: int) -> str:
        kind = self.kinds[i]
        return self.form.place_type if kind is None else memory_type(kind)

    def within(self, first: Value, size: Value, lanes: int) -> Value:
        """Which elements of a vector from `first` on are in a row of this size.  32 bits hold both; to a
        comparison without signs what is below 0 is beyond the end."""
        b = self.b
        at = b.op("add", b.splat(b.convert("trunc", first, "i32"), lanes), self.numbers(lanes))
        return b.compare("icmp ult", at, b.splat(b.convert("trunc", size, "i32"), lanes))

    def numbers(self, lanes: int, step: int = 1) -> Value:
        text = ", ".join(f"i32 {i * step}" for i in range(lanes))
        return Value(f"<{text}>", vector("i32", lanes))

    def both(self, is_inside: Value, write: Callable[[bool], None]) -> None:
        """Code without masks and code with them."""
        b = self.b
        inside, outside, after = b.new_block(), b.new_block(), b.new_block()
        b.branch_if(is_inside, inside, outside)
        for block, is_masked in ((inside, False), (outside, True)):
            b.block = block
            write(is_masked)
            b.branch(after)
        b.block = after

    def stretch(self, i: int, line: Value, first: Value, mask: Value | None) -> Value:
        """As it is in memory."""
        b, type = self.b, vector(self.element(i), self.form.lanes)
        address = b.offset(line, self.element(i), first)
        return b.load(address, type) if mask is None else b.masked_load(address, type, mask)

    def put_stretch(self, i: int, cell: Value, x: Value, mask: Value | None) -> None:
        b, kind = self.b, self.kinds[i]
        x = (
            b.convert("trunc", x, self.form.place_type)
            if kind is None
            else to_memory(b, rounded(b, x, kind), kind)
        )
        address = b.offset(self.buffers[i], self.element(i), cell)
        if mask is None:
            b.store(address, x)
        else:
            b.masked_store(address, x, mask)

    def inside(self, first: Value, count: int, size: Value) -> Value:
        b = self.b
        end = b.op("add", first, i64(count))
        return b.op("and", b.compare("icmp sge", first, i64(0)), b.compare("icmp sle", end, size))


class RowMaxPoolWriter(_Rows, MaxPoolWriter):
    """Results side by side."""

    role = "max pool of rows"

    def row(self, z: Value, y: Value) -> None:
        self.out_z, self.out_y = z, y
        taps = [self.taps(self.seen(at, axis), axis) for axis, at in enumerate((z, y))]
        self.lines = [(self.line(z, y), self.number(z, y)) for z in taps[0] for y in taps[1]]
        self.loop(i64(0), self.p["out_width"], self.form.lanes, self.stretch_of_results)

    def stretch_of_results(self, x: Value) -> None:
        b, lanes, step = self.b, self.form.lanes, self.form.strides[2]
        start = b.op("sub", b.op("mul", x, i64(step)), self.p["left"])
        reads = self.inside(start, step * lanes + self.form.window[2] - 1, self.p["width"])
        is_inside = b.op("and", reads, self.inside(x, lanes, self.p["out_width"]))
        self.both(is_inside, lambda is_masked: self.write_results(x, start, is_masked))

    def write_results(self, x: Value, start: Value, is_masked: bool) -> None:
        """The maxima of one vector of windows, and where they were found if that is asked for.  NaN wins over
        everything; of equal values the first one does."""
        b, lanes, step = self.b, self.form.lanes, self.form.strides[2]
        firsts = [b.op("add", start, i64(k)) for k in range(self.form.window[2])]
        masks = [self.read_masks(first) if is_masked else [None] * step for first in firsts]
        values = [
            self.strided(line, first, mask) for line, _ in self.lines for first, mask in zip(firsts, masks)
        ]
        best = values[0]
        first_tap: Value | None = None
        if is_masked:  # before the first column of the image nothing is seen
            narrow = b.convert("trunc", start, "i32")
            at = b.op("add", b.splat(narrow, lanes), self.numbers(lanes, step))
            first_tap = b.op("sub", constant(0, at.type), at)
        notes = len(self.kinds) > 2
        numbers = [b.op("add", n, i64(k)) for _, n in self.lines for k in range(self.form.window[2])]
        splats = [b.splat(b.convert("trunc", n, "i32"), lanes) for n in numbers] if notes else []
        place = splats[:1]
        for i, found in enumerate(values[1:], 1):
            is_more = b.compare("fcmp ogt", found, best)
            if first_tap is not None and i < self.form.window[2]:
                is_first = b.compare("icmp eq", first_tap, constant(i, first_tap.type))
                is_more = b.op("or", is_more, is_first)
            best = b.select(is_more, found, best)
            place = [b.select(is_more, splats[i], p) for p in place]
        best = b.select(self.has_nan(values), constant(float("nan"), best.type), best)
        mask = self.within(x, self.p["out_width"], lanes) if is_masked else None
        for i, result in enumerate([best, *place], 1):
            cell = b.op("add", self.cell(i, self.out_z, self.out_y, i64(0)), x)
            self.put_stretch(i, cell, result, mask)

    def read_masks(self, first: Value) -> list[Value | None]:
        lanes = self.form.lanes
        return [
            self.within(self.b.op("add", first, i64(k * lanes)), self.p["width"], lanes)
            for k in range(self.form.strides[2])
        ]

    def strided(self, line: Value, first: Value, masks: Sequence[Value | None]) -> Value:
        """Every element, or every second one, from `first` on; -inf where there is none."""
        b, lanes, kind = self.b, self.form.lanes, self.kinds[0]
        assert kind is not None
        parts = []
        for k, mask in enumerate(masks):
            found = self.stretch(0, line, b.op("add", first, i64(k * lanes)), mask)
            found = from_memory(b, found, kind)
            if mask is not None:
                found = b.select(mask, found, constant(float("-inf"), found.type))
            parts.append(found)
        return parts[0] if len(parts) == 1 else b.merge(parts[0], parts[1], range(0, 2 * lanes, 2))


class RowMaxPoolGradWriter(_Rows, MaxPoolGradWriter):
    """Gradients side by side; with steps of two, even and odd ones are apart until they are stored."""

    role = "max pool gradient of rows"

    def row(self, z: Value, y: Value) -> None:
        b, step = self.b, self.form.strides[2]
        self.z, self.y = z, y
        self.down = [b.op("add", at, self.p[pad]) for pad, at in (("front", z), ("top", y))]
        self.around = [self.windows(at, i) for i, at in enumerate(self.down)]
        self.here = self.cell(self.target, z, y, i64(0))
        padded = b.op("add", b.op("add", self.p["width"], self.p["left"]), i64(step - 1))
        self.loop(i64(0), b.op("udiv", padded, i64(step)), self.form.lanes, self.stretch_of_gradients)

    def stretch_of_gradients(self, q: Value) -> None:
        """From place step * q of the padded row on."""
        b, lanes, step = self.b, self.form.lanes, self.form.strides[2]
        first = b.op("sub", b.op("mul", q, i64(step)), self.p["left"])
        most = (self.form.window[2] - 1) // step  # windows before the one that starts here
        reads = self.inside(b.op("sub", q, i64(most)), lanes + most, self.p["out_width"])
        is_inside = b.op("and", reads, self.inside(first, step * lanes, self.p["width"]))
        self.both(is_inside, lambda is_masked: self.write_gradients(q, first, is_masked))

    def write_gradients(self, q: Value, first: Value, is_masked: bool) -> None:
        """What one stretch of the input gets: the sum over all windows that it lies in."""
        b, lanes, step = self.b, self.form.lanes, self.form.strides[2]
        (z0, z1), (y0, y1) = self.around
        before = range((self.form.window[2] - 1) // step, -1, -1)  # a place's windows in their order
        starts = [b.op("sub", q, i64(k)) for k in before]
        masks = [self.within(s, self.p["out_width"], lanes) if is_masked else None for s in starts]
        around = list(zip(before, starts, masks))

        def plane(i: Value, *totals: Value) -> list[Value]:
            return self.loop(y0, y1, 1, lambda j, *t: line(i, j, t), totals)

        def line(i: Value, j: Value, totals: Sequence[Value]) -> list[Value]:
            return self.added(i, j, around, list(totals))

        totals = self.loop(z0, z1, 1, plane, [self.zero()] * step)
        found = totals[0] if step == 1 else b.merge(totals[0], totals[1], self.alternating())
        mask = self.within(first, self.p["width"], step * lanes) if is_masked else None
        self.put_stretch(self.target, b.op("add", self.here, first), found, mask)

    def alternating(self) -> list[int]:
        lanes = self.form.lanes
        return [k for pair in zip(range(lanes), range(lanes, 2 * lanes)) for k in pair]

    def added(
        self, i: Value, j: Value, around: Sequence[tuple[int, Value, Value | None]], totals: list[Value]
    ) -> list[Value]:
        """The sums with what one row of windows adds."""
        b, step, lanes, kind = self.b, self.form.strides[2], self.form.lanes, self.kinds[self.grad]
        assert kind is not None
        lines = [b.offset(self.buffers[n], self.element(n), self.cell(n, i, j, i64(0))) for n in (0, 1)]
        number = self.row_number(i, j)
        for before, start, mask in around:
            grads = from_memory(b, self.stretch(0, lines[0], start, mask), kind)
            places = self.stretch(1, lines[1], start, mask)
            for phase in range(min(step, self.form.window[2] - before * step)):
                tap = b.op("add", number, i64(before * step + phase))
                wanted = b.splat(b.convert("trunc", tap, self.form.place_type), lanes)
                is_here = b.compare("icmp eq", places, wanted)
                if mask is not None:
                    is_here = b.op("and", is_here, mask)
                totals[phase] = b.op("fadd", totals[phase], b.select(is_here, grads, self.zero()))
        return totals

    def row_number(self, i: Value, j: Value) -> Value:
        """The number of the first place of this row in a window of theirs."""
        b, (_, height, width), (deep, down, _) = self.b, self.form.window, self.form.strides
        z = b.op("sub", self.down[0], b.op("mul", i, i64(deep)))
        y = b.op("sub", self.down[1], b.op("mul", j, i64(down)))
        return b.op("mul", b.op("add", b.op("mul", z, i64(height)), y), i64(width))
