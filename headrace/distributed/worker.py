"""One task of a cluster: its devices, the graphs that masters registered, the steps under way.

The same object serves masters in this process (called directly) and elsewhere (`worker_service`); tasks
elsewhere are `remote_worker.RemoteWorker`, with the same methods.  Answers that may take long are futures.
"""

from __future__ import annotations

import itertools
import random
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any, Protocol

from headrace.core.errors import AbortedError, CancelledError, InvalidArgumentError, OpError
from headrace.devices.device import Device, local_devices
from headrace.distributed.registered import RegisteredGraph
from headrace.distributed.rendezvous import TaskRendezvous
from headrace.distributed.steps import Steps
from headrace.runtime.cancel import Cancel
from headrace.runtime.containers import Containers, SessionContainers
from headrace.runtime.executor import pool
from headrace.runtime.step import Step
from headrace.session.run_cache import Settings

OURS = "headrace"


@dataclass(frozen=True, slots=True)
class DeviceInfo:
    """A device as its task describes it.  A task that was started again has other incarnations."""

    name: str
    kind: str
    memory_limit: int
    incarnation: int
    description: str = ""  # tasks of ours say OURS: they need not be told of steps that ended well


class WorkerInterface(Protocol):
    """What masters and other workers ask of a task."""

    task: str
    forgets: bool  # a step that ended well, without being told

    def devices(self) -> Future[list[DeviceInfo]]: ...

    def create_session(self, session: str, cluster: Mapping[str, str], isolate: bool) -> Future[None]: ...

    def delete_session(self, session: str) -> Future[None]: ...

    def register(self, session: str, graph_def: Any, options: Any) -> Future[str]: ...

    def deregister(self, session: str, graph: str) -> Future[None]: ...

    def run(
        self, session: str, graph: str, step_id: int, given: dict[str, Any], wanted: list[str]
    ) -> Future[list[Any]]: ...

    def receive(self, step_id: int, key: str) -> Future[Any]: ...

    def clean_step(self, step_id: int) -> Future[None]: ...

    def clean_containers(self, containers: Sequence[str]) -> Future[None]: ...


@dataclass(slots=True)
class WorkerSession:
    """What a task keeps for one session of a master."""

    containers: Containers
    graphs: dict[str, RegisteredGraph] = field(default_factory=dict)


Connect = Callable[[str], WorkerInterface]  # a task's name -> the task


