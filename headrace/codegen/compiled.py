"""Programs of a region, made on demand: from disk where an earlier process made them, else compiled.

In: shapes, and values that are known.  Out: a program, None after a fault of the compiler, or Declined.
When to ask for one is decided elsewhere (devices/adaptive.py)."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from math import prod
from typing import TYPE_CHECKING

from headrace.codegen import open_region
from headrace.codegen.machine import faults, target
from headrace.codegen.machine.notice import telling
from headrace.codegen.machine.refusals import NEVER, Cancel, Declined
from headrace.codegen.open_region import Given, Held, OpenRegion
from headrace.codegen.open_region import Shapes as Shapes
from headrace.codegen.regions.regions import Cutter, Region
from headrace.core import forks, options
from headrace.core.collecting import paused
from headrace.core.dtypes import NDArray
from headrace.core.modules import late
from headrace.plan.plan import Plan

kept = late("headrace.codegen.program_cache.kept")
specialize = late("headrace.codegen.lowering.specialize")

if TYPE_CHECKING:
    from headrace.codegen.program.program import Specialized

# Numbers that go into a region; one with fewer is interpreted when it first runs, since many never run again:
# regions with convolutions, of which the reference takes many times what compiled ones do, with matrix
# products, and others.
FEW, SOME, MANY = 1 << 18, 1 << 20, 1 << 22
SHARE = 8  # a variable's numbers count so much less: most of a step does without them


def _has_windows(region: Region) -> bool:
    return any("padding" in n.attrs for n in region.nodes if n.op.library_rules)


def warm_up(region: Region) -> int:
    """How many numbers may go in, at most, for the first run to be interpreted.
    HEADRACE_COMPILE=always: it never is."""
    if os.environ.get("HEADRACE_COMPILE") in ("always", "open"):
        return -1
    if _has_windows(region):
        return FEW
    return SOME if any(n.op.library_rules for n in region.nodes) else MANY


def numbers_into(region: Region, shapes: Shapes) -> int:
    """Of inputs, and as a share of variables, whose shapes stand behind those."""
    fed = sum(map(prod, shapes[: len(region.inputs)]))
    held = sum(map(prod, shapes[len(region.inputs) :]))
    return fed + (held if _has_windows(region) else held // SHARE)


_GLANCE = 0.05  # seconds between two looks at the token of a step that waits for the compiler
# One compilation at a time: expressions are shared by identity.
_compiling = threading.RLock()


def _quiet() -> Callable[[], None]:
    """Nobody makes oneDNN's primitives while the process forks."""
    held = _compiling.acquire(timeout=forks.PATIENCE)
    return _compiling.release if held else lambda: None


def _renew() -> None:
    global _compiling
    _compiling = threading.RLock()


forks.guard(forks.COMPILER, _quiet, _renew)


@contextmanager
def compiling(cancel: Cancel = NEVER) -> Iterator[None]:
    """One at a time.  Who waits is ended by the token of its step."""
    lock = _compiling
    while not lock.acquire(timeout=_GLANCE):
        if cancel.reason is not None:
            raise cancel.reason
    try:
        yield
    finally:
        lock.release()


