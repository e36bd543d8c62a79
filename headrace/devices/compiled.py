"""Pieces as compiled regions and host kernels, in one straight sequence.

Values live in numbered registers, as in runtime.straight.  A region is one native call; while it
is not compiled (or cannot be) its nodes run one by one on the reference.  With HEADRACE_VERIFY=1
the reference runs beside every region and the results are compared.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any

import numpy as np

from headrace.codegen.compiled import CompiledRegion, Shapes
from headrace.codegen.machine import faults
from headrace.codegen.machine.refusals import CheckFailed, Declined, OutOfBounds
from headrace.codegen.regions.regions import Cutter, Region, describe, is_draw
from headrace.core import options
from headrace.core.denormals import flushing
from headrace.core.errors import at
from headrace.core.modules import late
from headrace.devices import known as known_values
from headrace.devices.binding import HANDLE, Binding, Quick, Slots, plain
from headrace.devices.known import KnownInputs
from headrace.devices.verify import Change, check, verifying
from headrace.ops.declaration.resources import Handle, Slot, waiting
from headrace.ops.random.philox import generator_of
from headrace.plan.plan import Edge, Plan, PlanNode, is_handle
from headrace.plan.units import is_unit
from headrace.runtime.kernel import Call, kernel_of
from headrace.runtime.step import KernelContext, Step
from headrace.runtime.straight import inner_program
from headrace.runtime.units import unit_call

growing = late("headrace.devices.growing")

if TYPE_CHECKING:
    from headrace.codegen.program.program import Specialized


class MixedProgram:
    """A straight piece.  `declined` grows when a node turns out not to compile; then it is cut
    anew, with that node on the host.  `is_inner`: see StraightProgram."""

    def __init__(self, piece: Plan, is_inner: bool = False) -> None:
        self.plan, self.is_inner = piece, is_inner
        edges = (Edge(n.name, i) for n in piece.nodes.values() for i in range(len(n.outputs)))
        self.registers = {edge: i for i, edge in enumerate(edges)}
        self.arguments = [self.registers[Edge(name, 0)] for name in piece.feeds]
        self.results = [self.registers[e] for e in piece.fetches]
        self.declined: dict[str, str] = {}
        self.known = KnownInputs()
        self.kernels: dict[str, Call] = {}
        self.quick: Quick | None = None
        self.cut()

    def cut(self) -> None:
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
        if unit.handles or (self.is_inner and any(self.plan.dtype(e).is_ref for e in self.plan.fetches)):
            return None
        try:
            inputs = [self.arguments.index(r) for r in unit.inputs]
            return unit, inputs, [unit.outputs.index(r) for r in self.results]
        except ValueError:
            return None  # a fed tensor is fetched

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
        quick, last, slots = self.quick, unit._last, unit._slots
        if last is None or slots is None or unit.known_places() or not last[1].program.is_plain:
            self.quick = None
        elif quick is None or quick.binding is not last[1] or quick.slots is not slots:
            self.quick = Quick(last[1], slots, inputs, results, len(self.arguments))

    @flushing
    def run_units(self, step: Step, arguments: Sequence[Any], tried: RegionUnit | None = None) -> list[Any]:
        """Unit after unit; the nodes of one that was `tried` in vain run one by one."""
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
        return [self._result(registers[i], e) for i, e in zip(self.results, self.plan.fetches)]

    def _result(self, value: Any, edge: Edge) -> Any:
        if isinstance(value, Slot) and not self.is_inner:
            try:
                return value.read()
            except Exception as error:
                raise at(error, self.plan.nodes[edge.node]) from None
        return value

    def kernel(self, node: PlanNode) -> Call:
        found = self.kernels.get(node.name)
        if found is None:
            if is_unit(node):
                found = unit_call(node, inner_program, inner_mixed_program, growing.GrowingProgram)
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


class HostUnit:
    """A node that the host runs."""

    def __init__(self, program: MixedProgram, node: PlanNode) -> None:
        self.program, self.node = program, node
        self.reads = [program.registers[e] for e in node.inputs]
        self.writes = [program.registers[Edge(node.name, i)] for i in range(len(node.outputs))]
        self.dead: list[int] = []

    def run(self, registers: list[Any], step: Step) -> None:
        self.program.call_with(self.node, self.reads, self.writes, registers, step)


MOST_REFUSALS = 8  # after which a region is hardly tried again:
SELDOM = 64  # once in so many runs


class RegionUnit:
    """Nodes that are one native call."""

    def __init__(self, program: MixedProgram, region: Region, cutter: Cutter) -> None:
        self.program, self.region = program, region
        self.compiled = CompiledRegion(program.plan, region, cutter)
        registers = program.registers
        self.inputs = [registers[e] for e in region.inputs]
        self.outputs = [registers[e] for e in region.outputs]
        self.keys = list(region.variables)
        self.sources = list(region.variables.values())
        self.handles = [registers[s] for s in self.sources if isinstance(s, Edge)]
        self._known: tuple[frozenset[Edge], list[int]] | None = None
        self.is_stale = False  # some of its nodes are for the host
        inner = [registers[e] for n in region.nodes for e in n.inputs]
        self.reads = [*self.inputs, *self.handles, *inner]
        made = [Edge(n.name, i) for n in region.nodes for i in range(len(n.outputs))]
        self.writes = [registers[e] for e in made]
        self.dead: list[int] = []
        self._slots: Slots | None = None
        self._last: tuple[Shapes, Binding] | None = None
        self.is_refused = False  # by the last run's checks: it is the reference's turn
        self.refusals = 0  # of runs that were none of the user's errors, one after the other

    def run(self, registers: list[Any], step: Step) -> None:
        values = [registers[i] for i in self.inputs]
        given = {i: registers[i] for i in self.handles}
        if options.verify():
            with verifying:
                self.verify(values, registers, step, given)
            return
        outputs = self.attempt(values, step, given)
        if outputs is None:
            self.interpret(registers, step)
        else:
            self.deliver(outputs, registers, step)

    def attempt(self, values: list[Any], step: Step, given: dict[int, Any] | None = None) -> list[Any] | None:
        """The region's outputs, or None where its nodes must run one by one."""
        self.is_refused = self.refusals >= MOST_REFUSALS and self.refusals % SELDOM != 0
        if self.is_refused:
            self.program.quick = None
            return None
        slots = self.slots(step, given or {})
        if slots is None or any(v is None for v in values):  # None: of a branch that did not run
            return None
        arrays = [plain(v) for v in values]
        sizes: Shapes = (*[a.shape for a in arrays], *[s.value.shape for s in slots])
        try:
            while True:
                known = {i: arrays[i] for i in self.known_places()}
                shapes = sizes + tuple(tuple(v.reshape(-1).tolist()) for v in known.values())
                last = self._last
                try:
                    if last is None or last[0] != shapes:
                        found = self.find(shapes, slots, step.cancel, known)
                        if found is None:
                            return None
                        last = self._last = (shapes, self.bound(found))
                    break
                except Declined as declined:
                    if not self.learn(declined, sizes):
                        return None
            if step.trace is not None:
                return self.traced(last[1], arrays, slots, shapes, step)
            outputs = last[1].run(arrays, slots, shapes, step.cancel)
            self.refusals = 0
            return outputs
        except CheckFailed:
            # The reference fails too, and says it in TF's words; or the program was made for less
            # than the op can do, such as slices that are cut at an end.
            self.is_refused = True
            return None
        except OutOfBounds as error:
            nodes = (n for n in self.region.nodes if n.name in error.names)
            raise at(error, next(nodes, None)) from None

    def known_places(self) -> list[int]:
        """The inputs whose values programs are made for."""
        edges = self.program.known.edges
        if self._known is None or self._known[0] is not edges:
            places = [i for i, e in enumerate(self.region.inputs) if e in edges]
            self._known = edges, places
        return self._known[1]

    def bound(self, found: Specialized) -> Binding:
        """Values that follow from shapes alone may be known wherever they are used."""
        binding = Binding(found, self.keys)
        results = found.program.results
        for edge, place in zip(self.region.outputs, found.outputs):
            if isinstance(place, int) and results[place].is_few:
                self.program.known.follows(edge)
        return binding

    def learn(self, declined: Declined, shapes: Shapes) -> bool:
        """Nodes do not compile.  Perhaps they do for known values of small inputs: True, try again.
        Else they go to the host, and the next step finds the piece cut anew."""
        program, is_hopeful = self.program, False
        for name, reason in declined.reasons.items():
            if program.known.ask(name, self.region.deciding(name, program.plan, shapes)):
                is_hopeful = True
            else:
                program.declined[name] = reason
                self.is_stale = True
        if self.is_stale and not is_hopeful:
            program.cut()
        return is_hopeful

    def traced(
        self, binding: Binding, arrays: list[Any], slots: list[Slot], shapes: Shapes, step: Step
    ) -> list[Any] | None:
        ticks = binding.program.new_times()
        start = time.time()
        outputs = binding.run(arrays, slots, shapes, step.cancel, ticks)
        if outputs is not None:
            step.trace.region(self.region, binding.program, ticks, start, time.time())
        return outputs

    def find(
        self, shapes: Shapes, slots: list[Slot], cancel: Any, values: dict[int, Any]
    ) -> Specialized | None:
        given = shapes[len(self.inputs) :]
        held = {k: (n, s.dtype.base) for k, n, s in zip(self.keys, given, slots)}
        asked = {self.region.inputs[i] for i in values} - self.program.known.certain
        made, seen = len(self.compiled.programs), len(self.compiled.seen)
        if asked and (made >= known_values.VARIANTS or seen >= known_values.MANY):
            self.program.declined |= self.program.known.give_up(asked)
            self.program.cut()
            return None
        return self.compiled.program_for(shapes, held, cancel, values)

    # -- variables ---------------------------------------------------------------------------
    def slots(self, step: Step, given: dict[int, Any]) -> list[Slot] | None:
        """The variables' slots; None where one has no value, or where two names mean the same."""
        known = self._slots
        resources = step.resources
        if known is not None and known.are_of(resources):
            slots = known.slots
        else:
            generation = resources.generation
            found = [self.slot(s, step, given) for s in self.sources]
            slots = [s for s in found if s is not None]
            if len(slots) < len(found) or len(set(slots)) < len(slots):
                self.leave_arrays(given)
                return None
            if not self.handles:
                self._slots = Slots(resources, generation, slots)
        return None if any(s.value is None for s in slots) else slots

    def leave_arrays(self, given: dict[int, Any]) -> None:
        """Loops and branches that use an array from outside of the piece are the host's."""
        registers = self.program.registers
        arrays = {
            s
            for s in self.sources
            if isinstance(s, Edge)
            and isinstance(value := given.get(registers[s]), Handle)
            and not isinstance(value.target, Slot)
        }
        users = [n.name for n in self.region.nodes if not arrays.isdisjoint(n.inputs)]
        if users:
            self.program.declined |= dict.fromkeys(users, "an array from elsewhere")
            self.program.cut()

    def value(self, output: Any, place: int) -> Any:
        """An output as a value: of a variable, what it holds now."""
        if output is not HANDLE or self._slots is None or self._last is None:
            return output
        key: Any = self._last[1].outputs[place]
        return self._slots.slots[self.keys.index(key)].value

    def slot(self, source: PlanNode | Edge, step: Step, given: dict[int, Any]) -> Slot | None:
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

    def deliver(self, outputs: list[Any], registers: list[Any], step: Step) -> None:
        for edge, register, value in zip(self.region.outputs, self.outputs, outputs):
            if value is not HANDLE:
                registers[register] = value
                continue
            node = self.program.plan.nodes[edge.node]
            if node.inputs:  # a reference passed on
                source = next(e for e in node.inputs if is_handle(self.program.plan.dtype(e)))
                registers[register] = self.reference(source, registers, step)
            else:
                registers[register] = self.program.kernel(node)([], step)[0]

    def reference(self, edge: Edge, registers: list[Any], step: Step) -> Any:
        node = self.program.plan.nodes[edge.node]
        register = self.program.registers[edge]
        if registers[register] is not None:
            return registers[register]
        if not node.inputs:
            return self.program.kernel(node)([], step)[0]
        source = next(e for e in node.inputs if is_handle(self.program.plan.dtype(e)))
        return self.reference(source, registers, step)

    # -- the reference -----------------------------------------------------------------------
    def interpret(self, registers: list[Any], step: Step, change: Change | None = None) -> None:
        """Node by node; `change` is made to every value."""
        for node in self.region.nodes:
            if step.cancel.reason is not None:
                raise step.cancel.reason
            self.program.call(node, registers, step)
            if change is not None:
                for index in range(len(node.outputs)):
                    place = self.program.registers[Edge(node.name, index)]
                    registers[place] = change(registers[place])
        if self.is_refused:
            self.refusals += 1

    def verify(self, values: list[Any], registers: list[Any], step: Step, given: dict[int, Any]) -> None:
        """The reference first; then the program from the same state; then compare both."""
        slots = self.slots(step, given)
        if slots is None:
            self.interpret(registers, step)
            return
        before = [np.array(s.value) for s in slots]
        kept = list(registers)

        def reference(change: Change | None = None) -> list[Any]:
            """What the variables and outputs become, from the state before."""
            put(slots, before)
            registers[:] = kept
            self.interpret(registers, step, change)
            return [s.value for s in slots] + [registers[r] for r in self.outputs]

        wanted = reference()
        after = list(registers)
        put(slots, before)
        outputs = self.attempt(values, step, given)
        if outputs is None:
            for slot, value in zip(slots, wanted):
                slot.value = value
            return
        made = [s.value for s in slots]
        found = [after[r] if o is HANDLE else o for o, r in zip(outputs, self.outputs)]
        names = [str(k[-1]) for k in self.keys] + [str(e) for e in self.region.outputs]
        try:
            check(names, made + found, wanted, reference)
        finally:
            for slot, value in zip(slots, made):
                slot.value = value
        registers[:] = kept
        self.deliver(outputs, registers, step)


def put(slots: list[Slot], values: list[Any]) -> None:
    """Give variables copies of these values: they may change them in place."""
    for slot, value in zip(slots, values):
        slot.value = value.copy()
