"""Work of several steps put together.  A batcher collects what they bring, until there is enough or time is
up, and threads of its own do the work; an exchange gives each step its part of a result."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from itertools import accumulate, pairwise
from typing import Any

import numpy as np

from headrace.core.dtypes import NDArray
from headrace.core.errors import (
    AlreadyExistsError,
    CancelledError,
    DeadlineExceededError,
    FailedPreconditionError,
    InvalidArgumentError,
    OpError,
    UnavailableError,
    require,
)
from headrace.core.later import Call, call_later
from headrace.core.shapes import show
from headrace.ops.declaration.waiting import cancelled, until_cancelled

_MICRO = 1e-6


class Task:
    """What one step brings."""

    __slots__ = ("ctx", "inputs", "more", "guid", "future")

    def __init__(self, ctx: Any, inputs: list[NDArray], more: list[Any], guid: int) -> None:
        self.ctx, self.inputs, self.more, self.guid = ctx, inputs, more, guid
        self.future: Future[Any] = Future()

    @property
    def size(self) -> int:
        return len(self.inputs[0])

    def answer(self, values: list[Any]) -> None:
        if not self.future.done():
            self.future.set_result(values)

    def fail(self, error: BaseException) -> None:
        if not self.future.done():
            self.future.set_exception(error)


class Batcher:
    """The resource behind batching ops: tasks by queues, of which each fills one batch at a time."""

    def __init__(
        self,
        process: Callable[[Batcher, list[Task]], None],
        num_batch_threads: int,
        max_batch_size: int,
        batch_timeout_micros: int,
        max_enqueued_batches: int,
        allowed_batch_sizes: Sequence[int],
    ) -> None:
        require(num_batch_threads > 0, f"num_batch_threads must be positive; was {num_batch_threads}")
        require(max_batch_size > 0, f"max_batch_size must be positive; was {max_batch_size}")
        require(batch_timeout_micros >= 0, f"batch_timeout_micros must be >= 0; was {batch_timeout_micros}")
        require(
            all(a < b for a, b in pairwise(allowed_batch_sizes)),
            "allowed_batch_sizes entries must be monotonically increasing",
        )
        require(
            not allowed_batch_sizes or allowed_batch_sizes[-1] == max_batch_size,
            "final entry in allowed_batch_sizes must equal max_batch_size",
        )
        self._process, self._most, self._allowed = process, max_batch_size, allowed_batch_sizes
        self._seconds, self._waiting_most = batch_timeout_micros * _MICRO, max_enqueued_batches
        self._open: dict[str, tuple[list[Task], Call]] = {}
        self._under_way: dict[str, int] = {}  # batches that are full and not begun, by queue
        self._lock = threading.Lock()
        self._threads = ThreadPoolExecutor(num_batch_threads, "headrace-batch")

    def submit(self, queue: str, task: Task) -> Future[Any]:
        """The values for this task, later."""
        for array in task.inputs:
            require(array.ndim > 0, "Batching input tensors must have at least one dimension")
            require(
                len(array) == task.size,
                "Batching input tensors supplied in a given op invocation must have equal 0th-dimension size",
            )
        require(
            task.size <= self._most, f"Task size {task.size} is larger than maximum batch size {self._most}"
        )
        with self._lock:
            self._add(queue, task)
        return until_cancelled(task.ctx, task.future, lambda: self._give_up(queue, task))

    def _add(self, queue: str, task: Task) -> None:
        batch, _ = self._open.get(queue, ([], None))
        full = batch and sum(t.size for t in batch) + task.size > self._most
        if (full or not batch) and self._under_way.get(queue, 0) >= self._waiting_most:
            message = "The batch scheduling queue to which this task was submitted is full"
            raise UnavailableError(None, None, message)
        if full:
            self._close(queue)
            batch = []
        if not batch:
            timer = call_later(self._seconds, lambda: self._time_is_up(queue, batch))
            self._open[queue] = batch, timer
        batch.append(task)
        if sum(t.size for t in batch) >= self._most:
            self._close(queue)

    def _close(self, queue: str) -> None:
        batch, timer = self._open.pop(queue)
        timer.cancel()
        self._under_way[queue] = self._under_way.get(queue, 0) + 1
        self._threads.submit(self._run, queue, batch)

    def _time_is_up(self, queue: str, batch: list[Task]) -> None:
        with self._lock:
            if queue in self._open and self._open[queue][0] is batch:
                self._close(queue)

    def _run(self, queue: str, batch: list[Task]) -> None:
        with self._lock:
            self._under_way[queue] -= 1
        batch = [task for task in batch if not task.future.done()]
        if not batch:
            return
        try:
            self._process(self, batch)
        except Exception as error:
            for task in batch:
                task.fail(_own(error))

    def _give_up(self, queue: str, task: Task) -> None:
        """The step does not wait any longer; a batch that is not begun goes without it."""
        with self._lock:
            open_batch = self._open.get(queue)
            if open_batch is not None and task in open_batch[0]:
                open_batch[0].remove(task)
                if not open_batch[0]:
                    self._open.pop(queue)[1].cancel()
        task.fail(cancelled(task.ctx, "The step that waited for a batch was cancelled"))

    def close_resource(self) -> None:
        """The container that held it is cleared."""
        with self._lock:
            left = [task for batch, _ in self._open.values() for task in batch]
            for _, timer in self._open.values():
                timer.cancel()
            self._open.clear()
        for task in left:
            task.fail(CancelledError(None, None, "The batch that was being collected is gone"))
        self._threads.shutdown(wait=False)

    # -- what is done with a batch ---------------------------------------------------------------
    def joined(self, batch: list[Task]) -> list[NDArray]:
        """The inputs of all tasks together, with copies of the first row up to an allowed size."""
        require(
            all(len(task.inputs) == len(batch[0].inputs) for task in batch),
            "Batching inputs must have equal number of edges",
        )
        total = sum(task.size for task in batch)
        missing = next((n for n in self._allowed if n >= total), total) - total
        out = []
        for arrays in zip(*(task.inputs for task in batch)):
            first = arrays[0]
            for i, array in enumerate(arrays):
                require(
                    array.shape[1:] == first.shape[1:],
                    f"Dimensions of inputs should match: shape[0] = {show(first.shape)} vs. shape[{i}] = "
                    f"{show(array.shape)}",
                )
            out.append(np.concatenate([*arrays, *[first[:1]] * missing]))
        return out


def bounds(batch: list[Task]) -> list[tuple[int, int]]:
    """From where to where the rows of each task lie."""
    return list(pairwise(accumulate((task.size for task in batch), initial=0)))


def split(batch: list[Task], outputs: list[NDArray], rows: int) -> None:
    """Give each task its rows of the outputs."""
    for array in outputs:
        if array.ndim == 0:
            raise FailedPreconditionError(None, None, "Batched output tensor has 0 dimensions")
        if len(array) != rows:
            raise FailedPreconditionError(
                None,
                None,
                "Batched output tensor's 0th dimension does not equal the sum of the 0th dimension sizes of "
                "the input tensors",
            )
    for task, (start, stop) in zip(batch, bounds(batch)):
        task.answer([np.array(array[start:stop]) for array in outputs])


def _own(error: Exception) -> Exception:
    """An error of each step's own: two threads must not raise one object."""
    if isinstance(error, OpError):
        kind: Any = type(error)
        own: Exception = kind(None, None, error.message)
        return own
    return InvalidArgumentError(None, None, str(error))


