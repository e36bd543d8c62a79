"""What ops do to memory: variables by reference and by handle, queues, Python's functions.

A step (tests.state.model) calls `EFFECTS[op](step, node, inputs)`.  Inputs come as they are on the edges:
arrays, `Shared` memory, or the place that a handle leads to; `step.take` makes an array of one, and notes
who read what.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tests.state.kernels import slices
from tests.state.nodes import Node


@dataclass(eq=False)
class Place:
    """A variable's memory, or a queue: what outlives a step."""

    name: str
    value: Any = None
    items: deque[Any] = field(default_factory=deque)


@dataclass(eq=False)
class Shared:
    """A tensor that is a place's memory, perhaps seen in another shape."""

    place: Place
    view: Callable[[Any], Any] = lambda array: array
    is_ref: bool = False
    time: int = 0  # when it was made, in writes since the step began

    def value(self) -> Any:
        return np.array(self.view(self.place.value))


Effect = Callable[[Any, Node, list[Any]], Any]


def place_of(tensor: Any) -> Place:
    return tensor.place if isinstance(tensor, Shared) else tensor


# -- variables -----------------------------------------------------------------------------------
def variable(step: Any, node: Node, inputs: list[Any]) -> Any:
    return Shared(step.place(node.name), is_ref=True)


def handle(step: Any, node: Node, inputs: list[Any]) -> Any:
    return step.place(node.attr("shared_name") or node.name)


def read(step: Any, node: Node, inputs: list[Any]) -> Any:
    step.reads(inputs[0])
    return np.array(inputs[0].value)


def gather(step: Any, node: Node, inputs: list[Any]) -> Any:
    step.reads(inputs[0])
    return np.take(inputs[0].value, step.take(inputs[1]), axis=0)


def is_initialized(step: Any, node: Node, inputs: list[Any]) -> Any:
    step.reads(place_of(inputs[0]))
    return np.array(place_of(inputs[0]).value is not None)


def update(change: Callable[..., Any]) -> Effect:
    """A writer: `change(node, old value, *arrays)` is the new value of its first input, which comes
    out again where it is a reference."""

    def effect(step: Any, node: Node, inputs: list[Any]) -> Any:
        rest = [step.take(x) for x in inputs[1:]]
        place = place_of(inputs[0])
        step.writes(place, np.array(change(node, place.value, *rest), rest[-1].dtype))
        if any(isinstance(x, Shared) and is_hazard(node, place, x) for x in inputs[1:]):
            step.hazard(place)
        return inputs[0] if isinstance(inputs[0], Shared) else ()

    return effect


def is_hazard(node: Node, target: Place, value: Shared) -> bool:
    """In TensorFlow a resource variable keeps the memory that it is assigned, and so shares it with
    the reference variable; rows are overwritten while they are still to be read."""
    is_part = node.op.endswith("StridedSliceAssign") or "Scatter" in node.op
    return node.op == "AssignVariableOp" or (is_part and value.place is target)


