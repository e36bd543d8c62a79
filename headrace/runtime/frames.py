"""Which item may run now, with dynamic control flow.  Pure: events in, items out; no threads, no clock.

Tags.  An item runs in an iteration of a frame.  The root frame has one iteration; Enter opens a child
frame of the iteration it runs in; NextIteration goes to the next iteration; Exit returns to the parent.
Dead values.  The output that Switch did not choose is DEAD; an item with a dead input is dead and only
passes that on, except Merge, which runs with its first live input and is dead only if all are.
A dead NextIteration ends there: the loop stops.  A dead Exit is passed on only when its frame is done
without a live one.
Iterations overlap, but no more than `parallel` of them: what goes further waits until the oldest is done.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Any

from headrace.ops.array.hashing import hash64, hash64_combine


class Kind(Enum):
    ORDINARY = auto()
    SWITCH = auto()
    MERGE = auto()
    ENTER = auto()
    EXIT = auto()
    NEXT = auto()
    TRIGGER = auto()  # runs even with dead control inputs


class _Dead:
    def __repr__(self) -> str:
        return "DEAD"


DEAD = _Dead()
EMPTY = object()


@dataclass(slots=True)
class Item:
    """One node of a piece, as the executor sees it."""

    number: int
    kind: Kind
    inputs: int  # data inputs
    control: int  # control inputs
    outputs: list[list[tuple[int, int]]]  # per output: (item, input position)
    followers: list[int]  # items that wait for this one by a control edge
    back_inputs: int = 0  # of a Merge: inputs that come from NextIteration
    frame: str = ""  # of an Enter
    is_constant: bool = False
    parallel: int = 10
    enters: int = 0  # of an Enter: how many Enters its frame has


@dataclass(slots=True)
class Iteration:
    frame: Frame
    number: int
    values: dict[int, list[Any]] = field(default_factory=dict)
    waiting: dict[int, int] = field(default_factory=dict)  # inputs that have not arrived
    dead: dict[int, int] = field(default_factory=dict)  # dead inputs that have
    outstanding: int = 0  # ready or running items, and child frames

    @property
    def tag(self) -> str:
        """Frame and iteration, the same in every piece of a step."""
        return f"{self.frame.id}:{self.number}"


@dataclass(slots=True)
class Frame:
    name: str
    parent: Iteration | None
    pending_enters: int
    parallel: int = 10
    oldest: int = 0  # iterations below are done
    deferred: list[tuple[Item, int, Any]] = field(default_factory=list)  # for later iterations
    iterations: dict[int, Iteration] = field(default_factory=dict)
    invariants: list[tuple[Item, Any]] = field(default_factory=list)
    children: dict[str, Frame] = field(default_factory=dict)
    dead_exits: dict[int, Item] = field(default_factory=dict)
    live_exits: set[int] = field(default_factory=set)
    _id: int = -1

    @property
    def id(self) -> int:
        """A number for the frame's name and all iterations around it, TF's own: pieces of other processes
        name the same frame.  0 is the root."""
        if self._id < 0:
            self._id = 0
            if self.parent is not None:
                own = hash64_combine(self.parent.number, hash64(self.name.encode()))
                self._id = hash64_combine(self.parent.frame.id, own)
        return self._id


@dataclass(slots=True, eq=False)
class Ready:
    """An item that may run (or, if dead, be skipped) in an iteration."""

    item: Item
    iteration: Iteration
    values: list[Any]
    dead: bool


class StepState:
    """The state of one step.  `start`, then `finish` for every Ready that was handed out."""

    def __init__(self, items: Sequence[Item]) -> None:
        self.items = items
        self.root = Frame("", None, 0)
        self.base = self._iteration(self.root, 0)
        self._ready: list[Ready] = []
        self.unfinished = 0

    def start(self) -> list[Ready]:
        for item in self.items:
            if not item.inputs and not item.control:
                self._release(item, self.base, False)
        return self._take()

    def finish(self, ready: Ready, outputs: Sequence[Any]) -> list[Ready]:
        """An item has run: `outputs` has a value or DEAD per output (all DEAD for a dead item)."""
        item, iteration = ready.item, ready.iteration
        match item.kind:
            case Kind.ENTER:
                self._enter(item, iteration, outputs[0])
            case Kind.NEXT:
                if not ready.dead:
                    self._next(item, iteration.frame, iteration.number + 1, outputs)
            case Kind.EXIT:
                self._exit(item, iteration, outputs[0])
            case _:
                self._pass_on(item, iteration, outputs, ready.dead)
        self.unfinished -= 1
        self._finished_in(iteration)
        return self._take()

    # -- moving values -----------------------------------------------------------------------
    def _pass_on(self, item: Item, iteration: Iteration, outputs: Sequence[Any], dead: bool) -> None:
        for value, targets in zip(outputs, item.outputs):
            for number, position in targets:
                self._arrive(self.items[number], iteration, position, value)
        for number in item.followers:
            self._arrive_control(self.items[number], iteration, dead)

    def _arrive(self, item: Item, iteration: Iteration, position: int, value: Any) -> None:
        number = item.number
        if item.kind is Kind.MERGE:
            self._arrive_at_merge(item, iteration, position, value)
            return
        values = iteration.values.get(number)
        if values is None:
            values = iteration.values[number] = [EMPTY] * item.inputs
        values[position] = value
        if value is DEAD:
            iteration.dead[number] = iteration.dead.get(number, 0) + 1
        self._count_down(item, iteration)

    def _arrive_at_merge(self, item: Item, iteration: Iteration, position: int, value: Any) -> None:
        number = item.number
        done = iteration.values.get(number)
        if value is DEAD:
            iteration.dead[number] = iteration.dead.get(number, 0) + 1
            if done is None and iteration.dead[number] == item.inputs - item.back_inputs:
                iteration.values[number] = [DEAD, -1]
                self._count_down(item, iteration, merge=True)
        elif done is None or done[0] is DEAD:
            iteration.values[number] = [value, position]
            if done is None:
                self._count_down(item, iteration, merge=True)

    def _arrive_control(self, item: Item, iteration: Iteration, dead: bool) -> None:
        if dead and item.kind not in (Kind.TRIGGER, Kind.MERGE):
            iteration.dead[item.number] = iteration.dead.get(item.number, 0) + 1
        self._count_down(item, iteration)

    def _count_down(self, item: Item, iteration: Iteration, merge: bool = False) -> None:
        number = item.number
        left = iteration.waiting.get(number)
        if left is None:
            left = (1 if item.kind is Kind.MERGE else item.inputs) + item.control
        left -= 1
        iteration.waiting[number] = left
        if left:
            return
        if item.kind is Kind.MERGE:
            self._release(item, iteration, iteration.values[number][0] is DEAD)
        else:
            self._release(item, iteration, iteration.dead.get(number, 0) > 0)

    def _release(self, item: Item, iteration: Iteration, dead: bool) -> None:
        values = iteration.values.pop(item.number, [])
        iteration.outstanding += 1
        self.unfinished += 1
        self._ready.append(Ready(item, iteration, values, dead))

    def _take(self) -> list[Ready]:
        taken, self._ready = self._ready, []
        return taken

    # -- frames ------------------------------------------------------------------------------
    def _iteration(self, frame: Frame, number: int) -> Iteration:
        found = frame.iterations.get(number)
        if found is None:
            found = frame.iterations[number] = Iteration(frame, number)
            for item, value in frame.invariants:
                self._pass_on(item, found, [value], value is DEAD)
        return found

    def _next(self, item: Item, frame: Frame, number: int, outputs: Any) -> None:
        if number - frame.oldest >= frame.parallel:
            frame.deferred.append((item, number, outputs))
        else:
            self._pass_on(item, self._iteration(frame, number), outputs, False)

    def _enter(self, item: Item, iteration: Iteration, value: Any) -> None:
        """A value enters a loop; the first one makes the frame, which counts as work of the
        iteration around it. An invariant goes to all iterations, those that have begun and those
        that will."""
        key = f"{item.frame};{iteration.number}"
        frame = iteration.frame.children.get(key)
        if frame is None:
            frame = Frame(item.frame, iteration, item.enters, item.parallel)
            iteration.frame.children[key] = frame
            iteration.outstanding += 1
            self._iteration(frame, 0)
        frame.pending_enters -= 1
        if item.is_constant:
            frame.invariants.append((item, value))
            for target in list(frame.iterations.values()):
                self._pass_on(item, target, [value], value is DEAD)
        else:
            self._pass_on(item, self._iteration(frame, 0), [value], value is DEAD)
        self._close_if_done(frame)

    def _exit(self, item: Item, iteration: Iteration, value: Any) -> None:
        frame = iteration.frame
        if value is DEAD:
            frame.dead_exits[item.number] = item
            return
        frame.live_exits.add(item.number)
        assert frame.parent is not None, "Exit outside of a frame"
        self._pass_on(item, frame.parent, [value], False)

    def _finished_in(self, iteration: Iteration) -> None:
        iteration.outstanding -= 1
        if not iteration.outstanding:
            self._close_if_done(iteration.frame)

    def _close_if_done(self, frame: Frame) -> None:
        """Forget iterations from the oldest on, as far as they are done; then perhaps the frame.

        An iteration gets values from the one before it (and the first from Enters): once that one
        is done and nothing of its own is under way, nothing can come any more.
        """
        if frame.parent is None or frame.pending_enters:
            return
        while True:
            oldest = frame.iterations.get(frame.oldest)
            if oldest is None or oldest.outstanding:
                break
            del frame.iterations[frame.oldest]
            frame.oldest += 1
            waiting, frame.deferred = frame.deferred, []
            for item, number, outputs in waiting:
                self._next(item, frame, number, outputs)
        if not frame.iterations and not frame.deferred:
            self._close(frame, frame.parent)

    def _close(self, frame: Frame, parent: Iteration) -> None:
        for number, item in frame.dead_exits.items():
            if number not in frame.live_exits:
                self._pass_on(item, parent, [DEAD], True)
        del parent.frame.children[f"{frame.name};{parent.number}"]
        self._finished_in(parent)
