"""The model's own tests: answers that are known from TensorFlow's kernels, or that TensorFlow gave."""

from __future__ import annotations

import textwrap
from typing import Any

import numpy as np
import pytest

from tests.state.compare import on_tensorflow
from tests.state.model import HEADRACE, TENSORFLOW, Rules
from tests.state.modes import Built
from tests.state.programs import Program, Run, Statement
from tests.tensorflow_peer import needs_tensorflow

BOTH = pytest.mark.parametrize("rules", [HEADRACE, TENSORFLOW], ids=["headrace", "tensorflow"])
KINDS = pytest.mark.parametrize("resource", [False, True], ids=["reference", "resource"])


def program(text: str, *fetches: str, runs: int = 3, feeds: dict[str, str] | None = None) -> Program:
    run = Run(fetches, tuple((feeds or {}).items()))
    return Program((Statement(textwrap.dedent(text)),), (run,) * runs)


def answers(made: Program, rules: Rules = HEADRACE) -> list[Any]:
    """What is fetched, run after run; the order must be complete."""
    results, steps = Built(made).model(rules)
    assert not any(step.open for step in steps), steps[0].open
    return [plain(r[: len(made.runs[0].fetches)]) for r in results]


def plain(values: list[Any]) -> Any:
    found = [None if v is None else np.asarray(v).tolist() for v in values]
    return found[0] if len(found) == 1 else found


def variable(name: str, value: Any, resource: bool = False) -> str:
    return (
        f'{name} = tf.get_variable("{name}", initializer=np.array({value}, np.float32), '
        f"use_resource={resource})\n"
    )


# -- programs as people write them -----------------------------------------------------------------
CLIPPING = (
    variable("w", [0.5, -0.5])
    + """
train = tf.train.GradientDescentOptimizer(1.0).minimize(tf.reduce_sum(-10.0 * w))
with tf.control_dependencies([train]):
    step = tf.group(w.assign(tf.clip_by_value(w, -1.5, 1.5)))
"""
)
AVERAGES = (
    variable("w", [1.0])
    + """
train = tf.train.GradientDescentOptimizer(0.5).minimize(tf.reduce_sum(w))
ema = tf.train.ExponentialMovingAverage(0.5)
with tf.control_dependencies([train]):
    apply = ema.apply([w])
with tf.control_dependencies([apply]):
    average = ema.average(w).read_value() * 1.0
"""
)
TARGETS = (
    variable("w", 4.0)
    + variable("target", 0.0)
    + """
train = tf.train.GradientDescentOptimizer(1.0).minimize(2.0 * w)
with tf.control_dependencies([train]):
    update = target.assign(0.5 * target + 0.5 * w)
"""
)
AFTER_ASSIGN = (
    variable("w", [1.0, 2.0])
    + """
with tf.control_dependencies([tf.assign(w, [7.0, 8.0])]):
    y = w + 1.0
"""
)


@BOTH
def test_clipping_after_training(rules):
    results, steps = Built(program(CLIPPING, "step")).model(rules)
    assert [r[1].tolist() for r in results] == [[1.5, 1.5]] * 3
    assert not any(step.open for step in steps)


@BOTH
def test_averages_after_training(rules):
    found = answers(program(AVERAGES, "average"), rules)
    assert found == [[0.75], [0.375], [-0.0625]]  # w is 0.5, 0 and -0.5 after the steps


@BOTH
def test_soft_targets_after_training(rules):
    assert answers(program(TARGETS, "update"), rules) == [1.0, 0.5, -0.75]


@BOTH
def test_a_sum_after_an_assignment(rules):
    assert answers(program(AFTER_ASSIGN, "y"), rules) == [[8.0, 9.0]] * 3


def test_a_step_count_beside_training():
    """Nothing orders the fetched read and the count: Headrace reads first."""
    text = (
        variable("w", 3.0)
        + """
    step = tf.get_variable("step", initializer=np.int64(0), use_resource=True, trainable=False)
    train = tf.train.GradientDescentOptimizer(0.1).minimize(w * w, global_step=step)
    """
    )
    results, steps = Built(program(text.replace("    ", ""), "step", "train", runs=4)).model()
    assert [int(r[0]) for r in results] == [0, 1, 2, 3]
    assert all(step.open for step in steps)


