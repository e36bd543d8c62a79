"""Programs as sessions run them: what is computed, what is shared, what happens when it fails."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest

import headrace as tf
from headrace.runtime.containers import Containers
from tests.codegen.compare import Runner

pytestmark = pytest.mark.native


def test_a_target_is_computed():
    """Nobody sees the value, but the user asked for the op to run."""
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [64, 8])
        y = tf.exp(x)
        runner = Runner(graph, [x], [], [y.op])
        runner.run(Containers(), [np.ones((64, 8), np.float32)])
        (unit,) = runner.program.units
        (found,) = unit.machine.programs.values()
        assert len(found.program.entries) == 1


def test_a_target_fails_as_a_fetch_does():
    with tf.Graph().as_default():
        x = tf.placeholder(tf.int32, [2])
        y = tf.gather(tf.constant([1.0, 2.0]), x)
        with tf.Session() as sess:
            for _ in range(3):
                with pytest.raises(tf.errors.InvalidArgumentError, match="not in"):
                    sess.run(y.op, {x: [0, 7]})


class Pair(NamedTuple):
    first: Any
    second: Any


def quick(sess, fetches, feeds=()):
    """The program that the next such step would run without looking anything up."""
    key = sess._known(fetches, dict(feeds))
    return None if key is None else key.only.quick


def test_repeated_steps_go_the_quick_way():
    with tf.Graph().as_default(), tf.Session() as sess:
        x = tf.placeholder(tf.float32, [None, 3])
        v = tf.Variable([1.0, 2.0, 3.0])
        moved = v.assign_add(tf.reduce_sum(x, 0))
        sess.run(v.initializer)
        feed = {x: np.ones((4, 3), np.float32)}
        for k in range(1, 4):
            np.testing.assert_array_equal(sess.run(moved, feed), [1 + 4 * k, 2 + 4 * k, 3 + 4 * k])
        found = quick(sess, moved, feed)
        assert found is not None
        # Another shape, another type, a list: the long way, with the same result.
        assert sess.run(moved, {x: np.ones((1, 3), np.float32)})[0] == 14
        assert sess.run(moved, {x: np.ones((1, 3))})[0] == 15
        assert sess.run(moved, {x: [[1, 1, 1]]})[0] == 16
        assert sess.run(moved, {x: np.ones((3, 6), np.float32)[:, ::2]})[0] == 19
        with pytest.raises(ValueError, match="Cannot feed value of shape"):
            sess.run(moved, {x: np.ones((1, 4), np.float32)})


def test_what_the_user_holds_never_changes():
    with tf.Graph().as_default(), tf.Session() as sess:
        x = tf.placeholder(tf.float32, [3])
        v = tf.Variable(tf.zeros([3]), use_resource=True)
        passed = tf.identity(x)
        with tf.control_dependencies([v.assign_add(x)]):
            after = v.read_value()
        sess.run(v.initializer)
        fed = np.ones(3, np.float32)
        held = []
        for k in range(1, 5):
            back, value = sess.run([passed, after], {x: fed})
            assert back is not fed and not np.shares_memory(back, fed)
            back[:] = -1.0
            value_before = value.copy()
            held.append((value, value_before))
            assert value[0] == k
        value[:] = 100.0  # his own: the variable does not see it
        assert sess.run(v)[0] == 4
        for value, before in held[:-1]:
            np.testing.assert_array_equal(value, before)
        np.testing.assert_array_equal(fed, 1.0)


def test_a_variable_that_somebody_holds_gets_a_new_buffer():
    with tf.Graph().as_default(), tf.Session() as sess:
        v = tf.Variable(tf.zeros([3]))
        up = v.assign_add([1.0, 1.0, 1.0])
        sess.run(v.initializer)
        for _ in range(3):
            sess.run(up.op)
        (slot,) = quick(sess, up.op).variables
        held = slot.value
        sess.run(up.op)
        np.testing.assert_array_equal(held, 3.0)
        np.testing.assert_array_equal(slot.value, 4.0)


def test_structures_of_equal_tensors_stay_apart():
    with tf.Graph().as_default(), tf.Session() as sess:
        a, b = tf.constant(1) + 1, tf.constant(2) + 2
        for _ in range(3):
            assert sess.run([a, b]) == [2, 4] and type(sess.run((a, b))) is tuple
            assert type(sess.run(Pair(a, b))) is Pair
            assert sess.run([a, [b, a]]) == [2, [4, 2]] and sess.run([a, (b, a)]) == [2, (4, 2)]
            assert sess.run({"a": a, "b": [b]}) == {"a": 2, "b": [4]}


def test_a_closed_session_runs_nothing():
    with tf.Graph().as_default():
        sess = tf.Session()
        x = tf.placeholder(tf.float32, [])
        y = x + 1.0
        for _ in range(3):
            sess.run(y, {x: 1.0})
        sess.close()
        with pytest.raises(RuntimeError, match="closed Session"):
            sess.run(y, {x: 1.0})
