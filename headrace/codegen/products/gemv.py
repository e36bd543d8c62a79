"""Products of a few rows with a matrix: which, and how threads share them.

In: a LibraryCall "matmul" on plain float or double arrays.  Out: an instruction of a program.
"""

from __future__ import annotations

from headrace.codegen.ir.stages import memory
from headrace.codegen.machine import threads
from headrace.codegen.machine.cache import kernel_address
from headrace.codegen.machine.target import host
from headrace.codegen.products import gemm, limits
from headrace.codegen.products import llvm_gemv as code
from headrace.codegen.products.llvm_gemm_text import DIRECT, ROWS, TURNED, Shape
from headrace.codegen.products.matrices import OPERANDS, matrix
from headrace.codegen.program import native
from headrace.codegen.program.instruction import Instruction
from headrace.codegen.program.program import Entry, Scratch
from headrace.core.sizes import is_open
from headrace.ops.declaration.emit import LibraryCall, View

TEAM_ELEMENTS = 1 << 19  # of a matrix; one thread reads a smaller one
NARROW = 64  # columns of a unit of work, at least
WIDE = 4096  # and at most: their results stay in the first cache


def turned_around(call: LibraryCall) -> LibraryCall:
    """A matrix times a column, as a row times the transposed matrix: in memory it is the same."""
    a, b, c = (call.views[name] for name in OPERANDS)
    if len(c.shape) != 2 or c.shape[-1] != 1 or c.shape[-2] == 1:
        return call
    swapped = [View(v.operand, v.order[::-1], v.sizes, v.moves) for v in (b, a, c)]
    return LibraryCall(call.kind, **dict(zip(OPERANDS, swapped)), **call.options)


def prefers(call: LibraryCall) -> bool:
    """Whether this beats both the library and our larger tiles, by measurement: one row by 2 to 5
    times, two by 1.5 to 3; with three the tiles keep up (one core, 512-bit vectors, matrices of
    1 to 150 MB)."""
    if not gemm.supports(call) or limits.FLAGS in call.options:
        return False
    call = turned_around(call)
    size = gemm.size_of(call)
    now = size.now
    if is_open(size.m) or now.batch > 1 or now.m > gemm.FEWEST_ROWS or min(now.n, now.k) < NARROW:
        return False
    return not size.b_turned or _steps_of_a(call)[1] == 1


def instructions(call: LibraryCall, name: str) -> list[Instruction]:
    """One kernel.  A unit of work is a range of columns: narrow enough for every thread to get one, and for
    its results to stay in the first cache."""
    call = turned_around(call)
    size = gemm.size_of(call)
    places = [memory(call.views[v].operand) for v in ("src", "weights", "dst")]
    steps_of_b, steps_of_c = (matrix(call.views[v]) for v in ("weights", "dst"))
    assert steps_of_b is not None and steps_of_c is not None
    team = threads.count() if size.n * size.k >= TEAM_ELEMENTS else 1
    width = min(max(-(-size.n // team), NARROW), WIDE)
    width = -(-width // NARROW) * NARROW
    units = -(-size.n // width)
    lanes = host().lanes(32 if size.element == "float" else 64)
    shape = Shape(size.element, lanes, size.m, 1, ROWS, TURNED if size.b_turned else DIRECT)
    levels = code.levels(shape, size.k)
    scratch = max(code.scratch_rows(shape, levels) * width * shape.size, 64)
    params = [size.n, size.k, *_steps_of_a(call), steps_of_b[1], steps_of_c[1], width, scratch]
    entry = _entry(shape, levels, params, units, min(team, units))
    entry.places = [(places[0], False), (places[1], False), (places[2], True), Scratch(0)]
    return [Instruction(places[:2], places[2:], entry, scratch * team, name=f"own {name}")]


def _steps_of_a(call: LibraryCall) -> tuple[int, int]:
    """From row to row, and along k."""
    found = matrix(call.views["src"])
    assert found is not None
    is_turned, far = found
    return (1, far) if is_turned else (far, 1)


def _entry(shape: Shape, levels: int, params: list[int], units: int, team: int) -> Entry:
    identity = shape.identity(f"few rows in {levels}")
    address = kernel_address(identity, lambda symbol: code.FewRows(shape, levels).write(symbol))
    head = [address, 0, units, team, 1, 4]
    return Entry(native.KERNEL, head, [], [], params=params, uses_team=team > 1, kernel=identity)
