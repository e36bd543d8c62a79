"""Pieces as compiled regions and host kernels, in one straight sequence.

Values live in numbered registers, as in runtime.straight.  A region (`region_unit.py`) is one native
call; while it is not compiled, or cannot be, its nodes run one by one on the reference.  When that is
so, `adaptive.py` decides; when nodes turn out not to compile, the piece is cut anew.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future
from typing import Any

from headrace.codegen.machine import faults
from headrace.codegen.regions.regions import Cutter, Region, describe
from headrace.core import options
from headrace.core.denormals import flushing
from headrace.core.errors import at
from headrace.core.modules import late
from headrace.devices.adaptive import Lessons
from headrace.devices.binding import Quick
from headrace.devices.region_unit import RegionUnit
from headrace.ops.declaration.resources import waiting
from headrace.ops.declaration.traits import CONSTANT, MOVES
from headrace.plan.plan import Edge, Plan, PlanNode, is_handle
from headrace.plan.units import is_unit
from headrace.runtime.kernel import Call, kernel_of
from headrace.runtime.step import Step
from headrace.runtime.straight import read_references
from headrace.runtime.units import unit_call

growing = late("headrace.devices.growing")
loop_rest = late("headrace.devices.loop_rest")


class MixedProgram:
    """A straight piece.  Its `lessons` grow when a node turns out not to compile; then it is cut
    anew, with that node on the host.  `is_inner`: see StraightProgram."""

    def __init__(self, piece: Plan, is_inner: bool = False) -> None:
        self.plan, self.is_inner = piece, is_inner
        edges = (Edge(n.name, i) for n in piece.nodes.values() for i in range(len(n.outputs)))
        self.registers = {edge: i for i, edge in enumerate(edges)}
        self.arguments = [self.registers[Edge(name, 0)] for name in piece.feeds]
        self.results = [self.registers[e] for e in piece.fetches]
        self.lessons = Lessons()
        self.kernels: dict[str, Call] = {}
        self.quick: Quick | None = None
        self.cut()

    @property
    def declined(self) -> dict[str, str]:
        """The nodes that turned out not to compile, with the reasons."""
        return self.lessons.declined

    def cut(self) -> None:
        """Regions and host nodes, as far as it is known what compiles."""
        self.quick = None
        self.units: list[RegionUnit | HostUnit]
        try:
            self.units = self._cut_units()
        except Exception as error:  # a fault of the compiler must not be one of the user's program
            faults.report(f"a piece of {len(self.plan.nodes)} nodes", error)
            nodes = (n for name, n in self.plan.nodes.items() if name not in self.plan.feeds)
            self.units = [HostUnit(self, node) for node in nodes]
        self._free_early()
        self.whole = self._whole()
        self.calculates = not all(map(_hands_on, self.units))

    def _cut_units(self) -> list[RegionUnit | HostUnit]:
        cutter = Cutter(self.plan, self.declined)
        units = cutter.units()
        options.show("regions", describe(units, self.declined))
        return [RegionUnit(self, u, cutter) if isinstance(u, Region) else HostUnit(self, u) for u in units]

    def _free_early(self) -> None:
        """Each unit empties the registers that nobody reads after it."""
        kept = set(self.results)
        for unit in reversed(self.units):
            unit.dead = [r for r in dict.fromkeys((*unit.reads, *unit.writes)) if r not in kept]
            kept |= set(unit.reads)

    def _whole(self) -> tuple[RegionUnit, list[int], list[int]] | None:
        """The only unit, the places of its inputs among the arguments and of the results among its
        outputs: then no registers are needed."""
        if len(self.units) != 1 or not isinstance(self.units[0], RegionUnit):
            return None
        unit = self.units[0]
        if unit.slots.handles or any(map(self._is_led_on, self.plan.fetches)):
            return None
        try:
            inputs = [self.arguments.index(r) for r in unit.inputs]
            return unit, inputs, [unit.outputs.index(r) for r in self.results]
        except ValueError:
            return None  # a fed tensor is fetched

    def _is_led_on(self, edge: Edge) -> bool:
        """Whether a result leads to a variable; a user who fetches a reference gets its value."""
        dtype = self.plan.dtype(edge)
        return is_handle(dtype) and (self.is_inner or not dtype.is_ref)

    def run(self, step: Step, arguments: Sequence[Any]) -> list[Any]:
        """One step.  Three ways, the shortest first: `quick` (same shapes, same variables: nothing
        is looked up), the only region with a look-up by shapes, and unit after unit with
        registers."""
        waiting.cancel = step.cancel
        if not self.units and step.trace is None:
            return self.unchanged(arguments)
        tried = None
        if self.whole is not None and step.trace is None and not options.verify():
            if self.quick is not None:
                found = self.quick.run(step.resources, list(arguments), step.cancel)
                if found is not None:
                    return found
            tried, inputs, results = self.whole
            outputs = tried.attempt([arguments[i] for i in inputs], step)
            if outputs is not None:
                self.remember(tried, inputs, results)
                return [tried.value(outputs[i], i) for i in results]
        return self.run_units(step, arguments, tried)

    def unchanged(self, arguments: Sequence[Any]) -> list[Any]:
        """Nothing runs: what is fetched is fed."""
        given = dict(zip(self.arguments, arguments))
        return [given[r] for r in self.results]

    def remember(self, unit: RegionUnit, inputs: list[int], results: list[int]) -> None:
        """The next step with these shapes and variables may take the quick way."""
        quick, binding, slots = self.quick, unit.binding, unit.slots.found
        if binding is None or slots is None or not unit.machine.has_quick_way(binding.program.is_plain):
            self.quick = None
        elif quick is None or quick.binding is not binding or quick.slots is not slots:
            self.quick = Quick(binding, slots, inputs, results, len(self.arguments))

    def run_units(self, step: Step, arguments: Sequence[Any], tried: RegionUnit | None = None) -> list[Any]:
        """Unit after unit; the nodes of one that was `tried` in vain run one by one."""
        if self.calculates:
            return self._calculated(step, arguments, tried)
        return self._run_units(step, arguments, tried)

    @flushing
    def _calculated(self, step: Step, arguments: Sequence[Any], tried: RegionUnit | None) -> list[Any]:
        return self._run_units(step, arguments, tried)

    def _run_units(self, step: Step, arguments: Sequence[Any], tried: RegionUnit | None) -> list[Any]:
        """Registers in, unit after unit, results out."""
        if step.trace is not None:
            step.trace.piece(self)
        registers: list[Any] = [None] * len(self.registers)
        for index, value in zip(self.arguments, arguments):
            registers[index] = value
        cancel = step.cancel
        for unit in list(self.units):
            if cancel.reason is not None:
                raise cancel.reason
            if unit is tried:
                tried.interpret(registers, step)
            else:
                unit.run(registers, step)
            for index in unit.dead:
                registers[index] = None
        found = [registers[i] for i in self.results]
        return found if self.is_inner else read_references(self.plan, found)

    def kernel(self, node: PlanNode) -> Call:
        found = self.kernels.get(node.name)
        if found is None:
            if is_unit(node):
                rest = None if node.name in self.declined else loop_rest.rest_of
                cold = loop_rest.cold_program()
                found = unit_call(node, cold, inner_mixed_program, growing.GrowingProgram, rest)
            else:
                found = kernel_of(node, [self.plan.dtype(e) for e in node.inputs])
            self.kernels[node.name] = found
        return found

    def call(self, node: PlanNode, registers: list[Any], step: Step) -> None:
        """One node on the host."""
        reads = [self.registers[e] for e in node.inputs]
        writes = [self.registers[Edge(node.name, i)] for i in range(len(node.outputs))]
        self.call_with(node, reads, writes, registers, step)

    def call_with(
        self, node: PlanNode, reads: list[int], writes: list[int], registers: list[Any], step: Step
    ) -> None:
        """The same, the places of its inputs and outputs being known."""
        try:
            kernel = self.kernel(node)
            inputs = [registers[i] for i in reads]
            if step.trace is not None and not is_unit(node):
                with step.trace.kernel(node):
                    values = kernel(inputs, step)
            else:
                values = kernel(inputs, step)
            if type(values) is not tuple and isinstance(values, Future):
                values = values.result()
            for index, value in zip(writes, values):
                registers[index] = value.result() if isinstance(value, Future) else value
        except BaseException as error:
            raise at(error, node) from error.__cause__


def inner_mixed_program(plan: Plan) -> MixedProgram:
    return MixedProgram(plan, is_inner=True)


def _hands_on(unit: RegionUnit | HostUnit) -> bool:
    """Whether a unit calculates nothing: a constant, a handle, what waits for a queue."""
    if isinstance(unit, RegionUnit) or is_unit(unit.node):
        return False
    return CONSTANT in unit.node.op.traits or MOVES in unit.node.op.traits


class HostUnit:
    """A node that the host runs."""

    def __init__(self, program: MixedProgram, node: PlanNode) -> None:
        self.program, self.node = program, node
        self.reads = [program.registers[e] for e in node.inputs]
        self.writes = [program.registers[Edge(node.name, i)] for i in range(len(node.outputs))]
        self.dead: list[int] = []

    def run(self, registers: list[Any], step: Step) -> None:
        self.program.call_with(self.node, self.reads, self.writes, registers, step)
