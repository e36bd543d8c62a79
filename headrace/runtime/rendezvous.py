"""Where Send meets Recv: a value waits under its key until somebody asks, or the other way round.

A key is met once: then it is forgotten, so a long loop leaves nothing behind.  A value may be DEAD
(runtime.frames): what was sent on a branch that was not taken.
"""

from __future__ import annotations

import threading
from concurrent.futures import Future
from typing import Any

from headrace.core.errors import InternalError, OpError


class Rendezvous:
    """The meeting place of one step in one process."""

    def __init__(self) -> None:
        self._sent: dict[str, Any] = {}
        self._awaited: dict[str, list[Future[Any]]] = {}
        self._ended: set[str] = set()
        self._lock = threading.Lock()
        self._error: BaseException | None = None

    def send(self, key: str, value: Any) -> None:
        with self._lock:
            awaited = self._awaited.get(key)
            if not awaited:
                self._sent[key] = value
                return
            future = awaited.pop(0)
            if not awaited:
                del self._awaited[key]
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

    def ended(self, device: str) -> None:
        """Nothing will be sent from this device any more: who waits for it gets an error."""
        with self._lock:
            self._ended.add(device)
            keys = [k for k in self._awaited if _sender(k) == device]
            lost = [(k, f) for k in keys for f in self._awaited.pop(k)]
        for key, future in lost:
            future.set_exception(_never(key))

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


def _never(key: str) -> OpError:
    return InternalError(None, None, f"The step has ended without a value for {key}")
