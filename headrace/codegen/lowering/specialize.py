"""Region + concrete shapes -> program.

Walks the nodes in order: shapes come from the shape rules, values that follow from shapes are
computed now by the reference, everything else is lowered to stages or library calls.  A variable
is its current value; an update gives it a new one.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from math import isfinite
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from headrace.codegen.assembly import arena_estimate
from headrace.codegen.assembly.assemble import assemble
from headrace.codegen.assembly.open_program import OpenProgram, OpenSpecialized
from headrace.codegen.convolution import layouts, library, packing
from headrace.codegen.ir import complex_numbers
from headrace.codegen.ir.complex_numbers import Operand, Planes, is_complex
from headrace.codegen.ir.kernel_ir import Array
from headrace.codegen.ir.order import Moment
from headrace.codegen.ir.stages import Called, Update
from headrace.codegen.lowering import complex_rules, control, deep_products, fallback, unique_rows
from headrace.codegen.lowering.lower import Emitter, lower
from headrace.codegen.lowering.probe import Probe
from headrace.codegen.lowering.trip_count import Trips
from headrace.codegen.machine import faults
from headrace.codegen.machine.refusals import NEVER, Cancel, Declined
from headrace.codegen.program.arenas import ARENAS
from headrace.codegen.program.packed_weights import Packing
from headrace.codegen.program.program import NativeProgram, Specialized
from headrace.codegen.regions import array_ops
from headrace.codegen.regions.regions import Key, Region, generator_key, is_draw, is_nothing
from headrace.core.dtypes import DType, NDArray
from headrace.core.errors import KERNEL_ERRORS, OpError
from headrace.core.fields import reads
from headrace.core.shapes import Shape, make_shape
from headrace.core.sizes import Pinned, Trace, hinted, settled, whole
from headrace.ops.declaration.building.build import group
from headrace.ops.declaration.declare import wanted
from headrace.ops.declaration.emit import Decline, LibraryCall
from headrace.ops.declaration.in_region import InRegion
from headrace.ops.declaration.shape_rules import Input
from headrace.ops.declaration.traits import CONSTANT, ELEMENTWISE, IDENTITY, STATEFUL, VARIABLE
from headrace.plan.plan import Edge, Plan, PlanNode, is_handle
from headrace.plan.units import is_unit

KNOWN_LIMIT = 4096  # elements of a value that is computed when the program is made


# What a rule says of values that it cannot take: the node then fails in its own place, if it fails.
_REFUSALS = (Decline, OpError, MemoryError)
# What a reference says of open sizes that it cannot compute with.
_NOT_OPEN: tuple[type[Exception], ...] = (Pinned, AttributeError, *KERNEL_ERRORS)


Given = Array | Key  # a value, or the name of what a handle leads to


class Concrete(Input):
    """What a shape rule sees: all sizes, and the value where it is known."""

    __slots__ = ("array", "held")

    array: Operand
    held: tuple[DType, Shape] | None

    @staticmethod
    def make(array: Operand, dtype: DType, held: tuple[DType, Shape] | None) -> Concrete:
        view = object.__new__(Concrete)
        view._sizes, view.dtype, view._tensor = array.shape, dtype, None
        view.array, view.held = array, held
        if held is not None:
            view._sizes = ()
        return view

    value: NDArray | None = reads("array.value")

    @property
    def as_sizes(self) -> tuple[int | None, ...] | None:
        known = self.array.value
        if known is None:
            return None
        return tuple(None if n < 0 else whole(n) for n in known.reshape(-1))

    handle: tuple[DType, Shape] | None = reads("held")


class Specializer:
    def __init__(
        self,
        plan: Plan,
        region: Region,
        keys: dict[Edge, Key],
        cancel: Cancel = NEVER,
        trace: Trace | None = None,
    ) -> None:
        """`trace`: that of the open sizes among the shapes that it will get; None: all are plain numbers."""
        self.trace = trace
        self.plan, self.region, self.keys, self.cancel = plan, region, keys, cancel
        self.emitter = Emitter()
        self.emitter.specializer = self
        self.values: dict[Edge, Array] = {}
        self.first: dict[Key, Array] = {}
        self.current: dict[Key, Array] = {}
        self.arrays: dict[Key, array_ops.Held] = {}  # what handles of arrays and stacks lead to
        self.trips: list[Trips] = []  # of the loops around
        self.branches: list[Moment] = []  # when the branches around begin
        self.upper: dict[Array, int] = {}  # bounds of scalars
        self.planes: dict[Array, Planes] = {}  # complex arrays whose parts are known

    def run(
        self,
        shapes: Sequence[tuple[int, ...]],
        held: dict[Key, tuple[tuple[int, ...], DType]],
        values: dict[int, NDArray],
    ) -> Specialized | OpenSpecialized:
        """`values` of inputs, by place, are built into the program."""
        inputs = []
        for i, (edge, shape) in enumerate(zip(self.region.inputs, shapes)):
            array = complex_numbers.boundary(shape, self.plan.dtype(edge), edge.node)
            if i in values:
                array.value = np.array(values[i])
            self.values[edge] = array
            inputs.append(array)
        for key, (shape, dtype) in held.items():
            array = complex_numbers.boundary(shape, dtype, str(key[-1]))
            self.first[key] = self.current[key] = array
        self.add_all()
        self.check_outputs()
        return self.assembled(inputs)

    def add_all(self) -> None:
        """Walk the region.  Nodes behind one that is declined are skipped, the others tried."""
        declined: dict[str, str] = {}
        asked: dict[str, list[int]] = {}
        missing: set[str] = set()
        is_fault = False
        for node in self.region.nodes:
            if self.cancel.reason is not None:
                raise self.cancel.reason
            self.emitter.node = node
            if any(e.node in missing for e in node.inputs):
                missing.add(node.name)
                continue
            try:
                self.add(node)
            except Exception as e:
                if e is self.cancel.reason:
                    raise
                missing.add(node.name)
                declined[node.name] = f"{type(e).__name__}: {e}"
                if isinstance(e, Decline) and (places := self.asked(node)):
                    asked[node.name] = places
                if not isinstance(e, _REFUSALS):  # a fault in one rule is not one of the others
                    is_fault = True
                    faults.report(f"{node.name} ({node.op.name})", e)
        if declined:
            raise Declined(declined, is_fault, asked)

    def asked(self, node: PlanNode) -> list[int]:
        """The operands of a declined node whose values its rules ask for, though they are not known."""
        if is_unit(node) or node.op.region_role is not None or VARIABLE in node.op.traits:
            return []
        e = self.emitter
        updates, checks, effects = len(e.updates), len(e.checks), len(e.effects)
        operands = [self.operand(edge) for edge in node.inputs]
        probes = [Probe.of(t) if isinstance(t, Array) and t.value is None else t for t in operands]
        with suppress(Exception):  # it was reported, if it was a fault
            self.lowered(node, probes)
        del e.updates[updates:], e.checks[checks:], e.effects[effects:]
        return [i for i, t in enumerate(probes) if isinstance(t, Probe) and t.is_asked]

    def check_outputs(self) -> None:
        """A branch that is known not to be taken gives nothing, and a program always gives the same."""
        absent = {e.node for e in self.region.outputs if e not in self.values and e not in self.keys}
        if absent:
            raise Declined(dict.fromkeys(absent, "a side that never runs gives a value to another region"))

    def assembled(self, inputs: list[Array]) -> Specialized | OpenSpecialized:
        """The walked region as a program. Variables come behind the inputs, packed weights behind those;
        a second program makes these from variables that the region does not change. The arena's pages are
        prefaulted while the first is made."""
        changed = [k for k, t in self.current.items() if t is not self.first[k]]
        updates = [Update(self.first[k], self.current[k]) for k in changed]
        outputs: list[Array] = []
        found: list[int | Key] = []
        for edge in self.region.outputs:
            if is_handle(self.plan.dtype(edge)):
                found.append(self.keys[edge])
            else:
                found.append(len(outputs))
                outputs.append(complex_numbers.show(self.values[edge], self.plan.dtype(edge)))
        variables = list(self.first)
        everything = [*inputs, *(self.first[k] for k in variables)]
        # What was asked to run, but for what lies on a side that is known not to.
        kept = [self.values[edge] for edge in self.region.kept if edge in self.values]
        roots = [*outputs, *kept, *(u.value for u in updates), *self.emitter.effects]
        free = {self.first[k] for k in variables if k not in changed}
        packed = packing.pack(roots, free)
        layouts.assign([*roots, *(t for c in self.emitter.checks for t in (c.bad, c.value) if t)])
        packed.measure()
        with ARENAS.expecting(arena_estimate.at_least(roots, updates)):
            program = assemble(
                [*everything, *packed.given],
                outputs,
                updates,
                self.emitter.checks,
                kept,
                self.cancel,
                self.emitter.effects,
                self.trace,
            )
        if packed.given:
            places = packing.places_of(packed.made, everything)
            first = assemble([everything[p] for p in places], packed.made, [], [])
            assert isinstance(first, NativeProgram)
            program.packing = Packing(first, places)
        if isinstance(program, OpenProgram):
            return OpenSpecialized(program, variables, changed, found)
        return Specialized(program, variables, changed, found)

    # -- nodes -------------------------------------------------------------------------------
    def add(self, node: PlanNode) -> None:
        """The stages of one node.  What is known already (constants, values that follow from
        shapes) is computed by the reference and needs no code."""
        if VARIABLE in node.op.traits or is_nothing(node):
            return
        if is_unit(node):
            control.add(self, node)
            return
        if node.op.region_role in array_ops.RULES:
            array_ops.RULES[node.op.region_role](self, node)
            return
        if CONSTANT in node.op.traits:
            value = np.asarray(node.attrs["value"].array)
            self.keep(Edge(node.name, 0), _constant(value, node.outputs[0].dtype, node.name))
            return
        operands = [self.operand(e) for e in node.inputs]
        if IDENTITY in node.op.traits:
            self.keep(Edge(node.name, 0), operands[0])
            return
        known = self.known(node, operands)
        if known is None and node.op.region_role is InRegion.DISTINCT:
            unique_rows.add(self, node)
            return
        results = known if known is not None else self.lowered(node, operands)
        self.note_updates()
        self.note_bound(node, operands, results)
        for index, (output, array) in enumerate(zip(node.outputs, results)):
            if not is_handle(output.dtype):
                kept = self.keep(Edge(node.name, index), array)
                if not kept.name and kept.source is not None:
                    kept.name = node.name
            elif (named := self.named_by(node)) is not None:
                self.keys.setdefault(Edge(node.name, index), named)

    def named_by(self, node: PlanNode) -> Key | None:
        """The key of the variable that a node passes on: its output is the same reference."""
        handles = (e for e in node.inputs if is_handle(self.plan.dtype(e)))
        return next((self.keys.get(e) for e in handles), None)

    def keep(self, edge: Edge, value: Operand) -> Array:
        """The array of an edge; of a complex one that in which both parts stand."""
        if isinstance(value, Planes):
            self.planes[value.whole] = value
            value = value.whole
        self.values[edge] = value
        return value

    def operand(self, edge: Edge) -> Operand:
        """The array, or, if it is complex, its parts."""
        dtype = self.plan.dtype(edge)
        found = self.given(edge)
        array = found if isinstance(found, Array) else self.current[found]
        if not is_complex(array.outer[1] if array.outer else dtype):
            return array
        return self.planes.get(array) or complex_numbers.split(array)

    def array(self, edge: Edge) -> Array:
        """A value, where a handle would make no sense."""
        found = self.given(edge)
        if not isinstance(found, Array):
            raise Decline("a handle in the place of a value")
        return found

    def put(self, edge: Edge, value: Given | None) -> None:
        """Note what an edge is; None: its branch is known not to run."""
        if isinstance(value, Array):
            self.values[edge] = value
        elif value is not None:
            self.keys[edge] = value

    def given(self, edge: Edge) -> Given:
        """A value, or the key of what a handle names."""
        found = self.given_or_none(edge)
        if found is None:
            raise Decline(f"{edge.node} is known not to run, its user is not")
        return found

    def given_or_none(self, edge: Edge) -> Given | None:
        """None where a value is missing because its branch is known not to run."""
        found = self.keys if is_handle(self.plan.dtype(edge)) else self.values
        return found.get(edge)

    def room_since(self, moment: Moment) -> int | None:
        """The most iterations of all loops together that began after `moment`; None: no bound is known."""
        room = 1
        for trips in self.trips:
            if trips.first > moment:
                if trips.most is None:
                    return None
                room *= trips.most
        return room

    def times_since(self, moment: Moment) -> int | None:
        """The exact trip count of all loops together that began after `moment`; None where it is not
        known, where there is no such loop, or where a branch is in between."""
        around = [trips for trips in self.trips if trips.first > moment]
        if not around or any(first > moment for first in self.branches):
            return None
        return self.room_since(moment) if all(t.is_exact for t in around) else None

    def note_bound(self, node: PlanNode, operands: list[Operand], results: list[Operand]) -> None:
        rule, found = node.op.upper_rule, results[0] if results else None
        if rule is not None and isinstance(found, Array) and found.shape == () and found.value is None:
            bounds = [self.bound_of(t) for t in operands]
            if (most := rule(*bounds)) is not None:
                self.upper[found] = most

    def bound_of(self, operand: Operand) -> int | None:
        """An upper bound of a scalar, or its value where that is known."""
        if operand.value is not None:
            value = operand.value.item()
            return None if isinstance(value, float) and not isfinite(value) else whole(value)
        return self.upper.get(operand) if isinstance(operand, Array) else None

    def note_updates(self) -> None:
        for update in self.emitter.updates:
            for key, array in self.current.items():
                if array is update.variable:
                    self.current[key] = update.value
                    update.value.outer = array.outer
                    if not update.value.name and update.value.source is not None and self.emitter.node:
                        update.value.name = self.emitter.node.name
                    break
            else:
                raise Decline("an update of something that is no variable")
        self.emitter.updates.clear()

    def known(self, node: PlanNode, operands: list[Operand]) -> list[Operand] | None:
        """Outputs that follow from known values: computed now, by the reference."""
        op = node.op
        if STATEFUL in op.traits or op.wants_context or op.reference is None or not operands:
            return None
        if any(t.value is None or t.count > KNOWN_LIMIT for t in operands):
            return None
        if any(is_handle(self.plan.dtype(e)) for e in node.inputs):
            return None
        has_open = any(t.value is not None and t.value.dtype == object for t in operands)
        if has_open and not all(o.dtype.is_integer or o.dtype.is_bool for o in node.outputs):
            return None  # open sizes as other numbers: computed when the program runs
        values = [t.value for t in operands]
        if has_open:
            values = [hinted(t.value, t.dtype.base.numpy) for t in operands]
        try:
            found = computed(node, values)
        except KERNEL_ERRORS as error:  # it fails in its own place, with its own line, when it runs
            raise Decline(f"the reference says {error!r}") from error
        if has_open:
            opened = self.computed_open(node, operands, found)
            if opened is None:
                return None
            found = opened
        return [_constant(v, output.dtype, node.name) for v, output in zip(found, node.outputs)]

    def computed_open(
        self, node: PlanNode, operands: list[Operand], now: list[NDArray]
    ) -> list[NDArray] | None:
        """What the reference makes of open sizes, where it gives the numbers of `now` for those of now.
        None: it needs the numbers themselves, or sees no integers in an array of objects; then the
        op is computed when the program runs."""
        assert self.trace is not None
        try:
            with self.trace.without_pins():
                found = computed(node, [t.value for t in operands])
        except _NOT_OPEN:
            return None
        same = (np.array_equal(hinted(f, n.dtype), n) for f, n in zip(found, now))
        return found if all(same) else None

    def lowered(self, node: PlanNode, operands: list[Operand]) -> list[Operand]:
        """By a library call where the op has one that accepts these operands, else by its rule.
        The shape that the rule gives must be the one that the shape rule demands: a difference
        declines the node, and the reference runs it."""
        op, attrs = node.op, dict(node.attrs)
        shapes = self.shapes(node, operands)
        arguments = group(operands, op, attrs)
        if is_draw(node):
            arguments = [self.current[generator_key(node)], *arguments]
        known = [s for s in shapes if s is not None]
        made: list[Operand] | None = None
        real = [t for t in operands if isinstance(t, Array)]
        mixed = len(real) < len(operands)
        if op.library_rules and len(known) == len(shapes):
            if mixed:
                made = [complex_rules.product(self.emitter, op, arguments, attrs, known[0])]
            else:
                made = self.called(node, real, arguments, known)
        if made is None:
            if op.lower_rule is None:
                raise Decline("no rule compiles this")
            if ELEMENTWISE in op.traits and len(known) < len(shapes):
                raise Decline("the shape of the result depends on values")
            mixed = mixed or any(is_complex(o.dtype) for o in node.outputs)
            if mixed:
                made = complex_rules.lower(self.emitter, op, arguments, attrs, known)
            else:
                made = [*lower(self.emitter, op, arguments, attrs, known)]
        for array, output, shape in zip(made, node.outputs, shapes):
            if is_handle(output.dtype):
                continue
            if shape is not None and array.shape != shape:
                raise Decline(f"the rule gives {list(array.shape)}, the shape is {list(shape)}")
            # The caller's array has room for the declared type: another would be written beyond it.
            if array.dtype.numpy != output.dtype.base.numpy:
                raise Decline(f"the rule gives {array.dtype.name}, the type is {output.dtype.name}")
        return made

    def shapes(self, node: PlanNode, operands: list[Operand]) -> list[tuple[int, ...] | None]:
        """Concrete shapes of the outputs, None where the shape rule does not know; it also refuses
        what does not fit."""
        inputs = []
        for edge, array in zip(node.inputs, operands):
            dtype = self.plan.dtype(edge)
            held = (array.dtype, make_shape(array.shape)) if dtype.base.kind == "r" else None
            inputs.append(Concrete.make(array, dtype.base, held))
        attrs = dict(node.attrs)
        wants = {w: attrs[w] for w in node.op.shape_wants}
        try:
            found = node.op.shape_rule(*group(inputs, node.op, attrs), **wants)
        except ValueError as error:  # what a user is told who builds such a graph
            raise Decline(str(error)) from error
        shapes: list[tuple[int, ...] | None] = []
        for s in [found] if isinstance(found, Shape) else found:
            sizes = s._sizes
            known = () if sizes is None else tuple(n for n in sizes if n is not None)
            shapes.append(known if sizes is not None and len(known) == len(sizes) else None)
        return shapes

    def called(
        self, node: PlanNode, operands: list[Array], arguments: list[Any], shapes: list[tuple[int, ...]]
    ) -> list[Operand] | None:
        """The op as a library call, if a library does it."""
        outputs = [Array(s, o.dtype.base) for s, o in zip(shapes, node.outputs)]
        for rule in node.op.library_rules.values():
            attrs = {name: node.attrs[name] for name in wanted(rule, node.op.signature)}
            try:
                call = rule(*arguments, *outputs, **attrs)
            except Decline:
                continue
            if not isinstance(call, LibraryCall):
                continue
            if library.choose(call) is not None:
                source = deep_products.split(call) or Called(call, tuple(operands))
                for out in outputs:
                    out.source = source
                return [*outputs]
            if node.op.lower_rule is None and len(outputs) == 1:
                return [fallback.lower(self.emitter, call)]
        return None


def computed(node: PlanNode, values: list[Any]) -> list[NDArray]:
    """What the reference makes of these values; integers that are open stay objects."""
    attrs = dict(node.attrs)
    with np.errstate(all="ignore"):
        results = node.op.compute(group(values, node.op, attrs), attrs)
        if len(node.outputs) == 1 and not isinstance(results, (list, tuple)):
            results = (results,)
        flat: list[ArrayLike] = []
        for r in results:
            flat.extend(r if isinstance(r, (list, tuple)) else [r])
        return [settled(np.asarray(v), output.dtype.numpy) for v, output in zip(flat, node.outputs)]


def _constant(value: NDArray, dtype: DType, name: str) -> Operand:
    if is_complex(dtype):
        return complex_numbers.known(value, dtype, name)
    return Array(value.shape, dtype, value=value, name=name)
