"""The dataflow executor: obeys `frames.StepState`, runs kernels.

Ordinary kernels run on the calling thread, in the order in which they become ready; kernels that may
wait (trait BLOCKING) run on threads of a pool, or answer with a Future; so two of them overlap.  Values
for other devices leave before any kernel runs that is ready too, and the thread waits for values of
others only when nothing else is ready: so no two pieces wait for each other where the graph has no
cycle.
"""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, Protocol

import numpy as np

from headrace.core.denormals import flushing
from headrace.core.errors import InvalidArgumentError, OpError, at
from headrace.core.records import record
from headrace.ops.control.transfer import RECEIVES, SENDS, labelled, rendezvous_key, unlabelled
from headrace.ops.declaration.declare import Op
from headrace.ops.declaration.resources import Slot
from headrace.ops.declaration.traits import (
    BLOCKING,
    COLLECTIVE,
    CONTROL_FLOW,
    ENTER,
    EXIT,
    MERGE,
    NEXT_ITERATION,
    SWITCH,
)
from headrace.plan.frames import frames_of
from headrace.plan.plan import Plan, PlanNode
from headrace.plan.units import SEGMENT, is_unit, segment_of
from headrace.runtime.frames import DEAD, Item, Kind, Ready, StepState
from headrace.runtime.kernel import Call, kernel_of
from headrace.runtime.step import Step
from headrace.runtime.straight import inner_program
from headrace.runtime.units import Prepare, unit_call

_KINDS = {
    SWITCH: Kind.SWITCH,
    MERGE: Kind.MERGE,
    ENTER: Kind.ENTER,
    EXIT: Kind.EXIT,
    NEXT_ITERATION: Kind.NEXT,
}


def kind_of(op: Op) -> Kind:
    """What the state machine makes of a node of this op."""
    if CONTROL_FLOW not in op.traits:
        return Kind.ORDINARY
    return next((kind for role, kind in _KINDS.items() if role in op.traits), Kind.TRIGGER)


class Border(Protocol):
    """Between the host's memory and a device's (devices.device.Device)."""

    name: str

    def from_host(self, value: Any) -> Any: ...
    def to_host(self, value: Any) -> Any: ...
    def copy_to(self, value: Any, peer: Any) -> Any: ...
    def wait(self) -> None: ...


@record
class Distant:
    """A value on its way, still in the memory of the device that sent it: who receives it knows whether to
    copy it to the host or to another device."""

    value: Any
    device: Border


class DataflowProgram:
    """A piece as items and kernels; each run has its own StepState.  `prepare` makes programs of
    the plans inside of units, `call_of` the calls of nodes; values that enter and leave the piece
    pass the `border`, if the device's memory is not the host's."""

    def __init__(
        self,
        plan: Plan,
        prepare: Prepare = inner_program,
        call_of: Callable[[Plan, PlanNode], Call] | None = None,
        border: Border | None = None,
    ) -> None:
        """Everything that does not depend on a step: calls, who waits for whom, where fetched values come
        from."""
        self.border = border
        call_of = call_of or (lambda plan, node: _call(plan, node, prepare))
        frames_of(plan)  # refuses what is not well formed
        self.plan = plan
        self.nodes = list(plan.nodes.values())
        self.items = _items(plan)
        feeds = {name: i for i, name in enumerate(plan.feeds)}
        self.feed_of = {i: feeds[n.name] for i, n in enumerate(self.nodes) if n.name in feeds}
        self.calls: list[Call | None] = [
            None if i in self.feed_of or item.kind is not Kind.ORDINARY else call_of(plan, node)
            for i, (item, node) in enumerate(zip(self.items, self.nodes))
        ]
        self.blocking = [BLOCKING in n.op.traits for n in self.nodes]
        self.tagged = {i for i, n in enumerate(self.nodes) if COLLECTIVE in n.op.traits}
        self.transfers = {i for i, n in enumerate(self.nodes) if n.op in SENDS | RECEIVES}
        # Not what sends a variable: it is read where edges and the plan's order say.
        self.urgent = {
            i for i in self.transfers if not any(plan.dtype(e).is_ref for e in self.nodes[i].inputs)
        }
        self.receives_on = next((n.device for n in self.nodes if n.op in RECEIVES), None)
        numbers = {n.name: i for i, n in enumerate(self.nodes)}
        self.fetched: dict[int, list[tuple[int, int]]] = {}  # item -> (output, place in fetches)
        for place, edge in enumerate(plan.fetches):
            self.fetched.setdefault(numbers[edge.node], []).append((edge.index, place))
        self.targets = {numbers[t] for t in plan.targets}

    @flushing
    def run(self, step: Step, arguments: Sequence[Any]) -> list[Any]:
        results = Run(self, step, arguments).run()
        if self.border is not None:  # a step has ended when all that it launched has
            self.border.wait()
        return results


