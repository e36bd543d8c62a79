"""A bar for somebody who watches a training loop at a terminal: step, rate, time left, last values.

    step 1,200 of 5,000 [#######               ]  24%  312.4/s  0:12 left  loss 0.0123

`Pace` is pure: steps and moments in, rate and text out.  ProgressHook draws it ten times a second at most,
and wipes it before a line of the log.
"""

from __future__ import annotations

import logging
import shutil
import sys
import time
from collections import deque
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from headrace.core import log
from headrace.functions.values import nest
from headrace.graph.tensor import Tensor
from headrace.train.hooks.run_hook import SessionRunArgs, SessionRunContext, SessionRunHook, SessionRunValues
from headrace.train.hooks.step_hooks import StepReader, StopAtStepHook
from headrace.train.schedules.step_count import get_global_step

_EVERY = 0.1  # seconds between two pictures
_WINDOW = 10.0  # seconds over which the rate is taken
_BAR = 22
_VALUES = 4  # at most


class Pace:
    """How fast steps come, and how long the rest will take."""

    def __init__(self) -> None:
        self._seen: deque[tuple[float, int]] = deque()

    def at(self, step: int, now: float) -> None:
        """So far it has come."""
        if self._seen and step < self._seen[-1][1]:
            self._seen.clear()  # back to a checkpoint
        self._seen.append((now, step))
        while len(self._seen) > 2 and now - self._seen[1][0] > _WINDOW:
            self._seen.popleft()

    @property
    def rate(self) -> float | None:
        """Steps per second; None as long as nobody knows."""
        if not self._seen:
            return None
        (start, first), (end, last) = self._seen[0], self._seen[-1]
        return (last - first) / (end - start) if end > start else None

    def text(self, total: int | None, values: Sequence[tuple[str, float]]) -> str:
        """The line.

        Args:
          total: the last step; None if nobody knows.
          values: what to show beside, by name.
        """
        step = self._seen[-1][1] if self._seen else 0
        words = [f"step {step:,}"]
        rate = self.rate
        if total:
            part = min(step / total, 1.0)
            words = [f"step {step:,} of {total:,} [{'#' * int(part * _BAR):<{_BAR}}] {part:4.0%}"]
        if rate is not None:
            words.append(f"{rate:.1f}/s")
            if total and rate > 0:
                words.append(f"{_duration(max(total - step, 0) / rate)} left")
        words += [f"{name} {value:.4g}" for name, value in values]
        return "  ".join(words)


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"


class ProgressHook(SessionRunHook):
    """Draws the bar on standard error."""

    def __init__(self, hooks: Sequence[SessionRunHook]) -> None:
        """Args:
        hooks: those beside it; one of them may know the last step.
        """
        self._stops = [hook for hook in hooks if isinstance(hook, StopAtStepHook)]
        self._pace, self._next, self._drawn = Pace(), 0.0, 0
        self._runs = 0
        self._reader: StepReader | None = None

    def begin(self) -> None:
        self._reader = StepReader("ProgressHook") if get_global_step() is not None else None
        for handler in log.get_logger().handlers:
            handler.addFilter(self._make_room)

    def _make_room(self, record: logging.LogRecord) -> bool:
        self._draw("")
        return True

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs | None:
        return self._reader.request if self._reader is not None else None

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        self._runs += 1
        now = time.monotonic()
        if now < self._next:
            return
        self._next = now + _EVERY
        self._pace.at(self._runs if self._reader is None else int(run_values.results), now)
        total = next((h._last_step for h in self._stops if h._last_step is not None), None)
        shown = list(scalars(run_context.original_args.fetches, run_context._results))
        self._draw(self._pace.text(total, shown[:_VALUES]))

    def end(self, session: Any) -> None:
        if self._drawn:
            sys.stderr.write("\n")
            self._drawn = 0
        for handler in log.get_logger().handlers:
            handler.removeFilter(self._make_room)

    def _draw(self, text: str) -> None:
        """In place of the last picture; the cursor stays at the start, where others begin to write."""
        if not text and not self._drawn:
            return
        text = text[: shutil.get_terminal_size().columns - 1]
        sys.stderr.write(f"\r{text:<{self._drawn}}\r")
        sys.stderr.flush()
        self._drawn = len(text)


def scalars(fetches: Any, values: Any) -> Iterator[tuple[str, float]]:
    """Names and values of the floating-point scalars among what the user has fetched."""
    for fetch, value in zip(nest.flatten(fetches), nest.flatten(values)):
        is_number = isinstance(value, (float, np.floating))
        if is_number and isinstance(fetch, (Tensor, str)):
            name = fetch if isinstance(fetch, str) else fetch.op.name
            yield name.rpartition(":")[0].rpartition("/")[2] or name.rpartition("/")[2], float(value)
