"""Programs on disk: what one process planned, the next one finds (docs/decisions/0016-kept-programs.md).

A file is named by the hash of everything that decides what the program is (kept_keys.py), so it is
never out of date.  It is written by the thread that compiles, once a program is made; whatever is wrong
with it, the program is made again.
"""

from __future__ import annotations

import time

from headrace.codegen.machine import cache
from headrace.codegen.machine.disk import PROGRAMS
from headrace.codegen.machine.refusals import Declined
from headrace.codegen.program.program import Specialized
from headrace.codegen.regions.regions import Key, Region
from headrace.core import options
from headrace.core.dtypes import DType, NDArray
from headrace.core.modules import late
from headrace.plan.plan import Edge, Plan
from headrace.plan.units import inner_nodes

# Most regions are too small to be kept: they need none of these.
kept_keys = late("headrace.codegen.program_cache.kept_keys")
kept_reader = late("headrace.codegen.program_cache.kept_reader")
kept_writer = late("headrace.codegen.program_cache.kept_writer")
onednn_api = late("headrace.codegen.onednn.onednn_api")
recipes = late("headrace.codegen.onednn.recipes")

FEW = 16  # nodes: a smaller region is planned as fast as it is found
LEAST = 0.05  # seconds of planning that are worth a file: as long as the planner takes to load
# Stages that are shown while a program is made: one that is found has none.
_STAGES = frozenset({"regions", "stages", "kernels", "llvm", "memory", "step"})


class Shelf:
    """Where the program of one region for some shapes is kept, or would be."""

    def __init__(
        self,
        plan: Plan,
        region: Region,
        keys: dict[Edge, Key],
        shapes: tuple[tuple[int, ...], ...],
        held: dict[Key, tuple[tuple[int, ...], DType]],
        values: dict[int, NDArray],
    ) -> None:
        """Regions that are planned fast, or shown, have no key: nothing is looked for or kept."""
        self.region, self.key = region, None
        if is_on() and is_worth_it(region):
            self.key = kept_keys.key_of(plan, region, keys, shapes, held, values)
        self._since = time.perf_counter()

    def find(self) -> Specialized | None:
        """Raises Declined where that is what was kept."""
        data = None if self.key is None else PROGRAMS.read(self.key)
        if data is None:
            return None
        try:
            found: Specialized = kept_reader.read(data, self.region)
            return found
        except (recipes.Unreadable, onednn_api.LibraryError):
            return None

    def keep(self, made: Specialized | Declined) -> None:
        """A program, or why nodes do not compile: soon, if it took long to find out."""
        key = self.key
        if key is None or time.perf_counter() - self._since < LEAST:
            return
        cache.later(lambda: write(key, made, self.region))


def is_on() -> bool:
    is_usual = not options.shown() & _STAGES and not options.bounds()
    return "kept" not in options.without() and is_usual


def is_worth_it(region: Region) -> bool:
    return len(region.nodes) + sum(1 for n in region.nodes for _ in inner_nodes(n)) >= FEW


def write(key: str, made: Specialized | Declined, region: Region) -> None:
    try:
        if isinstance(made, Declined):
            data = kept_writer.write_refusal(made)
        else:
            data = kept_writer.write(made, region)
    except kept_writer.Unwritable:
        return
    PROGRAMS.write(key, data)
