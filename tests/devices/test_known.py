"""Programs for known values: sizes that come from the host, or that are fed."""

import numpy as np
import pytest

import headrace as tf
from headrace.codegen.compiled import CompiledRegion
from headrace.core import options
from headrace.devices import known


@pytest.fixture(autouse=True)
def _always(monkeypatch):
    monkeypatch.setenv("HEADRACE_COMPILE", "always")


@pytest.fixture
def made(monkeypatch):
    """The shapes for which programs are compiled."""
    made = []
    original = CompiledRegion.compile
    monkeypatch.setattr(
        CompiledRegion, "compile", lambda self, *args: (made.append(args[0]), original(self, *args))[1]
    )
    return made


def _regions(capfd):
    shown = capfd.readouterr()
    cuts = (shown.out + shown.err).split("--- regions\n")
    return [c for c in cuts if "region of" in c or "host " in c]


def test_a_size_from_before_a_host_op(monkeypatch, capfd):
    """The shape is taken in the first region and used in the second."""
    monkeypatch.setattr(options, "shown", lambda: {"regions"})
    x = tf.placeholder(tf.float32, [None, 6])
    middle = tf.py_func(lambda a: a * 2, [tf.tanh(x)], tf.float32)
    sizes = tf.shape(x)
    out = tf.reshape(middle, [sizes[0] * 2, 3]) + 1.0
    with tf.Session() as sess:
        for rows in (2, 2, 5, 2):
            fed = np.arange(rows * 6, dtype=np.float32).reshape(rows, 6) / 10
            want = np.tanh(fed).reshape(rows * 2, 3) * 2 + 1
            np.testing.assert_allclose(sess.run(out, {x: fed}), want, rtol=1e-5)
    last = _regions(capfd)[-1]
    assert [line for line in last.splitlines() if line.startswith("host")] == [
        line for line in last.splitlines() if "PyFunc" in line
    ]


def test_a_fed_size():
    x, n = tf.placeholder(tf.float32, [8, 3]), tf.placeholder(tf.int32, [])
    out = tf.slice(x, [0, 0], [n, 3]) * 2
    fed = np.arange(24, dtype=np.float32).reshape(8, 3)
    with tf.Session() as sess:
        for rows in (3, 3, 5, 3, 0, 8):
            np.testing.assert_array_equal(sess.run(out, {x: fed, n: rows}), fed[:rows] * 2)


def test_values_that_never_come_again(monkeypatch, made):
    """After some programs, what depends on such a value runs on the host."""
    monkeypatch.setattr(known, "VARIANTS", 3)
    x, n = tf.placeholder(tf.float32, [40, 3]), tf.placeholder(tf.int32, [])
    out = tf.reduce_sum(tf.slice(x, [0, 0], [n, 3])) + tf.reduce_sum(x * 2)
    fed = np.ones((40, 3), np.float32)
    with tf.Session() as sess:
        for rows in range(1, 30):
            assert sess.run(out, {x: fed, n: rows}) == 3 * rows + 240
        before = len(made)
        for rows in range(1, 30):
            assert sess.run(out, {x: fed, n: rows}) == 3 * rows + 240
    assert len(made) <= before + 3  # for sizes that were met before that


def test_knowing_does_not_help_a_node_that_never_compiles():
    """Its inputs do not stay known: other values need no other program."""
    x, n = tf.placeholder(tf.float32, [4]), tf.placeholder(tf.int32, [4])
    out = tf.gather(x, tf.where(tf.equal(n, 2))[:, 0]) + 1.0
    fed = np.arange(4, dtype=np.float32)
    with tf.Session() as sess:
        for at in range(4):
            chosen = np.where(np.arange(4) == at, 2, 0).astype(np.int32)
            np.testing.assert_array_equal(sess.run(out, {x: fed, n: chosen}), [at + 1.0])


def test_values_that_come_once_each(monkeypatch, made):
    """Nothing is compiled for them: what depends on them goes to the host, the rest is compiled."""
    monkeypatch.delenv("HEADRACE_COMPILE")
    x, n = tf.placeholder(tf.float32, [90, 3]), tf.placeholder(tf.int32, [])
    out = tf.reduce_sum(tf.slice(x, [0, 0], [n, 3])) + tf.reduce_sum(tf.tanh(x))
    fed = np.zeros((90, 3), np.float32)
    with tf.Session() as sess:
        for rows in range(1, 80):
            assert sess.run(out, {x: fed, n: rows}) == 0
    assert made
