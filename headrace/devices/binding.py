"""A program with the variables of one session: what is locked, what changes in place, what is the
user's own."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from headrace.codegen.compiled import Shapes
from headrace.codegen.machine.refusals import CheckFailed
from headrace.core import forks
from headrace.core.ownership import holders, is_changeable
from headrace.ops.declaration.resources import Slot
from headrace.runtime.cancel import acquire, release

if TYPE_CHECKING:
    from headrace.codegen.program.program import Specialized

HANDLE: Any = object()  # stands for an output that is a variable


class Slots:
    """A region's variables in one session, until that forgets one."""

    __slots__ = ("generation", "resources", "slots")

    def __init__(self, resources: Any, generation: int, slots: list[Slot]) -> None:
        self.resources, self.generation, self.slots = resources, generation, slots

    def are_of(self, resources: Any) -> bool:
        return self.resources is resources and self.generation == resources.generation


class Binding:
    """A program, and which of a region's slots it reads and writes."""

    def __init__(self, found: Specialized, keys: list[Any]) -> None:
        self.program, self.outputs = found.program, found.outputs
        self.plain = all(isinstance(place, int) for place in found.outputs)
        self.in_order = found.outputs == list(range(len(found.outputs)))
        self.variables = [keys.index(k) for k in found.variables]
        self.updated = [keys.index(k) for k in found.updated]
        self.keys = keys
        self.nbytes = self.program.nbytes

    def run(
        self, arrays: list[Any], slots: list[Slot], shapes: Shapes, cancel: Any, ticks: Any = None
    ) -> list[Any] | None:
        """The outputs; None where a variable has got another shape meanwhile."""
        changed = [slots[i] for i in self.updated]
        # Locks in one order for everybody, so that two steps never wait for each other.
        locks = [s.lock for s in sorted(changed, key=id)]
        acquire(locks, cancel)
        try:
            values = [plain(s.value) for s in slots]
            if any(v is None or v.shape != n for v, n in zip(values, shapes[len(arrays) :])):
                return None
            arrays += [values[i] for i in self.variables]
            news = [values[i] for i in self.updated]
            # Out of the slot, which held one reference: if only ours is left, nobody else has
            # the array, and it may be updated in place.  Readers wait until it is back.
            for slot in changed:
                del slot.value
            try:
                del values
                free = [_is_free(news, k) for k in range(len(news))]
                outputs, news = self.program.run(arrays, free, cancel, ticks)
            finally:
                for slot, value in zip(changed, news):
                    slot.value = value
        finally:
            release(locks)
        if self.in_order:
            return outputs
        return [outputs[p] if isinstance(p, int) else HANDLE for p in self.outputs]


class Quick:
    """A step that is one program, with the variables of one session: nothing is looked up."""

    def __init__(
        self, binding: Binding, slots: Slots, inputs: list[int], results: list[int], fed: int
    ) -> None:
        self.binding, self.slots, self.program = binding, slots, binding.program
        held = slots.slots
        self.variables = [held[i] for i in binding.variables]
        self.changed = [held[i] for i in binding.updated]
        first = len(inputs)
        self.places = [(s, first + self.variables.index(s)) for s in self.changed]
        self.locks = [s.lock for s in sorted(self.changed, key=id)]
        self.lock = self.locks[0] if len(self.locks) == 1 else None
        self.order = None if inputs == list(range(fed)) else inputs
        self.takes = [self.take(place) for place in results]

    def take(self, place: int) -> Callable[[list[Any]], Any]:
        """How a fetched value is found, as the user's own."""
        place_or_key = self.binding.outputs[place]
        if not isinstance(place_or_key, int):
            slot = self.slots.slots[self.binding.keys.index(place_or_key)]
            return lambda arrays: _given(slot.value)
        program, result = self.program, self.program.results[place_or_key]
        number, shape = result.number, result.shape
        if result.group == "news":
            number = program.writes[number][0]
        if result.group == "constant":
            return lambda arrays: _given(result.constant)
        if result.group == "fresh":
            number += len(program.inputs)
            if shape == program.fresh[result.number][0]:
                if shape == ():
                    return lambda arrays: arrays[number][()]
                return lambda arrays: arrays[number]
            if shape == ():
                return lambda arrays: result.shown(arrays[number])[()]
            return lambda arrays: result.shown(arrays[number])
        if program.inputs[number][0] == shape:
            return lambda arrays: _given(arrays[number])
        return lambda arrays: _given(result.shown(arrays[number]))

    def run(self, resources: Any, values: list[Any], cancel: Any) -> list[Any] | None:
        """The fetched values; None where this step must go the long way."""
        slots, lock = self.slots, self.lock
        if slots.resources is not resources or slots.generation != resources.generation:
            return None
        arrays = values if self.order is None else [values[i] for i in self.order]
        if lock is None or forks.pending or not lock.acquire(False):
            acquire(self.locks, cancel)
        try:
            for slot in self.variables:
                arrays.append(slot.value)
            for slot in self.changed:  # see Binding.run
                del slot.value
            try:
                if not self.program.run_checked(arrays, cancel):
                    return None
            except CheckFailed:
                return None
            finally:
                for slot, place in self.places:
                    slot.value = arrays[place]
            return [take(arrays) for take in self.takes]
        finally:
            if lock is None:
                release(self.locks)
            else:
                lock.release()


def _given(value: Any) -> Any:
    """A value that others hold too, for the user."""
    return value.copy() if value.ndim else value[()]


def _is_free(values: list[Any], place: int) -> bool:
    """Whether only this run holds the array, among its arguments and here: then it may change."""
    is_sole = holders(values, place) <= 2
    array = values[place]
    return is_sole and is_changeable(array) and bool(array.flags.c_contiguous)


def plain(value: Any) -> Any:
    """An array as native code reads it."""
    if type(value) is np.ndarray and value.flags.c_contiguous and value.flags.aligned:
        return value
    return None if value is None else np.array(value, order="C")
