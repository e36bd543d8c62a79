"""Compiled code on disk: found again, safe against damage and against other processes."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
import textwrap

import pytest

from headrace.codegen.machine import cache, disk
from headrace.codegen.machine.disk import KERNELS

pytestmark = [pytest.mark.native, pytest.mark.process]

PROGRAM = textwrap.dedent(
    """
    import numpy as np
    from headrace.codegen.machine import compile as compiler
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
        [sys.executable, "-c", PROGRAM],
        capture_output=True,
        text=True,
        timeout=600,
        env=os.environ | {"HEADRACE_CACHE": str(folder)},
    )
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
    KERNELS.write(key, data)
    assert KERNELS.read(key) == data
    (path,) = files(tmp_path)
    content = bytearray(path.read_bytes())
    if damage == "flipped":
        content[500] ^= 1
    else:
        content = {"empty": b"", "truncated": content[:500], "other": b"something else"}[damage]
    path.write_bytes(bytes(content))
    assert KERNELS.read(key) is None
    KERNELS.write(key, data)
    assert KERNELS.read(key) == data  # repaired


def test_a_file_under_the_name_of_another(tmp_path, monkeypatch):
    monkeypatch.setenv("HEADRACE_CACHE", str(tmp_path))
    one, other = "ab" * 20, "cd" * 20
    KERNELS.write(one, b"one")
    KERNELS.write(other, b"other")
    os.replace(KERNELS.path(one), KERNELS.path(other))
    assert KERNELS.read(other) is None and KERNELS.read(one) is None


@pytest.mark.parametrize("content", [b"", b"rubbish", None], ids=["empty", "rubbish", "cut"])
def test_damaged_files_are_made_again(tmp_path, content):
    assert run(tmp_path) == 2
    for path in files(tmp_path):
        path.write_bytes(path.read_bytes()[:-7] if content is None else content)
    assert run(tmp_path) == 2
    assert run(tmp_path) == 0


def test_processes_at_once(tmp_path):
    workers = [
        subprocess.Popen(
            [sys.executable, "-c", PROGRAM],
            stdout=subprocess.PIPE,
            text=True,
            env=os.environ | {"HEADRACE_CACHE": str(tmp_path)},
        )
        for _ in range(3)
    ]
    for worker in workers:
        out, _ = worker.communicate(timeout=600)
        assert worker.returncode == 0 and int(out) <= 2
    assert len(files(tmp_path)) == 2  # no temporary file is left


def test_a_folder_that_cannot_be_written_costs_only_time(tmp_path, monkeypatch):
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")
    monkeypatch.setenv("HEADRACE_CACHE", str(blocked))
    KERNELS.write("ab" * 20, b"data")
    assert KERNELS.read("ab" * 20) is None


@pytest.mark.parametrize("where", ["a file", "a folder without permission", "no home"])
def test_programs_without_a_place_for_the_cache(tmp_path, where):
    """They compile, and compute the same."""
    settings = {"HEADRACE_CACHE": "/dev/null/somewhere"}
    if where == "a folder without permission":
        (tmp_path / "closed").mkdir(mode=0o500)
        settings = {"HEADRACE_CACHE": str(tmp_path / "closed")}
    elif where == "no home":
        settings = {"HEADRACE_CACHE": "", "XDG_CACHE_HOME": "", "HOME": str(tmp_path / "none")}
    found = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        capture_output=True,
        text=True,
        timeout=600,
        env=os.environ | settings,
    )
    assert found.returncode == 0 and int(found.stdout) == 2, found.stderr


def test_what_was_not_used_for_long_goes(tmp_path, monkeypatch):
    monkeypatch.setenv("HEADRACE_CACHE", str(tmp_path))
    monkeypatch.setattr(disk, "LIMIT", 5000)
    disk.make_room.cache_clear()
    keys = [f"{k:02d}" + "0" * 38 for k in range(9)]
    for age, key in enumerate(keys[:8]):
        KERNELS.write(key, os.urandom(900))
        os.utime(KERNELS.path(key), (1e9 - age, 1e9 - age))  # the first is the youngest
    assert KERNELS.read(keys[7])  # now used again
    disk.make_room.cache_clear()
    KERNELS.write(keys[8], os.urandom(900))
    assert sum(p.stat().st_size for p in files(tmp_path)) < 5000 + 1000
    assert KERNELS.read(keys[7]) and KERNELS.read(keys[8]) and KERNELS.read(keys[0])
    assert KERNELS.read(keys[5]) is None and KERNELS.read(keys[6]) is None
    disk.make_room.cache_clear()


def test_the_key_knows_the_generator(monkeypatch, tmp_path):
    assert len(cache.generator_hash()) == 64
    assert (cache.GENERATOR / "emit" / "llvm.py").exists()  # what writes the kernels' text
    room = tmp_path / "room"
    room.mkdir()
    found = []
    monkeypatch.setattr(cache, "GENERATOR", tmp_path)
    for text in ("a = 1", "a = 2"):
        (room / "module.py").write_text(text)
        cache.generator_hash.cache_clear()
        found.append(cache.generator_hash())
    cache.generator_hash.cache_clear()
    assert found[0] != found[1]
    assert KERNELS.path("ab" + "0" * 38).parent.name == "ab"


def test_a_kernel_that_failed_is_tried_again(tmp_path, monkeypatch):
    monkeypatch.setenv("HEADRACE_CACHE", str(tmp_path))
    good = "define i64 @{}() {{\n  ret i64 7\n}}\n"
    texts = iter(["rubbish", good, good])
    name = f"tried again {os.urandom(8).hex()}"

    def soon():
        return cache.kernel_soon(name, lambda symbol: next(texts).format(symbol))

    with pytest.raises(RuntimeError):
        soon().result(60)
    address = soon().result(60)
    assert ctypes.CFUNCTYPE(ctypes.c_int64)(address)() == 7
    assert soon().result(0) == address