class Exchange:
    """The resource behind `Unbatch`: values that wait for their steps, and steps that wait for values."""

    def __init__(self, timeout_micros: int) -> None:
        self._seconds = timeout_micros * _MICRO
        self._values: dict[int, NDArray] = {}
        self._steps: dict[int, Future[Any]] = {}
        self._lock = threading.Lock()

    def swap(self, ctx: Any, data: NDArray, index: NDArray, key: int) -> Any:
        """Leave the rows of `data` for the steps that `index` names; the rows for `key`, now or later."""
        require(
            len(index) <= len(data),
            "Wrong shape for index tensor. Expected 0th dimension size to be no greater than "
            f"{len(data)}; Got: {len(index)}.",
        )
        require(
            index.shape[1] == 3,
            f"Wrong shape for index tensor. Expected 1st dimension size to be 3 ; Got: {index.shape[1]}.",
        )
        with self._lock:
            if key in self._values:
                return self._values.pop(key)
            if key in self._steps:
                message = "Multiple session runs with the same batch key."
                raise AlreadyExistsError(None, None, message)
            mine = self._steps[key] = Future()
            ready = []
            for owner, start, stop in index.tolist():
                rows = np.array(data[start:stop])
                waiting = self._steps.pop(owner, None)
                if waiting is not None:
                    ready.append((waiting, rows))
                else:
                    self._values[owner] = rows
                    call_later(self._seconds, partial(self._values.pop, owner, None))
        for waiting, rows in ready:
            waiting.set_result(rows)
        if mine.done():
            return mine.result()
        late = "Batched data did not arrive within timeout window."
        timer = call_later(self._seconds, lambda: self._fail(key, DeadlineExceededError(None, None, late)))
        mine.add_done_callback(lambda done: timer.cancel())
        return until_cancelled(ctx, mine, lambda: self._fail(key, cancelled(ctx, "Unbatch was cancelled")))

    def _fail(self, key: int, error: OpError) -> None:
        with self._lock:
            waiting = self._steps.pop(key, None)
        if waiting is not None:
            waiting.set_exception(error)

    def close_resource(self) -> None:
        """The container that held it is cleared."""
        for key in list(self._steps):
            self._fail(key, CancelledError(None, None, "Unbatch was cancelled"))


