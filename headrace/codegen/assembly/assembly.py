"""What a program is made from, before any array has its place: steps in order, and what is known of them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from headrace.codegen.assembly import parallel_chains
from headrace.codegen.fusion.in_place import Pair
from headrace.codegen.ir.kernel_ir import Tensor
from headrace.codegen.ir.stages import Check, Update
from headrace.codegen.program import memory
from headrace.codegen.program.program import NEVER, Entry


@dataclass(slots=True, eq=False)
class Step:
    """One entry before addresses are known."""

    reads: list[Tensor]
    writes: list[Tensor]
    entry: Entry
    scratch: int = 0
    block: memory.Block | None = None
    name: str = ""
    cost: float = 0.0  # ns on one thread; 0: not known
    is_part: bool = False  # writes a part of an array, beside others that do
    in_place: list[Pair] = field(default_factory=list)  # results that may replace operands


@dataclass(slots=True)
class Assembly:
    """Everything that one program is made from."""

    inputs: list[Tensor]
    outputs: list[Tensor]
    updates: list[Update]
    cancel: Any = NEVER
    checks: list[Check] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)
    in_place: dict[Tensor, bool] = field(default_factory=dict)
    alias: dict[Tensor, Tensor] = field(default_factory=dict)  # arrays in the memory of others
    # Arrays whose base entries change (a cell, the top of a stack): in the memory of one of these.
    moving: dict[Tensor, tuple[Tensor, ...]] = field(default_factory=dict)
    loops: list[tuple[int, int]] = field(default_factory=list)  # first step, last step
    growing: list[Tensor] = field(default_factory=list)  # stacks without a limit
    forks: list[parallel_chains.Fork] = field(default_factory=list)  # steps that run side by side

    def final(self, tensor: Tensor) -> Tensor:
        """The array whose memory this one is in."""
        while tensor in self.alias:
            tensor = self.alias[tensor]
        return tensor
