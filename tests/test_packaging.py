"""What is packaged: the wheel says that it is typed, the sdist has whatever the documents name."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
# What setuptools takes along without being told.
ALWAYS = {"LICENSE", "README.md", "pyproject.toml", "headrace"}


def packaged() -> set[str]:
    """The files and folders at the top that an sdist holds, by MANIFEST.in."""
    found = set(ALWAYS)
    for line in (ROOT / "MANIFEST.in").read_text().splitlines():
        match line.split():
            case ["graft", folder]:
                found.add(folder)
            case ["include", *patterns]:
                found.update(path.name for pattern in patterns for path in ROOT.glob(pattern))
    return found


@pytest.mark.process
def test_the_sdist_holds_every_file_of_the_repository():
    if not (ROOT / ".git").exists():
        pytest.skip("not a git repository: nothing to compare with")
    done = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True)
    assert {line.split("/")[0] for line in done.stdout.splitlines()} == packaged()


def test_data_files_are_declared():
    """A file that is no module is installed only if pyproject.toml names its kind."""
    text = (ROOT / "pyproject.toml").read_text()
    table = re.search(r"\[tool.setuptools.package-data\]\n(.*?)\n\n", text, re.DOTALL)
    assert table is not None
    declared = dict(re.findall(r'^"?([\w.]+)"? = \[(.*)\]$', table.group(1), re.MULTILINE))
    known = {
        path
        for package, patterns in declared.items()
        for pattern in re.findall(r'"([^"]+)"', patterns)
        for path in (ROOT / package.replace(".", "/")).glob(pattern)
    }
    there = {
        path
        for path in (ROOT / "headrace").rglob("*")
        if path.is_file() and path.suffix not in (".py", ".pyc")
    }
    assert there == known
    assert ROOT / "headrace" / "py.typed" in known