def _task(device: str) -> str:
    return device.rpartition("/device:")[0]


def _call(plan: Plan, node: PlanNode, prepare: Prepare) -> Call:
    if is_unit(node):
        return unit_call(node, prepare)
    return kernel_of(node, [plan.dtype(e) for e in node.inputs])


def _items(plan: Plan) -> list[Item]:
    """The plan as the state machine sees it: numbers instead of names, users by output, and how
    many Enters each frame waits for.  A Merge knows its back edges, since it must not wait for
    them in the first iteration."""
    numbers = {name: i for i, name in enumerate(plan.nodes)}
    enters: dict[str, int] = {}
    for node in plan.nodes.values():
        if ENTER in node.op.traits:
            enters[node.attrs["frame_name"]] = enters.get(node.attrs["frame_name"], 0) + 1
    items = []
    for number, node in enumerate(plan.nodes.values()):
        kind = kind_of(node.op)
        item = Item(number, kind, len(node.inputs), len(node.control), [[] for _ in node.outputs], [])
        if kind is Kind.ENTER:
            item.frame, item.is_constant = node.attrs["frame_name"], node.attrs["is_constant"]
            item.enters = enters[item.frame]
            item.parallel = node.attrs["parallel_iterations"]
        items.append(item)
    for number, node in enumerate(plan.nodes.values()):
        for position, edge in enumerate(node.inputs):
            source = items[numbers[edge.node]]
            source.outputs[edge.index].append((number, position))
            if items[number].kind is Kind.MERGE and source.kind is Kind.NEXT:
                items[number].back_inputs += 1
        for name in node.control:
            items[numbers[name]].followers.append(number)
    return items


