"""Tasks as processes of this machine.

Every task leads a process group of its own: Ctrl-C at the terminal reaches the launcher alone, and what a
task has started ends with it.  A task whose launcher is gone ends too (`lifeline.py`).
"""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from headrace.distributed.launch import lifeline
from headrace.distributed.launch.lifecycle import Ended, Event
from headrace.distributed.launch.logs import Logs
from headrace.distributed.launch.tasks import Task


class Runner(Protocol):
    """Who runs tasks: processes here, actors of Ray."""

    def start(self, task: Task) -> None: ...

    def ask(self, task: Task) -> None:
        """To end."""

    def kill(self, task: Task) -> None: ...

    def events(self) -> Sequence[Event]:
        """What has happened since the last question."""

    def close(self) -> None:
        """Nothing is left running."""


Command = Callable[[Task], tuple[Sequence[str], Mapping[str, str]]]  # words, and what the environment gets


class Processes:
    """`command` says how a task is started."""

    def __init__(self, command: Command, logs: Logs) -> None:
        self._command, self._logs = command, logs
        self._running: dict[Task, subprocess.Popen[bytes]] = {}
        self._lifeline, self._held = os.pipe()

    def start(self, task: Task) -> None:
        """In a session of its own, so that a Ctrl-C at the terminal reaches the launcher alone, which
        decides; and with the lifeline, whose end tells the task that the launcher has gone."""
        words, environment = self._command(task)
        with self._logs.open(task) as output:
            self._running[task] = subprocess.Popen(
                words,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env={
                    **os.environ,
                    "PYTHONUNBUFFERED": "1",
                    lifeline.NAME: str(self._lifeline),
                    **environment,
                },
                start_new_session=True,
                pass_fds=(self._lifeline,),
            )

    def ask(self, task: Task) -> None:
        self._signal(task, signal.SIGTERM)

    def kill(self, task: Task) -> None:
        self._signal(task, signal.SIGKILL)

    def pid(self, task: Task) -> int:
        return self._running[task].pid

    def events(self) -> list[Event]:
        return [Ended(task, self._reap(task)) for task in list(self._running) if self._has_ended(task)]

    def _has_ended(self, task: Task) -> bool:
        how = os.WEXITED | os.WNOHANG | os.WNOWAIT  # it keeps its number, so that its group can be named
        return os.waitid(os.P_PID, self._running[task].pid, how) is not None

    def _reap(self, task: Task) -> int:
        self._signal(task, signal.SIGKILL)  # what it has started and left
        return self._running.pop(task).wait()

    def _signal(self, task: Task, number: int) -> None:
        found = self._running.get(task)
        if found is not None and found.returncode is None:
            os.killpg(found.pid, number)

    def close(self) -> None:
        for task in list(self._running):
            self._reap(task)
        for end in (self._lifeline, self._held):
            os.close(end)
