"""What an op's rule turns into: arrays, each with the way it is made.

`Array.source` is one of these, or None for an input of the program.  A stage is made in its own
loop or as part of another one: that is decided by fusion.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from headrace.codegen.ir.kernel_ir import Array, Compute, Expr, Var
from headrace.codegen.ir.order import Moment
from headrace.core.records import record
from headrace.ops.declaration.emit import LibraryCall
from headrace.plan.plan import PlanNode


@record
class Scatter:
    """A copy of `into`, changed at `place` for every index of the loops, in order."""

    into: Array
    vars: tuple[Var, ...]
    place: tuple[Expr, ...]
    value: Expr
    how: str


@record
class ViewOf:
    """The elements of `base` in the same order."""

    base: Array


@record
class Assembled:
    """Blocks side by side; each has its own offset."""

    parts: tuple[tuple[tuple[int, ...], Array], ...]


@record
class Called:
    """Output of a library call.  One call may make several arrays: `call` is the same object."""

    call: LibraryCall
    inputs: tuple[Array, ...]


@record
class Temporary:
    """Memory that a library call uses for itself."""


@record
class Carried:
    """A variable of a loop, as an iteration finds it."""


@dataclass(frozen=True, slots=True, eq=False)
class Zeroed:
    """Zeros; `held` is memory that is taken along with them, for as long."""

    held: list[Array] = field(default_factory=list)


@dataclass(frozen=True, slots=True, eq=False)
class Cell:
    """A cell of an array: its memory where it is read (no `value`), else an effect."""

    array: Array
    index: Array
    flags: Array
    how: int  # see codegen.program.native_control
    value: Array | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Row:
    """All cells of an array at once: read, or (how = PUT) said to be written."""

    array: Array
    flags: Array
    how: int


@dataclass(frozen=True, slots=True, eq=False)
class Stacked:
    """The place of a stack that a value goes to (an effect), or that the last one is in."""

    stack: Array
    height: Array
    room: int | None  # None: it grows
    value: Array | None = None


@dataclass(slots=True, eq=False)
class Part:
    """Stages that run together: a loop's condition or body, a side of a branch.  Arrays from before
    `first` come from outside."""

    first: Moment
    outputs: list[Array] = field(default_factory=list)
    effects: list[Array] = field(default_factory=list)
    checks: list[Check] = field(default_factory=list)

    @property
    def roots(self) -> list[Array]:
        checked = [t for c in self.checks for t in (c.bad, c.value) if t is not None]
        return [*self.outputs, *self.effects, *checked]


@dataclass(slots=True, eq=False)
class LoopStage:
    starts: list[Array]
    carried: list[Array]
    condition: Part
    goes_on: Array
    body: Part
    nexts: list[Array]
    reads: list[Array]


@dataclass(slots=True, eq=False)
class BranchStage:
    predicate: Array
    sides: tuple[Part, Part]  # false, true
    # Per output: of the false side, of the true one; None where that side does not give it.
    values: list[tuple[Array | None, Array | None]]
    reads: list[Array]


@record
class Made:
    """Output of a loop or branch; -1: just that it runs."""

    stage: LoopStage | BranchStage
    index: int


NO_PLACE = (1 << 63) - 1

Source = (
    Compute | Scatter | ViewOf | Assembled | Called | Temporary
    | Carried | Zeroed | Cell | Row | Stacked | Made
)  # fmt: skip
PLACED = (Carried, Cell, Row, Stacked, Made, Temporary)  # sources of arrays in borrowed memory


@dataclass(frozen=True, slots=True, eq=False)
class Check:
    """The step fails unless `bad`, the first place where something does not hold, is NO_PLACE."""

    bad: Array  # an int64 scalar: a flat place in `shape`
    shape: tuple[int, ...]
    message: str
    value: Array | None = None  # the number found there, for the message
    extent: int = 0
    node: PlanNode | None = None  # who asked


@record
class Update:
    """A variable gets a new value."""

    variable: Array
    value: Array


def memory(array: Array) -> Array:
    """The array whose memory a reshape shows; the array itself if it is none."""
    while isinstance(array.source, ViewOf):
        array = array.source.base
    return array
