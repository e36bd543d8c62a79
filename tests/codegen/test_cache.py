"""Compiled code on disk: found again, safe against damage and against other processes."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap

import pytest

from headrace.codegen import cache

pytestmark = [pytest.mark.native, pytest.mark.process]

PROGRAM = textwrap.dedent(
    """
    import numpy as np
    from headrace.codegen import compile as compiler
    from tests.codegen.rules import elements
    made = []
    original = compiler.to_object
    compiler.to_object = lambda text: made.append(1) or original(text)
    x = np.arange(50, dtype=np.float32)
    np.testing.assert_allclose(elements(lambda e, x: e.exp(-x) * 3, x), np.exp(-x) * 3, rtol=1e-6)
    print(len(made))
    """
)


def run(folder):
    """How many objects a process had to compile."""
    found = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=120,
        env=os.environ | {"HEADRACE_CACHE": str(folder)},
    )  # fmt: skip
    assert found.returncode == 0, found.stderr
    return int(found.stdout)


def files(folder):
    return [p for p in folder.rglob("*") if p.is_file()]


def test_found_again(tmp_path):
    assert run(tmp_path) == 2  # the kernel and the loop that runs programs
    assert len(files(tmp_path)) == 2
    assert run(tmp_path) == 0


@pytest.mark.parametrize("damage", ["empty", "truncated", "flipped", "other"])
def test_damage_is_noticed(tmp_path, monkeypatch, damage):
    monkeypatch.setenv("HEADRACE_CACHE", str(tmp_path))
    key, data = "ab" * 20, os.urandom(1000)
    cache._write(key, data)
    assert cache._read(key) == data
    (path,) = files(tmp_path)
    content = bytearray(path.read_bytes())
    if damage == "flipped":
        content[500] ^= 1
    else:
        content = {"empty": b"", "truncated": content[:500], "other": b"something else"}[damage]
    path.write_bytes(bytes(content))
    assert cache._read(key) is None
    cache._write(key, data)
    assert cache._read(key) == data  # repaired


def test_processes_at_once(tmp_path):
    workers = [
        subprocess.Popen(
            [sys.executable, "-c", PROGRAM], stdout=subprocess.PIPE, text=True,
            env=os.environ | {"HEADRACE_CACHE": str(tmp_path)},
        )
        for _ in range(3)
    ]  # fmt: skip
    for worker in workers:
        out, _ = worker.communicate(timeout=120)
        assert worker.returncode == 0 and int(out) <= 2
    assert len(files(tmp_path)) == 2  # no temporary file is left


def test_a_folder_that_cannot_be_written_costs_only_time(tmp_path, monkeypatch):
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")
    monkeypatch.setenv("HEADRACE_CACHE", str(blocked))
    cache._write("ab" * 20, b"data")
    assert cache._read("ab" * 20) is None


def test_the_key_knows_the_generator():
    assert len(cache.generator_hash()) == 64
    assert cache._path("ab" + "0" * 38).parent.name == "ab"
