"""Loops that do not end, and graphs whose loops are not well formed."""

import threading

import pytest

import headrace as tf
from tests.timing import PATIENCE, ctrl_c, may_lose_ctrl_c, soon, wait_until

pytestmark = pytest.mark.pure


@pytest.fixture(autouse=True)
def session():
    with tf.Graph().as_default(), tf.Session() as session:
        yield session


def endless():
    return tf.while_loop(lambda i: i >= 0, lambda i: (i + 1) % 7, [0])


def still_works(session):
    return session.run(tf.while_loop(lambda i: i < 3, lambda i: i + 1, [0])) == 3


def test_deadline_ends_an_endless_loop(session):
    with soon(1.2), pytest.raises(tf.errors.DeadlineExceededError):
        session.run(endless(), options=tf.RunOptions(timeout_in_ms=200))
    assert still_works(session)


def test_deadline_of_the_session():
    config = tf.ConfigProto(operation_timeout_in_ms=200)
    with tf.Session(config=config) as session, pytest.raises(tf.errors.DeadlineExceededError):
        session.run(endless())


def test_closing_the_session_ends_an_endless_loop():
    session, loop, errors = tf.Session(), endless(), []

    def run():
        try:
            session.run(loop)
        except tf.errors.OpError as error:
            errors.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    wait_until(lambda: session._steps)
    session.close()
    thread.join(PATIENCE)
    assert not thread.is_alive() and isinstance(errors[0], tf.errors.CancelledError)


@may_lose_ctrl_c
def test_interrupt_ends_an_endless_loop(session):
    with soon(1.3), ctrl_c():
        session.run(endless())
    assert still_works(session)


def test_a_loop_without_next_iteration_runs_once(session):
    enter = tf.raw_ops.Enter(data=tf.constant(3), frame_name="f")
    assert session.run(tf.raw_ops.Exit(data=tf.square(enter))) == 9


def test_exit_without_enter(session):
    with pytest.raises(tf.errors.InvalidArgumentError, match="frame"):
        session.run(tf.raw_ops.Exit(data=tf.constant(1)))


def test_inputs_from_different_frames(session):
    enter = tf.raw_ops.Enter(data=tf.constant(1), frame_name="f")
    with pytest.raises(tf.errors.InvalidArgumentError, match="has inputs from different frames"):
        session.run(tf.raw_ops.Exit(data=enter + tf.constant(2)))


def test_a_fetch_on_a_dead_branch_has_no_value(session):
    dead, live = tf.raw_ops.Switch(data=tf.constant(1), pred=tf.constant(True))
    assert session.run(live) == 1
    with pytest.raises(tf.errors.InvalidArgumentError, match="Retval.0. does not have value"):
        session.run(dead)


def test_a_cycle_without_a_loop(session):
    merge = tf.raw_ops.Merge(inputs=[tf.constant(1), tf.constant(2)])
    following = merge.output + 1
    merge.output.op._update_input(1, following)
    with pytest.raises(tf.errors.InvalidArgumentError, match="cycle"):
        session.run(following)


@pytest.mark.parametrize(
    "cond, body, start, error, message",
    [
        (None, lambda i: i, [0], TypeError, "cond must be callable"),
        (lambda i: i < 3, None, [0], TypeError, "body must be callable"),
        (lambda: True, lambda: (), [], ValueError, "No loop variables provided"),
        (lambda i: i < 3, lambda i: (i, i), [0], ValueError, "same nested structure|same number"),
        (lambda i: i < 3, lambda i: tf.stack([i, i]), [0], ValueError, "after one iteration"),
        (lambda i: i < 3, lambda i: i + 0.5, [tf.constant(0)], TypeError, "type|dtype|int32"),
        (lambda i: i, lambda i: i, [0], TypeError, "bool"),
    ],
)
def test_what_while_loop_refuses(cond, body, start, error, message):
    with pytest.raises(error, match=message):
        tf.while_loop(cond, body, start)


def test_nothing_of_a_loop_can_be_fetched_or_fed(session):
    inner = []
    tf.while_loop(lambda i: i < 3, lambda i: inner.append(i * 2) or i + 1, [0])
    with pytest.raises(ValueError, match="has been marked as not fetchable"):
        session.run(inner[0])
    with pytest.raises(ValueError, match="may not be fed"):
        session.run(tf.constant(1), {inner[0]: 1})


def test_a_loop_ends_with_its_bounds(session):
    x = tf.while_loop(lambda i: i < 100, lambda i: i + 1, [0], maximum_iterations=7)
    assert session.run(x) == 7
    assert session.run(tf.while_loop(lambda i: i < 0, lambda i: i + 1, [5])) == 5


def test_iterations_overlap_no_more_than_asked(session):
    for parallel in (1, 2, 32):
        x = tf.while_loop(
            lambda i, s: i < 40, lambda i, s: (i + 1, s + i), [0, 0], parallel_iterations=parallel
        )
        assert session.run(x) == (40, 780)
