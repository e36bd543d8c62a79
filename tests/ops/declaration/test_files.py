"""Ops that touch files say so, and stay inside of a fence: Python itself tells which files are opened."""

from __future__ import annotations

import os
import sys
import sysconfig
from pathlib import Path

import pytest

import headrace
from headrace.core import options
from headrace.core.errors import OpError
from headrace.formats import files
from headrace.ops.declaration.traits import FILES
from tests.ops.declared import Built, samples

EVENTS = {
    "open",
    "os.listdir",
    "os.mkdir",
    "os.remove",
    "os.rename",
    "os.rmdir",
    "os.scandir",
    "shutil.rmtree",
}
OURS = (
    sys.prefix,
    sysconfig.get_paths()["stdlib"],
    str(Path(headrace.__file__).parent),
    str(options.cache_directory()),
    *("/proc", "/sys", "/dev"),
)
touched: list[str] | None = None


def watch(event: str, arguments: tuple[object, ...]) -> None:
    if touched is not None and event in EVENTS and isinstance(arguments[0], (str, bytes)):
        path = os.fsdecode(arguments[0])
        if not path.startswith(OURS):
            touched.append(path)


@pytest.fixture(scope="module", autouse=True)
def watching():
    sys.addaudithook(watch)


@pytest.fixture(autouse=True)
def interpreted(monkeypatch):
    monkeypatch.setenv("HEADRACE_COMPILE", "0")


def files_of(op, sample, fence=()):
    """What running a sample opens; errors of the op are of no interest."""
    global touched
    built = Built(op, sample)
    touched = []
    try:
        with files.fenced(fence):
            built.run([built.node])
    except OpError:
        pass
    finally:
        found, touched = touched, None
    return found


def test_whoever_touches_files_says_so():
    silent = {}
    for name, op, sample in samples():
        if FILES not in op.traits and op.lower_rule is None:
            found = files_of(op, sample)
            if found:
                silent[name] = found
    assert not silent


def test_touching_is_seen():
    """The test above can fail."""
    seen = {op.name for _, op, sample in samples() if FILES in op.traits and files_of(op, sample)}
    assert {"ReadFile", "WriteFile", "SaveV2", "RestoreV2", "Save"} <= seen
