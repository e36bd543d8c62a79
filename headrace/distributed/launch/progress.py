"""How many steps the tasks of a launch have done: asked of their servers, without ever waiting."""

from __future__ import annotations

import time
from collections.abc import Collection
from concurrent.futures import Future

from headrace.distributed.launch.inquiry import Inquiry
from headrace.distributed.launch.rates import Rates
from headrace.distributed.launch.tasks import Layout, Task
from headrace.distributed.wire.task_status import TaskStatus

EVERY = 0.5  # seconds between two questions to a task


class ServerProgress:
    """A task that has no server yet, or none at all, is one of whom nothing is known."""

    _next = 0.0

    def __init__(self, layout: Layout) -> None:
        self._layout, self._inquiry, self._rates = layout, Inquiry(), Rates()
        self._asked: dict[Task, Future[TaskStatus]] = {}

    def ask(self, running: Collection[Task]) -> None:
        """Take answers that have come, and ask those that run and owe none; once in a while."""
        now = time.monotonic()
        if now < self._next:
            return
        self._next = now + EVERY
        for task, answer in list(self._asked.items()):
            if answer.done():
                del self._asked[task]
                if answer.exception() is None:
                    self._rates.note(task, now, answer.result().steps)
        for task, address in self._layout.addresses.items():
            if task not in running:
                self._rates.forget(task)
            elif task not in self._asked:
                self._asked[task] = self._inquiry.begin(address)

    def of(self, task: Task) -> tuple[int | None, float | None]:
        return self._rates.count(task), self._rates.rate(task)

    def close(self) -> None:
        self._inquiry.close()
