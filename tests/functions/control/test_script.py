"""Python functions in the graph."""

from __future__ import annotations

import pytest

import headrace as tf


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default():
        yield


@pytest.mark.parametrize("make", [tf.py_func, tf.numpy_function, tf.py_function])
def test_a_function_without_results_is_an_operation(make):
    seen = []
    done = make(lambda x: seen.append(int(x)), [tf.constant(3)], [])
    assert isinstance(done, tf.Operation)
    with tf.control_dependencies([done]):
        after = tf.constant(1) + 1
    with tf.Session() as session:
        assert session.run(done) is None
        assert session.run(after) == 2
    assert seen == [3, 3]


def test_a_pure_function_without_results_has_none():
    assert tf.py_func(lambda: None, [], [], stateful=False) == []
