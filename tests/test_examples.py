"""Every example runs, as a user would run it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
EXAMPLES = sorted(p.name for p in (ROOT / "examples").glob("*.py"))
NEEDS_MNIST = {"mnist_softmax.py", "mnist_tinyflow.py"}


def mnist_directory() -> str | None:
    """Real data: HEADRACE_DATA, or the folder beside a working copy of the team."""
    for place in (os.environ.get("HEADRACE_DATA"), str(ROOT.parent / "shared" / "data")):
        if place and (Path(place) / "mnist").is_dir():
            return str(Path(place) / "mnist")
    return None


@pytest.mark.process
@pytest.mark.parametrize("name", EXAMPLES)
def test_runs(name, tmp_path):
    arguments = []
    if name in NEEDS_MNIST:
        directory = mnist_directory()
        if directory is None:
            pytest.skip("NO MNIST: set HEADRACE_DATA to a folder with a sub-folder `mnist` of idx files")
        arguments = [directory]
    command = [sys.executable, "-m", "headrace", "run", str(ROOT / "examples" / name), *arguments]
    done = subprocess.run(
        command,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=300,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.strip()
