"""Where Send meets Recv: a value waits under its key until somebody asks, or the other way round."""

from __future__ import annotations

import threading
from concurrent.futures import Future
from typing import Any

from headrace.core.errors import OpError


class Rendezvous:
    """The meeting place of one step in one process."""

    def __init__(self) -> None:
        self._futures: dict[str, Future[Any]] = {}
        self._lock = threading.Lock()
        self._error: BaseException | None = None

    def _future(self, key: str) -> Future[Any]:
        with self._lock:
            future = self._futures.get(key)
            if future is None:
                future = self._futures[key] = Future()
                if self._error is not None:
                    future.set_exception(self._error)
            return future

    def send(self, key: str, value: Any) -> None:
        future = self._future(key)
        if not future.done():
            future.set_result(value)

    def receive(self, key: str) -> Future[Any]:
        """The value, now or later."""
        return self._future(key)

    def abort(self, error: OpError | BaseException) -> None:
        """Everybody who waits, or will, gets this error."""
        with self._lock:
            if self._error is None:
                self._error = error
            waiting = [f for f in self._futures.values() if not f.done()]
        for future in waiting:
            if not future.done():
                future.set_exception(error)
