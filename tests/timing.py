"""Tests of time on machines that have other work: limits that grow with the crowd, and no action at a
moment that is only guessed."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from headrace.core import interrupts

PATIENCE = 120.0  # seconds after which something hangs, however busy the machine is


def crowd() -> float:
    """How many threads want each core now, this process's own among them; 1 at least."""
    cores = os.cpu_count() or 1
    wanting = os.getloadavg()[0]
    if Path("/proc/loadavg").exists():  # "0.4 0.5 0.6 runnable/all last": the average is of a minute
        wanting = max(wanting, int(Path("/proc/loadavg").read_text().split()[3].split("/")[0]))
    return max(1.0, wanting / cores)


@contextmanager
def soon(seconds: float) -> Iterator[None]:
    """What stands inside ends within this time; where others want the cores too, within a multiple."""
    before, start = crowd(), time.monotonic()
    yield
    took = time.monotonic() - start
    assert took < seconds * (1 + 3 * max(before, crowd())), f"{took:.1f} s"


def wait_until(condition: Callable[[], Any], seconds: float = PATIENCE) -> None:
    """Look every few milliseconds."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not come"
        time.sleep(0.005)


@contextmanager
def once(condition: Callable[[], Any], action: Callable[[], Any]) -> Iterator[None]:
    """Something happens, on another thread, a moment after the condition has come true."""

    def work() -> None:
        wait_until(lambda: is_over.is_set() or condition())
        time.sleep(0.2)
        if not is_over.is_set():
            action()

    is_over = threading.Event()
    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield
    finally:
        is_over.set()
        thread.join(PATIENCE)


@contextmanager
def ctrl_c() -> Iterator[None]:
    """Ctrl-C, pressed while a long step runs; it must end with KeyboardInterrupt."""
    press = partial(os.kill, os.getpid(), signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        with once(lambda: interrupts._listener is not None, press):
            yield


# Ctrl-C in the code of an object that dies is printed by Python (and the step ends all the same).
may_lose_ctrl_c = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
