"""Critical sections: what runs in them runs alone."""

from __future__ import annotations

import threading

import pytest

import headrace as tf
from tests.timing import soon


@pytest.fixture
def sess():
    with tf.Graph().as_default(), tf.Session() as session:
        yield session


def counter():
    v = tf.get_variable("v", initializer=0.0, use_resource=True)

    def count():
        value = v.read_value()
        with tf.control_dependencies([value]), tf.control_dependencies([v.assign_add(1.0)]):
            return tf.identity(value)

    return v, count


def test_each_execution_sees_another_value(sess):
    section = tf.CriticalSection()
    v, count = counter()
    values = [section.execute(count) for _ in range(20)]
    sess.run(v.initializer)
    assert sorted(sess.run(values)) == list(range(20))


def test_steps_of_many_threads(sess):
    section = tf.CriticalSection()
    v, count = counter()
    values = [section.execute(count) for _ in range(3)]
    sess.run(v.initializer)
    found = []
    threads = [
        threading.Thread(target=lambda: [found.extend(sess.run(values)) for _ in range(5)]) for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert sorted(found) == list(range(120))


def test_a_step_that_fails_gives_the_lock_back(sess):
    section = tf.CriticalSection()
    bad = section.execute(lambda: tf.check_numerics(tf.log(tf.constant(-1.0)), "no number"))
    good = section.execute(lambda: tf.identity(2.0), exclusive_resource_access=False)
    for _ in range(3):
        with pytest.raises(tf.errors.InvalidArgumentError, match="no number"):
            sess.run(bad)
        assert sess.run(good) == 2.0


def test_a_step_that_waits_can_be_given_up(sess):
    section = tf.CriticalSection(shared_name="shared")
    queue = tf.FIFOQueue(1, tf.float32)
    stuck = section.execute(lambda: queue.dequeue())
    waiting = section.execute(lambda: tf.identity(1.0))

    def wait_for_ever():
        with pytest.raises(tf.errors.OpError):
            sess.run(stuck)

    thread = threading.Thread(target=wait_for_ever)
    thread.start()
    with soon(20), pytest.raises(tf.errors.DeadlineExceededError):
        while True:  # until the other has the lock
            sess.run(waiting, options=tf.RunOptions(timeout_in_ms=200))
    sess.run(queue.close(cancel_pending_enqueues=True))
    thread.join(60)
    assert sess.run(waiting) == 1.0


def test_a_step_that_fails_gives_the_lock_back_though_its_error_is_kept(sess):
    section, queue = tf.CriticalSection(), tf.FIFOQueue(1, tf.float32)
    kept = []
    for _ in range(3):  # also once it is compiled
        with pytest.raises(tf.errors.DeadlineExceededError) as error:
            sess.run(section.execute(queue.dequeue), options=tf.RunOptions(timeout_in_ms=100))
        kept.append(error)  # and with it what the step knew
    with soon(20):
        assert (
            sess.run(section.execute(lambda: tf.identity(1.0)), options=tf.RunOptions(timeout_in_ms=9000))
            == 1
        )
    assert len(kept) == 3


def test_structures_and_operations(sess):
    section = tf.CriticalSection()
    v, _ = counter()
    found = section.execute(lambda: {"a": v.read_value(), "b": (tf.constant(1), tf.constant("x"))})
    sess.run(v.initializer)
    assert sess.run(found) == {"a": 0.0, "b": (1, b"x")}


def test_what_is_refused(sess):
    section = tf.CriticalSection()
    v, count = counter()
    section.execute(count)
    with pytest.raises(ValueError, match="requested exclusive resource access"):
        tf.CriticalSection().execute(count)
    with pytest.raises(ValueError, match="directly access the CriticalSection"):
        section.execute(lambda: section.execute(lambda: tf.identity(v)))
