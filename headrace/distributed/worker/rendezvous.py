"""The meeting place of one step on one task.

Values of devices on this task are left and taken here; a Recv of a value of another task asks that task
for it.  Other tasks ask here, too, perhaps before the step has begun.  With the task of the step's master no
questions are needed where a link leads there: what one has for the other is pushed as soon as it is there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future
from typing import Any, Protocol

from headrace.distributed.cluster.spec import task_of
from headrace.distributed.sockets import reactor
from headrace.distributed.transport.frames import Kind
from headrace.runtime.rendezvous import Rendezvous

Fetch = Callable[[str, int, str], "Future[Any]"]  # task, step, key -> the value


class Pushes(Protocol):
    """A transport.link.Link, as far as values need it."""

    def tell(self, kind: Kind, step: int, texts: Any, values: Any) -> None: ...


class TaskRendezvous(Rendezvous):
    """`fetch` brings a value from another task."""

    def __init__(self, task: str, step_id: int, fetch: Fetch) -> None:
        super().__init__()
        self._task, self._step_id, self._fetch = task, step_id, fetch
        self._coming: set[Future[Any]] = set()  # from other tasks; an abort does not wait for them
        self._links: Mapping[str, Pushes] = {}
        self._pushed: dict[str, Any] = {}  # values that came unasked
        self._expected: dict[str, Future[Any]] = {}  # who waits for one
        self._is_over = False

    def joined(self, devices: Iterable[str]) -> None:
        """Pieces of other tasks take part, too: that all pieces here wait means nothing."""

    def rename(self, task: str, fetch: Fetch) -> None:
        """The step is of a session in which this task has another name, and others other addresses."""
        self._task, self._fetch = task, fetch

    def local(self, key: str) -> Future[Any]:
        """A value of this task, for somebody who knows that it is."""
        return super().receive(key)

    def inbox(self) -> Any:
        return reactor.inbox()

    # -- links -----------------------------------------------------------------------------------
    def open(self, links: Mapping[str, Pushes]) -> None:
        """Values from and for these tasks are pushed."""
        self._links = links

    def close(self) -> None:
        """The piece here has run: nobody takes what comes late."""
        with self._lock:
            self._is_over = True
            self._pushed.clear()

    def arrive(self, key: str, value: Any) -> None:
        """A value that another task has pushed."""
        with self._lock:
            future = self._expected.pop(key, None)
            if future is None:
                if not self._is_over:
                    self._pushed[key] = value
                return
        future.set_result(value)

    # -- values ----------------------------------------------------------------------------------
    def send(self, key: str, value: Any) -> None:
        if self._links:
            link = self._links.get(task_of(key.split(";", 3)[2]))
            if link is not None:
                link.tell(Kind.VALUE, self._step_id, (key,), (value,))
                return
        super().send(key, value)

    def receive(self, key: str) -> Future[Any]:
        """A value of this task is met here.  One of another is pushed by it over a link, and may be here
        before it is asked for; without a link it is fetched."""
        source = task_of(key.partition(";")[0])
        if source == self._task:
            return super().receive(key)
        future: Future[Any] = Future()
        with self._lock:
            error = self._error
            if source in self._links:
                if key in self._pushed:
                    future.set_result(self._pushed.pop(key))
                    return future
                if error is None:
                    self._expected[key] = future
                    return future
            elif error is None:
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

    def __len__(self) -> int:
        return super().__len__() + len(self._pushed)

    def abort(self, error: BaseException) -> None:
        super().abort(error)
        with self._lock:
            coming = [*self._coming, *self._expected.values()]
            self._coming = set()
            self._expected.clear()
        for future in coming:
            future.set_exception(self._error or error)
