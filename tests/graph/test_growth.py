"""Twice the graph, twice the work: counted in calls, which a busy machine does not change."""

import cProfile

import numpy as np
import pytest

import headrace as tf

SLACK = 1.25  # a logarithm of a sort


def chain(count):
    y = tf.get_variable("x", [4])
    for i in range(count):
        y = tf.tanh(y) if i % 2 else y + 1.0
    return y


def fan(count):
    x = tf.get_variable("x", [4])
    return tf.add_n([tf.sin(x) for _ in range(count)])


def conds_in_turn(count):
    y = tf.get_variable("x", [4])
    for _ in range(count // 10):
        y = tf.cond(y[0] < 1e9, lambda y=y: y * 1.5, lambda y=y: y - 1.0)
    return y


def conds_of_one_predicate(count):
    y = tf.get_variable("x", [4])
    predicate = y[0] < 3.0
    for _ in range(count // 10):
        y = tf.cond(predicate, lambda y=y: y * 1.5, lambda y=y: y - 1.0)
    return y


def conds_side_by_side(count):
    x = tf.get_variable("x", [4])
    found = [tf.cond(x[0] < float(i), lambda: x * 1.5, lambda: x - 1.0) for i in range(count // 10)]
    return tf.add_n(found)


def loops(count):
    y = tf.get_variable("x", [4])
    for _ in range(count // 20):
        y = tf.while_loop(lambda i, v: i < 2, lambda i, v: (i + 1, v * 0.5), [0, y])[1]
    return y


def layers(count):
    y = tf.get_variable("x", [4, 4])
    for _ in range(count // 50):
        y = tf.layers.dense(y, 4, activation=tf.nn.relu)
        y = tf.layers.batch_normalization(y, training=True)
    return y


def functions(count):
    y = tf.get_variable("x", [4])
    for i in range(count // 10):
        y = doubled(i)(y)
    return y


def doubled(i):
    @tf.function
    def body(a):
        return tf.sin(a) * float(i)

    return body


KINDS = (chain, fan, conds_in_turn, conds_of_one_predicate, conds_side_by_side, loops, layers, functions)


def phases(kind, count, folder):
    """The calls of each phase of a program's life, in one graph."""
    calls = {}

    def counted(name, function):
        profile = cProfile.Profile()
        result = profile.runcall(function)
        calls[name] = sum(entry.callcount for entry in profile.getstats())
        return result

    with tf.Graph().as_default() as graph:
        loss = counted("build", lambda: tf.reduce_sum(kind(count)))
        gradients = counted("gradients", lambda: tf.gradients(loss, tf.trainable_variables()))
        saver = tf.train.Saver()
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            values = counted("first run", lambda: session.run([loss, gradients]))
            assert np.isfinite(values[0])
            counted("save", lambda: saver.save(session, str(folder / "model")))
        message = counted("export", graph.as_graph_def)
        counted("export with contexts", lambda: tf.train.export_meta_graph(str(folder / "model.meta")))
    with tf.Graph().as_default():
        counted("import", lambda: tf.import_graph_def(message))
    with tf.Graph().as_default():
        counted("import with contexts", lambda: tf.train.import_meta_graph(str(folder / "model.meta")))
    return calls


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_work_grows_as_the_graph_does(kind, tmp_path):
    phases(kind, 100, tmp_path)  # what the first use imports and keeps
    before, after = phases(kind, 400, tmp_path), phases(kind, 1600, tmp_path)
    grown = {name: round(after[name] / before[name] / 4, 2) for name in after}
    assert all(share < SLACK for share in grown.values()), grown
