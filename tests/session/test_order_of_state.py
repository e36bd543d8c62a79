"""Who sees which value of a variable: programs as people write them, in every mode."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import headrace as tf
from headrace.variables.functions.defun import Defun

MODES = {"interpreted": "0", "compiled": "always", "as usual": "1"}
KINDS = {"reference": False, "resource": True}


@pytest.fixture(params=MODES)
def mode(request, monkeypatch):
    monkeypatch.setenv("HEADRACE_COMPILE", MODES[request.param])


@pytest.fixture(params=KINDS)
def use_resource(request):
    return KINDS[request.param]


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as graph:
        yield graph


def variable(value: Any, use_resource: bool = False) -> Any:
    name = f"v{len(tf.global_variables())}"
    return tf.get_variable(name, initializer=np.float32(value), use_resource=use_resource)


def steps(fetch: Any, count: int = 4, **config: Any) -> list[Any]:
    """What `count` steps give."""
    with tf.Session(config=tf.ConfigProto(**config)) as session:
        session.run(tf.global_variables_initializer())
        found = [session.run(fetch) for _ in range(count)]
    return [tf.contrib.framework.nest.map_structure(_plain, f) for f in found]


def _plain(value: Any) -> Any:
    return value if value is None else np.asarray(value).tolist()


def unknown(value: bool) -> Any:
    """A condition that nobody can fold."""
    return tf.equal(tf.placeholder_with_default(1.0, []), float(value))


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
            found.add(str([_plain(x) for x in session.run([kept, last])]))
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
