"""Assertions compile: a true one lets the step go on, a false one says what the reference says."""

from __future__ import annotations

import numpy as np
import pytest

import headrace as tf
from headrace.passes.build_in_texts import build_in_texts
from headrace.plan.prune import prune
from headrace.runtime.containers import Containers
from tests.codegen.compare import Runner, assert_same

pytestmark = pytest.mark.native

POSITIVE = np.array([[1, 2, 3], [4, 5, 6]], np.float32)


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as found:
        yield found


def guarded():
    """x summed into a variable, if all of it is positive."""
    x = tf.placeholder(tf.float32, [None, 3])
    total = tf.get_variable("total", [], initializer=tf.zeros_initializer())
    with tf.control_dependencies([tf.debugging.assert_positive(x, message="not so")]):
        update = total.assign_add(tf.reduce_sum(x))
    return x, total, update


def started(graph, *runners):
    """State for each, with variables initialized."""
    start = Runner(graph, [], [], [tf.global_variables_initializer()])
    states = [Containers() for _ in runners]
    for state in states:
        start.expected(state, [])
    return states


def test_is_one_region_and_fails_as_the_reference_does(graph):
    x, total, update = guarded()
    step = Runner(graph, [x], [update], improved=True)
    (state,) = started(graph, step)
    for k in range(1, 4):
        assert step.run(state, [POSITIVE]) == [21.0 * k]
    assert step.is_whole
    messages = []
    for run in (step.run, step.expected):
        with pytest.raises(tf.errors.InvalidArgumentError) as found:
            run(state, [-POSITIVE])
        messages.append(str(found.value))
    assert messages[0] == messages[1]
    words = "assertion failed: [not so] [Condition x > 0 did not hold element-wise:] "
    assert messages[0].startswith(words + "[x (Placeholder:0) = ] [[-1 -2 -3]...]\n")
    assert "AssertGuard/Assert" in messages[0] and "test_assertions.py" in messages[0]
    assert step.run(state, [POSITIVE]) == [84.0]  # as if nothing had been


@pytest.mark.parametrize("limit, wrong", [(3, 5), (5, 3)])
def test_inside_of_loops(graph, limit, wrong):
    """The assertion of an iteration, and what was summed until then."""
    n = tf.placeholder(tf.int32, [])
    total = tf.get_variable("total", [], dtype=tf.int32, initializer=tf.zeros_initializer())

    def body(i, s):
        with tf.control_dependencies([tf.Assert(i < 4, ["too far:", i])]):
            return i + 1, s + i

    _, found = tf.while_loop(lambda i, s: i < n, body, [0, 0])
    step = Runner(graph, [n], [total.assign_add(found)], improved=True)
    (state,) = started(graph, step)
    limits = [np.array(k, np.int32) for k in (limit, wrong)]
    for given in [*limits, *limits]:
        if given <= 4:
            step.run(state, [given])
        else:
            with pytest.raises(tf.errors.InvalidArgumentError, match=r"\[too far:\] \[4\]"):
                step.run(state, [given])
    assert step.is_whole
    assert step.run(state, [np.array(0, np.int32)]) == [6]


def test_in_a_branch(graph):
    x, chosen = tf.placeholder(tf.float32, []), tf.placeholder(tf.bool, [])

    def checked():
        with tf.control_dependencies([tf.Assert(x > 0, [x, "x", tf.constant([1, 2])])]):
            return -x

    y = tf.cond(chosen, checked, lambda: x * 2)
    step = Runner(graph, [x, chosen], [y], improved=True)
    one, yes, no = np.float32(1), np.array(True), np.array(False)
    for flag, want in ((yes, -1), (no, 2), (yes, -1)):
        assert step.run(Containers(), [np.array(one), flag]) == [want]
    assert step.run(Containers(), [np.array(-one), no]) == [-2]
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"assertion failed: \[-1\] \[x\] \[1 2\]"):
        step.run(Containers(), [np.array(-one), yes])


def test_texts_that_are_computed_stay_with_the_host(graph):
    x = tf.placeholder(tf.float32, [])
    with tf.control_dependencies([tf.Assert(x > 0, [tf.as_string(x)])]):
        y = x * 2
    step = Runner(graph, [x], [y], improved=True)
    assert step.run(Containers(), [np.array(1, np.float32)]) == [2]
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"assertion failed: \[-1.000000\]"):
        step.run(Containers(), [np.array(-1, np.float32)])


def test_only_constants_are_said_in_advance(graph):
    x = tf.placeholder(tf.int32, [2])
    check = tf.Assert(tf.reduce_all(x > 0), ["a", x, tf.constant(["b", "c"]), x + 1], summarize=1)
    plan = build_in_texts(prune(graph, [x], [], [check]))
    (node,) = [n for n in plan.nodes.values() if n.name == check.name]
    assert node.attrs["words"] == ("[a]", "", "[b...]", "")
    assert node.attrs["places"] == (1, 3)


METRICS = {
    "accuracy": lambda y, p: tf.metrics.accuracy(y, p > 0.5),
    "auc": tf.metrics.auc,
    "precision": lambda y, p: tf.metrics.precision(y, p > 0.5),
    "mean_iou": lambda y, p: tf.metrics.mean_iou(y, p > 0.5, 2),
    "mean_squared_error": lambda y, p: tf.metrics.mean_squared_error(tf.to_float(y), p),
    "confusion": lambda y, p: (tf.confusion_matrix(y, tf.to_int32(p > 0.5), 2),) * 2,
}


@pytest.mark.parametrize("name", METRICS)
def test_metrics_are_one_region(graph, name):
    p, y = tf.placeholder(tf.float32, [8]), tf.placeholder(tf.bool, [8])
    _, update = METRICS[name](y, p)
    start = Runner(graph, [], [], [tf.local_variables_initializer()])
    step = Runner(graph, [p, y], [update], improved=True)
    ours, theirs = Containers(), Containers()
    start.expected(ours, [])
    start.expected(theirs, [])
    rng = np.random.default_rng(3)
    for _ in range(3):
        arrays = rng.uniform(size=8).astype(np.float32), rng.integers(0, 2, 8) > 0
        assert_same(step.run(ours, arrays)[0], step.expected(theirs, arrays)[0], 1e-6)
    assert step.is_whole
