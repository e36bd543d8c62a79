"""The rest of a loop that runs already: compiled as it is, and gone on with from where it stands.

A region is interpreted when it runs for the first time, and so is a loop inside of it.  One that proves long
need not wait for the next step: a loop node says all that is left to do, given what its variables hold now.
"""

from __future__ import annotations

from headrace.core import options
from headrace.core.modules import late
from headrace.core.shapes import UNKNOWN
from headrace.devices.compiled import MixedProgram, inner_mixed_program
from headrace.devices.region_unit import RegionUnit
from headrace.ops.array.source import placeholder
from headrace.plan.plan import Edge, Output, Plan, PlanNode
from headrace.runtime.kernel import Call
from headrace.runtime.straight import StraightProgram, inner_program
from headrace.runtime.units import Prepare, unit_call

growing = late("headrace.devices.growing")


def rest_of(node: PlanNode) -> MixedProgram | None:
    """A program of this loop alone, if it is compiled as a whole."""
    if options.verify():
        return None  # what interprets is the reference, and stays so
    program = _Rest(_alone(node))
    if not program.is_native:
        return None
    for unit in program.units:
        if isinstance(unit, RegionUnit):
            unit.machine.light = -1  # it came for the first time, and will run long
    return program


class _Rest(MixedProgram):
    def __init__(self, piece: Plan) -> None:
        super().__init__(piece, is_inner=True)

    @property
    def is_native(self) -> bool:
        """Nothing is left to the host, as far as is known."""
        return all(isinstance(unit, RegionUnit) for unit in self.units)

    def kernel(self, node: PlanNode) -> Call:
        """Where the loop turns out not to compile, it goes on as before."""
        if node.name not in self.kernels:
            self.kernels[node.name] = unit_call(
                node, inner_program, inner_mixed_program, growing.GrowingProgram
            )
        return self.kernels[node.name]


def _alone(node: PlanNode) -> Plan:
    """A plan that is fed what the node takes."""
    feeds = []
    for i, dtype in enumerate(node.input_types):
        output = Output(dtype, UNKNOWN)
        attrs = {"dtype": dtype, "shape": UNKNOWN}
        name = f"{node.name}/_in{i}"
        feeds.append(PlanNode(name, placeholder, (), (), attrs, (output,), (), node.device, node.origins, i))
    edges = tuple(Edge(n.name, 0) for n in feeds)
    made = PlanNode(
        node.name,
        node.op,
        edges,
        (),
        node.attrs,
        node.outputs,
        node.input_types,
        node.device,
        node.origins,
        len(feeds),
    )
    nodes = {n.name: n for n in (*feeds, made)}
    fetches = tuple(Edge(node.name, i) for i in range(len(node.outputs)))
    return Plan(nodes, tuple(n.name for n in feeds), fetches)


class ColdProgram(StraightProgram):
    """Node by node; a loop inside that proves long is compiled while it runs."""

    def __init__(self, plan: Plan) -> None:
        super().__init__(plan, is_inner=True)

    def unit(self, node: PlanNode) -> Call:
        return unit_call(node, cold_program(), inner_mixed_program, growing.GrowingProgram, rest_of)


def cold_program() -> Prepare:
    """What makes programs of parts that run for the first time."""
    return inner_program if options.verify() else ColdProgram
