"""A region at run time: programs by shape, made when a shape comes again, forgotten when too
many."""

from __future__ import annotations

import os
import threading
import warnings
from collections import OrderedDict
from typing import Any

from headrace.codegen.regions import Cutter, Key, Region
from headrace.codegen.specialize import Declined, Specialized, Specializer
from headrace.core.dtypes import DType
from headrace.plan.plan import Plan

LIMIT = 32  # programs per region
Shapes = tuple[tuple[int, ...], ...]


def warm_up() -> int:
    """How often a shape is interpreted before it is compiled.  HEADRACE_COMPILE=always: never."""
    return 0 if os.environ.get("HEADRACE_COMPILE") == "always" else 1


class CompiledRegion:
    """Compiles on demand.  `program_for` gives None while, or where, the host must run the
    nodes."""

    def __init__(self, plan: Plan, region: Region, cutter: Cutter) -> None:
        self.plan, self.region, self.keys = plan, region, cutter.keys
        self.programs: OrderedDict[Shapes, Specialized | None] = OrderedDict()
        self.seen: dict[Shapes, int] = {}
        self.lock = threading.Lock()
        self.needed = warm_up()

    def program_for(
        self, shapes: Shapes, held: dict[Key, tuple[tuple[int, ...], DType]]
    ) -> Specialized | None:
        """The program for these shapes.  Raises Declined where a node turns out not to compile."""
        found = self.programs.get(shapes, False)
        if found is not False:
            return found  # type: ignore[return-value]
        with self.lock:
            times = self.seen[shapes] = self.seen.get(shapes, 0) + 1
            if times <= self.needed:
                self._forget(self.seen)
                return None
            if shapes not in self.programs:
                self.programs[shapes] = self._compile(shapes, held)
                self._forget(self.programs)
            return self.programs[shapes]

    def _compile(
        self, shapes: Shapes, held: dict[Key, tuple[tuple[int, ...], DType]]
    ) -> Specialized | None:
        count = len(self.region.inputs)
        try:
            return Specializer(self.plan, self.region, self.keys).run(shapes[:count], held)
        except Declined:
            raise
        except Exception as error:  # a fault of the compiler must not be one of the user's program
            warnings.warn(f"{self.region.name} runs uncompiled: {error!r}", stacklevel=2)
            if os.environ.get("HEADRACE_COMPILE") == "always":
                raise
            return None

    def _forget(self, table: Any) -> None:
        while len(table) > LIMIT:
            table.pop(next(iter(table)))
