"""The order of writers that edges leave open, and of what runs on several devices, in functions and loops."""

from __future__ import annotations

from typing import Any

import pytest

import headrace as tf
from headrace.variables.functions.defun import Defun
from tests.session.order_of_state.programs import MODES, plain, steps, unknown, variable


# -- where the order is open -----------------------------------------------------------------------------
def test_a_fetched_reference_is_what_the_step_leaves(mode):
    v, u = variable(1.0), variable(5.0)
    first = v.assign_add(1.0)
    with tf.control_dependencies([first]):
        between = tf.py_func(lambda x: x, [u], tf.float32)
        with tf.device("/cpu:2"):
            ten = u + 5.0
    with tf.control_dependencies([between, ten]):
        second = v.assign_add(ten)
    wanted = [[k, k] for k in (12.0, 23.0, 34.0, 45.0)]
    assert steps([first, second], device_count={"CPU": 3}) == wanted


def test_of_two_writers_the_one_that_was_made_first_is_first(mode):
    v, u = variable(1.0), variable(6.0)
    with tf.device("/cpu:1"):
        x = u + 1.0
    first, second = v.assign_sub(x), v.assign(u - 1.0)
    assert [f[2] for f in steps([first.op, second.op, v], device_count={"CPU": 2})] == [5.0] * 4


def in_a_branch(v, use_resource):
    p = tf.py_func(lambda x: x, [v], tf.float32)
    yes, no = lambda: tf.identity(v.assign(v + 1.0)), lambda: tf.identity(v.assign_add(p))
    return [tf.cond(tf.greater(v, 0.0), yes, no), v.assign(10.0)]


def in_a_loop(v, use_resource):
    def body(i, x):
        with tf.control_dependencies([v.assign_sub(1.0)]):
            return i + 1, x + tf.identity(v)

    loop = tf.while_loop(lambda i, x: i < 1, body, [0, tf.identity(v)], parallel_iterations=1)
    return [loop[1], v.assign(tf.clip_by_value(v, -2.0, 2.0))]


@pytest.mark.parametrize("build", [in_a_branch, in_a_loop])
def test_modes_agree_on_writers_inside_and_outside(monkeypatch, use_resource, build):
    found = []
    for setting in MODES.values():
        monkeypatch.setenv("HEADRACE_COMPILE", setting)
        with tf.Graph().as_default():
            v = variable(3.0, use_resource)
            found.append(steps([*build(v, use_resource), v]))
    assert found[0] == found[1] == found[2]


# -- where state is ------------------------------------------------------------------------------------
USES = {
    "gather": lambda v: tf.gather(v, 1),
    "read": lambda v: v.read_value(),
    "assign": lambda v: v.assign_add([1.0, 1.0]),
    "scatter": lambda v: tf.scatter_update(v, [0], [5.0]),
    "slice": lambda v: v[0].assign(3.0),
    "train": lambda v: tf.train.MomentumOptimizer(0.1, 0.5).minimize(tf.reduce_sum(v * v)),
}


@pytest.mark.parametrize("use", USES)
def test_state_is_used_where_it_is(use_resource, use):
    with tf.device("/cpu:1"):
        v = variable([1.0, 1.0], use_resource)
    with tf.device("/cpu:2"):
        done = USES[use](v)
    steps(done, 2, device_count={"CPU": 3})


@pytest.mark.parametrize("is_inside", [False, True])
def test_a_loop_on_several_devices_is_one_access(mode, is_inside):
    v = variable(2.0, use_resource=True)
    with tf.device("/cpu:1"):
        t = tf.square(v - 1.0)

    def body(i, x):
        with tf.control_dependencies([v.assign(x + 1.0) if is_inside else v.assign_add(v)]):
            return i + 1, x + (t if is_inside else v)

    with tf.device("/cpu:1"):
        loop = tf.while_loop(lambda i, x: i < 2, body, [0, 0.0])[1]
    with tf.device("/cpu:2"):
        other = v.assign(0.5)
    with tf.Session(config=tf.ConfigProto(device_count={"CPU": 3})) as session:
        found = set()
        for _ in range(20):
            session.run(v.initializer)
            found.add((*session.run([loop, other]), session.run(v)))
    assert len(found) == 1


def test_two_loops_on_two_devices_one_after_the_other(mode):
    v = variable(0.5)
    step = tf.placeholder_with_default(1.0, [])

    def turns(count, change, start):
        def body(i, x):
            with tf.control_dependencies([change()]):
                return i + 1, x + tf.identity(v)

        return tf.while_loop(lambda i, x: i < count, body, [0, start])[1]

    with tf.device("/cpu:2"):
        first = turns(2, lambda: v.assign_add(step), tf.identity(v))
    with tf.control_dependencies([first]):
        second = turns(3, lambda: v.assign_sub(-2.5), tf.identity(first))
    assert steps(second, 3, device_count={"CPU": 3}) == [27.0, 84.0, 141.0]


