"""Loops and branches inside of regions: one native call, and what the executor computes."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import headrace as tf
from headrace.codegen.program import native
from headrace.devices.compiled import MixedProgram
from headrace.runtime.containers import Containers
from headrace.runtime.units import HOT
from tests.codegen.compare import Runner, assert_same

pytestmark = pytest.mark.native
X = np.array([0.5, 1.0, 2.0], np.float32)


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as graph:
        yield graph


def check(fetches, feeds=None, is_whole=True, tolerance=None):
    """Compiled from the first run on, three times, against the executor."""
    feeds = feeds or {}
    graph = tf.get_default_graph()
    fetches = fetches if isinstance(fetches, list) else [fetches]
    runner = Runner(graph, list(feeds), fetches, improved=True)
    arrays = list(feeds.values())
    want = runner.expected(Containers(), arrays)
    for _ in range(3):
        got = runner.run(Containers(), arrays)
        for g, w, f in zip(got, want, fetches):
            assert_same(g, w, tolerance, f.name)
    if is_whole:
        assert runner.is_whole, runner.program.declined
    return got


@pytest.fixture
def x():
    return tf.placeholder(tf.float32, [3])


@pytest.fixture
def n():
    return tf.placeholder(tf.int32, [])


# -- loops -----------------------------------------------------------------------------------------
def test_a_product_in_a_loop():
    m = tf.constant(np.eye(8, dtype=np.float32) * 0.99)
    v = tf.placeholder(tf.float32, [8, 8])
    _, y = tf.while_loop(lambda i, v: i < 100, lambda i, v: (i + 1, tf.matmul(v, m)), [tf.constant(0), v])
    check(tf.reduce_sum(y), {v: np.ones((8, 8), np.float32)})


@pytest.mark.parametrize("count", [0, 1, 2, 7])
def test_trips_that_are_fed(x, n, count):
    i, y = tf.while_loop(lambda i, v: i < n, lambda i, v: (i + 1, v * x + 1.0), [0, x])
    check([i, y], {x: X, n: np.int32(count)})


def test_variables_that_change_places(x, n):
    loop = tf.while_loop(
        lambda i, a, b, c: i < n, lambda i, a, b, c: (i + 1, b, c, a + b[::-1]), [0, x, x * 2, x + 1]
    )
    check(list(loop), {x: X, n: np.int32(5)})


def test_a_variable_that_stays(x, n):
    loop = tf.while_loop(lambda i, a, b: i < n, lambda i, a, b: (i + 1, a, b + a), [0, x, x])
    check(list(loop), {x: X, n: np.int32(4)})


def test_the_condition_computes_what_the_body_uses(x):
    def goes_on(i, v):
        return tf.reduce_sum(tf.exp(v)) < 100.0

    def body(i, v):
        return i + 1, v * 1.5 + tf.reduce_sum(tf.exp(v)) * 1e-3

    check(list(tf.while_loop(goes_on, body, [0, x])), {x: X})


def test_loops_in_loops(x):
    def outer(i, v):
        _, w = tf.while_loop(lambda j, w: j < i, lambda j, w: (j + 1, tf.tanh(w) * x), [0, v])
        return i + 1, w + v

    _, y = tf.while_loop(lambda i, v: i < 5, outer, [0, x])
    check([y, tf.gradients(y, x)[0]], {x: X})


def test_a_loop_whose_shapes_grow_runs_on_the_host(x, n):
    grown = tf.while_loop(
        lambda i, v: i < n,
        lambda i, v: (i + 1, tf.concat([v, v], 0)),
        [0, x],
        shape_invariants=[tf.TensorShape([]), tf.TensorShape([None])],
    )[1]
    check(grown, {x: X, n: np.int32(3)}, is_whole=False)


def test_a_host_op_in_the_body(x, n):
    def body(i, v):
        return i + 1, tf.py_func(lambda a: a + np.float32(1.0), [v * 2.0], tf.float32)

    invariants = [tf.TensorShape([]), tf.TensorShape(None)]
    _, y = tf.while_loop(lambda i, v: i < n, body, [0, x], shape_invariants=invariants)
    check(y, {x: X, n: np.int32(50)}, is_whole=False)


def test_a_host_op_between_a_loop_and_its_gradient(x):
    """What the loop saves for its gradient can not be in one region with both."""
    y = tf.map_fn(lambda v: tf.sin(v) * v, x)
    y = tf.py_func(lambda a: a * np.float32(2.0), [y], tf.float32) + y
    check(tf.gradients(y * y, x)[0], {x: X}, is_whole=False)


def test_arrays_made_in_a_loop_and_their_gradients(x):
    def body(i, v):
        return i + 1, tf.map_fn(lambda row: tf.sin(row) * tf.reduce_mean(v), v)

    _, y = tf.while_loop(lambda i, _: i < 3, body, [0, x])
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # no fault of the compiler either
        check([y, tf.gradients(y * y, x)[0]], {x: X}, is_whole=False)


# -- branches --------------------------------------------------------------------------------------
@pytest.mark.parametrize("taken", [True, False])
def test_a_branch_and_its_gradient(x, taken):
    p = tf.placeholder(tf.bool, [])
    y = tf.cond(p, lambda: tf.sin(x), lambda: tf.cond(x[0] > 1, lambda: x * 2, lambda: x * x))
    check([y, tf.gradients(tf.reduce_sum(y * x), x)[0]], {x: X, p: np.bool_(taken)})


def test_branches_in_loops(x, n):
    def body(i, v):
        w = tf.cond(tf.equal(i % 3, 0), lambda: v * 2.0, lambda: tf.sqrt(tf.abs(v) + x))
        return i + 1, w

    _, y = tf.while_loop(lambda i, v: i < n, body, [0, x])
    check([y, tf.gradients(y, x)[0]], {x: X, n: np.int32(10)})


def test_a_loop_in_a_branch(x, n):
    def powers():
        return tf.while_loop(lambda i, v: i < n, lambda i, v: (i + 1, v * x), [0, x])[1]

    y = tf.cond(n > 2, powers, lambda: x)
    for count in (1, 4):
        check([y, tf.gradients(y, x)[0]], {x: X, n: np.int32(count)})


def test_sides_that_give_constants_and_what_comes_in(x):
    p = tf.placeholder(tf.bool, [])
    y = tf.cond(p, lambda: [tf.constant([1.0, 2.0, 3.0]), x], lambda: [x, x])
    for taken in (True, False):
        check([v + 0.5 for v in y], {x: X, p: np.bool_(taken)})


def test_which_input_a_merge_took(x):
    p = tf.placeholder(tf.bool, [])
    switched = tf.raw_ops.Switch(data=x, pred=p)
    merged, index = tf.raw_ops.Merge(inputs=[switched[0] * 2.0, tf.sin(switched[1])])
    for taken in (True, False):
        check([merged, index], {x: X, p: np.bool_(taken)})


@pytest.mark.parametrize("in_loop", [False, True])
def test_a_value_of_a_side_that_is_known_not_to_run(x, n, in_loop):
    """The inner condition follows from a shape; the gradient asks for what the untaken side makes."""

    def inner(v):
        return tf.cond(tf.size(v) > 5, lambda: tf.sin(v) * v, lambda: tf.exp(v) * x)

    def outer(i, v):
        return i + 1, tf.cond(tf.equal(i % 2, 0), lambda: inner(v), lambda: v * v)

    y = tf.while_loop(lambda i, v: i < n, outer, [0, x])[1] if in_loop else outer(n, x)[1]
    slope = tf.gradients(y * y, x)[0]
    for count in (2, 3):
        check([y, slope], {x: X * 0.25, n: np.int32(count)})


@pytest.mark.parametrize("kind", ["BasicLSTMCell", "GRUCell", "BasicRNNCell"])
def test_static_rnn_with_lengths_and_its_gradient(kind):
    rng = np.random.default_rng(0)
    xs = [tf.placeholder(tf.float32, [4, 3]) for _ in range(5)]
    lengths = tf.placeholder(tf.int32, [4])
    cell = getattr(tf.nn.rnn_cell, kind)(6, dtype=tf.float32)
    cell.build(xs[0].shape)
    weights = cell.trainable_weights
    outputs, _ = tf.nn.static_rnn(cell, xs, sequence_length=lengths, dtype=tf.float32)
    slopes = tf.gradients(tf.add_n([tf.reduce_sum(o * o) for o in outputs]), xs + weights)
    feeds = {v: rng.normal(size=v.shape.as_list()).astype(np.float32) for v in xs}
    feeds |= {w.value(): rng.normal(size=w.shape.as_list()).astype(np.float32) * 0.5 for w in weights}
    for several in ([1, 3, 2, 4], [0, 0, 0, 0], [5, 5, 5, 5]):
        check(outputs + slopes, feeds | {lengths: np.int32(several)}, tolerance=1e-4)


# -- arrays ----------------------------------------------------------------------------------------
def test_scan_map_and_folds(x):
    rows = tf.reshape(tf.range(12.0), [4, 3]) * x
    scanned = tf.scan(lambda a, e: a * 0.5 + e, rows)
    mapped = tf.map_fn(lambda e: tf.reduce_sum(e * x), rows)
    folded = tf.foldl(lambda a, e: a + e, rows)
    right = tf.foldr(lambda a, e: a * 0.9 + e, rows)
    grads = tf.gradients([scanned, mapped, folded, right], x)
    check([scanned, mapped, folded, right, *grads], {x: X})


def test_an_array_as_a_whole(x):
    array = tf.TensorArray(tf.float32, 3).unstack(tf.tile(x[None], [3, 1]))
    parts = tf.TensorArray(tf.float32, 2).split(tf.tile(x[:, None], [2, 2]), [3, 3])
    check([array.stack() + 1.0, parts.concat() * 2.0, array.size()], {x: X})


def test_cells_that_nobody_writes_have_no_gradient(x, n):
    array = tf.TensorArray(tf.float32, 4, clear_after_read=False).unstack(tf.tile(x[None], [4, 1]))
    _, y = tf.while_loop(lambda i, v: i < n, lambda i, v: (i + 1, v + array.read(i) * array.read(0)), [0, x])
    check([y, tf.gradients(y, x)[0]], {x: X, n: np.int32(3)})


def test_an_array_for_every_iteration(x, n):
    def body(i, v):
        array = tf.TensorArray(tf.float32, 2)
        array = array.write(0, v).write(1, v * 2.0)
        return i + 1, tf.reduce_sum(array.stack(), 0) * 0.3

    _, y = tf.while_loop(lambda i, v: i < n, body, [0, x])
    check(y, {x: X, n: np.int32(3)})


@pytest.mark.parametrize(
    ("index", "message"), [(lambda i: 0, "already been written"), (lambda i: i + 9, "not resizeable")]
)
def test_what_an_array_refuses_is_said_as_ever(monkeypatch, n, index, message):
    monkeypatch.setenv("HEADRACE_COMPILE", "always")
    v = tf.Variable(0.0)
    array = tf.TensorArray(tf.float32, 5)
    _, array = tf.while_loop(
        lambda i, a: i < n, lambda i, a: (i + 1, a.write(index(i), tf.cast(i, tf.float32))), [0, array]
    )
    with tf.control_dependencies([array.flow]):
        done = v.assign_add(1.0)
    with tf.Session() as session:
        session.run(v.initializer)
        for _ in range(2):
            with pytest.raises(tf.errors.InvalidArgumentError, match=message):
                session.run(done, {n: 3})
        assert session.run(v) == 0.0
        assert session.run(done, {n: 0}) == 1.0


def test_an_unwritten_cell(monkeypatch, n):
    monkeypatch.setenv("HEADRACE_COMPILE", "always")
    array = tf.TensorArray(tf.float32, 3, infer_shape=False)
    _, array = tf.while_loop(lambda i, a: i < n, lambda i, a: (i + 1, a.write(i, 1.0)), [0, array])
    with tf.Session() as session:
        np.testing.assert_array_equal(session.run(array.stack(), {n: 3}), np.ones(3))
        with pytest.raises(tf.errors.InvalidArgumentError, match="Could not read"):
            session.run(array.stack(), {n: 2})


# -- state -----------------------------------------------------------------------------------------
@pytest.mark.parametrize("by_handle", [False, True])
def test_variables_that_a_loop_updates(monkeypatch, by_handle):
    monkeypatch.setenv("HEADRACE_COMPILE", "always")
    v = tf.Variable([1.0, 2.0], use_resource=by_handle)

    def body(i):
        with tf.control_dependencies([v.assign_add([tf.cast(i, tf.float32), 1.0])]):
            return i + 1

    loop = tf.while_loop(lambda i: i < 4, body, [0])
    with tf.Session() as session:
        session.run(v.initializer)
        for k in range(1, 4):
            assert session.run(loop) == 4
            np.testing.assert_array_equal(session.run(v), [1.0 + 6 * k, 2.0 + 4 * k])


def test_a_variable_that_one_side_updates(monkeypatch):
    monkeypatch.setenv("HEADRACE_COMPILE", "always")
    v, p = tf.Variable(1.0, use_resource=True), tf.placeholder(tf.bool, [])
    y = tf.cond(p, lambda: v.assign_add(2.0).read_value(), lambda: v * 10.0)
    with tf.Session() as session:
        session.run(v.initializer)
        found = [session.run(y, {p: taken}) for taken in (True, False, True)]
        assert (found, session.run(v)) == ([3.0, 30.0, 5.0], 5.0)


# -- sequences -------------------------------------------------------------------------------------
def lstm(x, h, w, b):
    z = tf.matmul(tf.concat([x, h[1]], 1), w) + b
    i, j, f, o = tf.split(z, 4, 1)
    c = h[0] * tf.sigmoid(f + 1.0) + tf.sigmoid(i) * tf.tanh(j)
    return c, tf.tanh(c) * tf.sigmoid(o)


def sequence(steps, batch, size, is_unrolled=False):
    rng = np.random.default_rng(0)
    x = tf.placeholder(tf.float32, [steps, batch, size])
    w = tf.constant(rng.normal(size=(2 * size, 4 * size)).astype(np.float32) * 0.3)
    b = tf.constant(np.zeros(4 * size, np.float32))
    zero = tf.zeros([batch, size])
    if is_unrolled:
        state, outs = (zero, zero), []
        for t in range(steps):
            state = lstm(x[t], state, w, b)
            outs.append(state[1])
        out = tf.stack(outs)
    else:
        given = tf.TensorArray(tf.float32, steps).unstack(x)

        def body(t, c, h, array):
            c, h = lstm(given.read(t), (c, h), w, b)
            return t + 1, c, h, array.write(t, h)

        array = tf.TensorArray(tf.float32, steps)
        array = tf.while_loop(lambda t, *_: t < steps, body, [0, zero, zero, array])[3]
        out = array.stack()
    grads = tf.gradients(tf.reduce_sum(tf.square(out)), [w, b, x])
    value = rng.normal(size=(steps, batch, size)).astype(np.float32)
    return [out, *grads], {x: value}


def test_an_lstm_and_its_gradient_are_one_call():
    check(*sequence(7, 3, 4))


def test_the_backward_pass_needs_little_more_memory_than_an_unrolled_one():
    """With an output layer, as models have one.  The terms of the weights' gradients are kept until
    the loop has ended; without anything around the loop that is a third more."""
    sizes = []
    for is_unrolled in (False, True):
        with tf.Graph().as_default() as graph:
            fetches, feeds = sequence(24, 8, 16, is_unrolled)
            flat = tf.reshape(fetches[0], [-1, 16])
            logits = tf.matmul(flat, tf.ones([16, 200]))
            loss = tf.reduce_sum(tf.reduce_logsumexp(logits, 1))
            fetches = [loss, *tf.gradients(loss, list(feeds))]
            runner = Runner(graph, list(feeds), fetches, improved=True)
            runner.run(Containers(), list(feeds.values()))
            assert runner.is_whole
            compiled = runner.program.units[0].machine
            sizes.append(next(iter(compiled.programs.values())).program.arena_bytes)
    assert sizes[0] <= 1.2 * sizes[1], sizes


@pytest.mark.parametrize("count", [0, 3, 7])
def test_gradients_of_weights_are_one_product_for_all_iterations(count):
    x, n = tf.placeholder(tf.float32, [7, 3, 4]), tf.placeholder(tf.int32, [])
    w = tf.constant(np.random.default_rng(0).normal(size=(4, 4)).astype(np.float32))
    given = tf.TensorArray(tf.float32, 7).unstack(x)
    end = tf.minimum(n, 7)

    def body(t, h):
        return t + 1, tf.tanh(tf.matmul(h + given.read(t), w))

    _, h = tf.while_loop(lambda t, h: t < end, body, [0, x[0]])
    value = np.random.default_rng(1).normal(size=(7, 3, 4)).astype(np.float32)
    check([h, *tf.gradients(tf.reduce_sum(h), [w, x])], {x: value, n: np.int32(count)})


@pytest.mark.parametrize(("size", "dtype"), [(4, "float32"), (96, "float32"), (5, "float64")])
def test_such_a_product_ends_with_the_last_iteration(size, dtype):
    """Whatever memory holds behind it."""
    x, n = tf.placeholder(dtype, [9, 3, size]), tf.placeholder(tf.int32, [])
    rng = np.random.default_rng(0)
    w = tf.constant((rng.normal(size=(size, size)) / size).astype(dtype))
    given = tf.TensorArray(dtype, 9).unstack(x)
    _, h = tf.while_loop(
        lambda t, h: t < tf.minimum(n, 9),
        lambda t, h: (t + 1, tf.tanh(tf.matmul(h + given.read(t), w))),
        [0, x[0]],
    )
    grads = tf.gradients(tf.reduce_sum(h), [w, x])
    runner = Runner(tf.get_default_graph(), [x, n], grads, improved=True)
    value = rng.normal(size=(9, 3, size)).astype(dtype)
    for count in (9, 2, 5, 0, 9):
        arrays = [value, np.int32(count)]
        for got, want in zip(runner.run(Containers(), arrays), runner.expected(Containers(), arrays)):
            assert_same(got, want)
        (found,) = runner.program.units[0].machine.programs.values()
        assert native.LIMIT in [e.kind for e in found.program.entries]
        for instance in found.program._instances:
            instance.arena.fill(255)  # NaN
    assert runner.is_whole


def test_dynamic_rnn_with_lengths():
    x = tf.placeholder(tf.float32, [4, 6, 3])
    lengths = tf.placeholder(tf.int32, [4])
    cell = tf.nn.rnn_cell.BasicLSTMCell(5)
    out, state = tf.nn.dynamic_rnn(cell, x, sequence_length=lengths, dtype=tf.float32)
    loss = tf.reduce_sum(out) + tf.reduce_sum(state.c)
    train = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
    rng = np.random.default_rng(0)
    feeds = {x: rng.normal(size=(4, 6, 3)).astype(np.float32), lengths: np.int32([1, 4, 2, 3])}
    graph = tf.get_default_graph()
    runner = Runner(graph, list(feeds), [loss, out], [train], improved=True)
    start = Runner(graph, [], [], [tf.global_variables_initializer()])
    weights = Runner(graph, [], [v.value() for v in tf.trainable_variables()])
    ours, theirs = Containers(), Containers()
    start.expected(ours, [])
    initial = weights.expected(ours, [])
    assigned = [v.assign(tf.constant(w)) for v, w in zip(tf.trainable_variables(), initial)]
    Runner(graph, [], [], [a.op for a in assigned]).expected(theirs, [])
    for _ in range(3):
        got, want = (runner.run(ours, list(feeds.values())), runner.expected(theirs, list(feeds.values())))
        for g, w in zip(got, want):
            assert_same(g, w, 1e-4)
    for g, w in zip(weights.expected(ours, []), weights.expected(theirs, [])):
        assert_same(g, w, 1e-4)


def test_a_short_loop_of_the_host_is_compiled_after_many_steps(x, monkeypatch):
    """Its body is, but for what holds it on the host."""
    made = []
    prepare = MixedProgram.__init__
    monkeypatch.setattr(
        MixedProgram, "__init__", lambda self, *a, **k: (made.append(self), prepare(self, *a, **k))[1]
    )
    y = tf.map_fn(lambda v: tf.sin(v) * v, x)
    y = tf.py_func(lambda a: a * np.float32(2.0), [y], tf.float32) + y
    slope = tf.gradients(y * y, x)[0]
    with tf.Session() as session:
        first = session.run(slope, {x: X})
        before = len(made)
        for _ in range(HOT):
            assert_same(session.run(slope, {x: X}), first, 1e-6)
        assert len(made) > before


@pytest.mark.parametrize("taken", [False, True])
def test_a_side_that_never_runs_and_a_value_for_it_from_the_host(taken):
    """What the host gives splits the branch in two; the first half knows that one side never runs."""
    v = tf.get_variable("v", initializer=np.int32(2), use_resource=True)
    w = tf.get_variable("w", initializer=np.zeros(4, np.float32), use_resource=False)
    count = v.count_up_to(100)

    def written():
        with tf.control_dependencies([w.assign(tf.fill([4], tf.cast(v.value(), tf.float32)))]):
            return tf.identity(w)

    found = tf.cond(tf.constant(taken), written, lambda: tf.fill([4], tf.cast(count, tf.float32)))
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        values = [session.run([found, count])[0][0] for _ in range(3)]
    assert values == [2.0, 3.0, 4.0]
