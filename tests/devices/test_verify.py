"""HEADRACE_VERIFY=1: rounding is no complaint, a wrong kernel is one."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap

import numpy as np
import pytest

from headrace.devices.verify import check

PROGRAM = """
    import sys
    import numpy as np, headrace as tf
    from headrace.codegen.emit import llvm_ops
    from headrace.codegen.emit.math.number import Num
    if sys.argv[1] == "wrong":
        right = llvm_ops.OPS["tanh"]
        def wrong(b, *args):
            return (Num(b, right(b, *args)) * 1.01).value
        llvm_ops.OPS["tanh"] = wrong
    rng = np.random.default_rng(0)
    x = tf.constant(rng.standard_normal((256, 64)).astype(np.float32))
    v = tf.Variable(tf.zeros([64]))
    h = tf.tanh(x + v)
    # Terms of some hundreds, whose sums are nearly nothing.
    terms = (h - tf.reduce_mean(h, 0, keepdims=True)) * 1e3
    train = tf.train.GradientDescentOptimizer(1e-3).minimize(tf.reduce_sum(terms * terms) * 1e-6)
    spoilt = tf.assign_add(v, tf.reduce_sum(terms, 0))
    with tf.Session() as s:
        s.run(tf.global_variables_initializer())
        for _ in range(3):
            s.run(train)
        s.run(spoilt)
        print("done", np.isfinite(s.run(v)).all())
"""


@pytest.mark.process
@pytest.mark.native
@pytest.mark.parametrize("kernels", ["right", "wrong"])
def test_a_program_beside_its_reference(kernels, tmp_path):
    settings = {"HEADRACE_VERIFY": "1", "HEADRACE_CACHE": str(tmp_path)}
    found = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(PROGRAM), kernels],
        capture_output=True,
        text=True,
        timeout=600,
        env=os.environ | settings,
    )
    if kernels == "right":
        assert found.stdout.split() == ["done", "True"], found.stderr
    else:
        assert "differ by more than rounding can" in found.stderr, found.stderr


def sums(noise, terms):
    return [noise(terms).sum(0, dtype=np.float32)]


def test_what_cancels_may_differ():
    rng = np.random.default_rng(1)
    terms = rng.standard_normal((4096, 8)).astype(np.float32)
    terms[2048:] = -terms[:2048] * np.float32(1 + 1e-7)
    want = sums(lambda x: x, terms)
    got = [terms[::-1].cumsum(0, dtype=np.float32)[-1]]
    with pytest.raises(AssertionError):
        check(["sums"], got, want, lambda change: want)  # without noise they are too far apart
    check(["sums"], got, want, lambda change: sums(change, terms))


def test_what_does_not_cancel_may_not():
    terms = np.abs(np.random.default_rng(2).standard_normal((4096, 8)).astype(np.float32))
    want = sums(lambda x: x, terms)
    got = [want[0] * np.float32(1.001)]
    with pytest.raises(AssertionError, match="8 of 8 values differ"):
        check(["sums"], got, want, lambda change: sums(change, terms))


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_what_is_not_finite_must_be_so_in_both(bad):
    want = [np.array([1.0, bad], np.float32)]
    check(["x"], [want[0].copy()], want, lambda change: want)
    with pytest.raises(AssertionError, match="1 of 2 values"):
        check(["x"], [np.array([1.0, 2.0], np.float32)], want, lambda change: want)


def test_integers_are_equal():
    want = [np.array([1, 2])]
    check(["n"], [want[0].copy()], want, lambda change: want)
    with pytest.raises(AssertionError, match="compiled n: 1 of 2"):
        check(["n"], [np.array([1, 3])], want, lambda change: want)
