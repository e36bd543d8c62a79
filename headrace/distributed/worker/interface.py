"""What masters and other workers ask of a task, in this process or elsewhere.  Answers that may take long are
futures."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any, Protocol

from headrace.distributed.transport.link import Link
from headrace.distributed.worker.collectives import CollectivePeer
from headrace.distributed.worker.recording import Recording

OURS = "headrace"


@dataclass(frozen=True, slots=True)
class DeviceInfo:
    """A device as its task describes it.  A task that was started again has other incarnations."""

    name: str
    kind: str
    memory_limit: int
    incarnation: int
    description: str = ""  # tasks of ours say OURS: they need not be told of steps that ended well


@dataclass(slots=True)
class Call:
    """A part of a step: a registered graph runs with values for some keys, and gives those of others."""

    session: str
    graph: str  # its handle
    step_id: int
    given: dict[str, Any]
    wanted: list[str]
    request_id: int = 0  # of a request that must not be met twice


class WorkerInterface(Protocol):
    task: str
    forgets: bool  # a step that ended well, without being told

    @property
    def collectives(self) -> CollectivePeer: ...

    def devices(self) -> Future[list[DeviceInfo]]: ...

    def create_session(self, session: str, server_def: Any, isolate: bool) -> Future[None]: ...

    def delete_session(self, session: str) -> Future[None]: ...

    def register(
        self, session: str, graph_def: Any, options: Any = None, guest: bool = False, graph_key: int = 0
    ) -> Future[str]: ...

    def deregister(self, session: str, graph: str) -> Future[None]: ...

    def run(
        self, call: Call, recording: Recording | None = None, *, link: Link | None = None
    ) -> Future[list[Any]]: ...

    def run_partial(self, call: Call, is_last: bool) -> Future[list[Any]]: ...

    def receive(self, step_id: int, key: str) -> Future[Any]: ...

    def clean_step(self, step_id: int) -> Future[None]: ...

    def clean_containers(self, containers: Sequence[str]) -> Future[None]: ...


Connect = Callable[[str, str], WorkerInterface]  # a task's name and address -> the task
