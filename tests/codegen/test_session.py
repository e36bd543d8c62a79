"""Whole steps: a training step is one native call, and computes what the reference computes."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
import threading

import numpy as np
import pytest

import headrace as tf
from headrace.ops.array.constant import constant
from headrace.runtime.containers import Containers
from tests.codegen.compare import Runner, assert_same
from tests.timing import PATIENCE

pytestmark = pytest.mark.native


class Regression:
    """Softmax regression with plain SGD, variables by reference or by handle."""

    def __init__(self, by_handle):
        self.graph = tf.Graph()
        with self.graph.as_default():
            self.x = tf.placeholder(tf.float32, [None, 20])
            self.y = tf.placeholder(tf.float32, [None, 5])
            made = [
                tf.Variable(np.full(shape, 0.1, np.float32), use_resource=by_handle)
                for shape in ((20, 5), (5,))
            ]
            logits = tf.matmul(self.x, made[0]) + made[1]
            self.loss = tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits(labels=self.y, logits=logits))
            self.train = tf.train.GradientDescentOptimizer(0.5).minimize(self.loss)
            self.init = tf.global_variables_initializer()
            self.variables = made

    def data(self, n, seed):
        rng = np.random.default_rng(seed)
        labels = np.eye(5, dtype=np.float32)[rng.integers(0, 5, n)]
        return rng.normal(size=(n, 20)).astype(np.float32), labels


@pytest.mark.parametrize("by_handle", [False, True])
def test_a_training_step_is_one_native_call(by_handle):
    model = Regression(by_handle)
    feeds, fetches = [model.x, model.y], [model.loss]
    step = Runner(model.graph, feeds, fetches, [model.train])
    start = Runner(model.graph, [], [], [model.init])
    ours, theirs = Containers(), Containers()
    start.expected(ours, [])
    start.expected(theirs, [])
    for k, n in enumerate([8, 8, 3, 8, 1, 3]):
        arrays = model.data(n, k)
        got, want = step.run(ours, arrays), step.expected(theirs, arrays)
        assert_same(got[0], want[0], 1e-5)
    assert step.is_whole
    names = [k for k in ours._items if k[1] == "variable"]
    assert len(names) == 2
    for key in names:
        assert_same(ours._items[key].value, theirs._items[key].value, 1e-5)


@pytest.mark.parametrize("by_handle", [False, True])
def test_session(by_handle):
    model = Regression(by_handle)
    with tf.Session(graph=model.graph) as session:
        session.run(model.init)
        x, y = model.data(16, 0)
        before = (x.copy(), y.copy())
        losses = [session.run([model.loss, model.train], {model.x: x, model.y: y})[0] for _ in range(20)]
        assert losses[-1] < losses[0] / 2
        np.testing.assert_array_equal(x, before[0])  # fed arrays are never written


def test_what_was_fetched_never_changes():
    model = Regression(False)
    with tf.Session(graph=model.graph) as session:
        session.run(model.init)
        x, y = model.data(16, 0)
        seen = []
        for _ in range(6):
            w = session.run([model.variables[0], model.train], {model.x: x, model.y: y})[0]
            seen.append((w, w.copy()))
        assert not np.array_equal(seen[0][1], seen[-1][1])
        for w, copy in seen:
            np.testing.assert_array_equal(w, copy)


@pytest.mark.parametrize("shape", [[], [1], [1, 1]])
def test_a_fetched_reshape_has_its_own_shape(shape):
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [2, 300])
        total = tf.reshape(tf.reduce_sum(x, [0, 1], keepdims=True), shape)
        for _ in range(3):
            assert session.run(total, {x: np.ones((2, 300))}).shape == tuple(shape)


def test_an_error_in_the_middle_leaves_variables_alone():
    with tf.Graph().as_default(), tf.Session() as session:
        w = tf.Variable(np.zeros(3, np.float32))
        at = tf.placeholder(tf.int32, [])
        read = tf.gather(constant(np.arange(4, dtype=np.float32)), at)
        change = tf.assign_add(w, tf.fill([3], read))
        session.run(tf.global_variables_initializer())
        for _ in range(3):
            session.run(change, {at: 1})
        for _ in range(2):
            with pytest.raises(tf.errors.InvalidArgumentError, match=r"= 7 is not in \[0, 4\)"):
                session.run(change, {at: 7})
        np.testing.assert_array_equal(session.run(w), np.full(3, 3))
        session.run(change, {at: 2})
        np.testing.assert_array_equal(session.run(w), np.full(3, 5))


def test_uninitialised():
    model = Regression(False)
    with tf.Session(graph=model.graph) as session:
        x, y = model.data(4, 0)
        for _ in range(3):
            with pytest.raises(tf.errors.FailedPreconditionError, match="uninitialized"):
                session.run(model.loss, {model.x: x, model.y: y})
        session.run(model.init)
        session.run(model.loss, {model.x: x, model.y: y})


def test_feeds_of_any_layout():
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [None, None])
        y = tf.exp(x) + 1.0
        base = np.random.default_rng(0).normal(size=(6, 8)).astype(np.float32)
        for _ in range(3):
            for array in (base, base.T, base[::2, ::-1], base[:0], np.asfortranarray(base)):
                np.testing.assert_allclose(session.run(y, {x: array}), np.exp(array) + 1, rtol=1e-6)


def test_threads_share_a_session():
    model = Regression(True)
    with tf.Session(graph=model.graph) as session:
        session.run(model.init)
        errors = []

        def work(seed):
            x, y = model.data(8, seed)
            try:
                for _ in range(30):
                    session.run([model.loss, model.train], {model.x: x, model.y: y})
            except BaseException as error:
                errors.append(error)

        workers = [threading.Thread(target=work, args=(s,)) for s in range(4)]
        for w in workers:
            w.start()
        for w in workers:
            w.join(PATIENCE)
        assert not errors
        assert np.isfinite(session.run(model.variables[0])).all()


@pytest.mark.process
@pytest.mark.parametrize("setting", ["HEADRACE_VERIFY", "HEADRACE_COMPILE"])
def test_settings(setting):
    """Verified and uncompiled runs give the same numbers."""
    code = """
        import numpy as np, headrace as tf
        x = tf.placeholder(tf.float32, [None, 3])
        w = tf.Variable(np.ones((3, 2), np.float32))
        y = tf.nn.softmax(tf.matmul(x, w))
        up = tf.assign_add(w, tf.ones_like(w))
        with tf.Session() as s:
            s.run(tf.global_variables_initializer())
            for k in range(4):
                out, _ = s.run([y, up], {x: np.arange(6, dtype=np.float32).reshape(2, 3)})
            print(out.sum(), s.run(w).sum())
    """
    value = "1" if setting == "HEADRACE_VERIFY" else "0"
    found = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        capture_output=True,
        text=True,
        timeout=600,
        env=os.environ | {setting: value},
    )
    assert found.stdout.split() == ["2.0", "30.0"], found.stderr
