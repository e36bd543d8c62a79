"""Stacks: the history of a loop's values, pushed by its forward iterations and popped by its gradient."""

from __future__ import annotations

import itertools
import threading

import numpy as np

from headrace.core import dtypes
from headrace.core.errors import require
from headrace.core.shapes import Shape
from headrace.ops.declaration.declare import op
from headrace.ops.declaration.in_region import InRegion
from headrace.ops.declaration.resources import Handle, Slot, keep, named
from headrace.ops.declaration.shape_rules import none, unknown
from headrace.ops.declaration.signature import Type
from headrace.ops.declaration.traits import STATEFUL, TEMPORARY, WRITES

_numbers = itertools.count()


class Stack:
    """Values of one type, last in first out."""

    def __init__(self, name, elem_type, max_size):
        self.name, self.elem_type, self.max_size = name, elem_type, max_size
        self.items = []
        self.lock = threading.Lock()
        self.is_closed = False

    def push(self, value):
        with self.lock:
            require(not self.is_closed, f"Stack[{self.name}] has already been closed.")
            require(
                self.max_size < 0 or len(self.items) < self.max_size,
                f"Stack[{self.name}] overflowed its max_size ({self.max_size})",
            )
            self.items.append(keep(value))

    def pop(self):
        with self.lock:
            require(not self.is_closed, f"Stack[{self.name}] has already been closed.")
            require(self.items, f"Stack[{self.name}] is empty when calling Pop().")
            return self.items.pop()

    def close(self):
        self.is_closed = True
        self.items.clear()


def _push(stack, elem, dtype):
    require(stack.elem_type is dtype, f"Must have type {stack.elem_type.name} but got {dtype.name}")
    stack.push(elem)
    return elem


@op(
    "StackV2",
    "max_size: int32 -> handle: resource",
    elem_type=Type(),
    stack_name="",
    traits={STATEFUL, TEMPORARY},
    shape=lambda max_size: Shape.of(2),
)
def stack_v2(ctx, max_size, *, elem_type, stack_name):
    """A new stack, every time it runs.  A negative max_size means no limit."""
    name = f"{stack_name or ctx.node.name}_{next(_numbers)}"
    return Handle("", name, "stack", ctx.node.device, Stack(name, elem_type, int(max_size)))


stack_v2.in_region(InRegion.CREATE_STACK)


@op(
    "StackPushV2",
    "handle: resource, elem: T -> output: T",
    T=Type(),
    swap_memory=False,
    traits={STATEFUL, WRITES},
    shape=lambda handle, elem: elem.plain(),
)
def stack_push_v2(handle, elem, *, T):
    """Push elem, and give it on."""
    return _push(handle.get(Stack), elem, T)


stack_push_v2.in_region(InRegion.PUSH)


@op(
    "StackPopV2",
    "handle: resource -> elem: elem_type",
    elem_type=Type(),
    traits={STATEFUL, WRITES},
    shape=unknown,
)
def stack_pop_v2(handle):
    """The value that was pushed last."""
    return handle.get(Stack).pop()


stack_pop_v2.in_region(InRegion.POP)


@op("StackCloseV2", "handle: resource ->", traits={STATEFUL, WRITES}, shape=none)
def stack_close_v2(handle):
    """Forget the stack's values; it can not be used afterwards."""
    handle.get(Stack).close()
    return ()


# -- the older form: the stack's name by reference ------------------------------------------------
_OLD = "_stacks/"


def _by_name(ctx, handle):
    _, name = named(handle)
    stack = ctx.local.get(_OLD + name)
    require(stack is not None, f"Resource stack/{name} does not exist.")
    return stack


@op(
    "Stack",
    "-> handle: Ref(string)",
    elem_type=Type(),
    stack_name="",
    traits={STATEFUL},
    shape=lambda: Shape.of(2),
)
def stack(ctx, *, elem_type, stack_name):
    """A new stack, named by a reference; it ends with the step."""
    name = f"{stack_name or ctx.node.name}_{next(_numbers)}"
    ctx.local[_OLD + name] = Stack(name, elem_type, -1)
    slot = Slot(name, dtypes.string, Shape.of(2))
    slot.value = np.array([b"_stacks", name.encode()], dtype=object)
    return slot


@op(
    "StackPush",
    "handle: Ref(string), elem: T -> output: T",
    T=Type(),
    swap_memory=False,
    shape=lambda handle, elem: elem.plain(),
)
def stack_push(ctx, handle, elem, *, T):
    """Push elem, and give it on."""
    return _push(_by_name(ctx, handle), elem, T)


@op("StackPop", "handle: Ref(string) -> elem: elem_type", elem_type=Type(), shape=unknown)
def stack_pop(ctx, handle):
    """The value that was pushed last."""
    return _by_name(ctx, handle).pop()


@op("StackClose", "handle: Ref(string) ->", shape=none)
def stack_close(ctx, handle):
    """Forget the stack."""
    _by_name(ctx, handle).close()
    del ctx.local[_OLD + named(handle)[1]]
    return ()


for _op in (stack, stack_push, stack_pop, stack_close):
    _op.no_gradient()
