"""The Case op: branches are functions of the library."""

import pytest

import headrace as tf
from headrace.variables.functions.defun import Defun

pytestmark = pytest.mark.pure


@Defun(tf.float32)
def double(x):
    return x * 2.0


@Defun(tf.float32)
def square(x):
    return x * x


@Defun(tf.float32)
def negate(x):
    return -x


BRANCHES = [double, square, negate]


@pytest.mark.parametrize("count", [1, 2, 3])
def test_the_last_branch_serves_every_other_index(count):
    with tf.Graph().as_default(), tf.Session() as session:
        index, x = tf.placeholder(tf.int32), tf.constant(3.0)
        taken = BRANCHES[:count]
        y = tf.raw_ops.Case(branch_index=index, input=[x], Tout=[tf.float32], branches=taken)[0]
        dx = tf.gradients(y, x)[0]
        values, slopes = [6.0, 9.0, -3.0], [2.0, 6.0, -1.0]
        for i in (-1, 0, 1, 2, 7):
            chosen = i if 0 <= i < count else count - 1
            assert session.run([y, dx], {index: i}) == [values[chosen], slopes[chosen]]


def test_inside_a_loop():
    with tf.Graph().as_default(), tf.Session() as session:

        def body(i, x):
            y = tf.raw_ops.Case(branch_index=i, input=[x], Tout=[tf.float32], branches=BRANCHES)[0]
            return i + 1, tf.reshape(y, [])

        assert session.run(tf.while_loop(lambda i, _: i < 3, body, [0, 3.0]))[1] == -36.0
