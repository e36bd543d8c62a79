"""A session at its master: the client's graph, and per signature the parts that tasks have registered."""

from __future__ import annotations

import random
import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import replace
from typing import Any

from headrace.core.errors import (
    AbortedError,
    DeadlineExceededError,
    InvalidArgumentError,
    NotFoundError,
    OpError,
)
from headrace.core.later import call_later
from headrace.distributed import master_step as steps
from headrace.distributed.cluster import task_of
from headrace.distributed.parts import Part, make_parts
from headrace.distributed.worker import DeviceInfo, Worker, WorkerInterface
from headrace.graph.graph import Graph
from headrace.graph.node import Node
from headrace.graph.tensor import Tensor
from headrace.ops.graphdef.importer import extend_graph
from headrace.partition.split import split
from headrace.plan.plan import PlanNode
from headrace.session.run_cache import LIMIT, Settings, make_plan
from headrace.session.settings import configuration

Signature = tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]  # feeds, fetches, targets
PATIENCE = 2.0  # seconds that tasks have to end a step that failed


class RemoteDevice:
    """A device of some task, as placement sees it: whether it has a kernel is found out there."""

    def __init__(self, info: DeviceInfo) -> None:
        self.name, self.info = info.name, info

    def can_run(self, node: PlanNode) -> bool:
        return True


class MasterSession:
    """`workers`: the tasks that this session uses, by name; `default` is where nodes without a wish go."""

    def __init__(
        self,
        handle: str,
        config: Any,
        workers: Mapping[str, WorkerInterface],
        devices: Sequence[DeviceInfo],
        default: str,
        worker_session: str = "",
    ) -> None:
        self.handle, self.workers, self.devices = handle, workers, list(devices)
        self.worker_session = worker_session
        self.devices.sort(key=lambda d: (not d.name.startswith(default + "/"), d.kind != "CPU"))
        self.incarnations = {d.name: d.incarnation for d in devices}
        self.graph = Graph()
        self.version = 0
        places: Any = tuple(map(RemoteDevice, self.devices))  # all that placement asks of devices
        self.settings: Settings = replace(configuration(config).run, devices=places)
        self.timeout_in_ms = config.operation_timeout_in_ms if config is not None else 0
        self._known: OrderedDict[Signature, list[Part]] = OrderedDict()
        self._callables: dict[int, Signature] = {}
        self._running: set[RunningStep] = set()
        self._lock = threading.RLock()
        self._is_closed = False

    # -- the graph -------------------------------------------------------------------------------
    def extend(self, graph_def: Any, version: int) -> int:
        """Add nodes; `version` says which graph the client has in mind."""
        with self._lock:
            self._check()
            if version != self.version:
                raise AbortedError(
                    None, None, f"Current version is {self.version} but caller expected {version}."
                )
            extend_graph(self.graph, graph_def)
            self.version += 1
            return self.version

    # -- steps -----------------------------------------------------------------------------------
    def run(
        self,
        feeds: Mapping[str, Any],
        fetches: Sequence[str],
        targets: Sequence[str],
        timeout_in_ms: int = 0,
        watch: Callable[[RunningStep], None] | None = None,
    ) -> list[Any]:
        """One step: values of `feeds` in, values of `fetches` out.  `watch` may stop it."""
        signature = tuple(feeds), tuple(fetches), tuple(targets)
        parts = self._parts(signature)
        step = RunningStep(self, parts, list(feeds.values()), len(fetches))
        with self._lock:
            self._check()
            self._running.add(step)
        if watch is not None:
            watch(step)
        try:
            return step.run(timeout_in_ms or self.timeout_in_ms)
        except AbortedError:
            self._forget(signature)  # a task was started again: it knows our graphs no more
            raise
        finally:
            with self._lock:
                self._running.discard(step)

    def _parts(self, signature: Signature) -> list[Part]:
        with self._lock:
            self._check()
            found = self._known.get(signature)
            if found is not None:
                self._known.move_to_end(signature)
                return found
            parts = self._known[signature] = self._make(signature)
            while len(self._known) > LIMIT:
                self._deregister(self._known.popitem(last=False)[1])
            return parts

    def _make(self, signature: Signature) -> list[Part]:
        feeds, fetches, targets = signature
        plan = make_plan(
            self.graph,
            [self._tensor(n) for n in feeds],
            [self._tensor(n) for n in fetches],
            [self._node(n) for n in targets],
            self.settings,
        )
        parts = make_parts(split(plan, self.incarnations), self.incarnations)
        self._check_incarnations({p.task for p in parts})
        waiting = [(p, self._worker(p.task).register(self.worker_session, p.graph_def, None)) for p in parts]
        for part, future in waiting:
            part.handle = future.result()
            part.graph_def = None  # it may be large
        return parts

    def _check_incarnations(self, tasks: set[str]) -> None:
        """A task that was started again has lost its state: this session can not go on with it."""
        waiting = [self._worker(task).devices() for task in tasks]
        for device in (d for future in waiting for d in future.result()):
            known = self.incarnations.get(device.name, device.incarnation)
            if known != device.incarnation:
                raise AbortedError(
                    None,
                    None,
                    f"{task_of(device.name)} was started again (its incarnation was {known}, now it is "
                    f"{device.incarnation}): make a new session.",
                )

    def _worker(self, task: str) -> WorkerInterface:
        if task not in self.workers:
            raise InvalidArgumentError(None, None, f"{task} is not a task of this session")
        return self.workers[task]

    def _node(self, name: str) -> Node:
        node = self.graph._nodes.get(name.partition(":")[0])
        if node is None:
            raise NotFoundError(None, None, f"{name} is not in the session's graph")
        return node

    def _tensor(self, name: str) -> Tensor:
        node, _, index = name.partition(":")
        outputs = self._node(node).outputs
        place = int(index) if index.isdigit() else 0
        if place >= len(outputs):
            raise InvalidArgumentError(None, None, f"{node} has {len(outputs)} outputs, not {name}")
        return outputs[place]

    # -- callables -------------------------------------------------------------------------------
    def make_callable(self, signature: Signature) -> int:
        self._parts(signature)
        with self._lock:
            handle = len(self._callables) + 1
            self._callables[handle] = signature
            return handle

    def run_callable(self, handle: int, values: Sequence[Any]) -> list[Any]:
        signature = self._callables.get(handle)
        if signature is None:
            raise InvalidArgumentError(
                None, None, f"Attempted to run callable after handle was released: {handle}"
            )
        feeds, fetches, targets = signature
        if len(values) != len(feeds):
            raise InvalidArgumentError(None, None, f"Expected {len(feeds)} feeds, got {len(values)}")
        return self.run(dict(zip(feeds, values)), fetches, targets)

    def release_callable(self, handle: int) -> None:
        self._callables.pop(handle, None)

    # -- end -------------------------------------------------------------------------------------
    def close(self, error: OpError) -> None:
        """End what runs, and what tasks keep for this session; tasks that are gone are not waited for."""
        with self._lock:
            if self._is_closed:
                return
            self._is_closed = True
            running, known = list(self._running), list(self._known.values())
            self._known.clear()
        for step in running:
            step.stop(error)
        for parts in known:
            self._deregister(parts)
        if self.worker_session:
            for worker in self.workers.values():
                worker.delete_session(self.worker_session)

    def _forget(self, signature: Signature) -> None:
        with self._lock:
            parts = self._known.pop(signature, None)
        if parts is not None:
            self._deregister(parts)

    def _deregister(self, parts: list[Part]) -> None:
        for part in parts:
            self.workers[part.task].deregister(self.worker_session, part.handle)

    def _check(self) -> None:
        if self._is_closed:
            raise AbortedError(None, None, f"Session {self.handle} is closed.")


