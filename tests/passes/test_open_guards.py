"""Guards of assertions are opened, other conditionals stay, and both mean what they meant."""

import pytest

import headrace as tf
from headrace.passes.open_guards import open_guards
from headrace.plan.prune import prune


def ops_after(fetch):
    graph = tf.get_default_graph()
    plan = open_guards(prune(graph, [], [fetch], []))
    return [n.op.name for n in plan.nodes.values()]


@pytest.fixture(autouse=True)
def session():
    with tf.Graph().as_default(), tf.Session() as session:
        yield session


def guarded(x, limit=3.0):
    with tf.control_dependencies([tf.Assert(tf.reduce_max(x) < limit, [x, "too large"])]):
        return x * 2.0


def test_an_assertion_alone_is_opened():
    names = ops_after(guarded(tf.constant([1.0, 2.0])))
    assert "Assert" in names and "Switch" not in names and "Merge" not in names


def test_other_work_on_the_branch_stays_conditional():
    x = tf.constant(1.0)
    y = tf.cond(x < 2.0, lambda: x + 1.0, lambda: guarded(x))
    names = ops_after(y)
    assert "Switch" in names and "Merge" in names


def test_it_still_fails(session):
    x = tf.placeholder(tf.float32)
    y = guarded(x)
    assert session.run(y, {x: [1.0]}).tolist() == [2.0]
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"assertion failed: \[4\] \[too large\]"):
        session.run(y, {x: [4.0]})


def test_in_a_branch_that_is_not_taken_it_does_not(session):
    x = tf.placeholder(tf.float32)
    y = tf.cond(tf.reduce_max(x) < 10.0, lambda: guarded(x), lambda: -x)
    assert session.run(y, {x: [20.0]}).tolist() == [-20.0]
    with pytest.raises(tf.errors.InvalidArgumentError, match="too large"):
        session.run(y, {x: [5.0]})


def test_in_a_loop(session):
    def body(i):
        return tf.cast(guarded(tf.cast(i, tf.float32), 50.0), tf.int32)

    limit = tf.placeholder(tf.int32)
    y = tf.while_loop(lambda i: i < limit, body, [1])
    assert session.run(y, {limit: 60}) == 64
    with pytest.raises(tf.errors.InvalidArgumentError, match="too large"):
        session.run(y, {limit: 100})
