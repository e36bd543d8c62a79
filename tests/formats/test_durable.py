"""A set of files changes at one moment, wherever the work is interrupted."""

from __future__ import annotations

import os

import numpy as np
import pytest

from headrace.formats import durable
from headrace.formats.checkpoints.bundle import BundleReader
from headrace.formats.checkpoints.bundle_writer import BundleWriter


def save(prefix, number):
    with BundleWriter(prefix) as writer:
        writer.add("n", np.full(1000, number))
        writer.finish()


def restored(prefix):
    with BundleReader(prefix) as reader:
        return reader.read("n")[0]


class Stop(BaseException):
    pass


@pytest.mark.parametrize("steps", range(8))
def test_replaced_at_one_moment(tmp_path, monkeypatch, steps):
    """Stop before the n-th rename of a save over an older checkpoint: one of the two is there."""
    prefix = tmp_path / "m"
    save(prefix, 1)
    real, left = os.replace, [steps]

    def replace(source, target):
        if left[0] == 0:
            raise Stop
        left[0] -= 1
        real(source, target)

    monkeypatch.setattr(os, "replace", replace)
    monkeypatch.setattr(durable, "remove", lambda path: None)  # a killed process tidies nothing
    try:
        save(prefix, 2)
        done = True
    except Stop:
        done = False
    monkeypatch.undo()
    assert restored(prefix) == (2 if done or steps >= 2 else 1)
    save(prefix, 3)
    assert restored(prefix) == 3
    kept = [name for name in os.listdir(tmp_path) if "tempstate" not in name]
    assert sorted(kept) == ["m.data-00000-of-00001", "m.index"]


def test_full_disk_leaves_the_old_one(tmp_path, monkeypatch):
    prefix = tmp_path / "m"
    save(prefix, 1)

    def full(*args):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "pwrite", full)
    from headrace.core.errors import ResourceExhaustedError

    with pytest.raises(ResourceExhaustedError, match="No space left"):
        save(prefix, 2)
    monkeypatch.undo()
    assert restored(prefix) == 1
    assert sorted(os.listdir(tmp_path)) == ["m.data-00000-of-00001", "m.index"]


def test_small_file(tmp_path):
    durable.write(tmp_path / "f", "one")
    durable.write(tmp_path / "f", b"two")
    assert (tmp_path / "f").read_text() == "two" and os.listdir(tmp_path) == ["f"]


def test_files_of_dead_processes_go(tmp_path):
    prefix = str(tmp_path / "m")
    child = os.fork()
    if child == 0:
        open(durable.temporary(prefix), "wb").close()
        os._exit(0)
    os.waitpid(child, 0)
    own = durable.temporary(prefix)
    foreign = prefix + ".tempstate" + "9" * 25
    for path in (own, foreign):
        open(path, "wb").close()
    assert len(os.listdir(tmp_path)) == 3
    save(prefix, 1)
    left = [name for name in os.listdir(tmp_path) if "tempstate" in name]
    assert sorted(left) == sorted(os.path.basename(path) for path in (own, foreign))
