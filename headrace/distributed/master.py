"""The master of a task: sessions of clients, over all tasks of the cluster."""

from __future__ import annotations

import logging
import threading
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from headrace.core.device_name import parse
from headrace.core.errors import AbortedError, CancelledError, DeadlineExceededError, OpError
from headrace.distributed.cluster import ClusterSpec
from headrace.distributed.master_session import MasterSession
from headrace.distributed.worker import DeviceInfo, WorkerInterface

log = logging.getLogger("headrace")
SAY_EVERY = 10.0  # seconds between two lines about a task that does not answer


class MasterInterface(Protocol):
    """What a client asks of a master."""

    def create_session(self, graph_def: Any, config: Any, watch: Any = None) -> tuple[str, int]: ...

    def extend(self, session: str, graph_def: Any, version: int) -> int: ...

    def run(
        self,
        session: str,
        feeds: Mapping[str, Any],
        fetches: Sequence[str],
        targets: Sequence[str],
        options: Any,
    ) -> tuple[list[Any], Any]: ...

    def close_session(self, session: str) -> None: ...

    def list_devices(self, session: str) -> list[DeviceInfo]: ...

    def reset(self, containers: Sequence[str], filters: Sequence[str]) -> None: ...


class Master:
    """`connect` gives the tasks of the cluster; `task` is the one that this master is in."""

    def __init__(self, task: str, cluster: ClusterSpec, connect: Callable[[str], WorkerInterface]) -> None:
        self.task, self.cluster, self.connect = task, cluster, connect
        self._sessions: dict[str, MasterSession] = {}
        self._lock = threading.Lock()
        self._is_closed = threading.Event()

    # -- sessions --------------------------------------------------------------------------------
    def create_session(self, graph_def: Any, config: Any, watch: Any = None) -> tuple[str, int]:
        """A handle, and the version of the graph.

        Waits for all tasks that the session may use, as TF does; says for which it waits.
        """
        handle = uuid.uuid4().hex[:16]
        filters = list(config.device_filters)
        tasks = self._tasks(filters)
        workers = {task: self.connect(task) for task in tasks}
        deadline = config.operation_timeout_in_ms / 1000 or None
        patience = Patience(self._is_closed)
        if watch is not None:
            watch(patience)
        devices = self._devices(workers, deadline, patience)
        own = handle if config.isolate_session_state or config.cluster_def.job else ""
        if own:
            for worker in workers.values():
                worker.create_session(own, self.cluster.addresses(), config.isolate_session_state).result()
        made = MasterSession(handle, config, workers, devices, self.task, own)
        version = made.extend(graph_def, 0)
        with self._lock:
            self._sessions[handle] = made
        return handle, version

    def _tasks(self, filters: Sequence[str]) -> list[str]:
        tasks = list(self.cluster.addresses())
        if filters:
            wanted = [parse(f) for f in filters]
            tasks = [t for t in tasks if t == self.task or any(_may_hold(w, t) for w in wanted)]
        return tasks

    def _devices(
        self, workers: Mapping[str, WorkerInterface], deadline: float | None, patience: Patience
    ) -> list[DeviceInfo]:
        """The devices of all tasks; asks again until every one of them has answered."""
        found: dict[str, list[DeviceInfo]] = {}
        start = said = time.monotonic()
        while True:
            waiting = {t: w.devices() for t, w in workers.items() if t not in found}
            last: OpError | None = None
            for task, future in waiting.items():
                try:
                    found[task] = future.result(timeout=5)
                except (OpError, TimeoutError) as error:
                    last = error if isinstance(error, OpError) else None
            absent = [t for t in workers if t not in found]
            if not absent:
                return [d for devices in found.values() for d in devices]
            now = time.monotonic()
            if deadline is not None and now - start > deadline:
                raise DeadlineExceededError(
                    None, None, f"No answer from {', '.join(absent)} within {deadline} s: {_said(last)}"
                )
            if now - said > SAY_EVERY:
                said = now
                log.warning("CreateSession still waiting for response from worker: %s", ", ".join(absent))
            patience.wait(0.1, f"no answer from {', '.join(absent)}: {_said(last)}")

    def _session(self, handle: str) -> MasterSession:
        found = self._sessions.get(handle)
        if found is None:
            raise AbortedError(
                None, None, f"Session {handle} is not found. Possibly this master has restarted."
            )
        return found

    def extend(self, session: str, graph_def: Any, version: int) -> int:
        return self._session(session).extend(graph_def, version)

    def run(
        self,
        session: str,
        feeds: Mapping[str, Any],
        fetches: Sequence[str],
        targets: Sequence[str],
        options: Any = None,
        watch: Any = None,
    ) -> tuple[list[Any], Any]:
        timeout = options.timeout_in_ms if options is not None else 0
        return self._session(session).run(feeds, fetches, targets, timeout, watch), None

    def make_callable(
        self, session: str, feeds: Sequence[str], fetches: Sequence[str], targets: Sequence[str]
    ) -> int:
        return self._session(session).make_callable((tuple(feeds), tuple(fetches), tuple(targets)))

    def run_callable(self, session: str, handle: int, values: Sequence[Any]) -> list[Any]:
        return self._session(session).run_callable(handle, values)

    def release_callable(self, session: str, handle: int) -> None:
        self._session(session).release_callable(handle)

    def close_session(self, session: str) -> None:
        with self._lock:
            found = self._sessions.pop(session, None)
        if found is None:
            self._session(session)  # raises
        else:
            found.close(CancelledError(None, None, "Session has been closed."))

    def list_devices(self, session: str = "") -> list[DeviceInfo]:
        if session:
            return list(self._session(session).devices)
        return self._devices(
            {t: self.connect(t) for t in self.cluster.addresses()}, 10.0, Patience(self._is_closed)
        )

    def reset(self, containers: Sequence[str], filters: Sequence[str] = ()) -> None:
        """Forget the containers' resources on all tasks, and end all sessions."""
        self._close_sessions(AbortedError(None, None, "Session was closed by a reset."))
        waiting = [self.connect(t).clean_containers(containers) for t in self._tasks(filters)]
        for future in waiting:
            future.result()

    def close(self) -> None:
        self._is_closed.set()
        self._close_sessions(CancelledError(None, None, "The server is shutting down."))

    def _close_sessions(self, error: OpError) -> None:
        with self._lock:
            sessions, self._sessions = list(self._sessions.values()), {}
        for session in sessions:
            session.close(error)


class Patience:
    """Waiting for tasks, until somebody has had enough."""

    def __init__(self, is_closed: threading.Event) -> None:
        self._is_closed = is_closed
        self._error: OpError | None = None

    def stop(self, error: OpError) -> None:
        self._error = error

    def wait(self, seconds: float, why: str) -> None:
        if self._is_closed.wait(seconds):
            raise CancelledError(None, None, "The server is shutting down.")
        if self._error is not None:
            self._error._message += f"; {why}"
            raise self._error


def _may_hold(request: Any, task: str) -> bool:
    """Some device of the task may be one that was asked for."""
    full = parse(task)
    return all(getattr(request, name) in (None, getattr(full, name)) for name in ("job", "replica", "task"))


def _said(error: OpError | None) -> str:
    return "no error was reported" if error is None else error.message
