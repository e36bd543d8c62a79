"""Programs of a region, made on demand: from disk where an earlier process made them, else compiled.

In: shapes, and values that are known.  Out: a program, None after a fault of the compiler, or Declined.
When to ask for one is decided elsewhere (devices/adaptive.py)."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from headrace.codegen.machine import faults, target
from headrace.codegen.machine.refusals import NEVER, Declined
from headrace.codegen.regions.regions import Cutter, Key, Region
from headrace.core import forks
from headrace.core.collecting import paused
from headrace.core.dtypes import DType
from headrace.core.later import call_later
from headrace.core.modules import late
from headrace.plan.plan import Plan

kept = late("headrace.codegen.program_cache.kept")
specialize = late("headrace.codegen.lowering.specialize")

if TYPE_CHECKING:
    from headrace.codegen.program.program import Specialized

PATIENCE = 1.0  # seconds of compilation after which the user is told
Shapes = tuple[tuple[int, ...], ...]


# Numbers that go into a region; one with fewer is interpreted when it first runs, since many never
# run again.  The first limit is for regions with matrix products and the like.
FEW, MANY = 1 << 18, 1 << 22


def warm_up(region: Region) -> int:
    """How many numbers may go in, at most, for the first run to be interpreted.
    HEADRACE_COMPILE=always: it never is."""
    if os.environ.get("HEADRACE_COMPILE") == "always":
        return -1
    return FEW if any(n.op.library_rules for n in region.nodes) else MANY


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


def _say(text: str) -> None:
    """To somebody who waits at a terminal; a log is not told."""
    if sys.stderr is not None and sys.stderr.isatty():
        print(text, file=sys.stderr, flush=True)


@contextmanager
def compiling(cancel: Any = NEVER) -> Iterator[None]:
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

    def compile(
        self,
        shapes: Shapes,
        held: dict[Key, tuple[tuple[int, ...], DType]],
        cancel: Any,
        values: dict[int, Any],
    ) -> Specialized | None:
        """A program for these shapes (the values of inputs that are known stand behind them), or None
        where the reference must do.  A fault of the compiler is reported and costs speed, not the
        step; a refusal (`Declined`) and the step's own cancellation go on to the caller."""
        if not target.is_available():
            return None  # installed, and broken: said once
        notice = call_later(PATIENCE, lambda: _say(f"headrace: compiling a {self.region.name}"))
        try:
            with paused:
                return self._found_or_made(shapes, held, cancel, values)
        except Exception as error:  # a fault of the compiler must not be one of the user's program
            if isinstance(error, Declined) or error is cancel.reason:
                raise
            self._report(error)
            return None
        finally:
            notice.cancel()

    def _found_or_made(
        self,
        shapes: Shapes,
        held: dict[Key, tuple[tuple[int, ...], DType]],
        cancel: Any,
        values: dict[int, Any],
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
                shelf.keep(refusal.reasons)
            raise
        shelf.keep(made)
        return made

    def _report(self, error: Exception) -> None:
        """Once per region, however many shapes it meets."""
        if not self.failed or faults.are_fatal():
            faults.report(self.region.name, error)
        self.failed = True