class CompiledRegion:
    """The compiler of one region.  Hold `compiling`."""

    def __init__(self, plan: Plan, region: Region, cutter: Cutter) -> None:
        self.plan, self.region, self.keys = plan, region, cutter.keys
        self.failed = False
        self.before: list[Given] = []  # what came, and no open program fitted, the last first
        self.open: list[OpenRegion] = []  # programs with open sizes, the last that fitted first
        self.is_closed = False  # it does not compile with open sizes
        self.opens_unknown = False  # its first program has open sizes where the graph knows none

    def compile(
        self, shapes: Shapes, held: Held, cancel: Cancel, values: dict[int, NDArray]
    ) -> Specialized | None:
        """A program for these shapes (the values of inputs that are known stand behind them), or None
        where the reference must do.  A fault of the compiler is reported and costs speed, not the
        step; a refusal (`Declined`) and the step's own cancellation go on to the caller."""
        if not target.is_available():
            return None  # installed, and broken: said once
        found = self._opened(shapes, held, cancel, values)
        if found is not None:
            return found
        try:
            with paused, telling(self.region.name):
                return self._found_or_made(shapes, held, cancel, values)
        except Exception as error:  # a fault of the compiler must not be one of the user's program
            if isinstance(error, Declined) or error is cancel.reason:
                raise
            self._report(error)
            return None

    def is_other_size(self, shapes: Shapes, values: dict[int, NDArray]) -> bool:
        """Whether these differ from earlier ones in sizes alone, and a program with open sizes may be."""
        given = Given(shapes, values)
        return not self.is_closed and any(open_region.differ_in_sizes(given, b) for b in self.before)

    def note(self, shapes: Shapes, values: dict[int, NDArray]) -> None:
        """These came, and were interpreted."""
        self.before = [Given(shapes, dict(values)), *self.before][: open_region.EARLIER]

    def _opened(
        self, shapes: Shapes, held: Held, cancel: Cancel, values: dict[int, NDArray]
    ) -> Specialized | None:
        """By a program with open sizes: one that there is, or one that is made now, since the shapes differ
        from earlier ones in sizes alone.  None: by one for these sizes."""
        given = Given(shapes[: len(self.region.inputs)], values)
        for candidate in self.open:
            found = candidate.find(given, held)
            if found is not None:
                self.open.remove(candidate)
                self.open.insert(0, candidate)
                return found
        before = self._earlier(given)
        self.before = [given, *self.before][: open_region.EARLIER]
        if not before or self.is_closed or options.bounds():
            return None
        return self._open(OpenRegion(given, before, held), cancel)

    def _earlier(self, given: Given) -> list[Given]:
        """Shapes from which these differ in sizes alone: earlier ones, or others that may come."""
        found = [b for b in self.before if open_region.differ_in_sizes(given, b)]
        if found:
            return found
        if not self.before and os.environ.get("HEADRACE_COMPILE") == "open":
            return [open_region.others(given)]
        if self.opens_unknown:
            known = [self.plan.shape(e)._sizes for e in self.region.inputs]
            varied = open_region.where_unknown(given, known)
            return [varied] if open_region.differ_in_sizes(varied, given) else []
        return []

    def _open(self, made: OpenRegion, cancel: Cancel) -> Specialized | None:
        """Make a program with open sizes.  Where that does not work, another attempt would not either."""
        try:
            with paused, telling(self.region.name):
                maker = specialize.Specializer(self.plan, self.region, dict(self.keys), cancel, made.trace)
                made.made = maker.run(made.shapes, made.held, made.values)
            found = made.now()
        except Exception as error:  # a fault of the compiler must not be one of the user's program
            if error is cancel.reason:
                raise
            if not isinstance(error, Declined):
                self._report(error)
            self.is_closed = True  # with sizes as they are it may be another matter
            return None
        self.is_closed = bool(made.trace.pins)  # it is for its own sizes alone, and others would be too
        self.open.insert(0, made)
        del self.open[open_region.MOST :]
        return found

    def _found_or_made(
        self, shapes: Shapes, held: Held, cancel: Cancel, values: dict[int, NDArray]
    ) -> Specialized:
        """From disk, where an earlier process made it; the planner is loaded only if it is needed."""
        shelf = kept.Shelf(self.plan, self.region, self.keys, shapes, held, values)
        found: Specialized | None = shelf.find()
        if found is not None:
            return found
        try:
            maker = specialize.Specializer(self.plan, self.region, self.keys, cancel)
            made: Specialized = maker.run(shapes[: len(self.region.inputs)], held, values)
        except Declined as refusal:
            if not refusal.is_fault:
                shelf.keep(refusal)
            raise
        shelf.keep(made)
        return made

    def _report(self, error: Exception) -> None:
        """Once per region, however many shapes it meets."""
        if not self.failed or faults.are_fatal():
            faults.report(self.region.name, error)
        self.failed = True
