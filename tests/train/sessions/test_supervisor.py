"""Supervisor: threads beside the loop, stop with its errors, begin anew."""

from __future__ import annotations

import time

import pytest

import headrace as tf
from tests.timing import wait_until


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as graph:
        yield graph


def counting():
    step = tf.train.get_or_create_global_step()
    return step, tf.assign_add(step, 1)


def test_it_saves_sums_up_and_goes_on_where_it_ended(tmp_path):
    def run():
        with tf.Graph().as_default():
            step, add = counting()
            tf.summary.scalar("step", step)
            sv = tf.train.Supervisor(logdir=str(tmp_path), save_summaries_secs=0.05, save_model_secs=0.05)
            with sv.managed_session() as sess:
                for _ in range(5):
                    last = sess.run(add)
                path = str(tmp_path / f"model.ckpt-{last}.index")
                wait_until(lambda: tf.gfile.Exists(path))
            return last

    assert run() == 5
    assert run() == 10
    assert (tmp_path / "graph.pbtxt").exists()
    events = list(tf.contrib.testing.latest_events(tmp_path))
    statuses = [e.session_log.status for e in events if e.HasField("session_log")]
    assert statuses[0] == tf.SessionLog.START and statuses[-1] == tf.SessionLog.STOP
    assert tf.SessionLog.CHECKPOINT in statuses
    tags = {v.tag for e in events if e.HasField("summary") for v in e.summary.value}
    assert tags == {"step", "global_step/sec"}


def test_what_the_block_raises_comes_out():
    _, add = counting()
    sv = tf.train.Supervisor()
    with pytest.raises(RuntimeError, match="mine"), sv.managed_session() as sess:
        sess.run(add)
        raise RuntimeError("mine")
    with sv.managed_session() as sess:  # once more
        assert sess.run(add) == 1
        sv.request_stop()
        assert sv.should_stop()


def test_what_a_thread_raises_comes_out():
    _, add = counting()
    sv = tf.train.Supervisor()

    def fail():
        raise ValueError("of a thread")

    with pytest.raises(ValueError, match="of a thread"), sv.managed_session() as sess:
        sv.loop(None, fail)
        while not sv.should_stop():
            sess.run(add)


def test_a_lost_session_is_replaced(tmp_path):
    step, add = counting()
    sv = tf.train.Supervisor(logdir=str(tmp_path), save_model_secs=0)
    seen = []

    def train(sess, limit):
        seen.append(int(sess.run(add)))
        if seen[-1] == 2:
            sv.saver.save(sess, sv.save_path, global_step=2)
        if len(seen) == 3:
            raise tf.errors.UnavailableError(None, None, "a task has gone")
        if len(seen) == 5:
            raise tf.errors.AbortedError(None, None, "a task was started again")
        if len(seen) == limit:
            sv.request_stop()

    tf.train.basic_train_loop(sv, train, args=[7])
    assert seen == [1, 2, 3, 3, 4, 3, 4]


def test_others_wait_and_write_nothing(tmp_path):
    with tf.device("/cpu:0"):
        v = tf.get_variable("v", [], initializer=tf.ones_initializer())
    sv = tf.train.Supervisor(is_chief=False, logdir=str(tmp_path), recovery_wait_secs=0.1)
    assert sv.summary_writer is None and sv.save_path is None and not list(tmp_path.iterdir())
    start = time.monotonic()
    with pytest.raises(tf.errors.DeadlineExceededError):
        sv.prepare_or_wait_for_session(max_wait_secs=1)
    assert time.monotonic() - start >= 0.8
    with pytest.raises(RuntimeError, match="Only chief"):
        sv.start_standard_services(None)
    with pytest.raises(RuntimeError, match="requires a summary writer"):
        sv.summary_computed(None, b"")
    del v


def test_a_replica_needs_devices_of_its_variables():
    tf.get_variable("v", [])
    with pytest.raises(ValueError, match="all Variables must have their device set"):
        tf.train.Supervisor(is_chief=False)


def test_queue_runners_are_started():
    queue = tf.FIFOQueue(5, tf.int32, shapes=())
    tf.train.add_queue_runner(tf.train.QueueRunner(queue, [queue.enqueue(7)]))
    value = queue.dequeue()
    sv = tf.train.Supervisor()
    with sv.managed_session() as sess:
        assert [sess.run(value) for _ in range(10)] == [7] * 10
