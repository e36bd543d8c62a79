"""Whatever the order in which ready nodes run, a step computes the same."""

import random

import numpy as np
import pytest

import headrace as tf
from headrace.runtime import executor

pytestmark = pytest.mark.pure


class Shuffled(list):
    """Stands for the executor's queue; any item may come next."""

    rng = random.Random(0)

    def popleft(self):
        return self.pop(self.rng.randrange(len(self)))


@pytest.fixture(params=range(8))
def session(request, monkeypatch):
    Shuffled.rng = random.Random(request.param)
    monkeypatch.setattr(executor, "deque", Shuffled)
    with tf.Graph().as_default(), tf.Session() as session:
        yield session


def test_nested_loops_and_their_gradient(session):
    x = tf.constant([1.0, 2.0])

    def inner(j, y):
        return j + 1, tf.cond(j % 2 > 0, lambda: y * x, lambda: y + x)

    def outer(i, y):
        _, y = tf.while_loop(lambda j, _: j <= i, inner, (0, y))
        return i + 1, y

    _, y = tf.while_loop(lambda i, _: i < 3, outer, (0, x))
    value, grad = session.run([y, tf.gradients(y, x)[0]])

    def python(x):
        y = x
        for i in range(3):
            for j in range(i + 1):
                y = y * x if j % 2 else y + x
        return y

    point, step = np.array([1.0, 2.0]), 1e-6
    np.testing.assert_allclose(value, python(point), rtol=1e-6)
    numeric = (python(point + step) - python(point - step)) / (2 * step)
    np.testing.assert_allclose(grad, numeric, rtol=1e-4)


def test_iterations_overlap_but_arrays_stay_in_order(session):
    source = tf.TensorArray(tf.float32, 6).unstack(tf.range(6.0))

    def body(i, total, out):
        total += source.read(i)
        return i + 1, total, out.write(i, total)

    start = (0, 0.0, tf.TensorArray(tf.float32, 6))
    out = tf.while_loop(lambda i, *_: i < 6, body, start, parallel_iterations=3)[2]
    assert session.run(out.stack()).tolist() == [0, 1, 3, 6, 10, 15]


def test_a_recurrent_network_learns(session):
    rng = np.random.default_rng(0)
    x = tf.constant(rng.normal(size=(2, 4, 3)), tf.float32)
    cell = tf.nn.rnn_cell.GRUCell(3, kernel_initializer=tf.ones_initializer())
    outputs, _ = tf.nn.dynamic_rnn(cell, x, sequence_length=[2, 4], dtype=tf.float32)
    grad = tf.gradients(outputs, cell.variables[0])[0]
    session.run(tf.global_variables_initializer())
    first = session.run([outputs, grad])
    again = session.run([outputs, grad])
    for a, b in zip(first, again):
        np.testing.assert_allclose(a, b, rtol=1e-5)
    assert not first[0][0, 2:].any()
