"""When a region is interpreted, when it is compiled, and which of its nodes go to the host for good.

Pure: events in, actions out; no threads, no clock, no arrays.  `region_unit.py` obeys it.

    asked ──────────► Run         there is a program for these shapes (and known values)
        │             Interpret   a small region that these shapes have come to for the first time
        │             Cut         its known values change too often: nodes go to the host
        └─► Compile
              compiled ──► Run
              broken ────► Interpret, now and whenever these shapes come again
              declined ──► Look   values of small inputs may help: read them and ask again
                           Cut    nodes do not compile: they go to the host, the piece is cut anew

    begins ─────────► True, or False while checks have failed time and again
    check_failed, interpreted; ran    what became of the run

`Cut` ends a region: the piece makes new ones of what is left of its nodes, with new machines.  What the
piece has learnt (`Lessons`) stays.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Any

from headrace.core.records import record
from headrace.devices import known
from headrace.devices.known import KnownInputs
from headrace.devices.programs import Programs
from headrace.plan.plan import Edge

LIMIT = 256  # shapes that came once, of a region
MOST_REFUSALS = 8  # of a program's checks, one after the other; then it is hardly tried again:
SELDOM = 64  # once in so many runs

_ABSENT: Any = object()
Key = tuple[tuple[int, ...], ...]  # the shapes of inputs and variables, then the values that are known


@record
class Run:
    """This program, which was made for the shapes and values that were asked for."""

    program: Any


@record
class Compile:
    """A program for this key; then say `compiled`, `broken` or `declined`."""

    key: Key


class Do(Enum):
    INTERPRET = auto()  # node by node, this time
    LOOK = auto()  # other values are known now: build the key anew and ask again
    CUT = auto()  # the piece anew, with what `Lessons` has on the host; interpret this time


Action = Run | Compile | Do


@dataclass(slots=True)
class Lessons:
    """What the runs of a piece have taught: it outlives the regions."""

    declined: dict[str, str] = field(default_factory=dict)  # nodes for the host, with the reason
    known: KnownInputs = field(default_factory=KnownInputs)

    def decline(self, nodes: Iterable[str], reason: str) -> None:
        self.declined |= dict.fromkeys(nodes, reason)


class Adaptive:
    """The machine of one region.  `light`: of how many numbers, at most, a run is interpreted when its
    shapes come for the first time, because many never come again."""

    def __init__(self, lessons: Lessons, inputs: Sequence[Edge], light: int) -> None:
        self.lessons, self.inputs, self.light = lessons, inputs, light
        self.programs = Programs()  # None: the compiler broke
        self.seen: dict[Key, None] = {}  # keys that have come
        self.doubtful: dict[str, str] = {}  # declined, while knowing more may still help
        self.refusals = 0  # of checks, one after the other, that were none of the user's errors
        self.is_refused = False  # this run was: it is the reference's turn
        self.is_open = False  # there is a program with open sizes: one for new shapes costs little
        self._places: tuple[frozenset[Edge], list[int]] | None = None

    # -- which program ---------------------------------------------------------------------------
    def known_places(self) -> list[int]:
        """The inputs whose values belong to the key."""
        edges = self.lessons.known.edges
        if self._places is None or self._places[0] is not edges:
            self._places = edges, [i for i, e in enumerate(self.inputs) if e in edges]
        return self._places[1]

    def found(self, key: Key) -> Action | None:
        """What was decided for this key already.  Without a change of state: safe beside a thread that
        compiles."""
        program = self.programs.get(key, _ABSENT)
        if program is _ABSENT:
            return None
        return Do.INTERPRET if program is None else Run(program)

    def asked(self, key: Key, numbers: int, is_ready: bool = False) -> Action:
        """The region is about to run; `numbers` go in.  `is_ready`: one program may do for all shapes that
        come, and it will be needed, since they have come in other sizes, or the piece has run."""
        found = self.found(key)
        if found is not None:
            return found
        if self._gives_up():
            return Do.CUT
        is_new = key not in self.seen
        self.seen[key] = None
        _forget(self.seen)
        is_light = numbers <= self.light and not (self.is_open or is_ready)
        return Do.INTERPRET if is_new and is_light else Compile(key)

    def _gives_up(self) -> bool:
        """Programs for values that are different in every step would never be used again."""
        lessons = self.lessons
        asked = {self.inputs[i] for i in self.known_places()} - lessons.known.certain
        if not asked or self.is_open or (len(self.programs) < known.VARIANTS and len(self.seen) < known.MANY):
            return False
        lessons.declined |= lessons.known.give_up(asked)
        return True

    def compiled(self, key: Key, program: Any, few: Iterable[Edge] = ()) -> Action:
        """`few`: outputs whose values follow from shapes alone; other regions may know them."""
        self.doubtful.clear()
        for edge in few:
            self.lessons.known.follows(edge)
        self.programs.add(key, program)
        return Run(program)

    def broken(self, key: Key) -> Action:
        """A fault of the compiler: another attempt would end like this one."""
        self.doubtful.clear()
        self.programs.add(key, None)
        return Do.INTERPRET

    def declined(self, reasons: Mapping[str, str], deciding: Mapping[str, Sequence[list[Edge]]]) -> Action:
        """Nodes do not compile; `deciding` are choices of small inputs that each depends on.  A node is
        helped once by each: so this ends, though helping one node may be what another one needs."""
        is_hopeful = False
        for name, reason in reasons.items():
            if name not in self.doubtful and self.lessons.known.ask(name, deciding[name]):
                is_hopeful = True
            else:
                self.doubtful[name] = reason
        if is_hopeful:
            return Do.LOOK
        self.lessons.declined |= self.doubtful
        return Do.CUT

    def has_quick_way(self, is_plain: bool) -> bool:
        """Whether a piece that is this one region, of a program that is plain or not, may run it again
        without a look at anything but shapes and variables."""
        return is_plain and not self.known_places()

    # -- checks that fail ------------------------------------------------------------------------
    def begins(self) -> bool:
        """Whether this run may use a program."""
        self.is_refused = self.refusals >= MOST_REFUSALS and self.refusals % SELDOM != 0
        return not self.is_refused

    def check_failed(self) -> None:
        """Of a program.  The reference fails too, and says it in TF's words; or the program was made
        for less than the op can do, such as slices that are cut at an end."""
        self.is_refused = True

    def interpreted(self) -> None:
        """The reference did not fail."""
        self.refusals += self.is_refused

    def ran(self) -> None:
        self.refusals = 0


def _forget(table: dict[Key, None]) -> None:
    while len(table) > LIMIT:
        table.pop(next(iter(table)))
