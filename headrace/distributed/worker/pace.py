"""Whether a graph is short enough to be run by the thread that read the request.  Pure: times in, answer out.

What is not known yet may have to be compiled; what took long would keep others waiting: both go to a thread
of their own."""

from __future__ import annotations

from dataclasses import dataclass

LONG = 0.0005  # seconds of work
TRUSTED = 3  # short runs in a row


@dataclass(slots=True)
class Pace:
    short: int = 0  # runs in a row

    @property
    def is_quick(self) -> bool:
        return self.short >= TRUSTED

    def on_run(self, seconds: float) -> None:
        """A stretch of a run has taken this long."""
        self.short = self.short + 1 if seconds < LONG else 0
