"""Loops that Python runs around compiled parts: what is compiled stays so from step to step."""

import numpy as np
import pytest

import headrace as tf
from headrace.devices.region_unit import RegionUnit

pytestmark = pytest.mark.native
STEPS = 40


def raw_network():
    """tf.nn.raw_rnn: an array that grows, and one that a branch inside of the loop reads."""
    cell = tf.nn.rnn_cell.LSTMCell(4)
    data = tf.constant(np.random.RandomState(0).normal(size=(STEPS, 3, 5)).astype(np.float32))
    rows = tf.TensorArray(tf.float32, STEPS).unstack(data)
    lengths = tf.constant([STEPS, 3, STEPS - 1])

    def step(time, output, state, _):
        state = cell.zero_state(3, tf.float32) if output is None else state
        done = time >= lengths
        end = tf.reduce_all(done)
        row = tf.cond(end, lambda: tf.zeros([3, 5]), lambda: rows.read(time))
        return done, row, state, output, None

    outputs, _, _ = tf.nn.raw_rnn(cell, step)
    looped, _ = tf.nn.dynamic_rnn(cell, data, lengths, dtype=tf.float32, time_major=True)
    return outputs.stack(), looped


def growing():
    weights = tf.constant(np.eye(4, dtype=np.float32) * 0.5)

    def body(i, x, rows):
        x = tf.tanh(tf.matmul(x, weights) + 1.0)
        return i + 1, x, rows.write(i, x)

    rows = tf.TensorArray(tf.float32, 0, dynamic_size=True)
    _, last, rows = tf.while_loop(lambda i, *_: i < STEPS, body, [0, tf.ones([2, 4]), rows])
    return rows.stack()[-1], last


@pytest.mark.parametrize("mode", ["1", "always"])
def test_arrays_of_text_are_the_hosts(mode, monkeypatch):
    monkeypatch.setenv("HEADRACE_COMPILE", mode)
    with tf.Graph().as_default(), tf.Session() as sess:
        words = tf.TensorArray(tf.string, 2).write(0, "a").write(1, tf.placeholder(tf.string, []))
        joined = words.stack()
        for _ in range(3):
            assert sess.run(joined, {words.flow.op.inputs[2]: "b"}).tolist() == [b"a", b"b"]


@pytest.mark.parametrize("network", [raw_network, growing])
def test_parts_of_a_host_loop_stay_compiled(network, monkeypatch):
    with tf.Graph().as_default(), tf.Session() as sess:
        with tf.variable_scope("net", reuse=tf.AUTO_REUSE):
            first, second = network()
        sess.run(tf.global_variables_initializer())
        for _ in range(4):
            found, wanted = sess.run([first, second])
            np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)
        before = sess.run(first)
        interpreted = []
        kept = RegionUnit.interpret
        monkeypatch.setattr(
            RegionUnit,
            "interpret",
            lambda self, *given: interpreted.append(self.region) or kept(self, *given),
        )
        for _ in range(3):
            np.testing.assert_allclose(sess.run(first), before, rtol=1e-5, atol=1e-6)
        last = len(interpreted)
        sess.run(first)
        assert len(interpreted) == last
