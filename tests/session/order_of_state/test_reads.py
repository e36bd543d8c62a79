"""Who sees which value of a variable: programs as people write them, in every mode."""

from __future__ import annotations

import numpy as np
import pytest

import headrace as tf
from headrace.variables.functions.defun import Defun
from tests.session.order_of_state.programs import steps, unknown, variable


# -- a reference is read where it is consumed ----------------------------------------------------------
def test_clipping_after_a_training_step(mode):
    w = variable([0.5, -0.5])
    train = tf.train.GradientDescentOptimizer(1.0).minimize(tf.reduce_sum(-10.0 * w))
    with tf.control_dependencies([train]):
        clip = w.assign(tf.clip_by_value(w, -1.5, 1.5))
    assert steps(clip) == [[1.5, 1.5]] * 4


def test_moving_averages_after_a_training_step(mode):
    w = variable([1.0])
    train = tf.train.GradientDescentOptimizer(0.5).minimize(tf.reduce_sum(w))
    averages = tf.train.ExponentialMovingAverage(0.5)
    with tf.control_dependencies([train]):
        apply = averages.apply([w])
    with tf.control_dependencies([apply]):
        average = averages.average(w).read_value()
    # w is 0.5, 0, -0.5, -1 after the steps
    assert steps(average) == [[0.75], [0.375], [-0.0625], [-0.53125]]


def test_soft_targets(mode):
    w, target = variable(4.0), variable(0.0)
    train = tf.train.GradientDescentOptimizer(1.0).minimize(2.0 * w)
    with tf.control_dependencies([train]):
        update = target.assign(0.5 * target + 0.5 * w)
    assert steps(update) == [1.0, 0.5, -0.75, -2.375]


def test_after_an_assignment(mode):
    w = variable([1.0, 2.0])
    with tf.control_dependencies([tf.assign(w, [7.0, 8.0])]):
        y = w + 1.0
    assert steps(y) == [[8.0, 9.0]] * 4


def test_through_identities_and_views(mode):
    w = variable([1.0, 2.0])
    chain = tf.stop_gradient(tf.reshape(tf.expand_dims(tf.identity(w), 0), [2, 1]))
    with tf.control_dependencies([w.assign_add([1.0, 1.0])]):
        y = tf.squeeze(chain) * 2.0
    assert steps(y) == [[4.0, 6.0], [6.0, 8.0], [8.0, 10.0], [10.0, 12.0]]


def test_a_slice_after_an_assignment(mode):
    w = variable([1.0, 2.0, 3.0])
    with tf.control_dependencies([w[1:].assign([7.0, 8.0])]):
        y = w[:2] + 1.0
    assert steps(y) == [[2.0, 8.0]] * 4


def test_on_another_device(mode):
    with tf.device("/cpu:1"):
        w = variable([1.0])
    with tf.control_dependencies([w.assign_add([1.0])]), tf.device("/cpu:2"):
        found = [w.read_value(), w + 0.0, tf.identity(w)]
    assert steps(found, device_count={"CPU": 3}) == [[[k]] * 3 for k in (2.0, 3.0, 4.0, 5.0)]


def test_in_a_loop(mode):
    w = variable(1.0)

    def body(i, total):
        with tf.control_dependencies([w.assign_add(1.0)]):
            return i + 1, total + w

    total = tf.while_loop(lambda i, total: i < 3, body, [0, 0.0])[1]
    assert steps(total) == [9.0, 18.0, 27.0, 36.0]


def test_a_value_that_is_fed_in_place_of_the_variable_enters_a_loop(mode):
    w = variable(3.0)
    found = tf.while_loop(lambda i, x: i < 2, lambda i, x: (i + 1, x + w), [0, 1.0])[1]
    with tf.Session() as session:
        session.run(w.initializer)
        assert [session.run(found, {w.value(): -1.0}), session.run(found)] == [-1.0, 7.0]


