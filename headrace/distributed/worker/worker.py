"""One task of a cluster: its devices, the graphs that masters registered, the steps under way.

Masters in this process call it; those elsewhere do, over gRPC (`service.py`) or links (`link_service.py`).
A task elsewhere is a RemoteWorker (`remote.py`), with the same methods.
"""

from __future__ import annotations

import logging
import random
import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from functools import partial
from typing import Any

from headrace.core.errors import AbortedError, CancelledError, InvalidArgumentError, OpError
from headrace.devices.device import Device, local_devices
from headrace.distributed.security.allow import ALL, Allowed
from headrace.distributed.security.limits import Limits
from headrace.distributed.transport.link import Link
from headrace.distributed.wire.status import told_by
from headrace.distributed.worker.collectives import (
    BUFFER,
    STEP_KEY,
    CollectivePeer,
    StepCollectives,
    TaskCollectives,
)
from headrace.distributed.worker.futures import done, failed
from headrace.distributed.worker.interface import OURS, Call, Connect, DeviceInfo, WorkerInterface
from headrace.distributed.worker.partial import PartialStep
from headrace.distributed.worker.recording import Recording
from headrace.distributed.worker.registered import RegisteredGraph
from headrace.distributed.worker.rendezvous import Pushes, TaskRendezvous
from headrace.distributed.worker.session import Cluster, WorkerSession, cluster_of
from headrace.distributed.worker.sessions import Sessions
from headrace.distributed.worker.steps import Steps
from headrace.distributed.worker.tally import Tally
from headrace.distributed.worker.transfer_log import TransferLog, add_spans
from headrace.runtime.cancel import Cancel
from headrace.runtime.containers import Containers, SessionContainers
from headrace.runtime.executor import pool
from headrace.runtime.resumable import Then
from headrace.runtime.step import Step
from headrace.session.run_cache import Settings

log = logging.getLogger("headrace")
NO_LINKS: Mapping[str, Pushes] = {}


