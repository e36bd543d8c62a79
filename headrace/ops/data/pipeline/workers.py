"""Threads that all pipelines share.  They come when there is work and go when there is none for a while.

Whoever waits for a task that nobody has begun does it himself (`Task.run` once claimed): so a limited number
of threads is enough however deep pipelines are nested, and no two tasks wait for each other's thread.
"""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable

LIMIT = 128  # threads
IDLE = 0.4  # seconds after which a thread without work ends


class _Here(threading.local):
    """What this thread does."""

    is_worker = False  # it is one of these, which may wait where the program's own threads may not
    in_background = False  # for nobody's step, but for whoever asks next


here = _Here()


class Task:
    """Work that somebody does once: a thread of the pool, or who needs it first."""

    __slots__ = ("function", "_tokens")

    def __init__(self, function: Callable[[], object]) -> None:
        self.function = function
        self._tokens = [None]

    def claim(self) -> bool:
        """True for one caller only."""
        try:
            self._tokens.pop()
        except IndexError:
            return False
        return True

    def run_here(self) -> None:
        """Do what was claimed in this thread, which waits for it."""
        before, here.in_background = here.in_background, True
        try:
            self.function()
        finally:
            here.in_background = before

    @property
    def is_waiting(self) -> bool:
        """Nobody has begun it."""
        return bool(self._tokens)


class Workers:
    """The pool."""

    def __init__(self) -> None:
        self.renew()

    def renew(self) -> None:
        """In a forked child there are no threads, and who held the lock is gone."""
        self._changed = threading.Condition()
        self._tasks: deque[Task] = deque()
        self.count = self._idle = 0

    def submit(self, function: Callable[[], object]) -> Task:
        task = Task(function)
        with self._changed:
            self._tasks.append(task)
            if self._idle >= len(self._tasks):
                self._changed.notify()
            elif self.count < LIMIT:
                self.count += 1
                threading.Thread(target=self._work, daemon=True, name="headrace-data").start()
        return task

    def _work(self) -> None:
        here.is_worker = True
        while (task := self._next()) is not None:
            if task.claim():
                here.in_background = True
                task.function()
            del task

    def _next(self) -> Task | None:
        with self._changed:
            while not self._tasks:
                self._idle += 1
                woken = self._changed.wait(IDLE)
                self._idle -= 1
                if not woken and not self._tasks:
                    self.count -= 1
                    return None
            return self._tasks.popleft()


WORKERS = Workers()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=WORKERS.renew)
