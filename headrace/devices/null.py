"""The null device: takes part in everything and computes nothing.  For measuring and testing what is
around a device: pruning, placement, transfers, the cost of a step without kernels.

A run counts the nodes of its piece by op, prints the counts where HEADRACE_SHOW has `step`, sends and
gives zeros of the shapes that are known (1 where a size is not).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from headrace.core import options
from headrace.devices.device import HostMemory
from headrace.plan.plan import Output, Plan, PlanNode
from headrace.runtime.executor import DataflowProgram
from headrace.runtime.kernel import Call
from headrace.runtime.step import Step


class Null(HostMemory):
    """`counts`: how often a node of each op was run, in all steps."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.counts: Counter[str] = Counter()

    def prepare(self, piece: Plan) -> NullProgram:
        return NullProgram(self, piece)


class NullProgram:
    def __init__(self, device: Null, piece: Plan) -> None:
        self.device, self.piece = device, piece
        self.counts = Counter(n.op.name for n in piece.nodes.values())
        # Transfers are real, so that the pieces of other devices go on.
        self.program = DataflowProgram(piece, call_of=_nothing)

    def run(self, step: Step, arguments: Sequence[Any]) -> list[Any]:
        self.device.counts += self.counts
        options.show("step", f"{self.device.name}: {dict(sorted(self.counts.items()))}")
        return self.program.run(step, arguments)


def _nothing(plan: Plan, node: PlanNode) -> Call:
    zeros = [_zeros(output) for output in node.outputs]
    return lambda values, step: zeros


def _zeros(output: Output) -> Any:
    sizes = output.shape.as_list() if output.shape.rank is not None else []
    return np.zeros([1 if n is None else n for n in sizes], output.dtype.base.numpy)