class RunningStep:
    """The acting part of a MasterStep."""

    def __init__(self, session: MasterSession, parts: list[Part], arguments: list[Any], count: int) -> None:
        here_last = sorted(parts, key=lambda p: isinstance(session.workers[p.task], Worker))
        self.session, self.parts = session, {p.task: p for p in here_last}
        self.arguments, self.count = arguments, count
        self.id = random.getrandbits(55) | 1 << 56  # other masters use the same tasks
        self.result: Future[list[Any]] = Future()
        self._state = steps.MasterStep(list(self.parts), self._told())
        self._lock = threading.Lock()

    def _told(self) -> frozenset[str]:
        """Tasks that keep a step until they are told: all that do not forget by themselves."""
        return frozenset(t for t in self.parts if not self.session.workers[t].forgets)

    def run(self, timeout_in_ms: int) -> list[Any]:
        timer = None
        if timeout_in_ms:
            late = DeadlineExceededError(None, None, f"The step took more than {timeout_in_ms} ms")
            timer = call_later(timeout_in_ms / 1000, lambda: self.stop(late))
        try:
            self._on(steps.Started())
            return self.result.result()
        finally:
            if timer is not None:
                timer.cancel()

    def stop(self, error: OpError) -> None:
        self._on(steps.Stopped(error))

    def _on(self, event: steps.Event) -> None:
        with self._lock:
            actions = self._state.on(event)
        for action in actions:
            self._act(action)

    def _act(self, action: steps.Action) -> None:
        match action:
            case steps.Launch(task):
                self._launch(self.parts[task])
            case steps.Clean(task):
                self.session.workers[task].clean_step(self.id)
                if self._state.errors:
                    call_later(PATIENCE, lambda: self._on(steps.GaveUp()))
            case steps.Fail(error):
                self.result.set_exception(error)
            case steps.Deliver(values):
                self.result.set_result(self._gathered(values))

    def _launch(self, part: Part) -> None:
        given = {key: self.arguments[place] for key, place in part.feeds.items()}
        worker = self.session.workers[part.task]
        what = self.session.worker_session, part.handle, self.id, given, list(part.fetches)
        running = _inline(worker, *what) if isinstance(worker, Worker) else worker.run(*what)
        running.add_done_callback(lambda done: self._answered(part.task, done))

    def _answered(self, task: str, done: Future[list[Any]]) -> None:
        error = done.exception()
        self._on(steps.PartEnded(task, done.result()) if error is None else steps.PartFailed(task, error))

    def _gathered(self, values: dict[str, list[Any]]) -> list[Any]:
        found: list[Any] = [None] * self.count
        for task, part in self.parts.items():
            for places, value in zip(part.fetches.values(), values[task]):
                for place in places:
                    found[place] = value
        return found


def _inline(worker: Worker, *what: Any) -> Future[list[Any]]:
    """The part of the master's own task, on the thread that waits for the step anyway; others run by now."""
    future: Future[list[Any]] = Future()
    try:
        future.set_result(worker.run_now(*what))
    except BaseException as error:
        future.set_exception(error)
    return future
