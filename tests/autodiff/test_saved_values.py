"""Gradients of calls, functional conditionals and functional loops: nothing is computed again.

The functions draw random numbers and are linear in x, so that y / x is the gradient if, and only if, the
numbers in the gradient are those of the forward pass."""

import numpy as np
import pytest

import headrace as tf
from headrace.variables.functions.defun import Defun

pytestmark = pytest.mark.pure

X = np.array([0.5, -1.5, 2.0], np.float32)


@Defun(tf.float32)
def noisy(x):
    return x * tf.random.uniform([3])


@Defun(tf.float32)
def noisier(x):
    return x * tf.random.uniform([3]) * tf.random.normal([3])


@Defun(tf.int32, tf.float32)
def goes_on(i, x):
    return i < 3


@Defun(tf.int32, tf.float32)
def step(i, x):
    return i + 1, x * tf.random.uniform([3])


@Defun(tf.int32, tf.float32)
def step_with_branch(i, x):
    y = tf.raw_ops.If(
        cond=tf.equal(i, 1), input=[x], Tout=[tf.float32], then_branch=noisy, else_branch=noisier
    )[0]
    return i + 1, tf.reshape(y, [3])


@Defun(tf.int32, tf.float32)
def step_with_loop(i, x):
    y = tf.raw_ops.While(input=[0, x], cond=goes_on, body=step)[1]
    return i + 1, tf.reshape(y, [3])


@Defun(tf.int32, tf.float32)
def step_with_frames(i, x):
    """The body has primitives in it."""
    y = tf.cond(tf.equal(i, 1), lambda: x * tf.random.uniform([3]), lambda: x * 2.0)
    y = tf.while_loop(lambda j, _: j < i, lambda j, y: (j + 1, y * tf.random.uniform([3])), [0, y])
    return i + 1, y[1]


def a_call(x):
    return tf.raw_ops.StatefulPartitionedCall(args=[x], Tout=[tf.float32], f=noisier)[0]


def an_if(x):
    return tf.raw_ops.If(cond=x[0] > 0, input=[x], Tout=[tf.float32], then_branch=noisy, else_branch=noisier)[
        0
    ]


def a_case(x):
    index = tf.cast(x[0] > 0, tf.int32)
    branches = [noisier, noisy, noisier]
    return tf.raw_ops.Case(branch_index=index, input=[x], Tout=[tf.float32], branches=branches)[0]


def loop_of(body):
    def loop(x):
        return tf.raw_ops.While(input=[0, x], cond=goes_on, body=body)[1]

    loop.__name__ = body.name
    return loop


def a_traced_function(x):
    @tf.function
    def traced(x):
        y = tf.cond(x[0] > 0, lambda: x * tf.random.uniform([3]), lambda: x * 0.5)
        return tf.while_loop(lambda i, _: i < 2, lambda i, y: (i + 1, y * tf.random.uniform([3])), [0, y])[1]

    return traced(x)


def a_loop_around(x):
    return tf.while_loop(lambda i, _: i < 3, lambda i, y: (i + 1, tf.reshape(an_if(y), [3])), [0, x])[1]


def a_branch_around(x):
    return tf.cond(x[0] > 0, lambda: a_loop_around(x), lambda: loop_of(step)(x))


PROGRAMS = [
    a_call,
    an_if,
    a_case,
    loop_of(step),
    loop_of(step_with_branch),
    loop_of(step_with_loop),
    loop_of(step_with_frames),
    a_traced_function,
    a_loop_around,
    a_branch_around,
]


@pytest.mark.parametrize("compiled", ["0", "always"])
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_the_numbers_of_the_forward_pass(program, compiled, monkeypatch):
    monkeypatch.setenv("HEADRACE_COMPILE", compiled)
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [3])
        y = program(x)
        slope = tf.gradients(y, x)[0]
        half = tf.gradients(y, x, tf.fill([3], 0.5))[0]  # asked for a second time
        for feed in (X, -X):
            value, found, other = session.run([y, slope, half], {x: feed})
            np.testing.assert_allclose(found, value / feed, rtol=1e-5)
            np.testing.assert_allclose(other, found / 2, rtol=1e-6)
            assert session.run(y, {x: feed}).shape == (3,)  # and without a gradient
        first, second = session.run([y, slope], {x: X}), session.run([y, slope], {x: X})
        assert np.any(first[0] != second[0])


@Defun(tf.int32, tf.float32, tf.float32)
def three_times(i, x, w):
    return i < 3


@Defun(tf.int32, tf.float32, tf.float32)
def bent(i, x, w):
    y = tf.raw_ops.If(
        cond=tf.equal(i, 1), input=[x, w], Tout=[tf.float32], then_branch=product, else_branch=bend
    )[0]
    return i + 1, tf.reshape(y, [3]), w


@Defun(tf.float32, tf.float32)
def product(x, w):
    return x * w + x * x


@Defun(tf.float32, tf.float32)
def bend(x, w):
    return tf.sin(x * w)


def test_gradients_of_gradients():
    def functional(x, w):
        return tf.raw_ops.StatelessWhile(input=[0, x, w], cond=three_times, body=bent)[1]

    def unrolled(x, w):
        x = tf.sin(x * w)
        return tf.sin((x * w + x * x) * w)

    found = []
    for program in (functional, unrolled):
        with tf.Graph().as_default(), tf.Session() as session:
            x, w = tf.placeholder(tf.float32, [3]), tf.placeholder(tf.float32, [3])
            y, wanted = program(x, w), []
            for _ in range(3):
                y, dw = tf.gradients(y, [x, w])
                wanted += [y, dw]
            found.append(session.run(wanted, {x: X, w: X * 0.3 + 1}))
    for a, b in zip(*found):
        np.testing.assert_allclose(a, b, rtol=2e-4, atol=1e-4)


def a_loop_of_two(x, w):
    return tf.raw_ops.StatelessWhile(input=[0, x, w], cond=three_times, body=bent)[1]


def an_if_of_two(x, w):
    return tf.raw_ops.If(
        cond=w[0] > 0, input=[x, w], Tout=[tf.float32], then_branch=bend, else_branch=product
    )[0]


@pytest.mark.parametrize("program", [a_loop_of_two, an_if_of_two])
def test_rows_of_what_comes_out(program):
    """Gather gives its operand a gradient of rows alone."""
    with tf.Graph().as_default(), tf.Session() as session:
        x, w = tf.placeholder(tf.float32, [3]), tf.placeholder(tf.float32, [3])
        y = program(x, w)
        y.set_shape([3])
        of_rows = tf.gradients(tf.gather(y, [2, 0, 2, 1]), [x, w])
        whole = tf.gradients(y * [1.0, 1.0, 2.0], [x, w])
        for got, want in zip(*session.run([of_rows, whole], {x: X, w: X * 0.3 + 1})):
            np.testing.assert_allclose(got, want, rtol=1e-5)


def test_a_graph_with_saved_values_is_exported():
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [3], name="x")
        y = tf.identity(loop_of(step_with_branch)(x), name="y")
        tf.identity(tf.gradients(y, x)[0], name="slope")
    with tf.Graph().as_default(), tf.Session() as session:
        message = graph.as_graph_def()
        tf.import_graph_def(tf.GraphDef.FromString(message.SerializeToString()), name="")
        value, slope = session.run(["y:0", "slope:0"], {"x:0": X})
        np.testing.assert_allclose(slope, value / X, rtol=1e-5)
