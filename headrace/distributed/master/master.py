"""The master of a task: sessions of clients, over all tasks of the cluster."""

from __future__ import annotations

import logging
import threading
import time
import uuid
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from typing import Any, Protocol

from headrace.core.errors import (
    AbortedError,
    CancelledError,
    DeadlineExceededError,
    InvalidArgumentError,
    OpError,
    UnavailableError,
)
from headrace.core.later import call_later
from headrace.distributed.cluster.spec import ClusterSpec
from headrace.distributed.master.membership import Membership
from headrace.distributed.master.session import MasterSession, Numbering
from headrace.distributed.security.limits import Limits
from headrace.distributed.worker.interface import Connect, DeviceInfo, WorkerInterface
from headrace.distributed.worker.tally import Tally

log = logging.getLogger("headrace")
TRANSIENT = (UnavailableError, AbortedError, CancelledError, DeadlineExceededError)  # worth another try
GRACE = 30.0  # seconds until the session of a client that has gone is closed
SAY_EVERY = 10.0  # seconds between two lines about a task that does not answer


class MasterInterface(Protocol):
    """What a client asks of a master."""

    def create_session(
        self, graph_def: Any, config: Any, watch: Any = None, target: str = ""
    ) -> tuple[str, int]: ...

    def extend(self, session: str, graph_def: Any, version: int) -> int: ...

    def run(
        self,
        session: str,
        feeds: Mapping[str, Any],
        fetches: Sequence[str],
        targets: Sequence[str],
        options: Any,
        watch: Any = None,
    ) -> tuple[list[Any], Any]: ...

    def partial_setup(
        self, session: str, feeds: Sequence[str], fetches: Sequence[str], targets: Sequence[str]
    ) -> str: ...

    def partial_run(
        self, session: str, run: str, feeds: Mapping[str, Any], fetches: Sequence[str], watch: Any = None
    ) -> list[Any]: ...

    def make_callable(self, session: str, options: Any) -> int: ...

    def run_callable(
        self, session: str, handle: int, values: Sequence[Any], watch: Any = None
    ) -> tuple[list[Any], Any]: ...

    def release_callable(self, session: str, handle: int) -> None: ...

    def close_session(self, session: str) -> None: ...

    def list_devices(self, session: str) -> list[DeviceInfo]: ...

    def reset(self, containers: Sequence[str], filters: Sequence[str], timeout_in_ms: int = 0) -> None: ...


