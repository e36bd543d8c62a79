"""NaN has the same rules in every mode (docs/numbers.md)."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests.codegen.numbers.not_a_number import differences

pytestmark = pytest.mark.native


@pytest.mark.parametrize("mode", ["0", "1", "always"])
@pytest.mark.parametrize("width", [1, 37])
def test_rules(monkeypatch, mode, width):
    monkeypatch.setenv("HEADRACE_COMPILE", mode)
    assert not differences(width)


@pytest.mark.process
def test_rules_without_the_library():
    env = {**os.environ, "HEADRACE_COMPILE": "always", "HEADRACE_WITHOUT": "onednn kept"}
    module = [sys.executable, "-m", "tests.codegen.numbers.not_a_number"]
    done = subprocess.run(module, env=env, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert done.stdout == ""