# -- aliases -----------------------------------------------------------------------------------------
FORWARD = """
old = {}
with tf.control_dependencies([old]):
    add = w.assign_add([100.0, 100.0])
with tf.control_dependencies([add]):
    y = old * 1.0
"""
# What `y` sees of w after the update: by TensorFlow's rules and by Headrace's.
ALIASES = {
    "tf.identity(w)": (100.0, 100.0),
    "tf.stop_gradient(w)": (100.0, 100.0),
    "tf.reshape(w, [2, 1])": (100.0, 100.0),
    "tf.expand_dims(w, 0)": (100.0, 100.0),
    "tf.squeeze(tf.expand_dims(w, 0))": (100.0, 100.0),
    "tf.identity(tf.reshape(w, [2, 1]))": (100.0, 100.0),
    "tf.tuple([w])[0]": (100.0, 100.0),
    "tf.concat([w], 0)": (100.0, 100.0),
    "tf.stack([w])": (100.0, 0.0),
    "tf.identity_n([w])[0]": (100.0, 0.0),
    'tf.check_numerics(w, "")': (100.0, 0.0),
    "tf.tile(w, [1])": (100.0, 0.0),
    "tf.transpose(w)": (100.0, 0.0),
    "w[:]": (100.0, 0.0),
    "tf.cond(tf.constant(True), lambda: tf.identity(w), lambda: tf.identity(w))": (100.0, 0.0),
    'tf.py_func(unchanged, [w], tf.float32, name="unchanged_1")': (100.0, 0.0),
    "w * 1.0": (0.0, 0.0),
    "tf.maximum(w, -9.0)": (0.0, 0.0),
    "w[0:1]": (0.0, 0.0),
    "tf.gather(w, [0])": (0.0, 0.0),
    'tf.py_func(halve, [w], tf.float32, name="halve_1")': (0.0, 0.0),
}


def alias_program(way: str, resource: bool) -> Program:
    text = variable("w", [0.0, 0.0], resource) + FORWARD.format(way)
    return program(text, "y", "old", runs=2)


@pytest.mark.parametrize("way", ALIASES)
@KINDS
def test_who_shares_memory(way, resource):
    made = alias_program(way, resource)
    theirs, ours = (0.0, 0.0) if resource else ALIASES[way]
    factor = 0.5 if "halve" in way else 1.0
    for rules, value in ((TENSORFLOW, theirs), (HEADRACE, ours)):
        results, _ = Built(made).model(rules)
        used, fetched = ([np.ravel(r[i])[0] for r in results] for i in (0, 1))
        assert used == [factor * value, factor * (100.0 + value)]
        # TensorFlow looks at a fetched alias when the step has ended; here it is what it was.
        value = theirs if rules is TENSORFLOW else 0.0
        assert fetched == [factor * value, factor * (100.0 + value)]


@needs_tensorflow
def test_tensorflow_shares_memory_so(tmp_path):
    made = [alias_program(w, r) for w in ALIASES for r in (False, True)]
    made += [program(CLIPPING, "step"), program(AVERAGES, "average"), program(TARGETS, "update")]
    on_tensorflow(tmp_path, [*made, program(AFTER_ASSIGN, "y")])


@BOTH
def test_an_alias_on_another_device(rules):
    text = """
    with tf.device("/cpu:1"):
        w = tf.get_variable("w", initializer=np.float32(1.0), use_resource=False)
        add = w.assign_add(1.0)
    with tf.control_dependencies([add]), tf.device("/cpu:2"):
        y = w.read_value() * 1.0
    """
    assert answers(program(text, "y"), rules) == [2.0, 3.0, 4.0]


def test_a_queue_keeps_what_it_was_given():
    text = (
        variable("w", 1.0)
        + """
q = tf.FIFOQueue(9, [tf.float32], [[]])
put = q.enqueue([tf.identity(w)])
with tf.control_dependencies([put]):
    add = w.assign_add(1.0)
with tf.control_dependencies([add]):
    got = q.dequeue() * 1.0
"""
    )
    assert answers(program(text, "got")) == [1.0, 2.0, 3.0]
    assert answers(program(text, "got"), TENSORFLOW) == [2.0, 3.0, 4.0]


def test_a_fed_alias_is_a_value():
    made = program(AFTER_ASSIGN, "y", feeds={"w.value()": "np.float32([5.0, 5.0])"})
    assert answers(made) == [[6.0, 6.0]] * 3


