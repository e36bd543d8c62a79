"""Matrix products by kernels of our own: which tile, which threads, what is copied beforehand.

In: a LibraryCall "matmul" on plain float or double arrays, stacks of matrices too, broadcast in any
of their dimensions.  Out: instructions of a program.  A second operand that several products of a program
share is put into panels once.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import lru_cache
from math import ceil, prod

from headrace.codegen.ir.kernel_ir import F32, F64, Array
from headrace.codegen.ir.order import Moment
from headrace.codegen.ir.stages import Temporary, memory
from headrace.codegen.machine import threads
from headrace.codegen.machine.cache import kernel_address
from headrace.codegen.machine.target import host
from headrace.codegen.products import llvm_gemm as code
from headrace.codegen.products.llvm_gemm_text import (
    COLUMNS,
    COLUMNS_DIRECT,
    COPIED,
    DEPTH,
    DIRECT,
    PANELS,
    ROWS,
    ROWS_DIRECT,
    TURNED,
    Shape,
)
from headrace.codegen.products.matrices import OPERANDS, matrix, stacks
from headrace.codegen.program import native
from headrace.codegen.program.instruction import Instruction
from headrace.codegen.program.program import Entry, Scratch
from headrace.core.records import record
from headrace.core.sizes import hint, hints
from headrace.ops.declaration.emit import LibraryCall

TEAM_WORK = 4_000_000  # multiplications and additions below which one thread does a product
FEW_ROWS = 64  # of a product to which the copy of its second operand matters
FEWEST_ROWS = 2  # and to which only the reading of it does (codegen.products.gemv)
POINTERS = 10  # rows that have a pointer each
MEDIUM, HUGE = 1 << 19, 1 << 23  # elements of an operand
NARROW = 16  # columns
LONG = 1 << 12  # terms of a sum
NEAR = 64  # elements between rows that lie close together
CELL_WORK = 1_500_000  # multiplications and additions of a cell, at least
STRETCHES = 4  # cells of a thread, at most: as many as a part has stretches (codegen.program.native_team)
LATENESS = 0.1  # of a cell's time, that one thread waits for another at the end


def supports(call: LibraryCall) -> bool:
    if call.kind != "matmul" or set(call.views) != set(OPERANDS):
        return False
    if call.options.get("post_ops"):
        return False
    views = call.views.values()
    if {v.operand.kind for v in views} not in ({F32}, {F64}):
        return False
    result = matrix(call.views["dst"])
    return all(matrix(v) is not None for v in views) and result is not None and not result[0]


@record
class Size:
    """A product as numbers."""

    m: int
    n: int
    k: int
    batch: int
    a_turned: bool
    b_turned: bool
    element: str

    @property
    def work(self) -> int:
        return 2 * self.m * self.n * self.k * self.batch

    @property
    def now(self) -> Size:
        """With the numbers of now, to choose by."""
        m, n, k, batch = hints((self.m, self.n, self.k, self.batch))
        return replace(self, m=m, n=n, k=k, batch=batch)


def size_of(call: LibraryCall) -> Size:
    a, b, c = (call.views[name] for name in OPERANDS)
    (m, n), k = c.shape[-2:], a.shape[-1]
    turned = [found[0] for v in (a, b) if (found := matrix(v)) is not None]
    element = "float" if c.operand.kind is F32 else "double"
    return Size(m, n, k, prod(c.shape[:-2]), turned[0], turned[1], element)


@record
class Choice:
    """How a product is done: the tile, and the grid of cells that threads share."""

    shape: Shape
    cells_m: int
    cells_n: int
    team: int


@lru_cache(maxsize=1024)
def choose(size: Size, in_panels: bool = False) -> Choice:
    """The cheapest of all tiles and grids, by estimate."""
    team = threads.count() if size.work >= TEAM_WORK else 1
    shapes = _shapes(size, in_panels)
    found = [_estimate(size, shape, *grid, team) for shape in shapes for grid in _grids(size, team)]
    return min(found, key=lambda f: f[0])[1]


def _grids(size: Size, team: int) -> list[tuple[int, int]]:
    """Rows and columns of cells: one for each thread, or a few, so that a thread that is done early takes
    another."""
    parts = -(-team // size.batch)
    most = 1 if team == 1 else max(min(size.work // (CELL_WORK * team), STRETCHES), 1)
    wanted = sorted({parts * more for more in (1, 2, STRETCHES) if more <= most})
    return [(rows, n // rows) for n in wanted for rows in range(1, n + 1) if n % rows == 0]


def _shapes(size: Size, in_panels: bool) -> list[Shape]:
    """Tiles that leave registers for the operands, with every way to read them."""
    target = host()
    registers = 32 if target.vector_bits == 512 or "+neon" in target.features else 16
    lanes = target.lanes(32 if size.element == "float" else 64)
    ways_a = [COLUMNS, COLUMNS_DIRECT] if size.a_turned else [ROWS, ROWS_DIRECT]
    ways_b = [PANELS] if in_panels else [TURNED] if size.b_turned else [DIRECT, COPIED]
    return [
        Shape(size.element, lanes, rows, vectors, a, b)
        for vectors in (1, 2, 3, 4)
        for rows in range(1, min((registers - 1) // vectors, 15))
        for a in ways_a
        for b in ways_b
        if rows * vectors + vectors < registers and (a in (ROWS, COLUMNS) or rows <= POINTERS)
    ]


@record
class _Costs:
    """Cycles, fitted to measurements of every tile on products of 20 to 1024 rows."""

    load: float  # a load or broadcast
    copy_a: tuple[float, float]  # an element, from rows or from columns
    near_a: float  # an element that is read where it is, if few panels follow or it stays close
    far_a: float  # and if not
    page_a: float  # a step of k to another page
    far_b: float  # a vector on another line, for every panel of rows


# With 512 bits: an Intel server.  Else: an AMD server with AVX2, 1 MB of second cache.
_WIDE = _Costs(0.5, (0.4, 0.7), 0.04, 0.2, 5.0, 2.5)
_NARROW = _Costs(0.56, (0.4, 0.7), 0.04, 0.12, 0.5, 0.4)
_COPY_B = {PANELS: 0.1, DIRECT: 0.05, COPIED: 0.3, TURNED: 0.5}
CLOSE = 1 << 17  # elements that stay in the second cache beside the rest


def _estimate(size: Size, s: Shape, cells_m: int, cells_n: int, team: int) -> tuple[float, Choice]:
    """Cycles of one thread, roughly.  At the end it waits for one that has a larger cell, or is late."""
    rows, panels = ceil(size.m / s.tile_m), ceil(size.n / s.tile_n)
    largest = _of_cell(size, s, ceil(rows / cells_m), ceil(panels / cells_n))
    mean = min(_of_cell(size, s, rows / cells_m, panels / cells_n), largest)
    late = LATENESS * largest if team > 1 else 0.0
    cost = ceil(size.batch * cells_m * cells_n / team) * mean + (largest - mean) + late
    return cost, Choice(s, cells_m, cells_n, team)


def _of_cell(size: Size, s: Shape, rows: float, panels: float) -> float:
    """Cycles of a cell of `rows` by `panels` tiles."""
    c = _WIDE if s.has_cheap_masks else _NARROW
    cell_m, cell_n = rows * s.tile_m, panels * s.tile_n
    # Two multiply-adds per cycle; a sum can be added to every fourth cycle.
    sums = s.tile_m * s.vectors
    step = max(sums / 2, (s.tile_m + s.vectors) * c.load, 4.0)
    if c is _WIDE:
        step += 0.25 * s.vectors + 0.5
    else:  # less than a dozen sums wait for each other now and then
        step += 0.45 if 8 <= sums < 12 else 0.15
    cost = rows * panels * (size.k * step + 3.0 * s.tile_m * s.vectors + 60)
    cost += cell_n * size.k * _COPY_B[s.b] * -(-cell_m // s.height)
    if s.b == DIRECT and size.n > NEAR:  # lines far apart: a miss each, for every panel of rows
        cost += rows * panels * size.k * c.far_b * s.vectors
    if s.b == DIRECT and c is _NARROW and size.n % s.tile_n:  # the last panel loads with masks
        cost += rows * size.k * step
    if s.a_is_direct:
        is_near = panels < 3 or (c is _NARROW and cell_m * size.k <= CLOSE)
        cost += rows * panels * size.k * s.tile_m * (c.near_a if is_near else c.far_a)
        if size.a_turned and size.m > NEAR and size.k > NEAR:  # a page for every k
            cost += rows * panels * size.k * c.page_a
    else:
        cost += cell_m * size.k * c.copy_a[s.a == COLUMNS]
    return cost


def is_awkward(size: Size, a: tuple[bool, int] | None) -> bool:
    """What the library is slow at without 512 bits.  Measured on one core, all ways side by side: it
    reaches 80 GFLOP/s, but 30 to 65 where columns of A lie a multiple of 1 KB apart, and on products
    that fit into the caches sometimes 83 and sometimes 55, as their arrays happen to lie.  Ours
    reach 75 to 82 on both, and less on what is larger, or only a few columns wide.  Up to 16 rows
    times a matrix of many megabytes: 0.6 to 0.9 of the library's time (both cores, 2 to 16 rows)."""
    if size.batch > 1 or size.n < 4 * NARROW:
        return False
    if 1 < size.m <= 16 and not size.a_turned and not size.b_turned and size.k * size.n >= HUGE:
        return True
    if size.a_turned and a is not None and a[1] % 256 == 0:
        return True
    return max(size.m * size.k, size.k * size.n, size.m * size.n) <= MEDIUM


