"""The progress bar of training."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable
from typing import Any

import numpy as np


class Progbar:
    """A progress bar on standard output.

    Args:
      target: how many steps there will be; None if that is not known.
      width: of the bar, in characters.
      verbose: 0 silent, 1 a bar, 2 a line at the end.
      interval: seconds between two updates of what is shown, at least.
      stateful_metrics: names of values that are shown as they are; others are averaged.
      unit_name: what a step is.
    """

    def __init__(
        self,
        target: int | None,
        width: int = 30,
        verbose: int = 1,
        interval: float = 0.05,
        stateful_metrics: Iterable[str] | None = None,
        unit_name: str = "step",
    ) -> None:
        self.target, self.width, self.verbose = target, width, verbose
        self.interval, self.unit_name = interval, unit_name
        self.stateful_metrics = set(stateful_metrics or ())
        self._shown = self._seen_so_far = 0  # characters, steps
        self._values: dict[str, list[Any]] = {}  # sum and weight
        self._start, self._last_update = time.time(), 0.0

    def add(self, n: int, values: Any = None) -> None:
        """`n` steps more."""
        self.update(self._seen_so_far + n, values)

    def update(self, current: int, values: Any = None) -> None:
        """Show that `current` steps are done.

        Args:
          current: how many.
          values: pairs of a name and the value of the last step.
        """
        for name, value in values or ():
            if name in self.stateful_metrics:
                self._values[name] = [value, 1]
            else:
                more = current - self._seen_so_far
                total, weight = self._values.get(name, (0, 0))
                self._values[name] = [total + value * more, weight + more]
        self._seen_so_far = current
        now = time.time()
        is_last = self.target is not None and current >= self.target
        if self.verbose == 1:
            if now - self._last_update < self.interval and self.target is not None and not is_last:
                return
            self._show_bar(current, now, is_last)
        elif self.verbose == 2 and is_last:
            self._write(f"{self._count(current)} - {now - self._start:.0f}s{self._averages()}\n")
        self._last_update = now

    def _show_bar(self, current: int, now: float, is_last: bool) -> None:
        before = self._shown
        if self.target is None:
            bar = f"{current:7d}/Unknown"
        else:
            filled = int(self.width * float(current) / self.target)
            line = "=" * (filled - 1) + ("=" if is_last else ">") if filled > 0 else ""
            bar = f"{self._count(current)} [{line}{'.' * (self.width - filled)}]"
        per_unit = (now - self._start) / current if current else 0
        if self.target is not None and not is_last:
            info = f" - ETA: {_duration(per_unit * (self.target - current))}"
        else:
            info = f" - {now - self._start:.0f}s {_rate(per_unit)}/{self.unit_name}"
        info += self._averages()
        self._shown = len(bar) + len(info)
        padding = " " * max(0, before - self._shown)
        self._write("\b" * before + "\r" + bar + info + padding + ("\n" if is_last else ""))

    def _count(self, current: int) -> str:
        assert self.target is not None
        digits = int(np.log10(self.target)) + 1
        return f"{current:{digits}d}/{self.target}"

    def _averages(self) -> str:
        text = ""
        for name, (total, weight) in self._values.items():
            average = np.mean(total / max(1, weight))
            text += f" - {name}: {average:.4f}" if abs(average) > 1e-3 else f" - {name}: {average:.4e}"
        return text

    def _write(self, text: str) -> None:
        sys.stdout.write(text)
        sys.stdout.flush()


def _duration(seconds: float) -> str:
    whole = int(seconds)
    if whole > 3600:
        return f"{whole // 3600}:{whole % 3600 // 60:02d}:{whole % 60:02d}"
    return f"{whole // 60}:{whole % 60:02d}" if whole > 60 else f"{whole}s"


def _rate(seconds: float) -> str:
    if seconds >= 1 or seconds == 0:
        return f"{seconds:.0f}s"
    return f"{seconds * 1e3:.0f}ms" if seconds >= 1e-3 else f"{seconds * 1e6:.0f}us"
