"""Pieces as compiled regions and host kernels, in one straight sequence.

Values live in numbered registers, as in runtime.straight.  A region is one native call; while it is not
compiled (or cannot be) its nodes run one by one on the reference.  With HEADRACE_VERIFY=1 the reference
runs beside every region and the results are compared.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from concurrent.futures import Future
from contextlib import ExitStack
from typing import Any

import numpy as np

from headrace.codegen.compiled import CompiledRegion, contiguous
from headrace.codegen.regions import Cutter, Key, Region, describe
from headrace.codegen.specialize import Declined, Specialized
from headrace.core import options
from headrace.core.errors import at
from headrace.ops.resources import Handle, Slot
from headrace.plan.plan import Edge, Plan, PlanNode
from headrace.runtime.kernel import Call, kernel_of
from headrace.runtime.step import Step


class MixedProgram:
    """A straight piece.  `declined` grows when a node turns out not to compile; then it is cut anew."""

    def __init__(self, piece: Plan) -> None:
        self.plan = piece
        edges = (Edge(n.name, i) for n in piece.nodes.values() for i in range(len(n.outputs)))
        self.registers = {edge: i for i, edge in enumerate(edges)}
        self.arguments = [self.registers[Edge(name, 0)] for name in piece.feeds]
        self.results = [self.registers[e] for e in piece.fetches]
        self.declined: dict[str, str] = {}
        self.kernels: dict[str, Call] = {}
        self.cut()

    def cut(self) -> None:
        cutter = Cutter(self.plan, self.declined)
        units = cutter.units()
        for edges in ((e for n in self.plan.nodes.values() for e in n.inputs), self.plan.fetches):
            for e in edges:
                if self.plan.dtype(e).is_ref or self.plan.dtype(e).base.kind == "r":
                    cutter.key(e)
        options.show("regions", describe(units, self.declined))
        self.units: list[RegionUnit | HostUnit] = [
            RegionUnit(self, u, cutter) if isinstance(u, Region) else HostUnit(self, u)
            for u in units
        ]
        self._free_early()

    def _free_early(self) -> None:
        """Each unit empties the registers that nobody reads after it."""
        kept = set(self.results)
        for unit in reversed(self.units):
            unit.dead = [r for r in dict.fromkeys((*unit.reads, *unit.writes)) if r not in kept]
            kept |= set(unit.reads)

    def run(self, step: Step, arguments: Sequence[Any]) -> list[Any]:
        registers: list[Any] = [None] * len(self.registers)
        for index, value in zip(self.arguments, arguments):
            registers[index] = value
        cancel = step.cancel
        for unit in self.units:
            if cancel.reason is not None:
                raise cancel.reason
            unit.run(registers, step)
            for index in unit.dead:
                registers[index] = None
        return [self._result(registers[i], e) for i, e in zip(self.results, self.plan.fetches)]

    def _result(self, value: Any, edge: Edge) -> Any:
        if isinstance(value, Slot):
            try:
                return value.read()
            except Exception as error:
                raise at(error, self.plan.nodes[edge.node]) from None
        return value

    def kernel(self, node: PlanNode) -> Call:
        found = self.kernels.get(node.name)
        if found is None:
            found = kernel_of(node, [self.plan.dtype(e) for e in node.inputs])
            self.kernels[node.name] = found
        return found

    def call(self, node: PlanNode, registers: list[Any], step: Step) -> None:
        """One node on the host."""
        try:
            inputs = [registers[self.registers[e]] for e in node.inputs]
            if step.trace is not None:
                with step.trace.kernel(node):
                    values = self.kernel(node)(inputs, step)
            else:
                values = self.kernel(node)(inputs, step)
            if type(values) is not tuple and isinstance(values, Future):
                values = values.result()
            for index, value in enumerate(values):
                held = value.result() if isinstance(value, Future) else value
                registers[self.registers[Edge(node.name, index)]] = held
        except BaseException as error:
            raise at(error, node) from error.__cause__


class HostUnit:
    """A node that the host runs."""

    def __init__(self, program: MixedProgram, node: PlanNode) -> None:
        self.program, self.node = program, node
        self.reads = [program.registers[e] for e in node.inputs]
        self.writes = [program.registers[Edge(node.name, i)] for i in range(len(node.outputs))]
        self.dead: list[int] = []

    def run(self, registers: list[Any], step: Step) -> None:
        self.program.call(self.node, registers, step)


class RegionUnit:
    """Nodes that are one native call."""

    def __init__(self, program: MixedProgram, region: Region, cutter: Cutter) -> None:
        self.program, self.region = program, region
        self.compiled = CompiledRegion(program.plan, region, cutter)
        self.inputs = [program.registers[e] for e in region.inputs]
        self.outputs = [program.registers[e] for e in region.outputs]
        self.sources = list(region.variables.items())
        handles = [program.registers[s] for _, s in self.sources if isinstance(s, Edge)]
        inner = [e for n in region.nodes for e in n.inputs]
        self.reads = [*self.inputs, *handles, *(program.registers[e] for e in inner)]
        self.writes = [
            program.registers[Edge(n.name, i)] for n in region.nodes for i in range(len(n.outputs))
        ]
        self.dead: list[int] = []

    def run(self, registers: list[Any], step: Step) -> None:
        slots = [self.slot(source, registers, step) for _, source in self.sources]
        if any(s is None or s.value is None for s in slots) or len(set(slots)) < len(slots):
            self.interpret(registers, step)
            return
        arrays = contiguous([registers[i] for i in self.inputs])
        shapes = (*(a.shape for a in arrays), *(s.value.shape for s in slots))
        try:
            found = self.compiled.programs.get(shapes) or self.specialized(shapes, slots)
        except Declined as reason:
            self.program.declined[reason.node.name] = reason.reason
            self.interpret(registers, step)
            self.program.cut()
            return
        if found is None:
            self.interpret(registers, step)
        elif options.verify():
            self.run_both(found, arrays, slots, registers, step)
        else:
            self.execute(found, arrays, slots, registers, step)

    def specialized(self, shapes: Any, slots: list[Slot]) -> Specialized | None:
        held = {
            key: (slot.value.shape, slot.dtype.base) for (key, _), slot in zip(self.sources, slots)
        }
        return self.compiled.program_for(shapes, held)

    def slot(self, source: PlanNode | Edge, registers: list[Any], step: Step) -> Slot | None:
        if isinstance(source, Edge):
            value = registers[self.program.registers[source]]
        else:
            edge = self.program.registers[Edge(source.name, 0)]
            value = registers[edge] = self.program.kernel(source)([], step)[0]
        if isinstance(value, Handle):
            value = value.target
        return value if isinstance(value, Slot) else None

    def execute(
        self,
        found: Specialized,
        arrays: list[Any],
        slots: list[Slot],
        registers: list[Any],
        step: Step,
    ) -> None:
        by_key: dict[Key, Slot] = {k: s for (k, _), s in zip(self.sources, slots)}
        updated = [by_key[k] for k in found.updated]
        with ExitStack() as held:
            for slot in sorted(updated, key=id):
                held.enter_context(slot.lock)
            free = [_is_free(slot) for slot in updated]
            values = [by_key[k].value for k in found.variables]
            outputs, news = found.program.run([*arrays, *values], free)
            for slot, value in zip(updated, news):
                slot.value = value
        for edge, register, place in zip(self.region.outputs, self.outputs, found.outputs):
            if isinstance(place, int):
                registers[register] = outputs[place]
            elif self.program.plan.dtype(edge).is_ref:
                registers[register] = by_key[place]
            elif registers[register] is None:  # a handle
                node = self.program.plan.nodes[edge.node]
                registers[register] = self.program.kernel(node)([], step)[0]

    def interpret(self, registers: list[Any], step: Step) -> None:
        for node in self.region.nodes:
            self.program.call(node, registers, step)

    # -- verification ------------------------------------------------------------------------
    def run_both(
        self,
        found: Specialized,
        arrays: list[Any],
        slots: list[Slot],
        registers: list[Any],
        step: Step,
    ) -> None:
        """The reference first; then the program from the same state; then compare both."""
        before = [np.array(s.value) for s in slots]
        reference = list(registers)
        self.interpret(reference, step)
        wanted = [s.value for s in slots]
        for slot, value in zip(slots, before):
            slot.value = value
        del before
        self.execute(found, arrays, slots, registers, step)
        for (key, _), slot, value in zip(self.sources, slots, wanted):
            _compare(slot.value, value, str(key[-1]))
        for edge, register in zip(self.region.outputs, self.outputs):
            _compare(registers[register], reference[register], str(edge))


def _is_free(slot: Slot) -> bool:
    value = slot.value
    return sys.getrefcount(value) <= _FREE and value.flags.writeable and value.flags.owndata


def _count_when_free() -> int:
    class Holder:
        value = np.zeros(1)

    holder = Holder()
    holder.value = np.zeros(1)
    value = holder.value
    return sys.getrefcount(value)


_FREE = _count_when_free()
_TOLERANCE = {"f": 1e-4, "V": 5e-2}


def _compare(got: Any, want: Any, name: str) -> None:
    """A compiled value against the reference's."""
    if not isinstance(want, np.ndarray) or want.dtype == object:
        return
    assert got.dtype == want.dtype and got.shape == want.shape, (name, got.shape, want.shape)
    if want.dtype.kind in "fV" or (want.dtype.itemsize == 2 and want.dtype.kind not in "iub"):
        wide, other = got.astype(np.float64), want.astype(np.float64)
        loose = 5e-2 if want.dtype.itemsize == 2 else 1e-4 if want.dtype.itemsize == 4 else 1e-8
        scale = np.abs(other[np.isfinite(other)]).max(initial=0.0)
        np.testing.assert_allclose(
            wide, other, rtol=loose, atol=loose * max(scale, 1e-30), err_msg=f"compiled {name}"
        )
    else:
        np.testing.assert_array_equal(got, want, err_msg=f"compiled {name}")
