"""A region at run time: obeys its machine (`adaptive.py`), runs programs, or its nodes one by one.

In: values of the region's inputs, and the step.  Out: values of its outputs, in registers.  With
HEADRACE_VERIFY=1 the reference runs beside every program and the results are compared (`verify.py`).
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from headrace.codegen.compiled import CompiledRegion, Shapes, compiling, numbers_into, warm_up
from headrace.codegen.machine.refusals import CheckFailed, Declined, OutOfBounds
from headrace.codegen.regions.regions import Cutter, Region
from headrace.core import options
from headrace.core.errors import at
from headrace.devices.adaptive import Action, Adaptive, Compile, Do, Key, Run
from headrace.devices.binding import HANDLE, Binding, plain
from headrace.devices.region_slots import Given, RegionSlots
from headrace.devices.verify import Change, verify_region, verifying
from headrace.ops.declaration.resources import Slot
from headrace.plan.plan import Edge
from headrace.runtime.step import Step

if TYPE_CHECKING:
    from headrace.devices.compiled import MixedProgram


class RegionUnit:
    """Nodes that are one native call."""

    def __init__(self, program: MixedProgram, region: Region, cutter: Cutter) -> None:
        self.program, self.region = program, region
        self.compiled = CompiledRegion(program.plan, region, cutter)
        self.machine = Adaptive(program.lessons, region.inputs, warm_up(region))
        self.slots = RegionSlots(program, region)
        registers = program.registers
        self.inputs = [registers[e] for e in region.inputs]
        self.outputs = [registers[e] for e in region.outputs]
        inner = [registers[e] for n in region.nodes for e in n.inputs]
        self.reads = [*self.inputs, *self.slots.handles, *inner]
        made = [Edge(n.name, i) for n in region.nodes for i in range(len(n.outputs))]
        self.writes = [registers[e] for e in made]
        self.dead: list[int] = []
        self._last: tuple[Key, Binding] | None = None
        self.is_second = bool(program.declined)  # the piece has run: what is left of it need not be tried out
        self.is_behind_others = any(e.node not in program.plan.feeds for e in region.inputs)

    @property
    def binding(self) -> Binding | None:
        """The program that ran last."""
        return None if self._last is None else self._last[1]

    def run(self, registers: list[Any], step: Step) -> None:
        values = [registers[i] for i in self.inputs]
        given = {i: registers[i] for i in self.slots.handles}
        if options.verify():
            with verifying:
                verify_region(self, values, registers, step, given)
            return
        outputs = self.attempt(values, step, given)
        if outputs is None:
            self.interpret(registers, step)
        else:
            self.deliver(outputs, registers, step)

    # -- programs ----------------------------------------------------------------------------
    def attempt(self, values: list[Any], step: Step, given: Given | None = None) -> list[Any] | None:
        """The region's outputs, or None where its nodes must run one by one."""
        if not self.machine.begins():
            self.program.quick = None
            return None
        slots = self.slots.of(step, given or {})
        if slots is None:
            self.leave_arrays(given or {})
            return None
        if any(v is None for v in values):  # of a branch that did not run
            return None
        arrays = [plain(v) for v in values]
        sizes: Shapes = (*[a.shape for a in arrays], *[s.value.shape for s in slots])
        try:
            binding = self._binding_for(arrays, sizes, slots, step.cancel)
            if binding is None:
                return None
            if step.trace is None:
                outputs = binding.run(arrays, slots, sizes, step.cancel)
            else:
                outputs = self._traced(binding, arrays, slots, sizes, step)
            self.machine.ran()
            return outputs
        except CheckFailed:
            self.machine.check_failed()
            return None
        except OutOfBounds as error:
            nodes = (n for n in self.region.nodes if n.name in error.names)
            raise at(error, next(nodes, None)) from None

    def _binding_for(
        self, arrays: list[Any], sizes: Shapes, slots: list[Slot], cancel: Any
    ) -> Binding | None:
        """The program for these arrays: the last one, one that is there, or as the machine decides."""
        key, _ = self._key(arrays, sizes)
        last = self._last
        if last is not None and last[0] == key:
            return last[1]
        action: Action | None = self.machine.found(key)
        if action is None:
            with compiling(cancel):  # one at a time: what there is to run changes under this lock alone
                key, action = self._decide(arrays, sizes, slots, cancel)
        if action is Do.CUT:
            self.program.cut()
        if not isinstance(action, Run):
            return None
        binding: Binding = action.program
        self.machine.programs.used(key)
        self._last = key, binding
        return binding

    def _decide(self, arrays: list[Any], sizes: Shapes, slots: list[Slot], cancel: Any) -> tuple[Key, Action]:
        """Ask the machine, and do what it says, until it says how this run goes."""
        numbers = numbers_into(self.region, sizes)
        while True:
            key, values = self._key(arrays, sizes)
            asked = sizes[: len(self.inputs)], values
            is_light = numbers <= self.machine.light
            self.compiled.opens_unknown = is_light and (self.is_second or self.is_behind_others)
            is_ready = (is_light and self.is_second) or self.compiled.is_other_size(*asked)
            action = self.machine.asked(key, numbers, is_ready)
            if action is Do.INTERPRET:
                self.compiled.note(*asked)
            elif isinstance(action, Compile):
                action = self._make(key, sizes, values, slots, cancel)
            if action is not Do.LOOK:
                return key, action

    def _key(self, arrays: list[Any], sizes: Shapes) -> tuple[Key, dict[int, Any]]:
        """What a program is made for: sizes, and behind them the known values, each with its place."""
        places = self.machine.known_places()
        if not places:
            return sizes, {}
        values = {i: arrays[i] for i in places}
        return sizes + tuple((i, *v.reshape(-1).tolist()) for i, v in values.items()), values

    def _make(
        self, key: Key, sizes: Shapes, values: dict[int, Any], slots: list[Slot], cancel: Any
    ) -> Action:
        """Compile, and tell the machine what came of it."""
        region, held = self.region, sizes[len(self.inputs) :]
        types = {k: (n, s.dtype.base) for k, n, s in zip(self.slots.keys, held, slots)}
        try:
            found = self.compiled.compile(key, types, cancel, values)
        except Declined as refusal:
            plan, asked = self.program.plan, refusal.asked
            deciding = {n: region.deciding(n, asked.get(n, ()), plan, sizes) for n in refusal.reasons}
            return self.machine.declined(refusal.reasons, deciding)
        if found is None:
            return self.machine.broken(key)
        self.machine.is_open = bool(self.compiled.open) and not self.compiled.is_closed
        results = found.program.results
        places = zip(region.outputs, found.outputs)
        few = [e for e, place in places if isinstance(place, int) and results[place].is_few]
        return self.machine.compiled(key, Binding(found, self.slots.keys), few)

    def leave_arrays(self, given: Given) -> None:
        """Loops and branches that use an array from outside of the piece are the host's."""
        users = self.slots.users_of_arrays(given)
        if users:
            self.program.lessons.decline(users, "an array from elsewhere")
            self.program.cut()

    def _traced(
        self, binding: Binding, arrays: list[Any], slots: list[Slot], sizes: Shapes, step: Step
    ) -> list[Any] | None:
        ticks = binding.program.new_times()
        start = time.time()
        outputs = binding.run(arrays, slots, sizes, step.cancel, ticks)
        if outputs is not None:
            step.trace.region(self.region, binding.program, ticks, start, time.time())
        return outputs

    # -- outputs -----------------------------------------------------------------------------
    def value(self, output: Any, place: int) -> Any:
        """An output as a value: of a variable, what it holds now."""
        slots, binding = self.slots.found, self.binding
        if output is not HANDLE or slots is None or binding is None:
            return output
        key: Any = binding.outputs[place]
        return slots.slots[self.slots.keys.index(key)].value

    def deliver(self, outputs: list[Any], registers: list[Any], step: Step) -> None:
        for place, (register, value) in enumerate(zip(self.outputs, outputs)):
            registers[register] = value if value is not HANDLE else self._reference(place, registers, step)

    def _reference(self, place: int, registers: list[Any], step: Step) -> Any:
        """The reference or handle that is this output: that of the variable which the program names."""
        assert self.binding is not None
        key: Any = self.binding.outputs[place]
        source = self.slots.sources[self.slots.keys.index(key)]
        if isinstance(source, Edge):
            return registers[self.program.registers[source]]
        return self.program.kernel(source)([], step)[0]

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
        self.machine.interpreted()