def test_an_iteration_sees_what_the_one_before_wrote(mode):
    w = variable(1.0)

    def body(i, total):
        twice = w * 2.0
        with tf.control_dependencies([w.assign(twice)]):
            return i + 1, total + twice

    total = tf.while_loop(lambda i, total: i < 3, body, [0, 0.0])[1]
    assert steps(total) == [14.0, 112.0, 896.0, 7168.0]


def test_iterations_one_by_one_are_ordered(mode):
    """No edge leads from the writer in the second iteration to the reader in the third."""
    v, w = variable(0.0), variable(3.0)
    outside = tf.identity(w)

    def body(i, x):
        is_even = tf.equal(i % 2, 0)
        return i + 1, tf.cond(is_even, lambda: v.assign_add(outside), lambda: w.assign(0.0))

    loop = tf.while_loop(lambda i, x: i < 3, body, [0, 0.0], parallel_iterations=1)
    with tf.control_dependencies(loop):
        ends = [v.read_value(), w.read_value()]
    assert steps(ends, 1) == [[3.0, 0.0]]


@pytest.mark.parametrize("is_inner", [False, True])
def test_the_writer_of_this_iteration_and_of_the_one_before(mode, is_inner):
    """A way into a branch comes after the writer of the iteration before; inside of the branch the
    same writer has run once more."""
    w = variable(8.0)

    def minus():
        with tf.control_dependencies([w.assign_sub(1.0)]):
            return w * 1.0

    def body(i, x):
        return i + 1, tf.cond(x > 0.0, minus, lambda: -1.0)

    def twice(i, x):
        return i + 1, tf.while_loop(lambda i, x: i < 2, body, [0, x])[1]

    loop = tf.while_loop(lambda i, x: i < 2, twice if is_inner else body, [0, 1.0])[1]
    assert steps(loop, 2) == ([4.0, 0.0] if is_inner else [6.0, 4.0])


def test_views_enter_a_loop(mode):
    w = variable([1.0])
    view = tf.reshape(w, [1, 1])

    def body(i, total):
        with tf.control_dependencies([w.assign_add([1.0])]):
            return i + 1, total + tf.reduce_sum(tf.squeeze(view))

    total = tf.while_loop(lambda i, total: i < 3, body, [0, 0.0])[1]
    assert steps(total) == [9.0, 18.0, 27.0, 36.0]


def test_after_a_loop(mode):
    w = variable(1.0)

    def body(i):
        with tf.control_dependencies([w.assign_add(1.0)]):
            return i + 1

    with tf.control_dependencies([tf.while_loop(lambda i: i < 3, body, [0])]):
        y = w + 0.0
    assert steps(y) == [4.0, 7.0, 10.0, 13.0]


@pytest.mark.parametrize("taken, wanted", [(True, [2.0, 3.0, 4.0]), (False, [10.0, 10.0, 10.0])])
def test_in_a_branch(mode, taken, wanted):
    w = variable(1.0)

    def yes():
        with tf.control_dependencies([w.assign_add(1.0)]):
            return w + 0.0

    assert steps(tf.cond(unknown(taken), yes, lambda: w * 10.0), 3) == wanted


@pytest.mark.parametrize("taken, wanted", [(True, [2.0, 3.0, 4.0]), (False, [11.0, 21.0, 31.0])])
def test_after_a_branch(mode, taken, wanted):
    w = variable(1.0)
    done = tf.cond(unknown(taken), lambda: w.assign_add(1.0), lambda: w.assign_add(10.0))
    with tf.control_dependencies([done]):
        y = w + 0.0
    assert steps(y, 3) == wanted


def test_in_a_function(mode):
    w = variable(1.0)

    @Defun(tf.float32)
    def twice(x):
        return 2.0 * x

    with tf.control_dependencies([w.assign_add(1.0)]):
        y = twice(w)
    assert steps(y) == [4.0, 6.0, 8.0, 10.0]


