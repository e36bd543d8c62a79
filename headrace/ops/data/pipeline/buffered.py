"""Elements of an iterator that are made in the background, before they are asked for."""

from __future__ import annotations

import threading
from collections import deque
from typing import Any

from headrace.core.errors import OpError
from headrace.ops.data.pipeline.dataset import Element, Iterator, Place
from headrace.ops.data.pipeline.errors_kept import kept_error, restored_error
from headrace.ops.data.pipeline.tuning import BufferSize
from headrace.ops.data.pipeline.workers import WORKERS, Task

_NOTHING: Any = object()


class Buffered(Iterator):
    """A buffer of elements and errors.  A worker fills it and goes away when it is full: a pipeline that
    nobody reads holds no thread.  Who asks and finds neither an element nor a worker makes one himself."""

    def __init__(self, source: Iterator, size: int) -> None:
        super().__init__(source.dataset, source.running, source.path)
        self.source = source
        self.changed = threading.Condition()
        self.making = threading.Lock()  # held by whoever takes elements from the input
        self.buffer: deque[Element | BaseException | None] = deque()
        self.size = BufferSize(size)
        self.task: Task | None = None
        self.ended = self.is_closed = False

    def next(self) -> Element | None:
        with self.changed:
            self.size.found(len(self.buffer))
            if self.running.stats is not None:
                self._tell(self.running.stats)
            while not self.buffer:
                if self.ended:
                    return None
                if self.task is None or self.task.is_waiting:
                    break
                self.running.wait(self.changed)
            found = self.buffer.popleft() if self.buffer else _NOTHING
            self._refill()
        if found is _NOTHING:
            return self._own()
        if isinstance(found, BaseException):
            raise found
        return found

    def _tell(self, stats: Any) -> None:
        held, limit = len(self.buffer), self.size.limit
        stats.add_of(self.dataset, "buffer_utilization", held / limit if limit else 0.0)
        stats.set_of(self.dataset, "buffer_size", held)
        stats.set_of(self.dataset, "buffer_capacity", limit)

    def ahead(self) -> None:
        """Have elements made from now on."""
        with self.changed:
            self._refill()

    @property
    def is_ready(self) -> bool:
        """Whether the next answer is known."""
        return bool(self.buffer) or self.ended

    def _own(self) -> Element | None:
        """An element straight from the input, unless a worker was faster."""
        with self.making:
            with self.changed:
                if self.buffer:
                    found = self.buffer.popleft()
                    if isinstance(found, BaseException):
                        raise found
                    return found
                if self.ended:
                    return None
            element = self.source.next()
            if element is None:
                self.ended = True
        with self.changed:
            self._refill()
        return element

    def _refill(self) -> None:
        """Have a worker fill the buffer; `changed` is held."""
        if self.task is not None or self.ended or self.is_closed or len(self.buffer) >= self.size.limit:
            return
        self.task = WORKERS.submit(self._work)

    def _work(self) -> None:
        while True:
            with self.making:
                with self.changed:
                    if self.ended or self.is_closed or len(self.buffer) >= self.size.limit:
                        self.task = None
                        self.changed.notify_all()
                        return
                found: Element | BaseException | None
                try:
                    found = self.source.next()
                except BaseException as error:
                    found = error
                with self.changed:
                    if found is None:
                        self.ended = True
                    else:
                        self.buffer.append(found)
                    self.changed.notify_all()

    def save(self) -> Place:
        with self.making, self.changed:
            source = None if self.ended else self.source.save()
            elements = [None if isinstance(x, BaseException) else x for x in self.buffer]
            return {
                "source": source,
                "buffer": elements,
                "errors": [kept_error(x) if isinstance(x, OpError) else None for x in self.buffer],
                "limit": self.size.limit,
            }

    def restore(self, place: Place) -> None:
        self.ended = place["source"] is None
        if not self.ended:
            self.source.restore(place["source"])
        pairs = zip(place["buffer"], place["errors"])
        self.buffer = deque(x if e is None else restored_error(e) for x, e in pairs)
        self.size.limit = place["limit"]

    def close(self) -> None:
        self.is_closed = True
        with self.changed:
            self.changed.notify_all()
        self.source.close()
