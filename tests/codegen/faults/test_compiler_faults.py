"""A failure of the compiler is a warning, and the reference runs (in tests it is an error); a slow one
says so."""

from __future__ import annotations

import sys
import threading
import warnings
from collections import OrderedDict
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import headrace as tf
from headrace.codegen.lowering import specialize
from headrace.codegen.machine import cache, faults, notice
from headrace.codegen.machine import compile as compiler
from headrace.devices import programs
from tests.timing import PATIENCE

pytestmark = pytest.mark.native


def refuse(*args, **attrs):
    raise RuntimeError("on purpose")


def test_a_fault_is_one_warning_that_names_the_kernel(monkeypatch):
    monkeypatch.delenv("HEADRACE_FAULTS")
    with tf.Graph().as_default(), tf.Session() as sess:
        sess.run(tf.constant(1.0))  # what every process compiles first
        monkeypatch.setattr(compiler, "to_object", refuse)
        monkeypatch.setattr(cache.KERNELS, "read", lambda key: None)
        x = tf.placeholder(tf.float32, [None])
        v = tf.Variable(tf.zeros([3]))
        y = tf.cumsum(tf.exp(x * 1.2345678) + 0.25, name="odd_one")
        moved = v.assign_add(tf.ones([3]))
        sess.run(v.initializer)
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            for size in (3, 3, 3, 4, 4, 4):
                array = np.arange(size, dtype=np.float32)
                found = sess.run([y, moved], {x: array})[0]
                want = np.cumsum(np.exp(array * np.float32(1.2345678)) + 0.25)
                np.testing.assert_allclose(found, want, rtol=1e-5)
        np.testing.assert_array_equal(sess.run(v), np.full(3, 6.0))
        texts = [str(w.message) for w in seen if "uncompiled" in str(w.message)]
        assert len(texts) == 1, texts
        assert "kernel " in texts[0] and "on purpose" in texts[0]


def test_a_fault_in_the_rule_of_a_node_is_a_warning_and_the_rest_compiles(monkeypatch):
    monkeypatch.delenv("HEADRACE_FAULTS")
    monkeypatch.setattr(tf.cumsum(1.0 * tf.ones([2])).op.declaration, "lower_rule", refuse)
    with tf.Graph().as_default(), tf.Session() as sess:
        x = tf.placeholder(tf.float32, [None])
        y = tf.exp(tf.cumsum(x * 2.0, name="odd_one"))
        array = np.float32([0.5, 0.25])
        with pytest.warns(UserWarning, match="odd_one .Cumsum. runs uncompiled: .*on purpose"):
            for _ in range(4):
                np.testing.assert_allclose(sess.run(y, {x: array}), np.exp([1.0, 1.5]), rtol=1e-6)
        program = sess._known(y, {x: 0}).prepared.only
        assert set(program.declined) == {"odd_one"}


@pytest.mark.parametrize("where", ["kernel", "rule"])
def test_in_tests_a_fault_ends_the_step_in_any_thread(monkeypatch, where):
    """And a second time, though the region has met it before."""
    if where == "kernel":
        monkeypatch.setattr(compiler, "to_object", refuse)
        monkeypatch.setattr(cache.KERNELS, "read", lambda key: None)
    else:
        monkeypatch.setattr(tf.cumsum(tf.ones([2])).op.declaration, "lower_rule", refuse)
    with tf.Graph().as_default(), tf.Session() as sess:
        x = tf.placeholder(tf.float32, [None])
        y = tf.cumsum(tf.exp(x * 1.23456789) + 0.125)
        sess.run(y, {x: [1.0]})

        def step():
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                sess.run(y, {x: [1.0]})

        with ThreadPoolExecutor() as pool:
            for _ in range(2):
                with pytest.raises(faults.CompilerFault, match="on purpose"):
                    pool.submit(step).result()


@pytest.mark.parametrize("is_terminal", [True, False])
def test_a_long_compilation_says_so(monkeypatch, capsys, is_terminal):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: is_terminal)
    monkeypatch.delenv("HEADRACE_PROGRESS", raising=False)
    original, draw, is_due = specialize.Specializer.run, notice._Notice.draw, threading.Event()

    def slow(*args):
        assert is_due.wait(PATIENCE) if is_terminal else not is_due.wait(0.2)
        return original(*args)

    monkeypatch.setattr(notice._Notice, "draw", lambda shown: (draw(shown), is_due.set()))
    monkeypatch.setattr(notice, "PATIENCE", 0.1)
    monkeypatch.setattr(notice, "_EVERY", 60.0)
    monkeypatch.setattr(specialize.Specializer, "run", slow)
    with tf.Graph().as_default(), tf.Session() as sess:
        x = tf.placeholder(tf.float32, [3])
        y = x * 3.0
        for _ in range(3):
            sess.run(y, {x: np.ones(3, np.float32)})
    assert capsys.readouterr().err.count("headrace: compiling a region") == is_terminal


def test_a_batch_size_costs_no_compilation(monkeypatch):
    """Kernels know no shapes.  The second size makes a program with open sizes, some of whose kernels are
    others (a sum whose length is not known is a long one); later ones need nothing new."""
    monkeypatch.setattr(cache, "_addresses", {})
    monkeypatch.setattr(cache, "_soon", OrderedDict())
    with tf.Graph().as_default(), tf.Session() as sess:
        x = tf.placeholder(tf.float32, [None, 12])
        labels = tf.placeholder(tf.int32, [None])
        w = tf.Variable(tf.ones([12, 5]) * 0.125)
        loss = tf.reduce_mean(
            tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=tf.matmul(x, w))
        )
        train = tf.train.AdamOptimizer().minimize(loss)
        sess.run(tf.global_variables_initializer())
        counts = []
        for batch in (72, 96, 104, 128, 200):  # shorter rows are not unrolled
            for _ in range(3):
                feed = {x: np.ones((batch, 12), np.float32), labels: np.zeros(batch, np.int32)}
                sess.run([loss, train], feed)
            counts.append(sum("sweep" in identity for identity in cache._addresses))
    assert counts[0] and counts[1:] == [counts[1]] * 4, counts


def test_programs_are_forgotten():
    with tf.Graph().as_default(), tf.Session() as sess:
        x = tf.placeholder(tf.float32, [None])
        y = x * 2.0
        for size in range(1, programs.MOST + 20):
            for _ in range(2):
                sess.run(y, {x: np.ones(size, np.float32)})
        (unit,) = sess._known(y, {x: 0}).prepared.only.units
        assert len(unit.machine.programs) <= programs.MOST
        assert len(unit.machine.seen) <= programs.MOST