class GradientExchange:
    """The resource behind `UnbatchGrad`: rows of gradients, until those of a whole batch are there."""

    def __init__(self) -> None:
        self._rows: dict[int, NDArray] = {}
        self._batches: deque[tuple[list[int], Future[Any]]] = deque()
        self._lock = threading.Lock()

    def swap(self, ctx: Any, index: NDArray, grad: NDArray, key: int, blank: NDArray) -> Any:
        """Leave the gradient of one step; that of the batch for whoever had the batch, now or later."""
        mine: Future[Any] | None = None
        with self._lock:
            if key in self._rows:
                raise AlreadyExistsError(None, None, "Two runs with the same batch key.")
            self._rows[key] = np.array(grad)
            if len(index):
                mine = Future()
                self._batches.append((index[:, 0].tolist(), mine))
            ready = [(f, keys) for keys, f in self._batches if all(k in self._rows for k in keys)]
            answers = [(f, np.concatenate([self._rows.pop(k) for k in keys])) for f, keys in ready]
            done = {id(f) for f, _ in answers}
            self._batches = deque(b for b in self._batches if id(b[1]) not in done)
        for future, rows in answers:
            future.set_result(rows)
        if mine is None:
            return blank
        return mine.result() if mine.done() else until_cancelled(ctx, mine, lambda: self._give_up(ctx, mine))

    def _give_up(self, ctx: Any, future: Future[Any]) -> None:
        with self._lock:
            before = len(self._batches)
            self._batches = deque(b for b in self._batches if b[1] is not future)
            waited = len(self._batches) < before
        if waited:
            future.set_exception(cancelled(ctx, "UnbatchGrad was cancelled"))

    def close_resource(self) -> None:
        """The container that held it is cleared."""
        with self._lock:
            left, self._batches = self._batches, deque()
        for _, future in left:
            future.set_exception(CancelledError(None, None, "UnbatchGrad was cancelled"))
