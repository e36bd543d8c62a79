"""No call of an op ends the process, hangs, or fails in a way that nobody foresaw."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.ops import hostile

MOST = 1_000_000  # more than there are calls


def survey(mode: str, first: int, step: int, last: int = MOST) -> list[str]:
    """What went wrong; after a call that a process dies of, the next process goes on."""
    wrong: list[str] = []
    while True:
        command = [sys.executable, "-m", "tests.ops.hostile", mode, *map(str, (first, last, step))]
        done = subprocess.run(command, capture_output=True, text=True)
        lines = done.stdout.splitlines()
        wrong += [line for line in lines if " BAD " in line]
        if done.returncode == 0:
            return wrong
        if not lines:
            return [*wrong, done.stderr[-2000:]]
        died = int(lines[-1].split()[0])
        call = next(c for n, c in enumerate(hostile.calls()) if n == died)
        wrong.append(f"{died} DIED {call!r}: {done.returncode}\n{done.stderr[-2000:]}")
        first = died + step


@pytest.mark.process
@pytest.mark.parametrize("mode", ["0", "always"])
def test_some_calls(mode):
    assert survey(mode, 17, 997) == []


@pytest.mark.slow
@pytest.mark.process
@pytest.mark.parametrize("mode", ["0", "always"])
def test_all_calls(mode):
    assert survey(mode, 0, 1) == []
