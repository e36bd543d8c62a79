"""The meeting place of one step on one task.

Values of devices on this task are left and taken here; a Recv of a value of another task asks that task
for it.  Other tasks ask here, too, perhaps before the step has begun.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import Future
from typing import Any

from headrace.distributed.cluster import task_of
from headrace.runtime.rendezvous import Rendezvous

Fetch = Callable[[str, int, str], "Future[Any]"]  # task, step, key -> the value


class TaskRendezvous(Rendezvous):
    """`fetch` brings a value from another task."""

    def __init__(self, task: str, step_id: int, fetch: Fetch) -> None:
        super().__init__()
        self._task, self._step_id, self._fetch = task, step_id, fetch
        self._coming: set[Future[Any]] = set()  # from other tasks; an abort does not wait for them

    def joined(self, devices: Iterable[str]) -> None:
        """Pieces of other tasks take part, too: that all pieces here wait means nothing."""

    def receive(self, key: str) -> Future[Any]:
        source = task_of(key.partition(";")[0])
        if source == self._task:
            return super().receive(key)
        future: Future[Any] = Future()
        with self._lock:
            error = self._error
            if error is None:
                self._coming.add(future)
        if error is not None:
            future.set_exception(error)
            return future
        self._fetch(source, self._step_id, key).add_done_callback(lambda done: self._arrived(future, done))
        return future

    def _arrived(self, future: Future[Any], done: Future[Any]) -> None:
        with self._lock:
            if future not in self._coming:
                return  # given up meanwhile
            self._coming.discard(future)
        error = done.exception()
        if error is None:
            future.set_result(done.result())
        else:
            future.set_exception(error)

    def abort(self, error: BaseException) -> None:
        super().abort(error)
        with self._lock:
            coming, self._coming = self._coming, set()
        for future in coming:
            future.set_exception(self._error or error)