class Worker:
    """`connect` gives other tasks of the cluster."""

    forgets = True

    def __init__(self, task: str, device_count: dict[str, int], connect: Connect) -> None:
        self.task, self.connect = task, connect
        self.local: tuple[Device, ...] = local_devices(device_count, task)
        self.settings = Settings(self.local)
        self.infos = [_info(device) for device in self.local]
        self.containers = Containers()
        self._sessions: dict[str, WorkerSession] = {"": WorkerSession(SessionContainers(self.containers))}
        self._numbers = itertools.count(1)
        self._lock = threading.RLock()
        self._steps = Steps(lambda step_id: TaskRendezvous(task, step_id, self._fetch))
        self._cancels: dict[int, set[Cancel]] = {}

    # -- sessions and graphs ---------------------------------------------------------------------
    def devices(self) -> Future[list[DeviceInfo]]:
        return done(list(self.infos))

    def create_session(self, session: str, cluster: Mapping[str, str], isolate: bool) -> Future[None]:
        with self._lock:
            shared = Containers() if isolate else self.containers
            self._sessions[session] = WorkerSession(SessionContainers(shared))
        return done(None)

    def delete_session(self, session: str) -> Future[None]:
        with self._lock:
            if session:
                self._sessions.pop(session, None)
        return done(None)

    def register(self, session: str, graph_def: Any, options: Any = None) -> Future[str]:
        """Prepare a graph; may be slow."""
        return pool().submit(self._register, session, graph_def)

    def _register(self, session: str, graph_def: Any) -> str:
        graph = RegisteredGraph(graph_def, self.settings)
        with self._lock:
            handle = f"{next(self._numbers):016x}"
            self._session(session).graphs[handle] = graph
        return handle

    def deregister(self, session: str, graph: str) -> Future[None]:
        with self._lock:
            self._session(session).graphs.pop(graph, None)
        return done(None)

    def _session(self, handle: str) -> WorkerSession:
        found = self._sessions.get(handle)
        if found is None:
            raise AbortedError(
                None, None, f"Session handle is not found: {handle}. Possibly this worker just restarted."
            )
        return found

    # -- steps -----------------------------------------------------------------------------------
    def run(
        self,
        session: str,
        graph: str,
        step_id: int,
        given: dict[str, Any],
        wanted: list[str],
        request_id: int = 0,
    ) -> Future[list[Any]]:
        """Run a registered graph once: values for some keys, the values of others."""
        return pool().submit(self.run_now, session, graph, step_id, given, wanted, request_id)

    def run_now(
        self,
        session: str,
        graph: str,
        step_id: int,
        given: dict[str, Any],
        wanted: list[str],
        request_id: int = 0,
    ) -> list[Any]:
        """The same on the caller's thread."""
        with self._lock:
            self._steps.admit(request_id)
            held = self._session(session)
            registered = held.graphs.get(graph)
            if registered is None:
                raise AbortedError(None, None, f"Graph handle is not found: {graph}")
            step = Step(held.containers)
            step.id = step_id
            step.library = registered.library
            step.rendezvous = self._steps.begin(step_id)
            self._cancels.setdefault(step_id, set()).add(step.cancel)
        try:
            return registered.run(step, given, wanted)
        except BaseException as error:
            step.rendezvous.abort(error)
            raise
        finally:
            self._finish(step_id, step)

    def _finish(self, step_id: int, step: Step) -> None:
        with self._lock:
            cancels = self._cancels.get(step_id)
            if cancels is not None:
                cancels.discard(step.cancel)
                if not cancels:
                    del self._cancels[step_id]
            self._steps.end(step_id)

    def receive(self, step_id: int, key: str, request_id: int = 0) -> Future[Any]:
        """A value that this task has left, or will leave, for another."""
        if key.count(";") != 4:
            raise InvalidArgumentError(None, None, f"Invalid rendezvous key: {key[:200]}")
        with self._lock:
            self._steps.admit(request_id)
            self._check_incarnation(key)
            rendezvous = self._steps.meet(step_id)
        future = rendezvous.receive(key)
        future.add_done_callback(lambda _: self._settle(step_id))
        return future

    def _settle(self, step_id: int) -> None:
        with self._lock:
            self._steps.settle(step_id)

    def _check_incarnation(self, key: str) -> None:
        device, incarnation = key.split(";", 2)[:2]
        mine = next((i for i in self.infos if i.name == device), None)
        if mine is None:
            raise InvalidArgumentError(None, None, f"RecvTensor: {device} is no device of {self.task}")
        if f"{mine.incarnation:016x}" != incarnation:
            raise AbortedError(
                None,
                None,
                f"RecvTensor expects a different device incarnation: {int(incarnation, 16)} vs. "
                f"{mine.incarnation}. {self.task} was probably started again. If it was not, you may have "
                "several tasks at the same address.",
            )

    def clean_step(self, step_id: int) -> Future[None]:
        """Whatever of the step is left ends now."""
        error = CancelledError(None, None, f"Step {step_id} was ended by its master.")
        with self._lock:
            rendezvous = self._steps.clean(step_id)
            cancels = list(self._cancels.get(step_id, ()))
        if rendezvous is not None:
            rendezvous.abort(error)
        for cancel in cancels:
            cancel.set(error)
        return done(None)

    def clean_containers(self, containers: Sequence[str]) -> Future[None]:
        self.containers.clear(list(containers) or None)
        return done(None)

    def close(self, error: OpError) -> None:
        """End all that runs."""
        with self._lock:
            waiting = self._steps.all()
            cancels = [c for held in self._cancels.values() for c in held]
        for rendezvous in waiting:
            rendezvous.abort(error)
        for cancel in cancels:
            cancel.set(error)

    def _fetch(self, task: str, step_id: int, key: str) -> Future[Any]:
        try:
            return self.connect(task).receive(step_id, key)
        except OpError as error:
            return failed(error)


def _info(device: Device) -> DeviceInfo:
    kind = device.name.rpartition("/device:")[2].partition(":")[0]
    return DeviceInfo(device.name, kind, 256 << 20, random.SystemRandom().getrandbits(63) | 1, OURS)


def done(value: Any) -> Future[Any]:
    future: Future[Any] = Future()
    future.set_result(value)
    return future


def failed(error: BaseException) -> Future[Any]:
    future: Future[Any] = Future()
    future.set_exception(error)
    return future
