"""Pieces with transfers beside loops: what is whole on a device is compiled, what crosses is the
executor's, and the nodes between are compiled too."""

from collections import Counter

import numpy as np
import pytest

import headrace as tf
from headrace.core import hooks
from headrace.runtime.profile import Trace
from tests.timing import PATIENCE

pytestmark = pytest.mark.native


class Interpreted(Trace):
    """Counts the nodes that run one by one, by op."""

    def __init__(self):
        super().__init__()
        self.ops, self.regions = Counter(), 0

    def kernel(self, node):
        self.ops[node.op.name] += 1
        return super().kernel(node)

    def region(self, *given):
        self.regions += 1


def interpreted(sess, fetches, feeds=None):
    """What one step interprets, once it is known."""
    deadline = tf.RunOptions(timeout_in_ms=int(PATIENCE * 1000))
    for _ in range(4):
        sess.run(fetches, feeds, options=deadline)
    hooks.step_watcher.value = watcher = Interpreted()
    try:
        sess.run(fetches, feeds, options=deadline)
        return watcher
    finally:
        hooks.step_watcher.value = None


def devices(count):
    return tf.Session(config=tf.ConfigProto(device_count={"CPU": count}))


def on(variables, others):
    return lambda op: variables if op.type in ("VariableV2", "VarHandleOp") else others


def recurrent(variables, others, rows=4, steps=6, width=8, lengths=None):
    x = tf.placeholder(tf.float32, [rows, steps, width])
    with tf.device(on(variables, others)):
        cell = tf.nn.rnn_cell.BasicLSTMCell(16, name="cell")
        y, _ = tf.nn.dynamic_rnn(cell, x, lengths, dtype=tf.float32)
        loss = tf.reduce_mean(tf.square(y))
        train = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
    return x, loss, train


@pytest.mark.parametrize("lengths", [None, [6, 2, 4, 1]])
def test_weights_on_another_device_leave_the_loops_compiled(lengths):
    rng = np.random.default_rng(3)
    fed = rng.normal(size=(4, 6, 8)).astype(np.float32)
    numbers = [rng.normal(size=(24, 64)).astype(np.float32), np.zeros(64, np.float32)]
    losses, found = [], []
    for count, places in ((1, ("/cpu:0", "/cpu:0")), (2, ("/cpu:1", "/cpu:0"))):
        with tf.Graph().as_default(), devices(count) as sess:
            x, loss, train = recurrent(*places, lengths=lengths)
            for variable, value in zip(tf.trainable_variables(), numbers):
                variable.load(value, sess)
            found.append(interpreted(sess, [loss, train], {x: fed}))
            losses.append(sess.run(loss, {x: fed}))
    np.testing.assert_allclose(losses[1], losses[0], rtol=1e-5)
    alone, apart = found
    assert not alone.ops and alone.regions == 1
    # Light nodes that stand alone between transfers; nothing is computed.
    light = {"_Send", "_Recv", "Const", "NoOp", "Identity", "VariableV2", "_SaidAssert"}
    assert set(apart.ops) <= light
    assert apart.regions <= 6


def test_a_loop_between_transfers_is_one_region():
    with tf.Graph().as_default(), devices(2) as sess:
        with tf.device("/cpu:1"):
            x = tf.placeholder(tf.float32, [3, 3])
            y = tf.tanh(x * 2.0) + 1.0
        with tf.device("/cpu:0"):
            z = tf.while_loop(lambda i, _: i < 5, lambda i, z: (i + 1, tf.tanh(tf.matmul(z, y))), [0, y])[1]
        with tf.device("/cpu:1"):
            total = tf.reduce_sum(z * 3.0 + x)
        fed = np.random.default_rng(0).normal(size=(3, 3)).astype(np.float32)
        seen = interpreted(sess, total, {x: fed})
        assert "MatMul" not in seen.ops and "Tanh" not in seen.ops
        want = y_ = np.tanh(fed * 2) + 1
        for _ in range(5):
            want = np.tanh(want @ y_)
        np.testing.assert_allclose(sess.run(total, {x: fed}), (want * 3 + fed).sum(), rtol=1e-5)


def test_the_sides_of_a_branch_over_two_devices_are_compiled():
    with tf.Graph().as_default(), devices(2) as sess:
        with tf.device("/cpu:1"):
            x = tf.placeholder(tf.float32, [4])
            y = x * 2.0 + 1.0
        with tf.device("/cpu:0"):
            z = tf.cond(y[0] > 0, lambda: tf.exp(y) * 2.0, lambda: tf.tanh(y) - 3.0)
            z = tf.sqrt(tf.abs(z)) + y
        for fed in ([1, 2, 3, 4], [-1, 2, 3, 4]):
            fed = np.array(fed, np.float32)
            seen = interpreted(sess, z, {x: fed})
            assert not {"Exp", "Tanh", "Sqrt", "Abs"} & set(seen.ops)
            y_ = fed * 2 + 1
            want = np.exp(y_) * 2 if y_[0] > 0 else np.tanh(y_) - 3
            np.testing.assert_allclose(sess.run(z, {x: fed}), np.sqrt(abs(want)) + y_, rtol=1e-5)


def test_what_computes_inside_of_a_loop_over_two_devices_is_compiled():
    with tf.Graph().as_default(), devices(2) as sess:
        w = np.random.default_rng(1).normal(size=(5, 5)).astype(np.float32) / 3

        def body(i, x):
            with tf.device("/cpu:1"):
                y = tf.nn.relu(tf.matmul(x, w) + 0.1) * 0.5
            return i + 1, tf.tanh(tf.matmul(y, w) + x)

        with tf.device("/cpu:0"):
            x = tf.placeholder(tf.float32, [5, 5])
            out = tf.while_loop(lambda i, _: i < 7, body, [0, x])[1]
        fed = np.eye(5, dtype=np.float32)
        seen = interpreted(sess, out, {x: fed})
        assert not {"MatMul", "Relu", "Tanh"} & set(seen.ops)
        want = fed
        for _ in range(7):
            want = np.tanh((np.maximum(want @ w + 0.1, 0) * 0.5) @ w + want)
        np.testing.assert_allclose(sess.run(out, {x: fed}), want, rtol=1e-4, atol=1e-5)


def test_a_value_is_sent_before_what_is_ready_too():
    """The other device needs the first product, and has it before this one goes on to the second:
    else two pieces that wait for each other would take turns."""
    order = []

    def note(name):
        return lambda x: (order.append(name), x)[1]

    with tf.Graph().as_default(), devices(2) as sess:
        with tf.device("/cpu:1"):
            x = tf.placeholder(tf.float32, [])
            first = tf.py_func(note("first"), [x], tf.float32)
        with tf.device("/cpu:0"):
            there = tf.py_func(note("there"), [first], tf.float32)
        with tf.device("/cpu:1"):
            back = tf.py_func(note("back"), [there], tf.float32)
            for _ in range(3):
                assert sess.run([back], {x: 2.0}) == [2.0]
    assert order == ["first", "there", "back"] * 3
