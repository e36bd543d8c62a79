"""Where Send meets Recv: a value waits under its key until somebody asks, or the other way round.

A key is met once: then it is forgotten, so a long loop leaves nothing behind.  A value may be DEAD
(runtime.frames): what was sent on a branch that was not taken.

Where all pieces of a step are here (`members`), it is noticed if each of them waits for another: a graph
with a broken loop ends with an error then.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from typing import Any

from headrace.core.errors import InvalidArgumentError, OpError


class Rendezvous:
    """The meeting place of one step in one process."""

    def __init__(self) -> None:
        self._sent: dict[str, Any] = {}
        self._awaited: dict[str, list[Future[Any]]] = {}
        self._members: set[str] = set()  # devices whose pieces run here, if all do
        self._idle: set[str] = set()  # those of them that only wait for values
        self._ended: set[str] = set()
        self._lock = threading.Lock()
        self._error: BaseException | None = None

    def inbox(self) -> Any:
        """Where a thread waits for answers that it needs to go on: a queue."""
        return queue.SimpleQueue()

    def close(self) -> None:
        """All pieces of the step that run here have ended."""

    def send(self, key: str, value: Any) -> None:
        with self._lock:
            awaited = self._awaited.get(key)
            if not awaited:
                self._sent[key] = value
                return
            future = awaited.pop(0)
            if not awaited:
                del self._awaited[key]
            self._idle.discard(_receiver(key))
        future.set_result(value)

    def receive(self, key: str) -> Future[Any]:
        """The value, now or later."""
        future: Future[Any] = Future()
        with self._lock:
            if key in self._sent:
                future.set_result(self._sent.pop(key))
                return future
            error = self._error
            if error is None and _sender(key) in self._ended:
                error = _never(key)
            if error is None:
                self._awaited.setdefault(key, []).append(future)
                return future
        future.set_exception(error)
        return future

    def forget(self, key: str, future: Future[Any]) -> None:
        """Who waits with this future has gone."""
        with self._lock:
            waiting = self._awaited.get(key, [])
            if future in waiting:
                waiting.remove(future)
                if not waiting:
                    del self._awaited[key]

    def ended(self, device: str) -> None:
        """Nothing will be sent from this device any more: who waits for it gets an error."""
        with self._lock:
            self._ended.add(device)
            self._members.discard(device)
            lost = self._taken(lambda key: _sender(key) == device)
        _fail(lost)

    def joined(self, devices: Iterable[str]) -> None:
        """The pieces of these devices, and no others, run in this step."""
        self._members = set(devices)

    def idle(self, device: str, waiting: int) -> None:
        """The piece of this device can not go on before one of `waiting` values arrives."""
        with self._lock:
            if not self._members:
                return
            awaited = sum(len(f) for k, f in self._awaited.items() if _receiver(k) == device)
            if awaited < waiting:
                return  # something has arrived, or it waits for something else, too
            self._idle.add(device)
            if not self._members <= self._idle:
                return
            lost = self._taken(lambda key: True)
            self._idle.clear()
        _fail(lost)

    def _taken(self, which: Callable[[str], bool]) -> list[tuple[str, Future[Any]]]:
        """Receivers that wait for keys, which they do not any more.  Hold the lock."""
        keys = [key for key in self._awaited if which(key)]
        for key in keys:
            self._idle.discard(_receiver(key))
        return [(key, future) for key in keys for future in self._awaited.pop(key)]

    def abort(self, error: OpError | BaseException) -> None:
        """Everybody who waits, or will, gets this error."""
        with self._lock:
            if self._error is None:
                self._error = error
            waiting = [f for futures in self._awaited.values() for f in futures]
            self._awaited.clear()
        for future in waiting:
            future.set_exception(error)

    def __len__(self) -> int:
        """Values and receivers that have not met."""
        return len(self._sent) + sum(map(len, self._awaited.values()))


def _sender(key: str) -> str:
    return key.partition(";")[0]


def _receiver(key: str) -> str:
    return key.split(";", 3)[2]


def _fail(lost: list[tuple[str, Future[Any]]]) -> None:
    for key, future in lost:
        future.set_exception(_never(key))


def _never(key: str) -> OpError:
    return InvalidArgumentError(
        None, None, f"No value will be sent for {key}: the graph's loops or branches are not well formed"
    )
