"""Saving on a disk that is full or read-only, restoring what is damaged: the newest complete checkpoint
stays, nothing is half restored."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
from contextlib import contextmanager

import numpy as np
import pytest

import headrace as tf

SIZE = 20_000


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as fresh:
        yield fresh


@contextmanager
def file_limit(count):
    """No file can become longer: writing fails as on a full disk."""
    old = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (count, old[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, old)
        signal.signal(signal.SIGXFSZ, handler)


class Model:
    def __init__(self, sharded=False):
        self.parts = []
        for i in range(4):
            with tf.device(f"/cpu:{i % 2}"):
                self.parts.append(tf.get_variable(f"v{i}", [SIZE * (1 + 40 * (i % 2))]))
        self.value = tf.placeholder(tf.float32, [])
        fills = [p.assign(tf.fill(p.shape, self.value)) for p in self.parts]
        self.fill = tf.group(*fills)
        self.firsts = [p[0] for p in self.parts]
        self.saver = tf.train.Saver(sharded=sharded)
        self.session = tf.Session(config=tf.ConfigProto(device_count={"CPU": 2}))

    def set(self, value):
        self.session.run(self.fill, {self.value: value})

    def get(self):
        return self.session.run(self.firsts)


@pytest.mark.parametrize("sharded", [False, True])
@pytest.mark.parametrize("limit", [100, 5_000, 100_000])
def test_full_disk(tmp_path, sharded, limit):
    model, path = Model(sharded), str(tmp_path / "model")
    model.set(1)
    model.saver.save(model.session, path)
    model.set(2)
    with file_limit(limit), pytest.raises(tf.errors.OpError) as refusal:
        model.saver.save(model.session, path)
    assert not isinstance(refusal.value, tf.errors.DataLossError)
    assert str(tmp_path) in str(refusal.value)
    assert not [n for n in os.listdir(tmp_path) if "temp" in n or n.endswith(".pending")]
    newest = tf.train.latest_checkpoint(str(tmp_path))
    model.saver.restore(model.session, newest)
    assert model.get() == [1, 1, 1, 1]
    model.set(3)  # room again: all goes on
    model.saver.save(model.session, path)
    model.set(0)
    model.saver.restore(model.session, path)
    assert model.get() == [3, 3, 3, 3]
    model.session.close()


def test_full_disk_while_the_graph_is_written(tmp_path):
    model, path = Model(), str(tmp_path / "model")
    model.set(1)
    model.saver.save(model.session, path, global_step=1)
    size = (tmp_path / "model-1.meta").stat().st_size
    checkpoint = (tmp_path / "checkpoint").read_bytes()
    # Checkpoints of small variables, so that the graph is the largest file.
    small = tf.train.Saver([tf.get_variable("small", initializer=1.0)])
    model.session.run(tf.variables_initializer(tf.global_variables()))
    with file_limit(size // 2), pytest.raises(tf.errors.OpError):
        small.save(model.session, path, global_step=2)
    assert (tmp_path / "checkpoint").read_bytes() == checkpoint
    assert not (tmp_path / "model-2.meta").exists()
    model.session.close()


READ_ONLY = """
import os, sys
import headrace as tf
path, elsewhere = sys.argv[1:]
v = tf.get_variable("v", initializer=2.0)
with tf.Session() as sess:
    sess.run(v.initializer)
    saver = tf.train.Saver()
    saver.save(sess, elsewhere)  # all that is loaded late is loaded now
    if os.getuid() == 0:
        os.seteuid(65534)  # to the first user everything is allowed
    saver.restore(sess, path)
    assert sess.run(v) == 1
    try:
        saver.save(sess, path)
    except tf.errors.PermissionDeniedError as error:
        assert path in str(error), error
        print("refused")
"""


@pytest.mark.process
def test_read_only_folder(tmp_path):
    folder = tmp_path / "folder"
    folder.mkdir()
    v = tf.get_variable("v", initializer=1.0)
    with tf.Session() as sess:
        sess.run(v.initializer)
        tf.train.Saver().save(sess, str(folder / "model"))
    before = {n: (folder / n).read_bytes() for n in os.listdir(folder)}
    for one in (tmp_path, *tmp_path.parents):  # the folders of pytest are its user's own
        if one.owner() == folder.owner() and not one.stat().st_mode & 0o001:
            one.chmod(one.stat().st_mode | 0o055)
    folder.chmod(0o555)
    try:
        done = subprocess.run(
            [sys.executable, "-c", READ_ONLY, str(folder / "model"), str(tmp_path / "other")],
            capture_output=True,
            text=True,
            env=os.environ | {"PYTHONPATH": os.getcwd()},
            timeout=300,
        )
    finally:
        folder.chmod(0o755)
    assert done.stdout == "refused\n", done.stderr
    assert {n: (folder / n).read_bytes() for n in os.listdir(folder)} == before


@pytest.mark.parametrize("sharded", [False, True])
@pytest.mark.parametrize("damage", ["missing", "flipped", "short"])
@pytest.mark.parametrize("which", [0, -1])
def test_nothing_is_half_restored(tmp_path, sharded, damage, which):
    model, path = Model(sharded), str(tmp_path / "model")
    model.set(1)
    model.saver.save(model.session, path)
    name = sorted(n for n in os.listdir(tmp_path) if ".data-" in n)[which]
    data = bytearray((tmp_path / name).read_bytes())
    if damage == "missing":
        (tmp_path / name).unlink()
    else:
        data[-7] ^= 1
        (tmp_path / name).write_bytes(data if damage == "flipped" else data[:-7])
    model.set(2)
    kind = tf.errors.NotFoundError if damage == "missing" else tf.errors.DataLossError
    with pytest.raises(kind) as refusal:
        model.saver.restore(model.session, path)
    assert name in str(refusal.value)
    if damage != "missing":
        assert "tensor v" in str(refusal.value) and "byte" in str(refusal.value)
    assert model.get() == [2, 2, 2, 2]
    model.session.close()


def test_a_variable_that_is_missing_or_has_another_shape(tmp_path):
    a = tf.get_variable("a", initializer=np.float32([1, 2]))
    b = tf.get_variable("b", initializer=np.float32([3, 4]))
    with tf.Session() as sess:
        sess.run([a.initializer, b.initializer])
        one = tf.train.Saver([a]).save(sess, str(tmp_path / "one"))
        other = tf.train.Saver({"a": a, "c": b}).save(sess, str(tmp_path / "other"))
        saver = tf.train.Saver([a, b])
        sess.run([a.assign([5, 5]), b.assign([6, 6])])
        for path in (one, other):
            with pytest.raises(tf.errors.NotFoundError, match="Key b not found"):
                saver.restore(sess, path)
        assert sess.run([a, b])[0].tolist() == [5, 5]
    with tf.Graph().as_default(), tf.Session() as sess:
        wide = tf.get_variable("a", initializer=np.float32([[0]]))
        sess.run(wide.initializer)
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"\[1,1\].*\[2\].*one"):
            tf.train.Saver([wide]).restore(sess, one)