def scatter(combine: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    """Row after row: a row may be named more than once."""

    def change(node: Node, old: Any, indices: Any, updates: Any) -> Any:
        new = old.copy()
        rows = np.broadcast_to(updates, (*np.shape(indices), *old.shape[1:]))
        for i, row in zip(np.ravel(indices), rows.reshape(-1, *old.shape[1:])):
            new[i] = combine(new[i], row)
        return new

    return change


def assign_slice(node: Node, old: Any, begin: Any, end: Any, strides: Any, value: Any) -> Any:
    new = old.copy()
    new[slices(node, begin, end, strides)] = value
    return new


def momentum(step: Any, node: Node, inputs: list[Any]) -> Any:
    """accumulator = momentum * accumulator + gradient; variable -= rate * accumulator."""
    target, accumulator = place_of(inputs[0]), place_of(inputs[1])
    rate, gradient, factor = (step.take(inputs[i]) for i in (2, 3, -1))
    rows: Any = ...
    if "Sparse" in node.op:
        rows = step.take(inputs[4])
    new, total = target.value.copy(), accumulator.value.copy()
    total[rows] = total[rows] * factor + gradient
    new[rows] -= rate * total[rows]
    step.writes(accumulator, total)
    step.writes(target, new)
    return inputs[0] if isinstance(inputs[0], Shared) else ()


def adam(step: Any, node: Node, inputs: list[Any]) -> Any:
    """Kingma and Ba's rule, with the powers of both decays given."""
    target, first, second = map(place_of, inputs[:3])
    power1, power2, rate, decay1, decay2, epsilon, gradient = map(step.take, inputs[3:])
    m = first.value + (gradient - first.value) * (1 - decay1)
    v = second.value + (np.square(gradient) - second.value) * (1 - decay2)
    rate = rate * np.sqrt(1 - power2) / (1 - power1)
    new = target.value - rate * m / (np.sqrt(v) + epsilon)
    for place, value in ((first, m), (second, v), (target, new)):
        step.writes(place, np.array(value, place.value.dtype))
    return inputs[0] if isinstance(inputs[0], Shared) else ()


def adagrad(step: Any, node: Node, inputs: list[Any]) -> Any:
    """accumulator += gradient ** 2; variable -= rate * gradient / sqrt(accumulator)."""
    target, accumulator = place_of(inputs[0]), place_of(inputs[1])
    rate, gradient = step.take(inputs[2]), step.take(inputs[3])
    rows: Any = step.take(inputs[4]) if "Sparse" in node.op else ...
    new, total = target.value.copy(), accumulator.value.copy()
    total[rows] += np.square(gradient)
    new[rows] -= rate * gradient / np.sqrt(total[rows])
    step.writes(accumulator, total)
    step.writes(target, new)
    return inputs[0] if isinstance(inputs[0], Shared) else ()


def count_up(step: Any, node: Node, inputs: list[Any]) -> Any:
    place = place_of(inputs[0])
    before = place.value
    assert before < node.attr("limit")
    step.writes(place, np.array(before + 1, before.dtype))
    return before


# -- queues --------------------------------------------------------------------------------------
def enqueue(step: Any, node: Node, inputs: list[Any]) -> Any:
    """In TensorFlow the queue keeps the memory that it was given."""
    queue = inputs[0]
    items = tuple(step.kept(x) for x in inputs[1:])
    step.writes(queue, None)
    queue.items.append(items)
    return ()


def dequeue(step: Any, node: Node, inputs: list[Any]) -> Any:
    step.writes(inputs[0], None)
    return inputs[0].items.popleft()


def queue_size(step: Any, node: Node, inputs: list[Any]) -> Any:
    step.reads(inputs[0])
    return np.array(len(inputs[0].items), np.int32)


# -- Python --------------------------------------------------------------------------------------
NOTES: list[Any] = []  # what a function remembers, in all sessions
PYTHON = "what Python remembers"  # the place of that


def note(x: Any) -> Any:
    """How often it was called before is part of the result."""
    NOTES.append(None)
    return np.asarray(x + len(NOTES) % 4).astype(x.dtype)


# The functions that random programs call: the name of the node begins with the function's.
FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "halve": lambda x: np.asarray(x / 2).astype(x.dtype),
    "negate": lambda x: np.asarray(-x),
    "unchanged": lambda x: x,
    "note": note,
}


def py_func(step: Any, node: Node, inputs: list[Any]) -> Any:
    name = node.name.rsplit("/", 1)[-1].split("_", 1)[0]
    if name == "unchanged":
        return step.kept(inputs[0])  # TensorFlow passes the memory on
    if name == "note":
        step.touch(step.place(PYTHON), is_write=True)
    return FUNCTIONS[name](step.take(inputs[0]))


EFFECTS: dict[str, Effect] = {
    "VariableV2": variable,
    "VarHandleOp": handle,
    "FIFOQueueV2": handle,
    "ReadVariableOp": read,
    "ResourceGather": gather,
    "IsVariableInitialized": is_initialized,
    "VarIsInitializedOp": is_initialized,
    "QueueSizeV2": queue_size,
    "PyFunc": py_func,
    "PyFuncStateless": py_func,
}
WRITERS: dict[str, Effect] = {
    "CountUpTo": count_up,
    "ResourceCountUpTo": count_up,
    "QueueEnqueueV2": enqueue,
    "QueueDequeueV2": dequeue,
}


def _updates(names: str, change: Callable[..., Any]) -> None:
    WRITERS.update(dict.fromkeys(names.split(), update(change)))


_updates("Assign AssignVariableOp", lambda node, old, x: x)
_updates("AssignAdd AssignAddVariableOp", lambda node, old, x: old + x)
_updates("AssignSub AssignSubVariableOp", lambda node, old, x: old - x)
_updates("ScatterUpdate ResourceScatterUpdate", scatter(lambda old, new: new))
_updates("ScatterAdd ResourceScatterAdd", scatter(lambda old, new: old + new))
_updates("ScatterSub ResourceScatterSub", scatter(lambda old, new: old - new))
_updates("StridedSliceAssign ResourceStridedSliceAssign", assign_slice)
_updates(
    "ApplyGradientDescent ResourceApplyGradientDescent",
    lambda node, old, rate, gradient: old - rate * gradient,
)
for _name in ("ApplyMomentum", "SparseApplyMomentum"):
    WRITERS |= {_name: momentum, f"Resource{_name}": momentum}
for _name in ("ApplyAdagrad", "SparseApplyAdagrad"):
    WRITERS |= {_name: adagrad, f"Resource{_name}": adagrad}
WRITERS |= {"ApplyAdam": adam, "ResourceApplyAdam": adam}
EFFECTS |= WRITERS
