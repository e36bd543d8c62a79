"""Rows of a table, some of them twice, updated in one compiled step whose shapes do not change."""

from __future__ import annotations

import numpy as np
import pytest

import headrace as tf
from headrace.codegen.program.program import NativeProgram
from headrace.ops.state import update
from tests.codegen.compare import assert_same

pytestmark = pytest.mark.native

OPTIMIZERS = {
    "descent": lambda: tf.train.GradientDescentOptimizer(0.1),
    "adagrad": lambda: tf.train.AdagradOptimizer(0.1),
    "adam": lambda: tf.train.AdamOptimizer(0.1),
    "momentum": lambda: tf.train.MomentumOptimizer(0.1, 0.9, use_nesterov=True),
    "rms": lambda: tf.train.RMSPropOptimizer(0.1),
    "centered": lambda: tf.train.RMSPropOptimizer(0.1, centered=True),
    "ftrl": lambda: tf.train.FtrlOptimizer(0.1, l1_regularization_strength=0.01),
    "adadelta": lambda: tf.train.AdadeltaOptimizer(0.1),
}
ROWS = [np.array(r, np.int32) for r in ([3, 1, 3, 3, 0], [2, 2, 2, 2, 2], [0, 1, 2, 3, 4])]


def table(rng, by_handle):
    """A step that moves the rows of a table towards fed ones: (loss, ids, rows, table)."""
    ids = tf.placeholder(tf.int32, [None])
    wanted = tf.placeholder(tf.float32, [None, 3])
    start = rng.normal(size=(6, 3)).astype(np.float32)
    e = tf.get_variable("e", initializer=start, use_resource=by_handle)
    loss = tf.reduce_sum(tf.square(tf.nn.embedding_lookup(e, ids) - wanted))
    return loss, ids, wanted, e


@pytest.mark.parametrize("by_handle", [False, True], ids=["reference", "handle"])
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_equal_rows_are_added_up_first(name, by_handle):
    results = []
    for compile in ("always", "0"):
        rng = np.random.default_rng(1)
        with tf.Graph().as_default(), pytest.MonkeyPatch.context() as patch:
            patch.setenv("HEADRACE_COMPILE", compile)
            loss, ids, wanted, e = table(rng, by_handle)
            step = OPTIMIZERS[name]().minimize(loss)
            with tf.Session() as session:
                session.run(tf.global_variables_initializer())
                for rows in ROWS * 2:
                    feeds = {ids: rows, wanted: rng.normal(size=(5, 3))}
                    session.run([loss, step], feeds)
                results.append(session.run(tf.global_variables()))
    for got, want in zip(*results):
        assert_same(got, want, 2e-4 if name in ("ftrl", "adadelta") else 2e-5)


def test_a_new_number_of_distinct_rows_needs_no_new_program(monkeypatch):
    made = []
    monkeypatch.setattr(
        NativeProgram,
        "__init__",
        lambda self, *a, __init__=NativeProgram.__init__, **k: (made.append(self), __init__(self, *a, **k))[
            1
        ],
    )
    monkeypatch.setenv("HEADRACE_COMPILE", "always")
    rng = np.random.default_rng(2)
    with tf.Graph().as_default(), tf.Session() as session:
        loss, ids, wanted, _ = table(rng, False)
        step = tf.train.AdagradOptimizer(0.1).minimize(loss)
        session.run(tf.global_variables_initializer())
        session.run(step, {ids: ROWS[0], wanted: np.zeros((5, 3))})
        before = len(made)
        for rows in ROWS:
            session.run(step, {ids: rows, wanted: np.zeros((5, 3))})
        assert len(made) == before


def test_rows_that_somebody_sees_are_distinct():
    with tf.Graph().as_default() as graph:
        rng = np.random.default_rng(3)
        loss, ids, wanted, _ = table(rng, False)
        step = tf.train.AdagradOptimizer(0.1).minimize(loss)
        seen = next(n for n in graph.get_operations() if n.type == "Unique").outputs[0]
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            for rows in ROWS:
                got, _ = session.run([seen, step], {ids: rows, wanted: np.zeros((5, 3))})
                assert got.tolist() == list(dict.fromkeys(rows.tolist()))


def test_a_row_outside_is_refused():
    with tf.Graph().as_default(), tf.Session() as session:
        e = tf.get_variable("e", initializer=np.ones((4, 2), np.float32))
        ids = tf.placeholder(tf.int32, [None])
        slices = tf.IndexedSlices(tf.ones([3, 2]), ids)
        step = tf.train.AdagradOptimizer(0.1).apply_gradients([(slices, e)])
        session.run(tf.global_variables_initializer())
        for _ in range(3):
            session.run(step, {ids: [1, 1, 3]})
            with pytest.raises(tf.errors.InvalidArgumentError, match="4"):
                session.run(step, {ids: [1, 4, 3]})


def test_rows_twice_in_the_op_itself():
    """Nobody added them up: they are applied one after the other, as in TF."""
    with tf.Graph().as_default():
        state = [tf.Variable(np.ones((4, 2), np.float32)) for _ in range(2)]
        ids = tf.placeholder(tf.int32, [3])
        grad = tf.placeholder(tf.float32, [3, 2])
        done = update.adagrad.sparse(*(v._ref() for v in state), 0.1, grad, ids)
        start = tf.global_variables_initializer()
        with tf.Session() as session:
            session.run(start)
            values = np.arange(6, dtype=np.float32).reshape(3, 2)
            want, squares = np.ones((4, 2), np.float32), np.ones((4, 2), np.float32)
            for _ in range(4):
                got = session.run(done, {ids: [2, 0, 2], grad: values})
                for row, g in zip([2, 0, 2], values):
                    squares[row] += g * g
                    want[row] -= g * np.float32(0.1) / np.sqrt(squares[row])
                np.testing.assert_allclose(got, want, rtol=1e-5)


def test_feeds_of_another_type_leave_the_table_in_its_place():
    """A step that can not be quick must not take the variables for somebody else's."""
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [None])
        v = tf.Variable(np.zeros(1000, np.float32))
        step = tf.assign_add(v, tf.zeros([1000]) + tf.reduce_sum(x)).op
        session.run(v.initializer)
        slot = session._containers.find("", "variable", v.op.name)
        places = set()
        for size in (3, 3, 3, 3, 4):
            session.run(step, {x: np.ones(size)})  # float64
            places.add(slot.value.ctypes.data)
        assert session.run(v)[0] == 16
        assert len(places) == 1
