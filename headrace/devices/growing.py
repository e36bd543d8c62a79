"""Bodies of loops whose arrays grow: their shapes hardly come again while the loop runs once.

    tokens = tf.concat([tokens, next], 1)      # in every turn

The first turns run node by node, and it is noted whose shapes change.  Those nodes stay on the host; all
others, mostly the heavy ones, are compiled once.  A loop that runs often meets the same shapes again: then
all of it is compiled with open sizes, unless some rule needs the sizes themselves.
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
OFTEN = 128  # turns, of all runs, after which programs with open sizes pay
CHANGES = "its shapes change from turn to turn"


class GrowingProgram(MixedProgram):
    """A MixedProgram that looks at the shapes first."""

    def __init__(self, piece: Plan) -> None:
        self.looks = LOOKS
        self.sizes: dict[int, tuple[int, ...]] = {}  # of registers, when last seen
        self.changed: set[int] = set()
        self.changing: list[str] = []  # nodes that are the host's
        self.turns = 0
        self.is_open = False  # they are not, now
        super().__init__(piece, is_inner=True)

    def run(self, step: Step, arguments: Sequence[Any]) -> list[Any]:
        if self.looks:
            return self.look(step, arguments)
        self.turns += 1
        if self.turns == OFTEN and self.changing:
            self.open()
        elif self.is_open and self.is_closed:
            self.close()
        return super().run(step, arguments)

    @property
    def is_closed(self) -> bool:
        """Whether every shape would have a program of its own."""
        return any(u.compiled.is_closed for u in self.units if isinstance(u, RegionUnit))

    def open(self) -> None:
        """Let all be compiled: there are few patterns of shapes, however many sizes."""
        for name in self.changing:
            self.lessons.declined.pop(name, None)
        self.is_open = True
        self.cut()

    def close(self) -> None:
        """Back to the host, for good."""
        self.lessons.decline(self.changing, CHANGES)
        self.is_open = False
        self.cut()

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
            self.changing = [n.name for n in nodes if self.is_changing(n)]
            self.lessons.decline(self.changing, CHANGES)
            self.cut()
        return [registers[i] for i in self.results]

    def is_changing(self, node: PlanNode) -> bool:
        made = (Edge(node.name, i) for i in range(len(node.outputs)))
        return any(self.registers[e] in self.changed for e in (*node.inputs, *made))
