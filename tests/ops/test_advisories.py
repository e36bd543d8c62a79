"""What ended TensorFlow's process, or hung, is an error here, or an answer."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests.ops.calls.advisories import CALLS

# Some of every kind in each run; the long form has all.
SOME = 11


def survey(mode: str, step: int) -> list[str]:
    command = [sys.executable, "-m", "tests.ops.calls.advisories", "0", str(step)]
    environment = os.environ | {"HEADRACE_COMPILE": mode, "HEADRACE_FAULTS": "raise"}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=1200)
    lines = done.stdout.splitlines()
    if done.returncode:
        number = int(lines[-1].split()[0]) if lines else 0
        return [f"process ended with {done.returncode} in {CALLS[number]}", done.stderr[-3000:]]
    assert len(lines) == len(range(0, len(CALLS), step))
    return [line for line in lines if " BAD " in line]


@pytest.mark.process
@pytest.mark.parametrize("mode", ["0", "always"])
def test_some_calls(mode):
    assert survey(mode, SOME) == []


@pytest.mark.slow
@pytest.mark.process
@pytest.mark.parametrize("mode", ["0", "always"])
def test_all_calls(mode):
    assert survey(mode, 1) == []
