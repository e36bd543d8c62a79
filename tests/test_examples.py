"""Every example runs, as a user would run it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
EXAMPLES = sorted(p.name for p in (ROOT / "examples").glob("*.py"))
NEEDS_MNIST = {"autograd_mnist.py", "mnist_softmax.py", "mnist_tinyflow.py"}


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


# -- clusters --------------------------------------------------------------------------------------
FOLDER = ROOT / "examples" / "clusters"
SHORT = {  # what stands behind the program in its short form; MNIST: the folder of its files
    "mnist_async.py": ["--data", "MNIST", "--steps", "120"],
    "mnist_sync.py": ["MNIST", "40"],
    "sharded_embedding.py": ["80"],
    "model_parallel_lstm.py": ["40"],
    "hybrid_replicas.py": ["60"],
}


def launched(path: Path) -> list[str]:
    """The options of the launcher in a program's docstring."""
    (line,) = [at for at in path.read_text().splitlines() if at.startswith("    headrace launch ")]
    return line.split()[2 : line.split().index(f"examples/clusters/{path.name}")]


def test_every_program_for_clusters_has_a_short_form():
    assert set(SHORT) == {p.name for p in FOLDER.glob("*.py")}


@pytest.mark.process
@pytest.mark.parametrize("name", SHORT)
def test_launches(name, tmp_path):
    words = SHORT[name]
    if "MNIST" in words:
        directory = mnist_directory()
        if directory is None:
            pytest.skip("NO MNIST: set HEADRACE_DATA to a folder with a sub-folder `mnist` of idx files")
        words = [directory if word == "MNIST" else word for word in words]
    program = [str(FOLDER / name), *words]
    done = subprocess.run(
        [sys.executable, "-m", "headrace", "launch", *launched(FOLDER / name), *program],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=500,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
    )
    assert done.returncode == 0, done.stdout + done.stderr
    found = re.search(r"loss ([\d.]+) at first, ([\d.]+) at last", done.stdout)
    assert found and float(found.group(2)) < float(found.group(1)), done.stdout + done.stderr
