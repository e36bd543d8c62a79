"""A reader: takes names of files out of a queue, and gives their records one after the other.

Requests are served in order.  One that has to wait for a name gets a Future: waiting holds no thread.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from typing import Any

from google.protobuf.message import DecodeError

from headrace.core.dtypes import string
from headrace.core.errors import UnimplementedError, require
from headrace.formats import files, proto
from headrace.ops.declaration.text import strings
from headrace.ops.queues.queue_resource import Queue


class Request:
    """Somebody who wants up to `limit` records."""

    __slots__ = ("ctx", "queue", "limit", "keys", "values", "future", "fence")

    def __init__(self, ctx: Any, queue: Queue, limit: int) -> None:
        self.ctx, self.queue, self.limit = ctx, queue, limit
        self.keys: list[bytes] = []
        self.values: list[bytes] = []
        self.future: Future[Any] = Future()
        self.fence = files.fence.get()  # it may be served on another thread

    def result(self) -> list[Any]:
        return [strings(self.keys), strings(self.values)]


class OneRecord(Request):
    """Somebody who wants one record, as scalars."""

    def __init__(self, ctx: Any, queue: Queue) -> None:
        super().__init__(ctx, queue, 1)

    def result(self) -> list[Any]:
        return [strings(self.keys, ()), strings(self.values, ())]


class Reader:
    """The resource behind a reader's handle."""

    def __init__(
        self, name: str, records: Callable[[bytes], Iterator[tuple[bytes, bytes]]], whole: bool = False
    ) -> None:
        """`whole`: a unit of work is one record, and no more has to be remembered than its name."""
        self.name, self.records, self.whole = name, records, whole
        self.started = self.finished = self.produced = 0
        self.work = b""
        self._current: Iterator[tuple[bytes, bytes]] | None = None
        self._requests: deque[Request] = deque()
        self._lock = threading.RLock()
        self._busy = False

    # -- records -------------------------------------------------------------------------------
    def read(self, request: Request) -> Any:
        """The keys and values, or a Future of them."""
        with self._lock:
            self._requests.append(request)
            if self._busy:
                forget = request.ctx.on_cancel(lambda: self._give_up(request))
                request.future.add_done_callback(lambda future: forget())
                return request.future
            self._busy = True
        self._serve()
        return request.future.result() if request.future.done() else request.future

    def _serve(self, work: Any = None) -> None:
        """Serve one after the other, until somebody has to wait for work."""
        while True:
            with self._lock:
                if not self._requests:
                    self._busy = False
                    return
                request = self._requests[0]
            error: BaseException | None = None
            try:
                with files.fenced(request.fence):
                    waits = self._fill(request, work)
            except Exception as failure:
                error, waits = failure, None
            work = None
            if waits is not None:
                waits.add_done_callback(self._arrived)
                return
            with self._lock:
                self._requests.popleft()
            if error is not None:
                request.future.set_exception(error)
            else:
                request.future.set_result(request.result())

    def _arrived(self, work: Future[Any]) -> None:
        self._serve(work)

    def _fill(self, request: Request, work: Any) -> Future[Any] | None:
        """Add records to the request; a Future where work is missing."""
        while len(request.keys) < request.limit:
            if self._current is None:
                found = request.queue.take(request.ctx) if work is None else work.result()
                work = None
                if isinstance(found, Future):
                    return found
                self._start(request.queue, found)
            assert self._current is not None
            record = next(self._current, None)
            if record is not None:
                request.keys.append(record[0])
                request.values.append(record[1])
                self.produced += 1
            if record is None or self.whole:
                self._finish()
                if request.keys:
                    return None
        return None

    def _start(self, queue: Queue, found: list[Any]) -> None:
        require(len(found) == 1, "Expected single component queue")
        require(queue.types[0] is string, "Expected queue with single string component")
        require(found[0].size == 1, "Expected to dequeue a one-element string tensor")
        self.work = found[0].item()
        self._current = self.records(self.work)
        self.started += 1

    def _finish(self) -> None:
        self._current = None
        self.finished = self.started

    def _give_up(self, request: Request) -> None:
        """The step of a request that waits for others was cancelled."""
        with self._lock:
            if request not in self._requests or self._requests[0] is request:
                return  # done, or being served: the queue will tell
            self._requests.remove(request)
        request.future.set_exception(request.ctx.cancel_reason())

    # -- state ---------------------------------------------------------------------------------
    def reset(self) -> None:
        self.started = self.finished = self.produced = 0
        self.work, self._current = b"", None

    def state(self) -> bytes:
        if not self.whole:
            raise UnimplementedError(None, None, "Reader SerializeState")
        message = proto.ReaderBaseState(
            work_started=self.started,
            work_finished=self.finished,
            num_records_produced=self.produced,
            current_work=self.work,
        )
        return bytes(message.SerializeToString())

    def restore(self, state: bytes) -> None:
        if not self.whole:
            raise UnimplementedError(None, None, "Reader RestoreState")
        try:
            message = proto.ReaderBaseState.FromString(state)
        except DecodeError:
            require(False, f"Could not parse state for {self.name}: {state!r}")
        self.reset()
        counts = message.work_started, message.work_finished, message.num_records_produced
        shown = str(message).replace("\n", " ")
        require(min(counts) >= 0, f"Unexpected negative value when restoring in {self.name}: {shown}")
        require(
            message.work_started <= message.work_finished,
            f"Inconsistent work started vs. finished when restoring in {self.name}: {shown}",
        )
        self.started, self.finished, self.produced = counts
        self.work = message.current_work