def test_a_writer_that_feeds_a_loop_hides_no_earlier_read(mode):
    """The loop stands where it begins, before the writer whose result it takes; the branch after the
    loop writes, the last writer must still wait for what reads in between."""
    v, w = variable([-2.5, -2.5]), variable([3.0, 3.0])
    start = tf.scatter_update(v, [1, 0], w * 2.0)
    loop = tf.while_loop(lambda i, x: i < 2, lambda i, x: (i + 1, x + start), [0, w * 1.0])[1]
    branch = tf.cond(unknown(False), lambda: v.assign_sub(w), lambda: w.assign_sub(w))
    with tf.device("/cpu:1"):
        last = tf.scatter_update(v, [0], tf.reshape(tf.reduce_sum(branch), [1]))
    with tf.control_dependencies([loop]), tf.device("/cpu:2"):
        kept = v.assign(0.75 * v + 0.25 * v)
    with tf.Session(config=tf.ConfigProto(device_count={"CPU": 3})) as session:
        found = set()
        for _ in range(40):
            session.run(tf.global_variables_initializer())
            found.add(str([plain(x) for x in session.run([kept, last])]))
    assert len(found) == 1, found


def test_a_merge_waits_for_the_side_that_comes(mode):
    """A reference goes into a branch on another device: the other side never comes."""
    with tf.device("/cpu:1"):
        v = variable([2.0, 3.0])
    written = tf.assign_add(v, [1.0, 1.0])
    chosen = tf.cond(unknown(True), lambda: tf.convert_to_tensor(written), lambda: tf.identity(written))
    with tf.control_dependencies([chosen]):
        last = v.assign(v * 2.0)
    assert steps([chosen, last], 2, device_count={"CPU": 2}) == [
        [[3.0, 4.0], [6.0, 8.0]],
        [[7.0, 9.0], [14.0, 18.0]],
    ]


def test_a_branch_hides_no_read_from_the_writer_that_it_waits_for(mode):
    """The branch stands where it begins and waits for the read; the writer comes later in the graph, but
    the branch takes its result: so the writer itself must wait for the read."""
    with tf.device("/cpu:2"):
        v = variable([3.0, 3.0], use_resource=True)
    fed = tf.placeholder_with_default([9.0, 9.0], [2])
    with tf.device("/cpu:1"):
        added = tf.scatter_add(v, [1, 0], tf.fill([2], tf.reduce_sum(fed)))

    def other() -> Any:
        with tf.control_dependencies([v.assign_add(tf.identity(v))]):
            return tf.convert_to_tensor(added)

    with tf.device("/cpu:2"):
        chosen = tf.cond(tf.greater(tf.reduce_sum(fed), 0.0), lambda: tf.identity([1.0, 0.0]), other)
    with tf.Session(config=tf.ConfigProto(device_count={"CPU": 3})) as session:
        session.run(tf.global_variables_initializer())
        found = [session.run([v, chosen])[0].tolist() for _ in range(40)]
    assert found == [[3.0 + 18.0 * i] * 2 for i in range(40)]


# -- several devices, functions, waits -------------------------------------------------------------------
def test_a_loop_reads_a_variable_of_another_device_in_every_turn(mode, use_resource):
    with tf.device("/cpu:1"):
        v = variable([1.0, 2.0], use_resource)
    total = tf.while_loop(
        lambda i, x: i < 3, lambda i, x: (i + 1, x + tf.reduce_sum(v.read_value())), [0, tf.identity(1.0)]
    )[1]
    assert steps(total, device_count={"CPU": 2}) == [10.0] * 4


def test_a_function_changes_a_variable_of_another_device(mode):
    with tf.device("/cpu:1"):
        v = variable(1.0, use_resource=True)

    @Defun(tf.float32)
    def more(x):
        with tf.control_dependencies([v.assign_add(x)]):
            return v.read_value() * 1.0

    taken = tf.cond(unknown(True), lambda: tf.constant(5.0), lambda: tf.constant(6.0))
    with tf.control_dependencies([more(tf.placeholder_with_default(2.0, []))]):
        after = v.read_value() + taken
    assert steps(after, device_count={"CPU": 2}) == [8.0, 10.0, 12.0, 14.0]


def test_the_writers_of_a_function_stand_where_it_is_called(mode):
    """Of two writers without an order the one that was made first is first."""
    v = variable(1.0, use_resource=True)

    @Defun(tf.float32)
    def more(x):
        with tf.control_dependencies([v.assign_add(x)]):
            return tf.identity(x)

    called = more(tf.constant(3.0))
    with tf.Session() as session:
        for _ in range(3):
            session.run([called, v.initializer])
            assert session.run(v) == 4


def test_what_needs_no_answer_happens_though_none_comes(mode):
    v, queue = variable(0.0), tf.FIFOQueue(3, tf.float32, [[]])
    taken = queue.dequeue() * 2.0
    more = v.assign_add(1.0)
    with tf.Session() as session:
        session.run([v.initializer, queue.close()])
        for count in range(1, 4):
            with pytest.raises(tf.errors.OutOfRangeError):
                session.run([taken, more])
            assert session.run(v) == count
