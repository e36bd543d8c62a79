"""Who waits for the compiler at a terminal is told, in a line that goes away."""

from __future__ import annotations

import io
import sys

from headrace.codegen.machine import cache, notice
from tests.timing import wait_until


class Terminal(io.StringIO):
    def isatty(self):
        return True


def terminal(monkeypatch):
    """What is written to standard error from here on; pytest has one of its own for each phase of a test."""
    found = Terminal()
    monkeypatch.setattr(sys, "stderr", found)
    monkeypatch.setattr(notice, "PATIENCE", 0.01)
    monkeypatch.setattr(notice, "_EVERY", 0.01)
    monkeypatch.delenv("HEADRACE_PROGRESS", raising=False)
    return found


def test_the_line_counts_kernels_and_goes_away(monkeypatch):
    screen = terminal(monkeypatch)
    monkeypatch.setattr(cache, "kernels", cache.Kernels(asked=7, done=7))
    with notice.telling("region of 3 nodes"):
        cache.kernels.asked += 4
        cache.kernels.done += 1
        wait_until(lambda: "1 of 4 kernels" in screen.getvalue())
    shown = screen.getvalue()
    assert "headrace: compiling a region of 3 nodes" in shown
    assert shown.endswith("\r") and not shown.split("\r")[-2].strip()


def test_nothing_is_said_to_a_log_or_of_short_work(monkeypatch):
    screen = terminal(monkeypatch)
    monkeypatch.setattr(notice, "PATIENCE", 60.0)
    with notice.telling("region"):
        pass
    monkeypatch.setenv("HEADRACE_PROGRESS", "0")
    monkeypatch.setattr(notice, "PATIENCE", 0.0)
    with notice.telling("region"):
        pass
    assert screen.getvalue() == ""
