"""Which line made a node: the user's own, through library code of ours and of others."""

from __future__ import annotations

import contextlib
import inspect

import headrace as tf
from headrace.core.origin import Origin, here


def line() -> int:
    """The number of the line that calls this."""
    return inspect.currentframe().f_back.f_lineno


def test_here():
    origin, at = here(), line()
    assert (origin.filename, origin.line, origin.function) == (__file__, at, "test_here")
    assert origin.text == "origin, at = here(), line()"
    assert str(origin) == f"test_origin.py:{at}   origin, at = here(), line()"


def test_a_node_names_the_line_that_made_it():
    with tf.Graph().as_default():
        a, at = tf.constant(1.0), line()
        deep, deeper = tf.reduce_mean(tf.nn.moments(tf.ones([2, 3]), [0])[1]), line()
        over = a + deep  # an operator
    assert a.op.origin.line == at and a.op.origin.filename == __file__
    assert deep.op.origin.line == deeper, "not a line inside of headrace"
    assert over.op.origin.text == "over = a + deep  # an operator"


def test_helpers_of_the_user_count():
    def layer(x):
        return tf.negative(x)

    with tf.Graph().as_default():
        y = layer(tf.constant(1.0))
    assert y.op.origin.function == "layer", "the innermost line outside of headrace"


def test_contexts_are_passed_over():
    @contextlib.contextmanager
    def scope():
        with tf.name_scope("a"):
            yield

    with tf.Graph().as_default():
        with scope():
            c = tf.constant(1.0)
    assert c.op.origin.text == "c = tf.constant(1.0)"


def test_gradients_belong_to_who_asked():
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [])
        y = tf.square(x)
        (g,), at = tf.gradients(y, x), line()
    assert g.op.origin.line == at


def test_a_line_without_a_file():
    """A program typed at a prompt has no text to show."""
    origin = Origin("<stdin>", 3, "<module>")
    assert (origin.text, str(origin)) == ("", "<stdin>:3")


def test_the_public_form():
    with tf.Graph().as_default():
        op, at = tf.no_op(), line()
    assert op.traceback[-1][:2] == (__file__, at)
