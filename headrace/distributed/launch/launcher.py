"""The acting part of a launch: does what `lifecycle.py` decides, and shows it.

One thread: it looks at tasks, signals and timers several times a second.
"""

from __future__ import annotations

import heapq
import itertools
import signal
import threading
import time
from collections import deque
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, Protocol

from headrace.distributed.launch.lifecycle import (
    Action,
    Ask,
    Began,
    Due,
    Event,
    Finish,
    Kill,
    Lifecycle,
    Phase,
    Signalled,
    Start,
    Tell,
    Wait,
)
from headrace.distributed.launch.logs import Logs
from headrace.distributed.launch.processes import Runner
from headrace.distributed.launch.screen import Screen, Seen
from headrace.distributed.launch.tasks import Task

LOOK = 0.05  # seconds between two looks
LINES = 15  # of a failed task's output
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Progress(Protocol):
    """Who knows how many steps a task has done."""

    def ask(self, running: Collection[Task]) -> None:
        """Begin to ask those that run; called often."""

    def of(self, task: Task) -> tuple[int | None, float | None]:
        """(steps, steps per second), where they are known."""


class NoProgress:
    """Where nobody can be asked."""

    def ask(self, running: Collection[Task]) -> None:
        pass

    def of(self, task: Task) -> tuple[int | None, float | None]:
        return None, None


class Launcher:
    """`shown`: tasks whose output the user sees as it comes."""

    def __init__(
        self,
        state: Lifecycle,
        runner: Runner,
        logs: Logs,
        screen: Screen,
        progress: Progress,
        shown: Collection[Task] = (),
    ) -> None:
        self.state, self.runner, self.logs = state, runner, logs
        self.screen, self.progress, self.shown = screen, progress, list(shown)
        self._events: deque[Event] = deque()
        self._timers: list[tuple[float, int, Due]] = []
        self._order = itertools.count()
        self._code: int | None = None

    def run(self) -> int:
        """Until all is over; the exit code."""
        began = time.monotonic()
        self._events.append(Began())
        try:
            with self._signals():
                while self._code is None:
                    self._look()
                    self.progress.ask(self.state.running)
                    if self.screen.is_time() and self._code is None:
                        self.screen.status(self._seen(), time.monotonic() - began)
                    time.sleep(0 if self._events else LOOK)
        finally:
            self.runner.close()
            self.screen.close()
        return self._code

    def _look(self) -> None:
        now = time.monotonic()
        while self._timers and self._timers[0][0] <= now:
            self._events.append(heapq.heappop(self._timers)[2])
        self._events.extend(self.runner.events())
        self._copy()
        while self._events:
            for action in self.state.on(self._events.popleft()):
                self._act(action)

    def _act(self, action: Action) -> None:
        """Do what the state decided; what happens next comes back as an event."""
        match action:
            case Start(task):
                self.runner.start(task)
            case Ask(task):
                self.runner.ask(task)
            case Kill(task):
                self.runner.kill(task)
            case Wait(seconds, what):
                heapq.heappush(self._timers, (time.monotonic() + seconds, next(self._order), Due(what)))
            case Tell(text, task):
                self._tell(text, task)
            case Finish(code):
                self._copy(all_of_it=True)
                self._code = code

    def _tell(self, text: str, task: Task | None) -> None:
        self.screen.line(text)
        if task is not None:
            for line in self.logs.last_lines(task, LINES) if task not in self.shown else ():
                self.screen.line(f"  {task}| {line}")
            self.screen.line(f"  all of it: {self.logs.path(task)}")

    def _copy(self, all_of_it: bool = False) -> None:
        try:
            for task in self.shown:
                self.screen.copy(self.logs.fresh(task, all_of_it))
        except BrokenPipeError:  # `headrace launch ... | head`: nobody reads on
            self.shown = []
            self._events.append(Signalled(signal.SIGPIPE))

    def _seen(self) -> list[Seen]:
        return [Seen(task, self._state_of(task), *self.progress.of(task)) for task in self.state.tasks]

    def _state_of(self, task: Task) -> str:
        if task in self.state.running:
            return "runs" if self.state.phase is Phase.RUNNING else "ends"
        return "waits" if task in self.state.waiting else "done" if task in self.state.done else "ended"

    @contextmanager
    def _signals(self) -> Iterator[None]:
        """Signals are events; where this is not the main thread nobody can be told of them."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return

        def note(number: int, frame: FrameType | None) -> None:
            self._events.append(Signalled(number))

        heard = [n for n in SIGNALS if signal.getsignal(n) is not signal.SIG_IGN]  # nohup's stay ignored
        before: dict[Any, Any] = {number: signal.signal(number, note) for number in heard}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
