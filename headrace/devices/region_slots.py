"""The variables of a region in a session: found once, and again when the session forgets one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headrace.codegen.regions.regions import Region, is_draw
from headrace.devices.binding import Slots
from headrace.ops.declaration.resources import Handle, Slot
from headrace.ops.random.philox import generator_of
from headrace.plan.plan import Edge, PlanNode
from headrace.runtime.step import KernelContext, Step

if TYPE_CHECKING:
    from headrace.devices.compiled import MixedProgram

Given = dict[int, Any]  # register -> the handle or reference that came in


class RegionSlots:
    """`keys` name the variables in the order of the slots; `handles` are registers in which some of
    them come in."""

    def __init__(self, program: MixedProgram, region: Region) -> None:
        self.program, self.region = program, region
        self.keys = list(region.variables)
        self.sources = list(region.variables.values())
        self.handles = [program.registers[s] for s in self.sources if isinstance(s, Edge)]
        self.found: Slots | None = None  # for good, where nothing comes in

    def of(self, step: Step, given: Given) -> list[Slot] | None:
        """The slots; None where one has no value, or where two names mean the same."""
        known, resources = self.found, step.resources
        if known is not None and known.are_of(resources):
            slots = known.slots
        else:
            generation = resources.generation
            found = [self._slot(s, step, given) for s in self.sources]
            slots = [s for s in found if s is not None]
            if len(slots) < len(found) or len(set(slots)) < len(slots):
                return None
            if not self.handles:
                self.found = Slots(resources, generation, slots)
        return None if any(s.value is None for s in slots) else slots

    def users_of_arrays(self, given: Given) -> list[str]:
        """Loops and branches that use an array from outside of the piece."""
        registers = self.program.registers
        arrays = {
            s
            for s in self.sources
            if isinstance(s, Edge)
            and isinstance(value := given.get(registers[s]), Handle)
            and not isinstance(value.target, Slot)
        }
        return [n.name for n in self.region.nodes if not arrays.isdisjoint(n.inputs)]

    def _slot(self, source: PlanNode | Edge, step: Step, given: Given) -> Slot | None:
        if isinstance(source, Edge):
            value = given.get(self.program.registers[source])
        elif is_draw(source):
            attrs = source.attrs
            value = generator_of(KernelContext(source, step), attrs["seed"], attrs["seed2"])
        else:
            value = self.program.kernel(source)([], step)[0]
        if isinstance(value, Handle):
            value = value.target
        return value if isinstance(value, Slot) else None