# An operand as a product sees it: memory, sizes, and how they step.
Seen = tuple[Array, tuple[int, ...], tuple[bool, int] | None]


class Products:
    """The products of one program."""

    def __init__(self, calls: Iterable[LibraryCall]) -> None:
        self.uses: dict[Seen, int] = {}
        self.panels: dict[tuple[Seen, int], Array] = {}
        for call in calls:
            if supports(call):
                key = self.key(call)
                self.uses[key] = self.uses.get(key, 0) + 1

    def key(self, call: LibraryCall) -> Seen:
        """The operand as this product sees it: memory, sizes, and how they step."""
        view = call.views["weights"]
        return memory(view.operand), view.shape[-2:], matrix(view)

    def is_shared(self, call: LibraryCall) -> bool:
        """Whether panels of its second operand serve several products."""
        few = FEWEST_ROWS < hint(call.views["src"].shape[-2]) <= FEW_ROWS
        alone = prod(call.views["weights"].shape[:-2]) == 1
        return few and alone and self.uses[self.key(call)] > 1

    def hoisted(self, call: LibraryCall, first: Moment) -> list[Instruction]:
        """The panels of an operand from before a loop (made before `first`)."""
        if not supports(call) or any(0 in v.shape for v in call.views.values()):
            return []
        if memory(call.views["weights"].operand).moment >= first:
            return []
        self.uses[self.key(call)] += 1  # in every iteration
        if not self.is_shared(call):
            return []
        choice = choose(size_of(call).now, True)
        return self._shared_panels(call, size_of(call), choice)

    def _shared_panels(self, call: LibraryCall, size: Size, choice: Choice) -> list[Instruction]:
        """The instruction that makes panels, if there are none yet."""
        key = (self.key(call), choice.shape.tile_n)
        if key in self.panels:
            return []
        b, found = memory(call.views["weights"].operand), matrix(call.views["weights"])
        assert found is not None
        self.panels[key] = _panels(size, choice, _pitch(size, choice))
        return [_panel_instruction(size, choice, found[1], _pitch(size, choice), b, self.panels[key])]

    def prefers(self, call: LibraryCall) -> bool:
        """Whether this beats oneDNN, by measurement.  Stacks of products with long sums and an operand
        that is transposed take it two to five times as long."""
        size = size_of(call).now
        if size.element == "double" or self.is_shared(call):
            return True
        if size.batch > 1 and size.k >= LONG and (size.a_turned or size.b_turned):
            return True
        found = matrix(call.views["src"])
        return host().vector_bits < 512 and is_awkward(size, found and (found[0], hint(found[1])))

    def instructions(self, call: LibraryCall, name: str) -> list[Instruction]:
        """The product, and before it the panels that it is the first to need."""
        size, found = size_of(call), []
        shared = self.is_shared(call)
        choice = choose(size.now, shared)
        a, b, c = (memory(call.views[name].operand) for name in OPERANDS)
        ld = [m[1] for v in call.views.values() if (m := matrix(v)) is not None]
        views = dict(zip(call.views, ld))
        b_step = views["weights"]
        if shared:
            found += self._shared_panels(call, size, choice)
            b = self.panels[self.key(call), choice.shape.tile_n]
            b_step = _pitch(size, choice)
        loops = stacks(call)
        params = [
            size.m,
            size.n,
            size.k,
            views["src"],
            b_step,
            views["dst"],
            _block(size),
            choice.cells_m,
            choice.cells_n,
            *(word for loop in loops for word in loop),
        ]
        work = size.batch * choice.cells_m * choice.cells_n
        shape = replace(choice.shape, stacks=len(loops))
        entry = _entry(shape, "gemm", params, work, min(choice.team, hint(work)))
        entry.places = [(a, False), (b, False), (c, True), Scratch(0)]
        scratch = choice.shape.scratch * choice.team
        found.append(Instruction([a, b], [c], entry, scratch, name=f"own {name}"))
        return found


