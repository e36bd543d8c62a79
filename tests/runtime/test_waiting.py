"""Ops that answer later: waiting holds no thread, ends when it should, and does not stop compilation."""

import threading

import pytest

import headrace as tf
from headrace.devices import cpu
from tests.timing import PATIENCE, wait_until


def started(target, session):
    """A thread whose step is under way."""
    thread = threading.Thread(target=target)
    thread.start()
    wait_until(lambda: session._steps)
    return thread


def test_one_step_may_put_what_it_takes():
    with tf.Graph().as_default(), tf.Session() as sess:
        q = tf.FIFOQueue(1, tf.int32)
        taken = q.dequeue()
        put = q.enqueue(7)
        assert sess.run([taken, put])[0] == 7
        assert sess.run([put, taken])[1] == 7


def test_many_wait_at_once():
    count, got = 300, []
    with tf.Graph().as_default(), tf.Session() as sess:
        q = tf.FIFOQueue(count, tf.int32, [[]])
        taken = [q.dequeue() for _ in range(count)]
        thread = started(lambda: got.append(sess.run(taken)), sess)
        sess.run(q.enqueue_many([list(range(count))]))
        thread.join(PATIENCE)
    assert sorted(got[0]) == list(range(count))


def test_a_deadline_ends_waiting():
    with tf.Graph().as_default(), tf.Session() as sess:
        q = tf.FIFOQueue(1, tf.int32)
        taken = q.dequeue()
        with pytest.raises(tf.errors.DeadlineExceededError):
            sess.run(taken, options=tf.RunOptions(timeout_in_ms=30))
        sess.run(q.enqueue(1))
        assert sess.run(taken) == 1


def test_closing_the_session_ends_waiting():
    errors = []
    with tf.Graph().as_default():
        sess = tf.Session()
        taken = tf.FIFOQueue(1, tf.int32).dequeue()

        def wait():
            with pytest.raises(tf.errors.CancelledError, match="was cancelled") as caught:
                sess.run(taken)
            errors.append(caught.value)

        thread = started(wait, sess)
        sess.close()
        thread.join(PATIENCE)
    assert errors


def test_a_step_that_waits_once_is_straight(monkeypatch):
    seen = []
    original = cpu.is_straight
    monkeypatch.setattr(cpu, "is_straight", lambda plan: seen.append(original(plan)) or seen[-1])
    with tf.Graph().as_default(), tf.Session() as sess:
        q = tf.FIFOQueue(4, tf.float32, [[]])
        r = tf.FIFOQueue(4, tf.float32, [[]])
        sess.run(q.enqueue_many([[1.0, 2.0, 3.0]]))
        assert sess.run(q.dequeue() * 2) == 2.0
        sess.run(r.enqueue(q.dequeue() + 1))  # one waits for the other: in order
        assert seen == [True, True, True] or not seen
        assert sess.run([q.dequeue(), r.dequeue()]) == [3.0, 3.0]
        assert not seen or seen[-1] is False
