"""Unrolled recurrent cells: the inputs' products become one; numbers stay what they were."""

import numpy as np
import pytest

import headrace as tf
from headrace.passes import batch_products as module
from headrace.passes.batch_products import batch_products
from headrace.plan.prune import prune
from headrace.plan.verify import verify

STEPS, ROWS, SIZE = 5, 3, 8


@pytest.fixture
def always(monkeypatch):
    """However small the weight is."""
    monkeypatch.setattr(module, "LARGE", 0)


def train(steps=STEPS, feedback=False):
    """A few steps of an unrolled cell: losses, and the weight at the end.  `feedback`: the next input
    comes from the state, so nothing can be done beforehand."""
    rng = np.random.default_rng(0)
    with tf.Graph().as_default(), tf.Session() as sess:
        x = tf.placeholder(tf.float32, [ROWS, steps, SIZE])
        w = tf.Variable(rng.standard_normal((2 * SIZE, SIZE)).astype(np.float32) * 0.3)
        state, outs = tf.zeros([ROWS, SIZE]), []
        for t in range(steps):
            given = tf.sin(state) if feedback and t else x[:, t, :]
            state = tf.tanh(tf.matmul(tf.concat([given, state], 1), w))
            outs.append(state)
        loss = tf.reduce_sum(tf.square(tf.concat(outs, 1)))
        (gradient,) = tf.gradients(loss, [w])
        step = tf.assign_sub(w, 0.1 * gradient)
        sess.run(tf.global_variables_initializer())
        fed = {x: rng.standard_normal((ROWS, steps, SIZE)).astype(np.float32)}
        losses = [sess.run([loss, step], fed)[0] for _ in range(3)]
        return np.array(losses), sess.run(w)


@pytest.mark.parametrize("feedback", [False, True])
def test_training_gives_the_same_numbers(monkeypatch, feedback):
    want = train(feedback=feedback)
    monkeypatch.setattr(module, "LARGE", 0)
    changes = []
    rebuilt = module._Batcher.halves
    monkeypatch.setattr(
        module._Batcher, "halves", lambda self, *a: changes.append(a) or rebuilt(self, *a)
    )
    got = train(feedback=feedback)
    assert bool(changes) != feedback
    for a, b in zip(got, want):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)


def cells(count):
    """The plan of as many independent cells."""
    graph, fed, results = tf.Graph(), [], []
    with graph.as_default():
        w = tf.placeholder(tf.float32, [4, 3])
        for t in range(count):
            pair = [tf.placeholder(tf.float32, [2, 2]) for _ in range(2)]
            results.append(tf.matmul(tf.concat(pair, 1), w, name=f"y{t}"))
            fed += pair
    return prune(graph, [w, *fed], results, [])


def test_one_product_of_all_inputs(always):
    plan = batch_products(cells(4))
    verify(plan, "batch_products")
    products = [n for n in plan.nodes.values() if n.op.name == "MatMul"]
    assert sorted(n.outputs[0].shape.as_list()[0] for n in products) == [2, 2, 2, 2, 8]
    assert [plan.nodes[f"y{t}"].op.name for t in range(4)] == ["AddV2"] * 4


def test_few_products_and_small_weights_stay(monkeypatch):
    plan = cells(4)
    assert batch_products(plan) is plan
    monkeypatch.setattr(module, "LARGE", 0)
    plan = cells(3)
    assert batch_products(plan) is plan
