"""Nodes that wait, with compiled segments between them."""

import numpy as np
import pytest

import headrace as tf
from headrace.plan.prune import prune
from headrace.plan.segments import segmented
from headrace.plan.units import SEGMENT, segment_of


@pytest.fixture
def two_queues():
    """Each dequeued, scaled and passed on to the other."""
    queues = [tf.FIFOQueue(4, tf.float32, shapes=[3]) for _ in range(2)]
    x = tf.placeholder(tf.float32, [3])
    results, puts = [], []
    for k in (0, 1):
        got = queues[k].dequeue()
        results.append(tf.tanh(got * 2.0 + x) / 3.0)
        puts.append(queues[1 - k].enqueue(x * 1.5 - 1.0))
    return queues, x, results, puts


def test_what_needs_the_same_waits_is_together(two_queues):
    _, x, results, puts = two_queues
    parts = segmented(prune(tf.get_default_graph(), [x], results, puts))
    segments = [segment_of(n).plan for n in parts.nodes.values() if n.op is SEGMENT]
    names = [{n.split("/")[0] for n in p.nodes if "_in" not in n} for p in segments]
    for k in (0, 1):
        (own,) = [s for s in names if results[k].op.name in s]
        assert results[1 - k].op.name not in own
        assert puts[k].inputs[1].op.name not in own


def test_an_enqueue_beside_an_empty_queue_happens(two_queues):
    """Neither queue has an element before the step: each dequeue needs the other's enqueue."""
    _, x, results, puts = two_queues
    with tf.Session() as sess:
        for k in range(3):
            fed = np.array([1.0, 2.0, k], np.float32)
            got = sess.run([*results, *puts], {x: fed})
            want = np.tanh((fed * 1.5 - 1) * 2 + fed) / 3
            np.testing.assert_allclose(got[0], want, rtol=1e-6)
            np.testing.assert_allclose(got[1], want, rtol=1e-6)


def test_a_variable_is_read_where_it_is_written():
    queues = [tf.FIFOQueue(4, tf.float32, shapes=[2, 2]) for _ in range(2)]
    w = tf.Variable(np.ones((2, 2), np.float32))
    x = queues[0].dequeue() * queues[1].dequeue() / 2
    loss = tf.reduce_sum(tf.matmul(x, w) * 2)
    train = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
    fill = [q.enqueue(np.full((2, 2), 2.0, np.float32)) for q in queues]
    parts = segmented(prune(tf.get_default_graph(), [], [loss], [train]))
    segments = [segment_of(n).plan for n in parts.nodes.values() if n.op is SEGMENT]
    (home,) = [p for p in segments if w.op.name in p.nodes]
    ops = {n.op.name for n in home.nodes.values()}
    assert {"VariableV2", "Identity", "MatMul", "ApplyGradientDescent"} <= ops
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        losses = []
        for _ in range(3):
            sess.run(fill)
            losses.append(sess.run([loss, train])[0])
    # d loss / d w is 8 everywhere
    np.testing.assert_allclose(losses, [32.0, 32 - 0.8 * 32, 32 - 1.6 * 32], rtol=1e-5)


def test_what_waits_inside_of_a_loop_stays_with_the_executor():
    q = tf.FIFOQueue(20, tf.int32, shapes=[])
    fill = q.enqueue_many([[1, 2, 3, 4]])
    total = tf.while_loop(lambda i, s: i < 4, lambda i, s: (i + 1, s + q.dequeue()), [0, 0])[1]
    with tf.Session() as sess:
        sess.run(fill)
        assert sess.run(total) == 10