class Run:
    """One run of a DataflowProgram."""

    def __init__(self, program: DataflowProgram, step: Step, arguments: Sequence[Any]) -> None:
        self.program, self.step, self.arguments = program, step, arguments
        self.state = StepState(program.items)
        self.results: list[Any] = [None] * len(program.plan.fetches)
        self.seen = [False] * len(self.results)
        self.answers: Any = step.rendezvous.inbox()  # of (Ready | None, answer)
        self.waiting = 0

    def run(self) -> list[Any]:
        ready: deque[Ready] = deque()
        self.enqueue(self.state.start(), ready)
        forget = self.step.cancel.on_cancel(lambda: self.answers.put((None, None)))
        try:
            while ready or self.waiting:
                if ready:
                    self.launch(ready.popleft(), ready)
                else:
                    self._collect(ready)
        finally:
            forget()
        self.check_results()
        return self.results

    def launch(self, item: Ready, ready: deque[Ready]) -> None:
        """Run one item, or hand it to somebody who answers later.  A dead item computes nothing,
        but a Send tells the other side that the value is dead: that side waits for it."""
        cancel = self.step.cancel
        if cancel.reason is not None:
            raise cancel.reason
        number = item.item.number
        node = self.program.nodes[number]
        if number in self.program.transfers and (node.op in SENDS or not item.dead):
            self._transfer(item, node, ready)
            return
        if item.dead:
            outputs: Any = [DEAD] * len(node.outputs)
        elif self.program.blocking[number]:
            self._launch_blocking(item, node)
            return
        else:
            outputs = self._compute(item, node)
            if isinstance(outputs, Future) or (len(outputs) == 1 and isinstance(outputs[0], Future)):
                self._await(item, outputs if isinstance(outputs, Future) else outputs[0])
                return
        self._done(item, outputs, ready)

    def _compute(self, item: Ready, node: PlanNode) -> Any:
        """The outputs of an item.  Primitives of control flow are answered here; everything else
        has a kernel, whose errors are given the node's name and origin."""
        number = item.item.number
        match item.item.kind:
            case Kind.ORDINARY:
                if number in self.program.feed_of:
                    return [self._entering(self.arguments[self.program.feed_of[number]])]
                call = self.program.calls[number]
                assert call is not None
                step = (
                    self.step if number not in self.program.tagged else self.step.inside(item.iteration.tag)
                )
                trace = step.trace
                try:
                    if trace is not None and not is_unit(node):
                        with trace.kernel(node):
                            return call(item.values, step)
                    return call(item.values, step)
                except BaseException as error:
                    raise at(error, node) from error.__cause__
            case Kind.SWITCH:
                data, choice = item.values
                choice = self._leaving(choice.read() if isinstance(choice, Slot) else choice)
                data = self._followed(data, node)
                return [DEAD, data] if choice else [data, DEAD]
            case Kind.MERGE:
                value, position = item.values
                return [self._followed(value, node), self._entering(_index(position))]
            case Kind.TRIGGER:
                return []
            case _:
                return [self._followed(item.values[0], node)]

    def _followed(self, value: Any, node: PlanNode) -> Any:
        """Primitives that are not declared for references pass the value on."""
        if isinstance(value, Slot) and not node.outputs[0].dtype.is_ref:
            try:
                return value.read()
            except OpError as error:
                raise at(error, node) from None
        return value

    # -- values of other pieces ------------------------------------------------------------------
    def _transfer(self, item: Ready, node: PlanNode, ready: deque[Ready]) -> None:
        """Send and Recv meet under a key that names the iteration; dead values are sent as such."""
        key = rendezvous_key(node.attrs, item.iteration.tag)
        meeting = self.step.rendezvous
        if node.op in RECEIVES:
            future = meeting.receive(key)
            if future.done() and future.exception() is None:
                self._received(item, future.result(), ready)
            else:
                self._await(item, future)
            return
        meeting.send(key, DEAD if item.dead else self._sent(item.values[0], node))
        self._done(item, [], ready)

    def _sent(self, value: Any, node: PlanNode) -> Any:
        try:
            value = value.read() if isinstance(value, Slot) else value
        except OpError as error:
            raise at(error, node) from None
        border = self.program.border
        if border is not None and _task(node.attrs["recv_device"]) == _task(border.name):
            return Distant(value, border)
        return labelled(self._leaving(value), node.attrs["T"])

    def _received(self, item: Ready, value: Any, ready: deque[Ready]) -> None:
        item.dead = value is DEAD
        if not item.dead:
            if not isinstance(value, Distant):
                value = unlabelled(value, self.program.nodes[item.item.number].attrs["tensor_type"])
            value = self._entering(value)
        self._done(item, [value], ready)

    def _entering(self, value: Any) -> Any:
        border = self.program.border
        if isinstance(value, Distant):
            source = value.device
            return source.to_host(value.value) if border is None else source.copy_to(value.value, border)
        return value if border is None else border.from_host(value)

    def _leaving(self, value: Any) -> Any:
        return value if self.program.border is None else self.program.border.to_host(value)

    # -- kernels that may wait -----------------------------------------------------------------
    def _launch_blocking(self, item: Ready, node: PlanNode) -> None:
        """Run a kernel that may wait (a queue, a barrier) on the pool, so that the loop of `run`
        goes on meanwhile; its answer comes through `answers`, as does that of a future."""
        self.waiting += 1

        def work() -> None:
            try:
                outputs = self._compute(item, node)
            except BaseException as error:
                self.answers.put((item, error))
                return
            future = outputs if isinstance(outputs, Future) else None
            if future is None and len(outputs) == 1 and isinstance(outputs[0], Future):
                future = outputs[0]
            if future is None:
                self.answers.put((item, outputs))
            else:
                future.add_done_callback(lambda f: self.answers.put((item, f)))

        pool().submit(work)

    def _await(self, item: Ready, future: Future[Any]) -> None:
        self.waiting += 1
        future.add_done_callback(lambda f: self.answers.put((item, f)))

    def _collect(self, ready: deque[Ready]) -> None:
        """Wait for one answer.  Before it waits, the rendezvous is told that this piece is idle: if
        all pieces are, nobody will ever send, and the step ends with an error."""
        if self.program.receives_on is not None and self.answers.empty():
            self.step.rendezvous.idle(self.program.receives_on, self.waiting)
        item, answer = self.answers.get()
        self.collected(item, answer, ready)

    def collected(self, item: Ready | None, answer: Any, ready: deque[Ready]) -> None:
        """What an answer makes possible.  One without an item is a cancellation."""
        if item is None:
            self.step.cancel.check()
            return
        self.waiting -= 1
        node = self.program.nodes[item.item.number]
        if isinstance(answer, Future):
            error = answer.exception()
            answer = error if error is not None else answer.result()
            if not isinstance(answer, BaseException) and len(node.outputs) == 1:
                answer = [answer] if not isinstance(answer, (list, tuple)) else answer
        if isinstance(answer, BaseException):
            raise at(answer, node)
        if node.op in RECEIVES:
            self._received(item, answer[0], ready)
        else:
            self._done(item, answer, ready)

    # -- results -------------------------------------------------------------------------------
    def _done(self, item: Ready, outputs: Sequence[Any], ready: deque[Ready]) -> None:
        number = item.item.number
        if number in self.program.fetched:
            for index, place in self.program.fetched[number]:
                value = outputs[index]
                if value is DEAD and self.seen[place]:
                    continue
                self.results[place], self.seen[place] = value, True
        self.enqueue(self.state.finish(item, outputs), ready)

    def enqueue(self, items: Iterable[Ready], ready: deque[Ready]) -> None:
        """In order, but transfers go first: they take no time, and another device may wait."""
        for item in items:
            if item.item.number in self.program.urgent:
                ready.appendleft(item)
            else:
                ready.append(item)

    def check_results(self) -> None:
        """Every fetch has a value; a reference is read now, at the end of the step."""
        plan = self.program.plan
        for place, edge in enumerate(plan.fetches):
            value = self.results[place]
            node = plan.nodes[edge.node]
            if node.op is SEGMENT:  # the user knows the node inside
                inner = segment_of(node).plan
                edge = inner.fetches[edge.index]
                node = inner.nodes[edge.node]
            if not self.seen[place] or value is DEAD:
                raise InvalidArgumentError(
                    None,
                    node,
                    f"Retval[{place}] does not have value: {edge} was not computed, because it lies "
                    "on a branch that was not taken.",
                )
            if isinstance(value, Slot):
                try:
                    value = value.read()
                except OpError as error:
                    raise at(error, node) from None
            self.results[place] = self._leaving(value)


def _index(position: int) -> Any:
    return np.array(position, np.int32)


_pools: dict[int, ThreadPoolExecutor] = {}
_pool_lock = threading.Lock()


def pool() -> ThreadPoolExecutor:
    """Threads for kernels that wait; a forked child gets its own."""
    pid = os.getpid()
    found = _pools.get(pid)
    if found is None:
        with _pool_lock:
            if pid not in _pools:
                _pools.clear()
                _pools[pid] = ThreadPoolExecutor(256, thread_name_prefix="headrace")
            found = _pools[pid]
    return found
