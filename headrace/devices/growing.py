"""Bodies of loops whose arrays grow: their shapes never come again, so programs for them would not either.

    tokens = tf.concat([tokens, next], 1)      # in every turn

The first turns run node by node, and it is noted whose shapes change.  Those nodes stay on the host; all
others, mostly the heavy ones, are compiled once.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headrace.core.denormals import flushing
from headrace.devices.compiled import MixedProgram
from headrace.devices.region_unit import RegionUnit
from headrace.plan.plan import Edge, Plan, PlanNode
from headrace.runtime.step import Step

LOOKS = 3  # turns: the first two shapes of a carried array may be the same
CHANGES = "its shapes change from turn to turn"


class GrowingProgram(MixedProgram):
    """A MixedProgram that looks at the shapes first."""

    def __init__(self, piece: Plan) -> None:
        self.looks = LOOKS
        self.sizes: dict[int, tuple[int, ...]] = {}  # of registers, when last seen
        self.changed: set[int] = set()
        super().__init__(piece, is_inner=True)

    def run(self, step: Step, arguments: Sequence[Any]) -> list[Any]:
        return self.look(step, arguments) if self.looks else super().run(step, arguments)

    @flushing
    def look(self, step: Step, arguments: Sequence[Any]) -> list[Any]:
        """One iteration node by node, noting which arrays change their shapes.  After the last look
        those nodes go to the host, and the rest is compiled: otherwise every iteration would
        compile anew."""
        registers: list[Any] = [None] * len(self.registers)
        for index, value in zip(self.arguments, arguments):
            registers[index] = value
        nodes = [n for u in self.units for n in (u.region.nodes if isinstance(u, RegionUnit) else [u.node])]
        for node in nodes:
            self.call(node, registers, step)
        for index, value in enumerate(registers):
            size = getattr(value, "shape", None)
            if size is not None and self.sizes.setdefault(index, size) != size:
                self.changed.add(index)
        self.looks -= 1
        if not self.looks:
            self.lessons.decline((n.name for n in nodes if self.is_changing(n)), CHANGES)
            self.cut()
        return [registers[i] for i in self.results]

    def is_changing(self, node: PlanNode) -> bool:
        made = (Edge(node.name, i) for i in range(len(node.outputs)))
        return any(self.registers[e] in self.changed for e in (*node.inputs, *made))
