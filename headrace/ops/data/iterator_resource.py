"""The resource behind an iterator's handle: the pass over a dataset that is under way, if any."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Sequence
from typing import Any

from headrace.core.dtypes import DType
from headrace.core.errors import FailedPreconditionError, OpError
from headrace.core.shapes import Shape
from headrace.ops.data.pipeline.dataset import Dataset, Element, Iterator, Place
from headrace.ops.data.pipeline.declaring import check_types
from headrace.ops.data.pipeline.later import answered
from headrace.ops.data.pipeline.running import GLANCE, Running
from headrace.ops.data.pipeline.workers import here


class IteratorResource:
    """One asks after the other: an iterator has one place."""

    def __init__(self, types: Sequence[DType], shapes: Sequence[Shape]) -> None:
        self.types, self.shapes = tuple(types), tuple(shapes)
        self.iterator: Iterator | None = None
        self.running: Running | None = None
        self.failure: OpError | None = None  # why a one-shot iterator could not be made
        self.kept: deque[Element] = deque()
        self.making = threading.RLock()
        self._lock = threading.Lock()

    def start(self, ctx: Any, dataset: Dataset) -> None:
        """Begin a new pass, over this dataset."""
        check_types(dataset.types, self.types, self.shapes, dataset.shapes)
        running = Running(ctx.background())
        running.calling = ctx.step
        iterator = dataset.iterator(running, "Iterator")
        running.calling = running.background
        with self._held(ctx.step):
            old, self.iterator, self.running = (self.iterator, self.running), iterator, running
            self.kept.clear()
        _end(*old)

    def next(self, ctx: Any) -> Any:
        """The next element, None at the end; a Future where a function of the program's may be waited for."""
        iterator = self._started("GetNext", "getting the next element")
        if iterator.dataset.waits and not here.is_worker:
            return answered(ctx, lambda: self._next(ctx.step), self._keep)
        return self._next(ctx.step)

    def _next(self, step: Any) -> Element | None:
        with self._held(step):
            if self.kept:
                return self.kept.popleft()
            iterator, running = self.iterator, self.running
            assert iterator is not None and running is not None
            before, here.in_background = here.in_background, False
            running.calling = step
            try:
                return iterator.next()
            finally:
                running.calling = running.background
                here.in_background = before

    def _keep(self, element: Element | None) -> None:
        """An element that was made when its step had given up waiting: it is for the next one."""
        if element is not None:
            self.kept.append(element)

    def save(self, step: Any) -> Place:
        iterator = self._started("Save", "saving it")
        with self._held(step):
            return {"kept": list(self.kept), "iterator": iterator.save()}

    def restore(self, ctx: Any, place: Place) -> None:
        """Go to a place of the same dataset."""
        iterator = self._started("Restore", "restoring it")
        running = Running(ctx.background())
        new = iterator.dataset.iterator(running, "Iterator")
        new.restore(place["iterator"])
        with self._held(ctx.step):
            old, self.iterator, self.running = (self.iterator, self.running), new, running
            self.kept = deque(place["kept"])
        _end(*old)

    def close_resource(self) -> None:
        """The session ends, or the iterator is deleted.  What an unfinished call still uses goes with it."""
        _end(self.iterator, self.running)

    def _started(self, what: str, doing: str) -> Iterator:
        if self.iterator is None:
            raise FailedPreconditionError(
                None,
                None,
                f"{what}() failed because the iterator has not been initialized. Ensure that you have run "
                f"the initializer operation for this iterator before {doing}.",
            )
        return self.iterator

    def _held(self, step: Any) -> _Held:
        return _Held(self._lock, step)


class _Held:
    """A lock, waited for as long as the step lasts."""

    __slots__ = ("lock", "step")

    def __init__(self, lock: threading.Lock, step: Any) -> None:
        self.lock, self.step = lock, step

    def __enter__(self) -> None:
        while not self.lock.acquire(timeout=GLANCE):
            self.step.cancel.check()

    def __exit__(self, *error: object) -> None:
        self.lock.release()


def _end(iterator: Iterator | None, running: Running | None) -> None:
    if running is not None:
        running.close()
    if iterator is not None:
        iterator.close()
