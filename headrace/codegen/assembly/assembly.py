"""What a program is made from, before any array has its place: instructions in order, and what is
known of them."""

from __future__ import annotations

from dataclasses import dataclass, field

from headrace.codegen.assembly import parallel_chains
from headrace.codegen.ir.kernel_ir import Array
from headrace.codegen.ir.stages import Check, Update
from headrace.codegen.machine.refusals import NEVER, Cancel
from headrace.codegen.program.instruction import Instruction


@dataclass(slots=True)
class Assembly:
    """Everything that one program is made from."""

    inputs: list[Array]
    outputs: list[Array]
    updates: list[Update]
    cancel: Cancel = NEVER
    checks: list[Check] = field(default_factory=list)
    instructions: list[Instruction] = field(default_factory=list)
    in_place: dict[Array, bool] = field(default_factory=dict)
    alias: dict[Array, Array] = field(default_factory=dict)  # arrays in the memory of others
    # Arrays whose base entries change (a cell, the top of a stack): in the memory of one of these.
    moving: dict[Array, tuple[Array, ...]] = field(default_factory=dict)
    loops: list[tuple[int, int]] = field(default_factory=list)  # first instruction, last instruction
    growing: list[Array] = field(default_factory=list)  # stacks without a limit
    forks: list[parallel_chains.Fork] = field(default_factory=list)  # instructions that run side by side

    def final(self, array: Array) -> Array:
        """The array whose memory this one is in."""
        while array in self.alias:
            array = self.alias[array]
        return array