def test_a_fetched_reference_is_what_the_step_leaves():
    text = (
        variable("w", 1.0)
        + """
first = w.assign_add(1.0)
with tf.control_dependencies([first]):
    second = w.assign_add(10.0)
"""
    )
    assert answers(program(text, "w", "first", "second")) == [[v] * 3 for v in (12.0, 23.0, 34.0)]


# -- control flow --------------------------------------------------------------------------------------
@BOTH
@KINDS
def test_updates_in_a_loop(rules, resource):
    text = (
        variable("w", 1.0, resource)
        + """
def body(i, x):
    with tf.control_dependencies([w.assign_add(1.0)]):
        return i + 1, x + w.read_value()
y = tf.while_loop(lambda i, x: i < 3, body, [0, 0.0], parallel_iterations=1)[1]
"""
    )
    assert answers(program(text, "y"), rules) == [9.0, 18.0, 27.0]


@BOTH
@KINDS
def test_updates_in_branches(rules, resource):
    text = (
        variable("w", 1.0, resource)
        + """
p = tf.placeholder(tf.bool, [])
def yes():
    with tf.control_dependencies([w.assign_add(1.0)]):
        return w * 1.0
y = tf.cond(p, yes, lambda: w * 10.0)
"""
    )
    made = program(text, "y", feeds={"p": "np.bool_(True)"})
    assert answers(made, rules) == [2.0, 3.0, 4.0]
    made = program(text, "y", feeds={"p": "np.bool_(False)"})
    assert answers(made, rules) == [10.0] * 3


def test_a_loop_in_a_branch_that_is_not_taken():
    text = (
        variable("w", 1.0)
        + """
p = tf.placeholder(tf.bool, [])
def loop():
    return tf.while_loop(lambda i, x: i < 3, lambda i, x: (i + 1, x + w), [0, 0.0])[1]
y = tf.cond(p, loop, lambda: w * 10.0)
"""
    )
    assert answers(program(text, "y", feeds={"p": "np.bool_(False)"})) == [10.0] * 3
    assert answers(program(text, "y", feeds={"p": "np.bool_(True)"})) == [3.0] * 3


@BOTH
def test_functions_are_their_bodies(rules):
    text = (
        variable("w", 1.0)
        + """
@Defun(tf.float32)
def f(x):
    return tf.identity(x)
old = f(w)
with tf.control_dependencies([old]):
    add = w.assign_add(1.0)
with tf.control_dependencies([add]):
    y = old * 1.0
"""
    )
    assert answers(program(text, "y"), rules) == [2.0, 3.0, 4.0]


# -- order ---------------------------------------------------------------------------------------------
def open_pairs(text: str, *fetches: str) -> set[tuple[str, str]]:
    _, steps = Built(program(text, *fetches, runs=1)).model()
    return {(o.first, o.second) for o in steps[0].open}


def test_pairs_without_order_are_marked():
    text = variable("w", 1.0) + "y = w * 2.0\na = w.assign_add(1.0)\nb = w.assign(5.0)"
    assert open_pairs(text, "y", "a") == {("mul", "AssignAdd")}
    assert open_pairs(text, "a", "b") == {("AssignAdd", "Assign")}
    assert open_pairs(text, "y") == set()


def test_paths_of_any_length_are_order():
    text = (
        variable("w", 1.0)
        + variable("u", 1.0)
        + """
y = w * 2.0
with tf.control_dependencies([tf.group(y)]):
    c = u.assign_add(1.0)
a = w.assign_add(tf.identity(c))
"""
    )
    assert open_pairs(text, "y", "a") == set()


def test_where_the_order_is_open_reads_come_first_and_writers_as_they_were_made():
    text = variable("w", 1.0) + "a = w.assign_add(1.0)\nb = w.assign(10.0 * w)\ny = w * 2.0"
    results, _ = Built(program(text, "y", "a", "b", runs=2)).model()
    assert [plain(r[:3]) for r in results] == [[2.0, 10.0, 10.0], [20.0, 100.0, 100.0]]


def test_turns_that_overlap_are_not_ordered():
    text = (
        variable("w", 1.0)
        + """
def body(i, x):
    with tf.control_dependencies([w.assign_add(1.0)]):
        return i + 1, x + w.read_value()
y = tf.while_loop(lambda i, x: i < 3, body, [0, 0.0], parallel_iterations={})[1]
"""
    )
    assert open_pairs(text.format(10), "y")
    assert not open_pairs(text.format(1), "y")
