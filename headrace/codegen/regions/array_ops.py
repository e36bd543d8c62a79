"""Tensor arrays and stacks inside of a region: plain memory of known size.

An array is created, written, read and forgotten within one region, so its handle is a key here, and
what the handle leads to is known: `ArrayValue`, `StackValue`.  Flows are zeros: the order of the plan
is the order of effects.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from headrace.codegen.ir.kernel_ir import I64, Array, Compute, Var, size, var
from headrace.codegen.ir.order import Moment
from headrace.codegen.ir.stages import Cell, Row, Stacked, Temporary, Zeroed
from headrace.codegen.program.native_control import ADD, LOOK, LOOK_SOME, PUT, SUM, TAKE, TAKE_SOME
from headrace.codegen.program.program import Key
from headrace.core import dtypes
from headrace.core.dtypes import DType
from headrace.core.shapes import make_shape
from headrace.core.sizes import is_open, same, vector, whole
from headrace.ops.declaration.emit import Decline
from headrace.ops.declaration.in_region import InRegion
from headrace.plan.plan import Edge, PlanNode


@dataclass(frozen=True, slots=True, eq=False)
class ArrayValue:
    """What is known of a tensor array."""

    dtype: DType
    size: int
    flags: Array
    shape: tuple[int, ...] | None  # of an element, once known
    memory: Array | None = None
    is_whole: bool = False  # the memory is that of a value which has all cells
    is_sum: bool = False  # the array of a gradient
    clears: bool = True  # a cell is read once
    is_uniform: bool = False  # all elements have the shape of the first one that is written
    grows: bool = False  # it gets its size from the loop that writes to it,
    writer: str = ""  # in this node
    parent: Key | None = None  # key of the array that this is the gradient of
    gradients: tuple[str, ...] = ()

    def check_in_loop(self, before: Held) -> None:
        assert isinstance(before, ArrayValue)
        if self.is_whole is not before.is_whole:
            raise Decline("a tensor array that is filled as a whole inside of a loop or branch")

    def outlives(self, known: dict[Key, Held]) -> bool:
        """The gradient of an array from outside is itself from there."""
        return self.parent is not None and self.parent in known

    def is_inside(self, moment: Moment) -> bool:
        """Whether its memory is that of a value made after `moment`."""
        return self.is_whole and self.memory is not None and self.memory.moment >= moment

    def move_before(self, moment: Moment) -> None:
        _move(self.flags, moment)

    @property
    def how(self) -> int:
        return SUM if self.is_sum else TAKE if self.clears else LOOK

    @property
    def how_whole(self) -> int:
        """TF reads a cell that nobody wrote as zeros, once it knows the shape."""
        if self.is_sum or self.is_whole or not self.is_uniform or self.grows:
            return self.how
        return TAKE_SOME if self.clears else LOOK_SOME


@dataclass(frozen=True, slots=True, eq=False)
class StackValue:
    """What is known of a stack."""

    dtype: DType
    height: Array
    shape: tuple[int, ...] | None = None
    memory: Array | None = None
    same: Array | None = None  # everything on it is this
    room: int | None = None
    parent: Key | None = None

    def check_in_loop(self, before: Held) -> None:
        """Nothing can be wrong."""

    def is_inside(self, moment: Moment) -> bool:
        same = self.same
        return same is not None and same.value is None and same.moment >= moment

    def move_before(self, moment: Moment) -> None:
        _move(self.height, moment)

    def outlives(self, known: dict[Key, Held]) -> bool:
        return False


Held = ArrayValue | StackValue


class _Begun(Protocol):
    """A loop around (lowering.trip_count.Trips)."""

    @property
    def first(self) -> Moment: ...


class _Emitter(Protocol):
    """lowering.lower.Emitter, as far as it is used here."""

    effects: list[Array]

    def view(self, x: Array, shape: Sequence[int]) -> Array: ...


class Walk(Protocol):
    """The Specializer of lowering, as far as it is used here."""

    values: dict[Edge, Array]
    keys: dict[Edge, Key]
    arrays: dict[Key, Held]

    @property
    def trips(self) -> Sequence[_Begun]: ...
    @property
    def emitter(self) -> _Emitter: ...
    def room_since(self, moment: Moment) -> int | None: ...
    def times_since(self, moment: Moment) -> int | None: ...


def flow() -> Array:
    return Array((), dtypes.float32, value=np.zeros((), np.float32), name="flow")


def _number(value: int | list[int], dtype: DType) -> Array:
    if isinstance(value, list):
        array = vector(value, dtype.numpy)
    else:
        array = vector([value], dtype.numpy).reshape(())
    return Array(array.shape, dtype, value=array)


def _are_all(indices: Array, count: int) -> bool:
    """Whether they are 0, 1, ... count - 1: by value, or, where that is open, as they are made."""
    if indices.value is not None:
        return not is_open(count) and np.array_equal(indices.value, np.arange(count))
    made = indices.source
    if not isinstance(made, Compute) or len(made.vars) != 1 or not same(made.vars[0].extent, count):
        return False
    body = made.body.args[0] if made.body.op == "cast" else made.body
    return body is var(made.vars[0])


def _array(s: Walk, edge: Edge) -> tuple[Key, ArrayValue]:
    key = s.keys[edge]
    found = s.arrays.get(key)
    if not isinstance(found, ArrayValue):
        raise Decline("an array from elsewhere")
    return key, found


def _zeros(count: int, dtype: DType) -> Array:
    return Array((max(count, 1),), dtype, source=Zeroed(), name="flags")


def _hold(beside: Array, memory: Array) -> None:
    """Memory that is needed from the moment on at which `beside` is made."""
    assert isinstance(beside.source, Zeroed)
    memory.moment = beside.moment.after()
    beside.source.held.append(memory)


def _move(zeros: Array, moment: Moment) -> None:
    """Made earlier than it was, with the memory that it holds."""
    assert isinstance(zeros.source, Zeroed)
    if zeros.moment >= moment:
        zeros.moment = moment.before()
        for memory in zeros.source.held:
            memory.moment = zeros.moment.after()


def _memory(s: Walk, key: Key, array: ArrayValue, shape: tuple[int, ...]) -> Array:
    """Where the elements are, from now on of this shape."""
    if array.shape is not None and array.shape != shape:
        raise Decline("elements of different shapes")
    if array.memory is None:
        memory = Array((array.size, *shape), array.dtype, source=Temporary(), name="array")
        _hold(array.flags, memory)
        s.arrays[key] = replace(array, shape=shape, memory=memory)
        return memory
    return array.memory


# -- tensor arrays ---------------------------------------------------------------------------------
def _create(s: Walk, node: PlanNode) -> None:
    """Only the flags of its cells are made now: the memory follows with the first element, which gives
    the shape."""
    size, attrs = s.values[node.inputs[0]], node.attrs
    if size.value is None or size.value.ndim or size.value < 0:
        raise Decline("a tensor array of unknown size")
    shape = attrs["element_shape"]
    known = tuple(shape.sizes) if shape.is_full else None
    key = s.keys[Edge(node.name, 0)] = ("array", node.name)
    s.arrays[key] = ArrayValue(
        attrs["dtype"],
        whole(size.value.item()),
        _zeros(whole(size.value.item()), dtypes.uint8),
        known,
        clears=attrs["clear_after_read"],
        grows=attrs["dynamic_size"],
        is_uniform=known is not None or attrs["identical_element_shapes"],
    )
    s.values[Edge(node.name, 1)] = flow()


def _grown(s: Walk, array: ArrayValue, node: PlanNode) -> ArrayValue:
    """An array that one node fills in loops of known trip count, which then is its size: a cell can be
    written only once, and none beyond the end, so as many writes as cells fill it."""
    if array.writer == node.name:
        return array
    times = s.times_since(array.flags.moment)
    if times is None or array.size or array.memory is not None or array.is_sum:
        raise Decline("a tensor array that grows")
    return replace(_sized(array, times), writer=node.name)


def _sized(array: ArrayValue, size: int) -> ArrayValue:
    array.flags.shape = (max(size, 1),)
    return replace(array, size=size)


def _gradient(s: Walk, node: PlanNode) -> None:
    """The array that collects gradients, one for each source: its cells are added to.  It is
    created right behind the array itself, since a loop may write it first."""
    key, array = _array(s, node.inputs[0])
    source = node.attrs["source"]
    own = ("gradient", key, source)
    if array.is_sum:
        raise Decline("the gradient of a gradient")
    if own not in s.arrays:
        flags = _zeros(array.size, dtypes.uint8)
        flags.moment = array.flags.moment.after()
        s.arrays[own] = ArrayValue(array.dtype, array.size, flags, array.shape, is_sum=True, parent=key)
        s.arrays[key] = replace(array, gradients=(*array.gradients, source))
    s.keys[Edge(node.name, 0)] = own
    s.values[Edge(node.name, 1)] = flow()


def _write(s: Walk, node: PlanNode) -> None:
    key, array = _array(s, node.inputs[0])
    index, value = s.values[node.inputs[1]], s.values[node.inputs[2]]
    if index.shape != () or value.dtype.base is not array.dtype.base:
        raise Decline("a write that the array refuses")
    if array.is_whole and array.is_sum:
        raise Decline("writes to an array that was filled as a whole")
    if array.grows:
        array = _grown(s, array, node)
    memory = _memory(s, key, array, value.shape)
    how = ADD if array.is_sum else PUT
    effect = Cell(memory, index, array.flags, how, value)
    s.emitter.effects.append(Array((), "bool", source=effect, name="write"))
    s.values[Edge(node.name, 0)] = flow()


def _read(s: Walk, node: PlanNode) -> None:
    key, array = _array(s, node.inputs[0])
    index = s.values[node.inputs[1]]
    if array.shape is None or index.shape != () or node.attrs["dtype"] is not array.dtype:
        raise Decline("a read that the array refuses")
    memory = _memory(s, key, array, array.shape)
    effect = Cell(memory, index, array.flags, array.how)
    value = Array(array.shape, array.dtype, source=effect, name=node.name)
    s.emitter.effects.append(value)
    s.values[Edge(node.name, 0)] = value


def _whole(s: Walk, node: PlanNode) -> Array:
    """All cells, in order."""
    key, array = _array(s, node.inputs[0])
    if array.shape is None or node.attrs["dtype"] is not array.dtype or not array.size:
        raise Decline("an array without elements")
    memory = _memory(s, key, array, array.shape)
    row = Row(memory, array.flags, array.how_whole)
    value = Array((array.size, *array.shape), array.dtype, source=row, name=node.name)
    s.emitter.effects.append(value)
    return value


def _gather(s: Walk, node: PlanNode) -> None:
    _, array = _array(s, node.inputs[0])
    _check_all(s.values[node.inputs[1]], array)
    asked = node.attrs["element_shape"]
    if array.shape is None or not asked.is_compatible_with(make_shape(array.shape)):
        raise Decline("an array of other elements")
    s.values[Edge(node.name, 0)] = _whole(s, node)


def _check_all(indices: Array, array: ArrayValue) -> None:
    if not _are_all(indices, array.size):
        raise Decline("some cells of an array, or in another order")


def _fill(s: Walk, key: Key, array: ArrayValue, value: Array) -> None:
    """Every cell gets its row of a value: the array is where the value is."""
    if array.memory is not None or value.dtype.base is not array.dtype.base:
        raise Decline("a scatter to an array in use")
    if array.shape is not None and array.shape != value.shape[1:]:
        raise Decline("elements of different shapes")
    if value.shape[0] != array.size:
        raise Decline("a scatter that the array refuses")
    effect = Row(value, array.flags, PUT)
    s.emitter.effects.append(Array((), "bool", source=effect, name="scatter"))
    s.arrays[key] = replace(array, shape=value.shape[1:], memory=value, is_whole=True)


def _scatter(s: Walk, node: PlanNode) -> None:
    key, array = _array(s, node.inputs[0])
    value = s.values[node.inputs[2]]
    if not value.shape:
        raise Decline("a scatter of a scalar")
    if array.grows and array.memory is None and array.size <= value.shape[0]:
        array = _sized(array, value.shape[0])
    _check_all(s.values[node.inputs[1]], array)
    _fill(s, key, array, value)
    s.values[Edge(node.name, 0)] = flow()


def _concat(s: Walk, node: PlanNode) -> None:
    _, array = _array(s, node.inputs[0])
    if not array.shape:
        raise Decline("a concatenation of scalars")
    asked = node.attrs["element_shape_except0"]
    if not asked.is_compatible_with(make_shape(array.shape[1:])):
        raise Decline("an array of other elements")
    value = _whole(s, node)
    rows = (array.size * array.shape[0], *array.shape[1:])
    s.values[Edge(node.name, 0)] = s.emitter.view(value, rows)
    s.values[Edge(node.name, 1)] = _repeated(array.shape[0], array.size)


def _repeated(number: int, count: int) -> Array:
    """So many times this number: a stage where one of them is open, else known."""
    if is_open(number) or is_open(count):
        made = Compute((Var(count),), size(number, I64))
        return Array((count,), dtypes.int64, source=made)
    return _number([number] * count, dtypes.int64)


def _split(s: Walk, node: PlanNode) -> None:
    key, array = _array(s, node.inputs[0])
    value, lengths = s.values[node.inputs[1]], s.values[node.inputs[2]].value
    if lengths is None or lengths.ndim != 1 or len(lengths) != array.size or not array.size:
        raise Decline("a split of unknown lengths")
    if np.any(lengths != lengths[0]) or not value.shape or lengths.sum() != value.shape[0]:
        raise Decline("a split into different lengths")
    shape = (array.size, whole(lengths[0]), *value.shape[1:])
    _fill(s, key, array, s.emitter.view(value, shape))
    s.values[Edge(node.name, 0)] = flow()


def _size(s: Walk, node: PlanNode) -> None:
    _, array = _array(s, node.inputs[0])
    if array.grows and any(trips.first > array.flags.moment for trips in s.trips):
        raise Decline("the size of a tensor array that grows")
    s.values[Edge(node.name, 0)] = _number(array.size, dtypes.int32)


def _close(s: Walk, node: PlanNode) -> None:
    raise Decline("an array that is closed")


# -- stacks ----------------------------------------------------------------------------------------
def _create_stack(s: Walk, node: PlanNode) -> None:
    limit = s.values[node.inputs[0]].value
    if limit is None or limit >= 0:
        raise Decline("a stack with a limit")
    key = s.keys[Edge(node.name, 0)] = ("stack", node.name)
    height = Array((1,), dtypes.int64, source=Zeroed(), name="height")
    s.arrays[key] = StackValue(node.attrs["elem_type"], height)


def _stack(s: Walk, edge: Edge) -> tuple[Key, StackValue]:
    key = s.keys[edge]
    found = s.arrays.get(key)
    if not isinstance(found, StackValue):
        raise Decline("a stack from elsewhere")
    return key, found


def _push(s: Walk, node: PlanNode) -> None:
    """Push in a region: into memory for as many values as the loops around can push; without such a
    bound the stack grows. A value that is the same in all iterations is kept once."""
    key, stack = _stack(s, node.inputs[0])
    value = s.values[node.inputs[1]]
    s.values[Edge(node.name, 0)] = value
    if value.dtype.base is not stack.dtype.base:
        raise Decline("a push that the stack refuses")
    if stack.same is not None and is_equal(stack.same, value):
        return
    if stack.same is None and stack.memory is None:
        # What is the same in all iterations is not kept for each of them.
        if value.value is not None or value.moment < stack.height.moment:
            s.arrays[key] = replace(stack, shape=value.shape, same=value)
            return
        room = s.room_since(stack.height.moment)
        count = 1 if room is None else room
        memory = Array((count, *value.shape), stack.dtype, source=Temporary(), name="stack")
        _hold(stack.height, memory)
        stack = s.arrays[key] = replace(stack, shape=value.shape, memory=memory, room=room)
    if stack.memory is None or stack.shape != value.shape:
        raise Decline("a stack of different values")
    effect = Stacked(stack.memory, stack.height, stack.room, value)
    s.emitter.effects.append(Array((), "bool", source=effect, name="push"))


def is_equal(x: Array, y: Array) -> bool:
    """The same array, or the same constant."""
    if x is y or x.value is None or y.value is None:
        return x is y
    return x.kind is y.kind and np.array_equal(x.value, y.value)


def _pop(s: Walk, node: PlanNode) -> None:
    _, stack = _stack(s, node.inputs[0])
    if stack.same is not None:
        s.values[Edge(node.name, 0)] = stack.same
        return
    if stack.memory is None or stack.shape is None:
        raise Decline("a stack that nobody fills")
    effect = Stacked(stack.memory, stack.height, stack.room)
    value = Array(stack.shape, stack.dtype, source=effect, name=node.name)
    s.emitter.effects.append(value)
    s.values[Edge(node.name, 0)] = value


RULES: dict[InRegion | None, Callable[[Walk, PlanNode], None]] = {
    InRegion.CREATE_ARRAY: _create,
    InRegion.GRADIENT: _gradient,
    InRegion.WRITE: _write,
    InRegion.READ: _read,
    InRegion.GATHER: _gather,
    InRegion.SCATTER: _scatter,
    InRegion.CONCAT: _concat,
    InRegion.SPLIT: _split,
    InRegion.SIZE: _size,
    InRegion.CLOSE: _close,
    InRegion.CREATE_STACK: _create_stack,
    InRegion.PUSH: _push,
    InRegion.POP: _pop,
}
CREATORS = frozenset({InRegion.CREATE_ARRAY, InRegion.CREATE_STACK})
