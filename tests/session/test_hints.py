"""What a failed step tells the user to do: a variable that has no value, by whatever op it is met."""

from __future__ import annotations

import pytest

import headrace as tf

FIRST = "hint  first session.run(tf.{}_variables_initializer()), or restore it"
USES = {
    "read": lambda v: v + 1.0,
    "add": lambda v: v.assign_add([1.0, 1.0]),
    "scatter": lambda v: tf.scatter_add(v, [0], [1.0]),
    "train": lambda v: tf.train.GradientDescentOptimizer(0.1).minimize(tf.reduce_sum(v)),
}


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default():
        yield


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("use_resource", [False, True])
def test_a_variable_without_a_value(use, use_resource):
    v = tf.get_variable("v", [2], use_resource=use_resource)
    fetch = USES[use](v)
    with tf.Session() as session, pytest.raises(tf.errors.OpError) as caught:
        session.run(fetch)
    assert FIRST.format("global") in str(caught.value)


def test_a_local_variable():
    v = tf.get_local_variable("v", [2], use_resource=True)
    with tf.Session() as session, pytest.raises(tf.errors.NotFoundError) as caught:
        session.run(v.assign_add([1.0, 1.0]))
    assert FIRST.format("local") in str(caught.value)


def test_other_things_that_are_not_found_have_no_such_hint():
    with tf.Session() as session, pytest.raises(tf.errors.NotFoundError) as caught:
        session.run(tf.read_file("/no/such/file"))
    assert "  hint  " not in str(caught.value)


def test_a_gradient_that_is_none():
    v, w = tf.get_variable("v", [2]), tf.get_variable("w", [2])
    with tf.Session() as session, pytest.raises(TypeError, match="Fetch argument None has invalid") as caught:
        session.run(tf.gradients(v * 2.0, [w]))
    assert "hint  tf.gradients gives None" in str(caught.value)
