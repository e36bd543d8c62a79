"""Random ops inside of compiled programs: the reference's numbers, step after step."""

import numpy as np
import pytest

import headrace as tf
from headrace.core import options


def _numbers(monkeypatch, mode, build, steps=3):
    monkeypatch.setenv("HEADRACE_COMPILE", mode)
    with tf.Graph().as_default():
        fetch = build()
        with tf.Session() as sess:
            return [sess.run(fetch) for _ in range(steps)]


def _dropout():
    x = tf.ones([30, 40])
    return tf.nn.dropout(x, 0.5, seed=1) + tf.nn.dropout(x, 0.3, seed=2)


def _in_a_loop():
    def body(i, a):
        return i + 1, a + tf.random_uniform([3], seed=9)

    return tf.while_loop(lambda i, a: i < 5, body, [0, tf.zeros([3])])[1]


def _in_a_branch():
    return tf.cond(
        tf.random_uniform([], seed=3) < 0.5,
        lambda: tf.random_uniform([4], seed=4),
        lambda: -tf.random_uniform([4], seed=5),
    )


LOGITS = np.array([[0.3, 1.0, -np.inf, 2.0, 0.1], [900.0, 899.0, np.nan, 0.0, -7.0]])
BUILDS = {
    "uniform": lambda: tf.random_uniform([7, 5], -2.0, 3.0, seed=3),
    "uniform of odd length": lambda: tf.random_uniform([1], seed=3),
    "wide": lambda: tf.random_uniform([3, 3], seed=8, dtype=tf.float64),
    "normal": lambda: tf.random_normal([11], seed=4),
    "integers": lambda: tf.random_uniform([9], -3, 10, dtype=tf.int32, seed=6),
    "many": lambda: tf.random_uniform([4099], seed=3),
    "many wide": lambda: tf.random_uniform([1001], seed=3, dtype=tf.float64),
    "many normal": lambda: tf.random_normal([3, 1337], seed=4),
    "many integers": lambda: tf.random_uniform([2050], -3, 10, dtype=tf.int32, seed=6),
    "empty": lambda: tf.random_uniform([0, 3], seed=6) + 1.0,
    "categories": lambda: tf.multinomial(LOGITS, 50, seed=5),
    "one category each": lambda: tf.multinomial(tf.tile(LOGITS, [40, 1]), 1, seed=5),
    "categories, narrow": lambda: tf.multinomial(
        tf.cast(LOGITS, tf.float32), 31, seed=7, output_dtype=tf.int32
    ),
    "many categories": lambda: tf.multinomial(tf.zeros([2, 50257]), 7, seed=7),
    "dropout": _dropout,
    "loop": _in_a_loop,
    "branch": _in_a_branch,
}


@pytest.mark.parametrize("name", BUILDS)
def test_numbers_are_the_reference_s(monkeypatch, name):
    want = _numbers(monkeypatch, "0", BUILDS[name])
    got = _numbers(monkeypatch, "always", BUILDS[name])
    for a, b in zip(got, want):
        np.testing.assert_allclose(a, b, rtol=3e-6, atol=1e-6)
    if np.size(want[0]):
        assert not np.array_equal(got[0], got[1])


def test_interpreted_and_compiled_steps_share_one_generator(monkeypatch):
    """The first step of a program is interpreted, later ones are compiled."""
    want = _numbers(monkeypatch, "0", _dropout, steps=5)
    got = _numbers(monkeypatch, "1", _dropout, steps=5)
    for a, b in zip(got, want):
        np.testing.assert_array_equal(a, b)


def test_the_reference_beside(monkeypatch):
    monkeypatch.setenv("HEADRACE_VERIFY", "1")
    assert len(_numbers(monkeypatch, "always", _dropout)) == 3


def test_a_step_with_dropout_is_one_region(monkeypatch, capfd):
    monkeypatch.setattr(options, "shown", lambda: {"regions"})
    _numbers(monkeypatch, "always", _dropout, steps=1)
    shown = capfd.readouterr()
    assert "region of" in shown.err and "host" not in shown.err


def test_sessions_draw_apart(monkeypatch):
    """Without seeds, no two sessions give the same numbers."""
    one = _numbers(monkeypatch, "always", lambda: tf.random_uniform([5]))
    other = _numbers(monkeypatch, "always", lambda: tf.random_uniform([5]))
    assert not np.array_equal(one[0], other[0])
