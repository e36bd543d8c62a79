"""Loops and conditionals survive a MetaGraph: they run, and can be differentiated afterwards."""

import numpy as np
import pytest

import headrace as tf

pytestmark = pytest.mark.pure


def loop(x):
    return tf.while_loop(lambda i, _: i < 4, lambda i, y: (i + 1, y * x), [0, x])[1]


def conditional(x):
    return tf.cond(tf.reduce_sum(x) > 0, lambda: x * x, lambda: -x)


def nested(x):
    def inner(j, y):
        return j + 1, tf.cond(tf.reduce_sum(y) < 9, lambda: y * x, lambda: y + x)

    def outer(i, y):
        return i + 1, tf.while_loop(lambda j, _: j < 3, inner, [0, y])[1]

    return tf.while_loop(lambda i, _: i < 2, outer, [0, x])[1]


def mapped(x):
    return tf.scan(lambda a, e: a * e, tf.map_fn(lambda e: e * e + 1.0, x))


@pytest.mark.parametrize("scope", ["", "restored"])
@pytest.mark.parametrize("program", [loop, conditional, nested, mapped])
def test_gradient_of_what_was_imported(program, scope):
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.constant([1.5, 2.0], name="x")
        y = tf.identity(program(x), name="y")
        wanted = session.run([y, tf.gradients(y, x)[0]])
    with tf.Graph().as_default():
        x = tf.constant([1.5, 2.0], name="x")
        tf.identity(program(x), name="y")
        message = tf.train.export_meta_graph()
    with tf.Graph().as_default() as graph, tf.Session() as session:
        tf.train.import_meta_graph(message, import_scope=scope or None)
        prefix = scope + "/" if scope else ""
        x, y = (graph.get_tensor_by_name(f"{prefix}{name}:0") for name in "xy")
        for got, want in zip(session.run([y, tf.gradients(y, x)[0]]), wanted):
            np.testing.assert_allclose(got, want, rtol=1e-6)


def test_a_loop_that_was_differentiated_is_exported_with_its_gradient():
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.constant([1.5, 2.0], name="x")
        grad = tf.identity(tf.gradients(nested(x), x)[0], name="grad")
        wanted = session.run(grad)
        message = tf.train.export_meta_graph()
    with tf.Graph().as_default(), tf.Session() as session:
        tf.train.import_meta_graph(message)
        np.testing.assert_allclose(session.run("grad:0"), wanted, rtol=1e-6)
