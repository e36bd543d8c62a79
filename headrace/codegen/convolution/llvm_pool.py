"""Max pooling and its gradients as code of our own: LLVM text, one kernel for each kind.

    for each row of the result (threads share the rows):
        for each place in it, for a vector of channels:
            forward: the largest under the window, NaN if one is there, and where it was
            gradient: the sum of the gradients of the windows around it whose maximum was here

A window adds nothing to what others store, so nothing waits for an earlier store: with windows that
overlap, the gradient takes a third of the time of adding up window by window.

Arrays have three dimensions of space (one may have the size 1) and channels in groups: every array
has its own steps along them (`STEPS`), so blocks of channels, channels last and channels first may
meet in a call.  Half floats are widened; what is computed of them is rounded once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial, reduce
from itertools import product
from math import prod
from typing import NamedTuple

from headrace.codegen.emit.llvm_ops import from_memory, memory_type, register_type, rounded, to_memory
from headrace.codegen.emit.llvm_text import Value, constant, vector
from headrace.codegen.ir.kernel_ir import Kind
from headrace.codegen.products.llvm_gemm_text import DIRECT, ROWS_DIRECT, GemmText, Shape, i64
from headrace.core.records import record

SIZES = "groups inner depth height width out_depth out_height out_width front top left".split()
STEPS = "image group depth row pixel channel".split()  # of an array, in elements
SPACE = (("depth", "front", "depth"), ("height", "top", "row"), ("width", "left", "pixel"))
UNROLLED = 9  # windows over one place that are written out, not looped over
STRAIGHT = 32  # elements of a window that are
BYTE_PLACES = 256  # windows up to so many elements note the place of their maximum in a byte


@record
class Form:
    """What the code depends on."""

    lanes: int  # 1: channels may lie apart
    window: tuple[int, ...]
    strides: tuple[int, ...]

    @property
    def place_type(self) -> str:
        return "i8" if prod(self.window) <= BYTE_PLACES else "i32"


class PoolWriter(GemmText):
    """Loops and addresses that the kernels share."""

    role = ""
    rows = "out_"  # of which space a unit of work is a row

    def __init__(self, form: Form, kinds: Sequence[Kind | None]) -> None:
        super().__init__(Shape("float", form.lanes, 1, 1, ROWS_DIRECT, DIRECT))
        self.form, self.kinds = form, tuple(kinds)  # None: places of maxima

    def identity(self) -> str:
        f = self.form
        kinds = " ".join("places" if k is None else k.name for k in self.kinds)
        return f"{self.role} {kinds} x{f.lanes} {f.window} {f.strides}"

    @property
    def params(self) -> list[str]:
        return [*SIZES, *(f"{i} {step}" for i in range(len(self.kinds)) for step in STEPS)]

    def write(self, symbol: str) -> str:
        self.buffers = self.begin(len(self.kinds), self.params)
        self.loop(Value("%begin", "i64"), Value("%end", "i64"), 1, self.unit)
        return self.end(symbol)

    def unit(self, unit: Value) -> None:
        """A row, by its number."""
        b, p = self.b, self.p
        y, rest = self.divided(unit, p[self.rows + "height"])
        z, rest = self.divided(rest, p[self.rows + "depth"])
        self.group, self.image = self.divided(rest, p["groups"])
        self.starts = [
            b.op("add", b.op("mul", self.image, p[f"{i} image"]), b.op("mul", self.group, p[f"{i} group"]))
            for i in range(len(self.kinds))
        ]
        self.row(z, y)

    def row(self, z: Value, y: Value) -> None:
        raise NotImplementedError

    def divided(self, x: Value, y: Value) -> tuple[Value, Value]:
        """Remainder and quotient."""
        return self.b.op("urem", x, y), self.b.op("udiv", x, y)

    def cell(self, i: int, z: Value, y: Value, x: Value) -> Value:
        """Where the channels of a place begin in array i."""
        b, found = self.b, self.starts[i]
        for at, step in zip((z, y, x), ("depth", "row", "pixel")):
            found = b.op("add", found, b.op("mul", at, self.p[f"{i} {step}"]))
        return found

    def channels(self, body: Callable[[Value], None]) -> None:
        """body(first channel) for each vector; the last ones overlap where they are not whole."""
        b, lanes, inner = self.b, self.form.lanes, self.p["inner"]
        last = b.op("sub", inner, i64(lanes))
        self.loop(i64(0), inner, lanes, lambda c: body(self.least(c, last)))

    def address(self, i: int, cell: Value, channel: Value) -> Value:
        b, kind = self.b, self.kinds[i]
        moved = channel if self.form.lanes > 1 else b.op("mul", channel, self.p[f"{i} channel"])
        element = self.form.place_type if kind is None else memory_type(kind)
        return b.offset(self.buffers[i], element, b.op("add", cell, moved))

    def fetch(self, i: int, cell: Value, channel: Value) -> Value:
        kind = self.kinds[i]
        element = self.form.place_type if kind is None else memory_type(kind)
        found = self.b.load(self.address(i, cell, channel), vector(element, self.form.lanes))
        return found if kind is None else from_memory(self.b, found, kind)

    def keep(self, i: int, cell: Value, channel: Value, x: Value) -> None:
        kind = self.kinds[i]
        if kind is None:
            x = self.b.convert("trunc", x, self.form.place_type)
        else:
            x = to_memory(self.b, rounded(self.b, x, kind), kind)
        self.b.store(self.address(i, cell, channel), x)

    def most(self, x: Value, y: Value) -> Value:
        return self.b.select(self.b.compare("icmp sgt", x, y), x, y)


class Span(NamedTuple):
    """What a window sees along an axis, and where it would start if there were no border."""

    first: Value
    end: Value
    start: Value


class MaxPoolWriter(PoolWriter):
    """Arrays: the input, the result, and the places of maxima if somebody asks for them (counted along
    the window's rows)."""

    role = "max pool"

    def row(self, z: Value, y: Value) -> None:
        self.out_z, self.out_y = z, y
        self.seen_z, self.seen_y = self.seen(z, 0), self.seen(y, 1)
        if self.is_straight:
            self.lines = [
                (self.line(z, y), self.number(z, y))
                for z in self.taps(self.seen_z, 0)
                for y in self.taps(self.seen_y, 1)
            ]
        self.loop(i64(0), self.p["out_width"], 1, self.column)

    @property
    def is_straight(self) -> bool:
        return prod(self.form.window) <= STRAIGHT

    def seen(self, at: Value, axis: int) -> Span:
        b = self.b
        size, pad, _ = SPACE[axis]
        start = b.op("sub", b.op("mul", at, i64(self.form.strides[axis])), self.p[pad])
        end = self.least(b.op("add", start, i64(self.form.window[axis])), self.p[size])
        return Span(self.most(start, i64(0)), end, start)

    def taps(self, span: Span, axis: int) -> list[tuple[Value, Value]]:
        """Where a window sees along an axis, and the number of that place in it.  At a border the last
        place is seen again, which changes neither the largest nor the first that is as large."""
        b = self.b
        last = b.op("sub", span.end, i64(1))
        found = (b.op("add", span.start, i64(k)) for k in range(self.form.window[axis]))
        inside = (self.least(self.most(at, i64(0)), last) for at in found)
        return [(at, b.op("sub", at, span.start)) for at in inside]

    def line(self, z: tuple[Value, Value], y: tuple[Value, Value]) -> Value:
        """Where a row of the input begins."""
        assert self.kinds[0] is not None
        return self.b.offset(self.buffers[0], memory_type(self.kinds[0]), self.cell(0, z[0], y[0], i64(0)))

    def number(self, *taps: tuple[Value, Value]) -> Value:
        """The number of the first place of a row of the window."""
        b, (_, height, width) = self.b, self.form.window
        (_, z), (_, y) = taps
        return b.op("mul", b.op("add", b.op("mul", z, i64(height)), y), i64(width))

    def column(self, x: Value) -> None:
        """A window that is whole, as most are, knows the numbers of its places."""
        b = self.b
        spans = [self.seen_z, self.seen_y, self.seen(x, 2)]
        cells = [self.cell(i, self.out_z, self.out_y, x) for i in range(1, len(self.kinds))]
        if not self.is_straight:
            self.channels(lambda c: self.store(cells, c, self.looped(spans, c)))
            return
        columns = self.taps(spans[2], 2)
        moved = [b.op("mul", at, self.p["0 pixel"]) for at, _ in columns]
        if len(self.kinds) == 2:
            self.channels(lambda c: self.store(cells, c, self.straight(moved, [], c)))
            return
        is_whole, whole, part, after = Value("true", "i1"), b.new_block(), b.new_block(), b.new_block()
        for span, size in zip(spans, self.form.window):
            seen = b.op("sub", span.end, span.first)
            is_whole = b.op("and", is_whole, b.compare("icmp eq", seen, i64(size)))
        b.branch_if(is_whole, whole, part)
        b.block = whole
        fixed = [constant(i, "i32") for i in range(prod(self.form.window))]
        self.channels(lambda c: self.store(cells, c, self.straight(moved, fixed, c)))
        b.branch(after)
        b.block = part
        found = [b.convert("trunc", b.op("add", n, k), "i32") for _, n in self.lines for _, k in columns]
        self.channels(lambda c: self.store(cells, c, self.straight(moved, found, c)))
        b.branch(after)
        b.block = after

    def store(self, cells: Sequence[Value], c: Value, found: Sequence[Value]) -> None:
        best, is_nan, *places = found
        nan = constant(float("nan"), best.type)
        for i, x in enumerate([self.b.select(is_nan, nan, best), *places]):
            self.keep(i + 1, cells[i], c, x)

    def straight(self, columns: Sequence[Value], numbers: Sequence[Value], c: Value) -> list[Value]:
        """The largest of these places, the first of equal ones; whether one is NaN; its number."""
        b, lanes = self.b, self.form.lanes
        kind = self.kinds[0]
        assert kind is not None
        channel = c if lanes > 1 else b.op("mul", c, self.p["0 channel"])
        moved = [b.op("add", column, channel) for column in columns]
        element = memory_type(kind)
        values = [
            from_memory(b, b.load(b.offset(line, element, at), vector(element, lanes)), kind)
            for line, _ in self.lines
            for at in moved
        ]
        splats = [b.splat(n, lanes) for n in numbers]
        best, place = values[0], splats[:1]
        for i, x in enumerate(values[1:], 1):
            is_more = b.compare("fcmp ogt", x, best)
            best = b.select(is_more, x, best)
            place = [b.select(is_more, splats[i], p) for p in place]
        return [best, self.has_nan(values), *place]

    def has_nan(self, values: Sequence[Value]) -> Value:
        """Whether one of them is NaN: a comparison tells it of two."""
        pairs = zip(values[::2], [*values[1::2], values[-1]])
        return reduce(partial(self.b.op, "or"), [self.b.compare("fcmp uno", x, y) for x, y in pairs])

    def looped(self, spans: Sequence[Span], c: Value) -> list[Value]:
        """The same of what the window sees, which may be less than it has."""
        b, (zs, ys, xs) = self.b, spans
        best = self.fetch(0, self.cell(0, zs.first, ys.first, xs.first), c)
        state = [best, b.compare("fcmp uno", best, best)]
        if len(self.kinds) > 2:
            state.append(b.splat(self.tap(spans, zs.first, ys.first, xs.first), self.form.lanes))

        def plane(z: Value, *state: Value) -> list[Value]:
            return self.loop(ys.first, ys.end, 1, lambda y, *s: line(z, y, s), state)

        def line(z: Value, y: Value, state: Sequence[Value]) -> list[Value]:
            return self.loop(xs.first, xs.end, 1, lambda x, *s: step(z, y, x, s), state)

        def step(z: Value, y: Value, x: Value, state: Sequence[Value]) -> list[Value]:
            found = self.fetch(0, self.cell(0, z, y, x), c)
            is_more = b.compare("fcmp ogt", found, state[0])
            is_nan = b.op("or", state[1], b.compare("fcmp uno", found, found))
            place = [b.splat(self.tap(spans, z, y, x), self.form.lanes)] if len(state) > 2 else []
            return [
                b.select(is_more, found, state[0]),
                is_nan,
                *(b.select(is_more, p, state[2]) for p in place),
            ]

        return self.loop(zs.first, zs.end, 1, plane, state)

    def tap(self, spans: Sequence[Span], *at: Value) -> Value:
        """The number of a place in the window."""
        b, found = self.b, i64(0)
        for i, span, size in zip(at, spans, self.form.window):
            found = b.op("add", b.op("mul", found, i64(size)), b.op("sub", i, span.start))
        return b.convert("trunc", found, "i32")


class Around(NamedTuple):
    """A window over a place of the input."""

    tap: Value  # the number of this place in it
    cells: list[Value]  # where its channels begin, in each array


class MaxPoolGradWriter(PoolWriter):
    """Arrays: the result's gradient, the places of maxima, the input's gradient."""

    role = "max pool gradient"
    rows = ""
    grad, target = 0, 2

    def row(self, z: Value, y: Value) -> None:
        self.z, self.y = z, y
        self.down = [self.b.op("add", at, self.p[SPACE[i][1]]) for i, at in enumerate((z, y))]
        self.around = [self.windows(at, i) for i, at in enumerate(self.down)]
        self.loop(i64(0), self.p["width"], 1, self.column)

    def column(self, x: Value) -> None:
        """How many windows there are along each axis is asked once for all channels, so that the sum is
        straight code."""
        b = self.b
        self.across = b.op("add", x, self.p["left"])
        around = [*self.around, self.windows(self.across, 2)]
        here = self.cell(self.target, self.z, self.y, x)
        self.firsts = [first for first, _ in around]
        counts = [b.op("sub", end, first) for first, end in around]
        most = [-(-w // s) for w, s in zip(self.form.window, self.form.strides)]
        if prod(most) > UNROLLED:
            self.channels(lambda c: self.keep(self.target, here, c, self.looped(around, x, c)))
            return
        after = b.new_block()
        for chosen in product(*(range(1, n + 1) for n in most)):
            is_so, yes, no = Value("true", "i1"), b.new_block(), b.new_block()
            for n, count in zip(chosen, counts):
                is_so = b.op("and", is_so, b.compare("icmp eq", count, i64(n)))
            b.branch_if(is_so, yes, no)
            b.block = yes
            self.straight(chosen, x, here)
            b.branch(after)
            b.block = no
        zero = self.zero()
        self.channels(lambda c: self.keep(self.target, here, c, zero))
        b.branch(after)
        b.block = after

    def straight(self, counts: Sequence[int], x: Value, here: Value) -> None:
        """The sum over so many windows."""
        moved = [
            tuple(self.b.op("add", first, i64(k)) for first, k in zip(self.firsts, at))
            for at in product(*map(range, counts))
        ]
        windows = [self.around_here(at) for at in moved]

        def channel(c: Value) -> None:
            own, total = self.own(x, c), self.zero()
            for window in windows:
                total = self.more(total, own, window, c)
            self.keep(self.target, here, c, total)

        self.channels(channel)

    def looped(self, around: Sequence[tuple[Value, Value]], x: Value, c: Value) -> Value:
        own = self.own(x, c)
        (z0, z1), (y0, y1), (x0, x1) = around

        def plane(i: Value, total: Value) -> Sequence[Value]:
            return self.loop(y0, y1, 1, lambda j, total: line(i, j, total), [total])

        def line(i: Value, j: Value, total: Value) -> Sequence[Value]:
            return self.loop(x0, x1, 1, lambda k, total: [more(i, j, k, total)], [total])

        def more(i: Value, j: Value, k: Value, total: Value) -> Value:
            return self.more(total, own, self.around_here((i, j, k)), c)

        return self.loop(z0, z1, 1, plane, [self.zero()])[0]

    def zero(self) -> Value:
        kind = self.kinds[self.target]
        assert kind is not None
        return constant(0, register_type(kind, self.form.lanes))

    def around_here(self, window: tuple[Value, ...]) -> Around:
        """A window: the number of this place in it, and where its channels begin in all arrays but the
        last."""
        b, (_, height, width) = self.b, self.form.window
        tap = i64(0)
        for at, number, size, stride in zip(
            (*self.down, self.across), window, (0, height, width), self.form.strides
        ):
            inside = b.op("sub", at, b.op("mul", number, i64(stride)))
            tap = b.op("add", b.op("mul", tap, i64(size)), inside)
        z, y, x = window
        number = b.splat(b.convert("trunc", tap, self.form.place_type), self.form.lanes)
        return Around(number, [self.cell(i, z, y, x) for i in range(self.target)])

    def more(self, total: Value, own: Value | None, window: Around, c: Value) -> Value:
        """The sum with what a window adds, if its maximum is here."""
        b = self.b
        grad = self.fetch(self.grad, window.cells[self.grad], c)
        return b.op("fadd", total, b.select(self.held(own, window, c), grad, self.zero()))

    def windows(self, at: Value, axis: int) -> tuple[Value, Value]:
        """The first window around a place (counted with the padding), and the one after the last."""
        b, size, stride = self.b, self.form.window[axis], self.form.strides[axis]
        before = b.op("sub", at, i64(size - stride))
        first = b.select(b.compare("icmp slt", before, i64(0)), i64(0), b.op("sdiv", before, i64(stride)))
        after = b.op("add", b.op("sdiv", at, i64(stride)), i64(1))
        return first, self.least(after, self.p["out_" + SPACE[axis][0]])

    def own(self, x: Value, c: Value) -> Value | None:
        """What of this place decides whether a window's maximum is here."""
        return None

    def held(self, own: Value | None, window: Around, c: Value) -> Value:
        """Whether the maximum of a window is here."""
        return self.b.compare("icmp eq", self.fetch(1, window.cells[1], c), window.tap)


class NearGradWriter(MaxPoolGradWriter):
    """Arrays: the result's gradient, the input, the result, the input's gradient.  Every element that is
    near to a window's maximum holds it."""

    role = "near max pool gradient"
    target = 3

    def __init__(self, form: Form, kinds: Sequence[Kind | None], near: float) -> None:
        super().__init__(form, kinds)
        self.near = near

    def identity(self) -> str:
        return f"{super().identity()} {self.near!r}"

    def own(self, x: Value, c: Value) -> Value | None:
        return self.fetch(1, self.cell(1, self.z, self.y, x), c)

    def held(self, own: Value | None, window: Around, c: Value) -> Value:
        b, kind = self.b, self.kinds[1]
        assert own is not None and kind is not None
        apart = rounded(b, b.op("fsub", own, self.fetch(2, window.cells[2], c)), kind)
        near = rounded(b, constant(self.near, own.type), kind)
        return b.compare("fcmp olt", b.intrinsic("fabs", apart), near)
