"""Pieces on a device whose memory is not the host's, op by op.

In: a piece, and how the device runs one node on arrays of its own.  Values are copied where they enter
the piece (feeds, Recv) and where they leave it (fetches, Send); in between they stay on the device,
but for the inputs that a kernel reads on the host.  A device with a compiler of its own prepares
programs of its own; this one is the start.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from headrace.devices.device import Device
from headrace.ops.declaration.traits import CONSTANT
from headrace.plan.plan import Plan, PlanNode
from headrace.runtime.executor import DataflowProgram
from headrace.runtime.kernel import Call

Run = Callable[[PlanNode, Sequence[Any]], Sequence[Any]]  # a node, its inputs -> its outputs


def separate_program(device: Device, piece: Plan, run: Run) -> DataflowProgram:
    def call_of(plan: Plan, node: PlanNode) -> Call:
        if CONSTANT in node.op.traits:  # folded from nodes of the device
            value = device.from_host(node.attrs["value"].array)
            return lambda values, step: [value]
        host = device.host_inputs(node)

        def call(values: Sequence[Any], step: Any) -> Sequence[Any]:
            given = [device.to_host(v) if i in host else v for i, v in enumerate(values)]
            return run(node, given)

        return call

    return DataflowProgram(piece, call_of=call_of, border=device)