def test_in_an_imported_graph(mode, graph):
    w = variable(1.0)
    with tf.control_dependencies([w.assign_add(1.0)]):
        tf.add(w, 0.0, name="y")
    text = graph.as_graph_def()
    with tf.Graph().as_default(), tf.Session() as session:
        y, start = tf.import_graph_def(text, return_elements=["y:0", "v0/Assign"], name="")
        session.run(start)
        assert [session.run(y) for _ in range(4)] == [2.0, 3.0, 4.0, 5.0]


def test_a_reader_that_nothing_orders_comes_first(mode):
    w = variable(1.0)
    add = w.assign_add(1.0)
    assert steps([w * 1.0, add.op])[-1] == [4.0, None]


# -- a value read before an update is never the value after it ------------------------------------------
SAME = {
    "identity": tf.identity,
    "times one": lambda x: x * 1.0,
    "by one": lambda x: x / 1.0,
    "reshape": lambda x: tf.reshape(x, [2, 1]),
    "expand_dims": lambda x: tf.expand_dims(x, 0),
    "stop_gradient": tf.stop_gradient,
    "concat of one": lambda x: tf.concat([x], 0),
    "dropout of nothing": lambda x: tf.nn.dropout(x, 1.0),
    "cond": lambda x: tf.cond(unknown(True), lambda: tf.identity(x), lambda: x * 2.0),
}


@pytest.mark.parametrize("same", SAME)
def test_the_old_value(mode, use_resource, same):
    w = variable([1.0, 2.0], use_resource)
    old = SAME[same](w)
    with tf.control_dependencies([old]):
        add = w.assign_add([1.0, 1.0])
    found = steps([old, add.op])
    assert [np.ravel(f[0]).tolist() for f in found] == [[1.0 + k, 2.0 + k] for k in range(4)]


def test_the_step_count_before_a_training_step(mode):
    w = variable([1.0], use_resource=True)
    count = tf.get_variable("count", initializer=np.int64(0), use_resource=True, trainable=False)
    train = tf.train.GradientDescentOptimizer(0.1).minimize(tf.reduce_sum(w), global_step=count)
    assert steps([train, count]) == [[None, k] for k in range(4)]


def test_the_old_value_goes_to_python(mode, use_resource):
    w = variable([1.0, 2.0], use_resource)
    old = tf.identity(w)
    with tf.control_dependencies([old]):
        add = w.assign_add([1.0, 1.0])
    seen = tf.py_func(lambda x: x * 1, [old], tf.float32)
    assert [f[0] for f in steps([seen, add.op])] == [[1.0 + k, 2.0 + k] for k in range(4)]


def test_the_old_value_goes_to_a_queue(mode, use_resource):
    w = variable([1.0, 2.0], use_resource)
    queue = tf.FIFOQueue(10, tf.float32, [[2]])
    old = tf.identity(w)
    with tf.control_dependencies([old]):
        add = w.assign_add([1.0, 1.0])
    with tf.control_dependencies([add, queue.enqueue(old)]):
        taken = queue.dequeue()
    assert steps(taken) == [[1.0 + k, 2.0 + k] for k in range(4)]


def test_a_cast_to_its_own_type_is_the_variable_itself(mode):
    w = variable(0.0, use_resource=True)
    same = tf.cast(w, tf.float32)
    with tf.control_dependencies([same]):
        add = w.assign_add(100.0)
    with tf.control_dependencies([add]):
        y = same * 1.0
    assert steps(y) == [100.0, 200.0, 300.0, 400.0]


def test_a_writer_that_only_a_constant_waits_for_runs(mode, use_resource):
    w = variable(1.0, use_resource)
    old = w.read_value() * 1.0
    with tf.control_dependencies([old]):
        add = w.assign_add(1.0)
    with tf.control_dependencies([add]):
        y = old * 1.0  # the constant waits, the product does not
    assert steps(y) == [1.0, 2.0, 3.0, 4.0]
