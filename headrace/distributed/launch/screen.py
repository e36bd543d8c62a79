"""What the user of a launch sees: lines, output of tasks, and at a terminal a last line that changes."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import IO

from headrace.distributed.launch.tasks import Role, Task

EVERY = 0.5  # seconds between two status lines at a terminal
PLAIN_EVERY = 10.0  # and elsewhere
_ERASE = "\r\x1b[K"


@dataclass(frozen=True, slots=True)
class Seen:
    """A task as the status line shows it."""

    task: Task
    state: str  # a word: runs, waits (for its next start), ends, done, ended
    steps: int | None = None  # None: it does not say
    rate: float | None = None  # steps per second


def status_text(seen: Sequence[Seen], seconds: float, width: int) -> str:
    """The most that fits: steps of each that trains, their rates, the sum, the time."""
    clock = f"{int(seconds) // 60}:{int(seconds) % 60:02d}"
    training = [s for s in seen if s.task.role is Role.TRAINS]
    others = [f"{s.task} {s.state}" for s in seen if s.task.role is not Role.TRAINS]
    known = [s.rate for s in training if s.rate is not None]
    forms = (
        [clock, *(f"{s.task} {_steps(s)}" for s in training), *others],
        [clock, *(f"{s.task} {_steps(s)}" for s in training)],
        [clock, *(f"{s.task.job[0]}{s.task.index} {_rate(s)}" for s in training)],
        [clock, f"{len(training)} tasks {_number(sum(known))}/s" if known else f"{len(training)} tasks"],
    )
    texts = ["  ".join(words) for words in forms]
    return next((text for text in texts if len(text) <= width), texts[-1][:width])


def _steps(seen: Seen) -> str:
    if seen.state != "runs" or seen.steps is None:
        return seen.state
    return f"{seen.steps} steps {_rate(seen)}"


def _rate(seen: Seen) -> str:
    if seen.state != "runs":
        return seen.state
    return "-" if seen.rate is None else f"{_number(seen.rate)}/s"


def _number(rate: float) -> str:
    return f"{rate:.0f}" if rate >= 10 else f"{rate:.1f}"


class Screen:
    """Lines on `out` (standard error); what tasks write goes to `copies` (standard output)."""

    def __init__(self, out: IO[str] | None = None, copies: IO[bytes] | None = None) -> None:
        self._out = out or sys.stderr
        self._copies = copies or sys.stdout.buffer
        self._is_terminal = self._out.isatty()
        self._status, self._next = "", 0.0

    def line(self, text: str) -> None:
        self._erase()
        self._out.write(f"headrace launch: {text}\n")
        self._out.flush()

    def copy(self, output: bytes) -> None:
        """What a task has written."""
        if output:
            self._erase()
            self._copies.write(output)
            self._copies.flush()

    def is_time(self) -> bool:
        """For another status line."""
        return time.monotonic() >= self._next

    def status(self, seen: Sequence[Seen], seconds: float) -> None:
        """Show how far the tasks are."""
        self._next = time.monotonic() + (EVERY if self._is_terminal else PLAIN_EVERY)
        if not self._is_terminal:
            self._out.write(f"headrace launch: {status_text(seen, seconds, 1000)}\n")
        else:
            self._status = status_text(seen, seconds, self._width())
            self._out.write(_ERASE + self._status)
        self._out.flush()

    def _width(self) -> int:
        try:
            return max(
                os.get_terminal_size(self._out.fileno()).columns - 1, 1
            )  # the cursor stands on the last
        except OSError:
            return 79

    def _erase(self) -> None:
        if self._status:
            self._out.write(_ERASE)
            self._out.flush()
            self._status, self._next = "", min(self._next, time.monotonic() + 0.1)

    def close(self) -> None:
        self._erase()