class Worker:
    """`addresses`: of all tasks of the cluster, of which `connect` gives one; `allowed`: what graphs of
    other processes may do."""

    forgets = True

    def __init__(
        self,
        task: str,
        device_count: dict[str, int],
        addresses: Mapping[str, str],
        connect: Connect,
        allowed: Allowed = ALL,
        limits: Limits | None = None,
        leader: str = "",
    ) -> None:
        """`leader`: of groups of devices, as the server's configuration names it."""
        self.task, self.connect, self.allowed, self._device_count = task, connect, allowed, device_count
        self.limits = limits or Limits()
        self.local: tuple[Device, ...] = local_devices(device_count, task)
        self.settings = Settings(self.local)
        self.infos = [_info(device) for device in self.local]
        self.containers = Containers()
        self.transfers = TransferLog()
        self.collectives = TaskCollectives(self.limits, self._incarnation_of, leader)
        self._addresses = addresses
        self.sessions = Sessions(self._open_session(False), self.infos, self.limits)
        self._lock = threading.RLock()
        fetch = partial(self._fetch, addresses)
        self._steps = Steps(lambda step_id: TaskRendezvous(task, step_id, fetch), self.limits)
        self._cancels: dict[int, set[Cancel]] = {}
        self.tally = Tally()  # parts of steps
        self._partial: dict[int, PartialStep] = {}

    # -- sessions and graphs ---------------------------------------------------------------------
    def devices(self) -> Future[list[DeviceInfo]]:
        return done(list(self.infos))

    def create_session(self, session: str, server_def: Any, isolate: bool) -> Future[None]:
        """A session with state of its own (`isolate`), or with a cluster of its own (`server_def`)."""
        if not session:
            raise InvalidArgumentError(None, None, "Session must be non-empty.")
        self.sessions.add(session, self._open_session(isolate, cluster_of(server_def)))
        return done(None)

    def delete_session(self, session: str) -> Future[None]:
        self.sessions.remove(session)
        return done(None)

    def _open_session(self, isolate: bool, brought: Cluster | None = None) -> WorkerSession:
        containers = SessionContainers(Containers() if isolate else self.containers)
        if brought is None:
            task, addresses, settings = self.task, self._addresses, self.settings
        else:
            task, addresses = brought
            settings = Settings(local_devices(self._device_count, task))
        return WorkerSession(task, settings, containers, addresses, partial(self._fetch, addresses))

    def register(
        self,
        session: str,
        graph_def: Any,
        options: Any = None,
        guest: bool = False,
        graph_key: int = 0,
        sender: str = "",
    ) -> Future[str]:
        """Prepare a graph; may be slow.  One of another process (`guest`) may not do everything.  `sender`:
        the task of the master, and which life of it: graphs of an earlier one are forgotten."""
        self.sessions.meet(sender)
        return pool().submit(self._register, session, graph_def, guest, sender)

    def _register(self, session: str, graph_def: Any, guest: bool, sender: str) -> str:
        allowed, held = self.allowed if guest else ALL, self.sessions.find(session)
        try:
            if guest:
                self.limits.check_graph(graph_def)
            allowed.check(graph_def, self.task)
            graph = held.register(graph_def, allowed.folders)
        except OpError as error:
            log.warning("%s refuses a graph: %s", self.task, error.message)
            raise
        return self.sessions.add_graph(session, graph, sender)

    def deregister(self, session: str, graph: str) -> Future[None]:
        self.sessions.remove_graph(session, graph)
        return done(None)

    # -- steps -----------------------------------------------------------------------------------
    def run(
        self, call: Call, recording: Recording | None = None, *, link: Link | None = None
    ) -> Future[list[Any]]:
        """Run a registered graph once: values for some keys, the values of others."""
        return pool().submit(self.run_now, call, recording)

    def run_now(
        self, call: Call, recording: Recording | None = None, links: Mapping[str, Pushes] = NO_LINKS
    ) -> list[Any]:
        """The same on the caller's thread.  `links`: to tasks with which values are pushed."""
        step_id = call.step_id
        with self._lock:
            self._steps.admit(call.request_id)
            registered, step = self._begin(call, links)
        is_traced = recording is not None and recording.timeline
        if is_traced:
            self.transfers.watch(step_id)
        try:
            values = registered.run(step, call.given, call.wanted, recording)
            self.tally.count()
            return values
        except BaseException as ended:
            error = _cause(step, ended)
            self.tally.count(error)
            _give_up(self.task, step, error)
            raise error from ended.__cause__
        finally:
            self._finish(step_id, step)
            if recording is not None and is_traced:
                add_spans(recording.metadata.step_stats, self.transfers.taken(step_id))

    def start(self, call: Call, link: Link, then: Then) -> None:
        """The same for a master at the other end of a link, without waiting: `then` gets values or an error.
        With the link the step ends."""
        with self._lock:
            registered, step = self._begin(call, {link.peer: link})

        def ended(values: Any, error: BaseException | None) -> None:
            link.settled(step)
            error = error and _cause(step, error)
            self.tally.count(error)
            if error is not None:
                _give_up(self.task, step, error)
            self._finish(call.step_id, step)
            then(values, error)

        link.expect(step, lambda error: self._end_step(call.step_id, error))
        try:
            registered.start(step, call.given, call.wanted, ended)
        except OpError as error:
            ended(None, error)

    def will_run(self, step_id: int) -> None:
        """A step that begins elsewhere first: values for it may come before it begins here."""
        with self._lock:
            self._steps.meet(step_id)

    def deliver(self, step_id: int, key: str, value: Any) -> None:
        """A value that another task has pushed; of a step that is not known here it is dropped."""
        with self._lock:
            rendezvous = self._steps.find(step_id)
        if rendezvous is not None:
            rendezvous.arrive(key, value)

    def run_partial(self, call: Call, is_last: bool) -> Future[list[Any]]:
        """Some values in and some out of a step that goes on until the last call; the first begins it."""
        step_id = call.step_id
        with self._lock:
            self._steps.admit(call.request_id)
            found = self._partial.get(step_id)
            if found is None:
                registered, step = self._begin(call)
                found = self._partial[step_id] = PartialStep(step.rendezvous)
                found.ended = pool().submit(self._run_open, registered, step)
            if is_last:
                del self._partial[step_id]
        answer = found.call(call.given, call.wanted, is_last)
        answer.add_done_callback(lambda _: self._settle(step_id))
        return answer

    def _run_open(self, registered: RegisteredGraph, step: Step) -> None:
        try:
            registered.open().run(step, [])
        except BaseException as error:
            _give_up(self.task, step, error)
            raise
        finally:
            self._finish(step.id, step)

    def _begin(self, call: Call, links: Mapping[str, Pushes] = NO_LINKS) -> tuple[RegisteredGraph, Step]:
        """Hold the lock."""
        step_id = call.step_id
        held, registered = self.sessions.find_graph(call.session, call.graph)
        step = Step(held.containers)
        step.id = step_id
        step.library = registered.library
        step.folders = registered.folders
        if registered.has_collectives:
            number = int(call.given.pop(STEP_KEY, step_id))
            peer = partial(self._peer, held.addresses)
            step.collectives = StepCollectives(self.collectives, number, held.task, held.addresses, peer)
        step.rendezvous = rendezvous = self._steps.begin(step_id)
        rendezvous.open(links)
        if held.task != self.task:
            rendezvous.rename(held.task, held.fetch)
        self._cancels.setdefault(step_id, set()).add(step.cancel)
        return registered, step

    def _finish(self, step_id: int, step: Step) -> None:
        with self._lock:
            step.rendezvous.close()
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
            if key.endswith(f";{BUFFER}"):
                return self.collectives.buffers.take(step_id, key.split(";")[3])
            rendezvous = self._steps.meet(step_id)
        future = rendezvous.local(key)
        future.add_done_callback(lambda _: self._settle(step_id))
        return future

    def forget(self, step_id: int, key: str, answer: Future[Any]) -> None:
        """Whoever asked for the value has gone."""
        if key.endswith(f";{BUFFER}"):
            self.collectives.buffers.forget(step_id, key.split(";")[3], answer)
            return
        with self._lock:
            rendezvous = self._steps.find(step_id)
            if rendezvous is not None:
                rendezvous.forget(key, answer)
                self._steps.settle(step_id)

    def _settle(self, step_id: int) -> None:
        with self._lock:
            self._steps.settle(step_id)

    def _check_incarnation(self, key: str) -> None:
        """Whoever asks means this life of this task: else it would wait for a value that nobody will send."""
        device, incarnation = key.split(";", 2)[:2]
        mine = self.sessions.device(device)
        if mine is None:
            raise InvalidArgumentError(
                None,
                None,
                f"RecvTensor: {device} is no device of {self.task}; the ClusterSpec of who asks may differ.",
            )
        if f"{mine.incarnation:016x}" != incarnation:
            raise AbortedError(
                None,
                None,
                f"RecvTensor expects a different device incarnation: {int(incarnation, 16)} vs. "
                f"{mine.incarnation}. {self.task} was probably started again. If it was not, you may have "
                "several tasks at the same address.",
            )

    def _incarnation_of(self, device: str) -> int:
        found = self.sessions.device(device)
        return 0 if found is None else found.incarnation

    # -- numbers of steps with collectives, for the master of this task ----------------------------
    @property
    def _leader(self) -> str:
        return self.collectives.leader_of(self._addresses, self.task)

    def next_step(self, graph_key: int) -> int:
        """The number of the next step of a graph; may ask the leader."""
        return self.collectives.next_step(graph_key, self._peer(self._addresses, self._leader))

    def retire(self, graph_key: int, step: int, well: bool) -> None:
        self.collectives.retire(graph_key, step, well, self._leader == self.task)

    # -- the end of steps ------------------------------------------------------------------------
    def clean_step(self, step_id: int) -> Future[None]:
        """Whatever of the step is left ends now."""
        self._end_step(step_id, CancelledError(None, None, f"Step {step_id} was ended by its master."))
        return done(None)

    def _end_step(self, step_id: int, error: OpError) -> None:
        with self._lock:
            rendezvous = self._steps.clean(step_id)
            cancels = list(self._cancels.get(step_id, ()))
            self._partial.pop(step_id, None)
        if rendezvous is not None:
            rendezvous.abort(error)
        for cancel in cancels:
            cancel.set(error)

    def clean_containers(self, containers: Sequence[str]) -> Future[None]:
        self.containers.clear(list(containers) or None)
        return done(None)

    def counts(self) -> tuple[int, int]:
        """(graphs that are registered, steps that run now)."""
        with self._lock:
            return self.sessions.count_graphs(), len(self._cancels)

    def close(self, error: OpError) -> None:
        """End all that runs."""
        with self._lock:
            waiting = self._steps.all()
            cancels = [c for held in self._cancels.values() for c in held]
        for rendezvous in waiting:
            rendezvous.abort(error)
        for cancel in cancels:
            cancel.set(error)

    # -- other tasks -----------------------------------------------------------------------------
    def _fetch(self, addresses: Mapping[str, str], task: str, step_id: int, key: str) -> Future[Any]:
        """Ask for a value of another task, which is at one of these addresses."""
        try:
            coming = self._reached(addresses, task).receive(step_id, key)
        except OpError as error:
            return failed(error)
        self.transfers.saw(step_id, key, coming)
        return coming

    def _peer(self, addresses: Mapping[str, str], task: str) -> CollectivePeer:
        return self._reached(addresses, task).collectives

    def _reached(self, addresses: Mapping[str, str], task: str) -> WorkerInterface:
        if task not in addresses:
            raise InvalidArgumentError(None, None, f"{task} is not in the cluster of {self.task}")
        return self.connect(task, addresses[task])


def _info(device: Device) -> DeviceInfo:
    kind = device.name.rpartition("/device:")[2].partition(":")[0]
    return DeviceInfo(device.name, kind, 256 << 20, random.SystemRandom().getrandbits(63) | 1, OURS)


def _cause(step: Step, error: BaseException) -> BaseException:
    """Why the step ended here, where a kernel only says that it was ended: the loss of the master, say."""
    reason = step.cancel.reason
    return error if reason is None or not isinstance(error, CancelledError) else reason


def _give_up(task: str, step: Step, error: BaseException) -> None:
    """A part has failed: whatever of it still waits, for a queue or an accumulator, leaves.  It would take
    what is meant for others."""
    told_by(task, error)  # here, where it arose: tasks that wait for values of this one fail with it, too
    step.rendezvous.abort(error)
    step.cancel.set(error if isinstance(error, OpError) else None)