def _block(size: Size) -> int:
    """How much of k is done at a time, in registers: more would be added up less exactly."""
    return -(-size.k // -(-size.k // DEPTH))


def _pitch(size: Size, choice: Choice) -> int:
    return -(-size.k // choice.shape.lanes) * choice.shape.lanes


def _panels(size: Size, choice: Choice, pitch: int) -> Array:
    width = -(-size.n // choice.shape.tile_n) * choice.shape.tile_n
    return Array(
        (width * pitch,),
        "float32" if size.element == "float" else "float64",
        source=Temporary(),
        name="panels",
    )


def _panel_instruction(
    size: Size, choice: Choice, b_step: int, pitch: int, b: Array, panels: Array
) -> Instruction:
    s = choice.shape
    shape = Shape(s.element, s.lanes, 1, s.vectors, ROWS, TURNED if size.b_turned else COPIED)
    work = -(-size.n // s.tile_n)
    team = threads.count() if hint(size.n * size.k) >= 1 << 17 else 1
    entry = _entry(shape, "panels", [size.n, size.k, b_step, pitch], work, min(team, hint(work)))
    entry.places = [(b, False), (panels, True)]
    return Instruction([b], [panels], entry, name=f"panels {size.k}x{size.n}")


def _entry(shape: Shape, role: str, params: list[int], work: int, team: int) -> Entry:
    def write(symbol: str) -> str:
        writer = code.Writer(shape)
        return writer.write(symbol) if role == "gemm" else writer.write_panels(symbol)

    identity = shape.identity(role)
    address = kernel_address(identity, write)
    head = [address, 0, work, team, 1, 4 if role == "gemm" else 2]
    return Entry(native.KERNEL, head, [], [], params=params, uses_team=team > 1, kernel=identity)
