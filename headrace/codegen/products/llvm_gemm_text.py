"""What kernels for matrix products are written with: their shape, loops, masks.

The text of a kernel depends on `Shape` alone: how many rows and columns a tile has, how the operands
lie in memory.  Sizes and strides are parameters, so few kernels serve all products.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from headrace.codegen.emit.llvm_text import BasicBlock, Builder, Value, constant, vector
from headrace.core.records import record

PARAMS = "m n k a_step b_step c_step block rows columns".split()
STACK = "extent a b c".split()  # a loop over matrices, and what each operand moves on per step
PANEL_PARAMS = "n k b_step pitch".split()
DEPTH = 256  # of a block of k, at most
PITCH = DEPTH + 16  # between rows of the copy of A: no power of two, which would crowd a cache set
HEIGHT = 512  # rows of A that are copied at a time, about

# A: k is contiguous, or m is; copied, or read where it is
ROWS, COLUMNS, ROWS_DIRECT, COLUMNS_DIRECT = "rows", "columns", "rows direct", "columns direct"
# B: as it is, copied, copied with k contiguous before, or in panels already
DIRECT, COPIED, TURNED, PANELS = "direct", "copied", "turned", "panels"

ATTRIBUTES = 'attributes #0 = { nounwind "prefer-vector-width"="512" "min-legal-vector-width"="512" }'


@record
class Shape:
    """What the code depends on."""

    element: str  # float or double
    lanes: int
    tile_m: int
    vectors: int  # columns of a tile, in vectors
    a: str
    b: str
    stacks: int = 0  # loops over the matrices of stacks

    @property
    def tile_n(self) -> int:
        return self.lanes * self.vectors

    @property
    def size(self) -> int:
        return 4 if self.element == "float" else 8

    @property
    def has_cheap_masks(self) -> bool:
        """Vectors of 512 bits have registers for masks; narrower ones store slowly with one."""
        return self.lanes * self.size == 64

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
        tile = f"tile {self.tile_m}x{self.vectors} {self.a} {self.b}"
        return f"{role} {self.element}x{self.lanes} {tile} stacks {self.stacks}"


def i64(n: int) -> Value:
    return constant(n, "i64")


class GemmText:
    """Loops and masks of one kernel."""

    a_copy: Value
    b_copy: Value

    def __init__(self, shape: Shape) -> None:
        self.s, self.b = shape, Builder()
        self.wide = vector(shape.element, shape.lanes)

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

    def phi(self, block: BasicBlock, name: Value, *sources: tuple[Value, BasicBlock]) -> None:
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

    def cut(self, width: Value, write: Callable[[list[Value | None]], None]) -> None:
        """Code for a panel that has all its columns, and code with masks for the last one.  Where
        masks cost next to nothing, the latter serves both."""
        b, s = self.b, self.s
        if s.has_cheap_masks:
            write([*self.masks(width)])
            return
        whole, part, after = b.new_block(), b.new_block(), b.new_block()
        b.branch_if(b.compare("icmp sge", width, i64(s.tile_n)), whole, part)
        b.block = whole
        write([None] * s.vectors)
        b.branch(after)
        b.block = part
        write([*self.masks(width)])
        b.branch(after)
        b.block = after

    def along(self, end: Value, write: Callable[[Value, Value | None], None]) -> None:
        """From 0 to `end`, a vector at a time; only the last one has a mask."""
        b, lanes = self.b, self.s.lanes
        whole = b.op("sub", end, b.op("urem", end, i64(lanes)))
        self.loop(i64(0), whole, lanes, lambda k: write(k, None))
        self.loop(whole, end, lanes, lambda k: write(k, self.mask(b.op("sub", end, k))))

    def read(self, address: Value, mask: Value | None) -> Value:
        if mask is None:
            return self.b.load(address, self.wide)
        return self.b.masked_load(address, self.wide, mask)

    def put(self, address: Value, x: Value, mask: Value | None) -> None:
        if mask is None:
            self.b.store(address, x)
        else:
            self.b.masked_store(address, x, mask)
