"""Local files behind tf.gfile's names."""

from __future__ import annotations

import pathlib

import pytest

import headrace as tf


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "a.txt").write_text("one\ntwo\n")
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / ".hidden").write_bytes(b"\x00\xff")
    return str(tmp_path)


def test_read_and_write(folder):
    path = folder + "/new.txt"
    with tf.gfile.GFile(path, "w") as file:
        file.write("grün")
    with tf.gfile.Open(path, "a") as file:
        file.write("!\n")
    assert tf.gfile.GFile(path).read() == "grün!\n"
    assert tf.gfile.GFile(path, "rb").read(3) == b"gr\xc3"
    assert list(tf.gfile.FastGFile(folder + "/a.txt")) == ["one\n", "two\n"]
    file = tf.gfile.GFile(folder + "/a.txt")
    file.seek(4)
    assert (file.tell(), file.readline(), file.size()) == (4, "two\n", 8)


def test_refusals(folder):
    for action, error in (
        (lambda: tf.gfile.GFile(folder + "/none").read(), tf.errors.NotFoundError),
        (lambda: tf.gfile.GFile(folder + "/a.txt").write("x"), tf.errors.PermissionDeniedError),
        (lambda: tf.gfile.GFile(folder + "/a.txt", "w").read(), tf.errors.PermissionDeniedError),
        (lambda: tf.gfile.GFile(folder).read(), tf.errors.FailedPreconditionError),
        (lambda: tf.gfile.GFile(folder, "x"), tf.errors.InvalidArgumentError),
        (lambda: tf.gfile.Remove(folder + "/none"), tf.errors.NotFoundError),
        (lambda: tf.gfile.MkDir(folder + "/sub"), tf.errors.AlreadyExistsError),
        (lambda: tf.gfile.ListDirectory(folder + "/a.txt"), tf.errors.NotFoundError),
        (lambda: tf.gfile.Stat(folder + "/none"), tf.errors.NotFoundError),
        (lambda: tf.gfile.Copy(folder + "/a.txt", folder + "/sub/.hidden"), tf.errors.AlreadyExistsError),
        (lambda: tf.gfile.Exists("gs://bucket/file"), tf.errors.UnimplementedError),
    ):
        with pytest.raises(error):
            action()


def test_folders(folder):
    tf.io.gfile.makedirs(folder + "/x/y")
    tf.io.gfile.copy(folder + "/a.txt", folder + "/x/y/b.txt")
    tf.io.gfile.rename(folder + "/x/y/b.txt", folder + "/x/c.txt")
    assert sorted(tf.io.gfile.listdir(folder)) == ["a.txt", "sub", "x"]
    assert [d for d, _, _ in tf.io.gfile.walk(folder)] == [
        folder,
        folder + "/sub",
        folder + "/x",
        folder + "/x/y",
    ]
    assert [d for d, _, _ in tf.gfile.Walk(folder, in_order=False)][-1] == folder
    tf.io.gfile.rmtree(folder + "/x")
    assert not tf.io.gfile.exists(folder + "/x")
    assert tf.gfile.IsDirectory(pathlib.Path(folder)) and not tf.gfile.Stat(folder + "/a.txt").is_directory


def test_patterns(folder):
    assert tf.gfile.Glob(folder + "/*") == [folder + "/a.txt", folder + "/sub"]
    assert tf.gfile.Glob(folder + "/*/*") == [folder + "/sub/.hidden"]
    assert tf.gfile.Glob([folder + "/?.txt", folder + "/none"]) == [folder + "/a.txt"]
    assert tf.gfile.Glob("file://" + folder + "/a.[tx]xt") == [folder + "/a.txt"]


def test_write_graph(tmp_path):
    with tf.Graph().as_default() as graph:
        tf.constant(1.0, name="c")
    path = tf.io.write_graph(graph, str(tmp_path / "made"), "g.pbtxt")
    assert 'name: "c"' in tf.gfile.GFile(path).read()
    binary = tf.train.write_graph(graph.as_graph_def(), str(tmp_path), "g.pb", as_text=False)
    assert tf.GraphDef.FromString(tf.gfile.GFile(binary, "rb").read()) == graph.as_graph_def()
