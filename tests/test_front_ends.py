"""One network, six ways to say it: a graph, a tape, tf.function, autograd, MiniTorch and Keras have equal
losses."""

from __future__ import annotations

import numpy as np
import pytest

import headrace as tf
import headrace.autograd.numpy as anp
from headrace import minitorch
from headrace.autograd import value_and_grad
from headrace.eager.context import eager_mode

STEPS, RATE = 12, 0.5
numbers = np.random.RandomState(0)
X, Y = numbers.randn(20, 3).astype(np.float32), numbers.randn(20, 1).astype(np.float32)
START = [numbers.randn(*shape).astype(np.float32) for shape in ((3, 5), (5,), (5, 1), (1,))]


def loss_of(params):
    """In TensorFlow's functions, at once or in a graph."""
    w1, b1, w2, b2 = params
    hidden = tf.sigmoid(tf.matmul(X, w1) + b1)
    return tf.reduce_mean(tf.square(tf.matmul(hidden, w2) + b2 - Y))


def by_graph():
    with tf.Graph().as_default(), tf.Session() as sess:
        params = [tf.Variable(v) for v in START]
        loss = loss_of(params)
        step = tf.train.GradientDescentOptimizer(RATE).minimize(loss)
        sess.run(tf.global_variables_initializer())
        with tf.control_dependencies([loss]):
            step = tf.group(step)
        return [sess.run([loss, step])[0] for _ in range(STEPS)]


def trained(step):
    with eager_mode():
        params = [tf.contrib.eager.Variable(v) for v in START]
        return [float(step(params)) for _ in range(STEPS)]


def one_step(params):
    with tf.GradientTape() as tape:
        loss = loss_of(params)
    for p, g in zip(params, tape.gradient(loss, params)):
        p.assign_sub(RATE * g)
    return loss


def by_tape():
    return trained(one_step)


def by_function():
    kept = {}

    def step(params):
        if "step" not in kept:
            kept["step"] = tf.function(lambda: one_step(params))
        return kept["step"]()

    return trained(step)


def by_autograd():
    def loss(params):
        w1, b1, w2, b2 = params
        hidden = 1.0 / (1.0 + anp.exp(-(anp.dot(X, w1) + b1)))
        return anp.mean((anp.dot(hidden, w2) + b2 - Y) ** 2)

    params, losses = list(START), []
    for _ in range(STEPS):
        value, gradients = value_and_grad(loss)(params)
        params = [p - RATE * g for p, g in zip(params, gradients)]
        losses.append(value)
    return losses


def by_minitorch():
    def parameter(value):
        return minitorch.Parameter(minitorch.tensor(value, backend=minitorch.FastBackend))

    class Network(minitorch.Module):
        def __init__(self):
            super().__init__()
            self.w1, self.b1, self.w2, self.b2 = map(parameter, START)

        def forward(self, x):
            hidden = (x @ self.w1.value + self.b1.value).sigmoid()
            return hidden @ self.w2.value + self.b2.value

    model = Network()
    x, y = (minitorch.tensor(v, backend=minitorch.FastBackend) for v in (X, Y))
    descent, losses = minitorch.SGD(model.parameters(), RATE), []
    for _ in range(STEPS):
        descent.zero_grad()
        error = model(x) - y
        loss = (error * error).mean()
        loss.backward()
        descent.step()
        losses.append(loss.item())
    return losses


def by_keras():
    with tf.Graph().as_default(), tf.Session():
        model = tf.keras.Sequential(
            [tf.keras.layers.Dense(5, "sigmoid", input_shape=(3,)), tf.keras.layers.Dense(1)]
        )
        model.compile(tf.keras.optimizers.SGD(RATE), "mse")
        model.set_weights(START)
        return [model.train_on_batch(X, Y) for _ in range(STEPS)]


WAYS = [by_tape, by_function, by_autograd, by_minitorch, by_keras]


@pytest.mark.parametrize("way", WAYS, ids=[w.__name__ for w in WAYS])
def test_losses_are_those_of_the_graph(way):
    expected = by_graph()
    assert expected[-1] < 0.8 * expected[0]
    np.testing.assert_allclose(way(), expected, rtol=2e-4)