class Master:
    """`connect` gives a task by its name and address; `task` is the one that this master is in.  Steps have
    `timeout_in_ms` where their session does not say it."""

    def __init__(
        self,
        task: str,
        cluster: ClusterSpec,
        connect: Connect,
        limits: Limits | None = None,
        timeout_in_ms: int = 0,
        numbering: Numbering | None = None,
    ) -> None:
        self.numbering = numbering
        self.task, self.cluster, self.connect = task, cluster, connect
        self.limits, self.timeout_in_ms = limits or Limits(), timeout_in_ms
        self._sessions: dict[str, MasterSession] = {}
        self._attended: dict[str, int] = {}  # calls by which clients show that they are there, by session
        self._lock = threading.Lock()
        self._is_closed = threading.Event()
        self.tally = Tally()  # steps of clients

    # -- sessions --------------------------------------------------------------------------------
    def create_session(
        self, graph_def: Any, config: Any, watch: Any = None, target: str = "", guest: bool = False
    ) -> tuple[str, int]:
        """A handle, and the version of the graph.  `target`: by which address the client knows this master;
        `guest`: it is in another process.

        Waits for all tasks that the session may use, as TF does; says for which it waits.
        """
        self.limits.check("sessions", len(self._sessions) + 1, f"the master of {self.task}")
        if config.use_per_session_threads or config.session_inter_op_thread_pool:
            raise InvalidArgumentError(
                None, None, "Distributed session does not support session thread pool options."
            )
        handle = uuid.uuid4().hex[:16]
        cluster = Membership.of(self, config, target)
        workers = {t: self.connect(t, at) for t, at in cluster.chosen(config.device_filters).items()}
        timeout = config.operation_timeout_in_ms or self.timeout_in_ms
        patience = Patience(self._is_closed)
        if watch is not None:
            watch(patience)
        found = self._devices(workers, timeout / 1000 or None, patience)
        devices = [cluster.checked(task, info) for task, infos in found.items() for info in infos]
        own = handle if cluster.is_isolated or cluster.is_brought else ""
        limits = self.limits if guest else None
        made = MasterSession(
            handle, config, workers, devices, cluster.task, own, self.tally, limits, self.numbering
        )
        made.timeout_in_ms = timeout
        try:
            if own:
                waiting = [w.create_session(own, *cluster.wish(t)) for t, w in workers.items()]
                for future in waiting:
                    future.result()
            version = made.extend(graph_def, 0)
        except BaseException as error:
            made.close(CancelledError(None, None, f"The session could not be made: {error}"))
            raise
        with self._lock:
            self._sessions[handle] = made
        return handle, version

    def _devices(
        self, workers: Mapping[str, WorkerInterface], deadline: float | None, patience: Patience
    ) -> dict[str, list[DeviceInfo]]:
        """The devices of all tasks, by task; asks again until every one of them has answered."""
        found: dict[str, list[DeviceInfo]] = {}
        start = said = time.monotonic()
        while True:
            waiting = {t: w.devices() for t, w in workers.items() if t not in found}
            last: OpError | None = None
            for task, future in waiting.items():
                try:
                    found[task] = future.result(timeout=5)
                except (*TRANSIENT, TimeoutError) as error:
                    last = error if isinstance(error, OpError) else None
            absent = [t for t in workers if t not in found]
            if not absent:
                return found
            now = time.monotonic()
            if deadline is not None and now - start > deadline:
                raise DeadlineExceededError(
                    None, None, f"No answer from {', '.join(absent)} within {deadline} s: {_said(last)}"
                )
            if now - said > SAY_EVERY:
                said = now
                log.warning(
                    "CreateSession still waiting for response from worker: %s: %s",
                    ", ".join(absent),
                    _said(last),
                )
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
        return self._session(session).run(feeds, fetches, targets, options, watch)

    def partial_setup(
        self, session: str, feeds: Sequence[str], fetches: Sequence[str], targets: Sequence[str]
    ) -> str:
        return self._session(session).partial_setup(feeds, fetches, targets)

    def partial_run(
        self, session: str, run: str, feeds: Mapping[str, Any], fetches: Sequence[str], watch: Any = None
    ) -> list[Any]:
        return self._session(session).partial_run(run, feeds, fetches, watch)

    def make_callable(self, session: str, options: Any) -> int:
        return self._session(session).make_callable(options)

    def run_callable(
        self, session: str, handle: int, values: Sequence[Any], watch: Any = None
    ) -> tuple[list[Any], Any]:
        return self._session(session).run_callable(handle, values, watch)

    def release_callable(self, session: str, handle: int) -> None:
        self._session(session).release_callable(handle)

    def close_session(self, session: str) -> None:
        with self._lock:
            found = self._sessions.pop(session, None)
        if found is None:
            self._session(session)  # raises
        else:
            text = "Step was cancelled by an explicit call to `Session::Close()`."
            found.close(CancelledError(None, None, text))

    # -- clients that vanish ---------------------------------------------------------------------
    def attend(self, session: bytes) -> Future[bytes]:
        """A client is there for its session until this call ends; then it has a little time to come back."""
        handle = session.decode(errors="replace")
        self._session(handle)
        with self._lock:
            self._attended[handle] = self._attended.get(handle, 0) + 1
        answer: Future[bytes] = Future()
        answer.stop = lambda: self._left(handle)  # type: ignore[attr-defined]
        return answer

    def _left(self, handle: str) -> None:
        with self._lock:
            self._attended[handle] = self._attended.get(handle, 1) - 1
        call_later(GRACE, lambda: self._collect(handle))

    def _collect(self, handle: str) -> None:
        """End a session that nobody is there for any more."""
        with self._lock:
            if self._attended.get(handle, 0) > 0:
                return
            self._attended.pop(handle, None)
            found = self._sessions.pop(handle, None)
        if found is not None:
            log.warning("The client of session %s has gone without closing it: it is closed.", handle)
            found.close(AbortedError(None, None, "The client of the session has gone."))

    def list_devices(self, session: str = "") -> list[DeviceInfo]:
        if session:
            return list(self._session(session).devices)
        workers = {t: self.connect(t, at) for t, at in self.cluster.addresses().items()}
        found = self._devices(workers, 10.0, Patience(self._is_closed))
        return [info for infos in found.values() for info in infos]

    def reset(self, containers: Sequence[str], filters: Sequence[str] = (), timeout_in_ms: int = 0) -> None:
        """Forget the containers' resources on all tasks, and end all sessions."""
        self._close_sessions(AbortedError(None, None, "Session was closed by a reset."))
        chosen = Membership(self.task, self.cluster).chosen(filters)
        waiting = [self.connect(t, at).clean_containers(containers) for t, at in chosen.items()]
        for future in waiting:
            future.result(timeout_in_ms / 1000 or None)

    def count_sessions(self) -> int:
        with self._lock:
            return len(self._sessions)

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


def _said(error: OpError | None) -> str:
    return "no error was reported" if error is None else error.message
