"""The kernels of groups, each made once: to see what may be updated in place, then to be compiled."""

from __future__ import annotations

from headrace.codegen.fusion import in_place
from headrace.codegen.fusion.channels import ChannelGroup
from headrace.codegen.fusion.fusion import Group
from headrace.codegen.fusion.schedule import schedule_group
from headrace.codegen.ir.kernel import Kernel
from headrace.codegen.ir.kernel_ir import Array
from headrace.codegen.program.instruction import Pair

NAMED = 3  # members after which a kernel is called


class Scheduled:
    def __init__(self, stored: set[Array]) -> None:
        """`stored` are the arrays that must be in memory."""
        self.stored = stored
        self._made: dict[Group | ChannelGroup, tuple[Kernel, list[Pair]]] = {}

    def of(self, group: Group | ChannelGroup) -> tuple[Kernel, list[Pair]]:
        """A group's kernel, and which of its results may lie where an operand did."""
        found = self._made.get(group)
        if found is None:
            name = "+".join(m.array.name or "stage" for m in group.members[:NAMED])
            kernel = schedule_group(group, self.stored, name)
            found = self._made[group] = kernel, in_place.pairs(kernel)
        return found
