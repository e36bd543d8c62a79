"""Work in the background: who ends it, what it leaves behind, what it must not lose."""

from __future__ import annotations

import gc
import threading
import weakref

import numpy as np
import pytest

import headrace as tf
from headrace.ops.data.pipeline.workers import WORKERS, Task
from tests import timing

D, X, R = tf.data.Dataset, tf.data.experimental, tf.data.Dataset.range


def workers():
    return [t for t in threading.enumerate() if t.name == "headrace-data"]


def test_a_task_is_claimed_once():
    task = Task(lambda: None)
    assert [task.claim() for _ in range(3)] == [True, False, False]


def test_threads_go_when_there_is_no_work():
    dataset = R(100).map(lambda x: x * 2, num_parallel_calls=4).prefetch(8)
    following = dataset.make_one_shot_iterator().get_next()
    with tf.Session() as session:
        assert [session.run(following) for _ in range(20)] == list(range(0, 40, 2))
    timing.wait_until(lambda: not workers())
    assert WORKERS.count == 0


def test_full_buffers_hold_no_threads():
    iterators = [R(10).prefetch(2).make_initializable_iterator() for _ in range(40)]
    elements = [i.get_next() for i in iterators]
    with tf.Session() as session:
        session.run([i.initializer for i in iterators])
        assert session.run(elements) == [0] * 40
        timing.wait_until(lambda: not workers())
        assert session.run(elements) == [1] * 40


def test_parallel_calls_keep_order_and_lose_nothing():
    def wait(x):
        timing_of = [0.004, 0.0, 0.002][int(x) % 3]
        threading.Event().wait(timing_of)
        return x

    dataset = R(60).map(lambda x: tf.py_func(wait, [x], tf.int64), num_parallel_calls=6)
    following = dataset.make_one_shot_iterator().get_next()
    with tf.Session() as session:
        assert [session.run(following) for _ in range(60)] == list(range(60))


def test_sloppy_order_has_every_element_once():
    options = tf.data.Options()
    options.experimental_deterministic = False
    dataset = R(40).interleave(lambda x: R(x, x + 3), 4, 1, num_parallel_calls=4).with_options(options)
    following = dataset.make_one_shot_iterator().get_next()
    with tf.Session() as session:
        found = [session.run(following) for _ in range(120)]
    assert sorted(found) == sorted(y for x in range(40) for y in range(x, x + 3))


def test_many_threads_share_one_iterator():
    following = R(400).prefetch(10).make_one_shot_iterator().get_next()
    found: list[int] = []
    with tf.Session() as session:

        def take():
            while True:
                try:
                    found.append(int(session.run(following)))
                except tf.errors.OutOfRangeError:
                    return

        threads = [threading.Thread(target=take) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(timing.PATIENCE)
    assert sorted(found) == list(range(400))


def test_closing_the_session_ends_who_waits():
    started, stop = threading.Event(), threading.Event()

    def blocked(x):
        started.set()
        stop.wait(timing.PATIENCE)
        return x

    following = R(3).map(lambda x: tf.py_func(blocked, [x], tf.int64)).make_one_shot_iterator().get_next()
    session = tf.Session()
    errors: list[BaseException] = []

    def take():
        try:
            session.run(following)
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=take)
    thread.start()
    try:
        assert started.wait(timing.PATIENCE)
        session.close()
        thread.join(timing.PATIENCE)
        assert not thread.is_alive()
        assert isinstance(errors[0], tf.errors.CancelledError)
    finally:
        stop.set()


def test_a_deadline_ends_the_step_and_no_element_is_lost():
    release = threading.Event()

    def gate(x):
        if x == 1:
            release.wait(timing.PATIENCE)
        return x

    dataset = R(3).map(lambda x: tf.py_func(gate, [x], tf.int64)).prefetch(1)
    following = dataset.make_one_shot_iterator().get_next()
    with tf.Session() as session:
        assert session.run(following) == 0
        with pytest.raises(tf.errors.DeadlineExceededError):
            session.run(following, options=tf.RunOptions(timeout_in_ms=200))
        release.set()
        assert [session.run(following) for _ in range(2)] == [1, 2]


def test_ctrl_c_ends_a_filter_that_finds_nothing():
    following = R(10).repeat().filter(lambda x: x < 0).make_one_shot_iterator().get_next()
    with tf.Session() as session, timing.ctrl_c():
        session.run(following)


def test_an_abandoned_pipeline_is_collected():
    def pipeline():
        with tf.Graph().as_default() as graph:
            following = D.from_tensor_slices(np.arange(100)).prefetch(3).make_one_shot_iterator().get_next()
            session = tf.Session()
            session.run(following)
            return weakref.ref(session), weakref.ref(graph)

    references = pipeline()
    timing.wait_until(lambda: gc.collect() is not None and all(r() is None for r in references))


def test_a_generator_that_is_given_up_is_closed():
    closed = threading.Event()

    def numbers():
        try:
            yield from range(100)
        finally:
            closed.set()

    following = D.from_generator(numbers, tf.int64, []).make_one_shot_iterator().get_next()
    with tf.Session() as session:
        assert session.run(following) == 0
    assert closed.wait(timing.PATIENCE)


def test_an_error_names_the_users_line_and_the_next_element_follows():
    dataset = D.from_tensor_slices([1.0, 0.0, 2.0]).map(lambda x: tf.check_numerics(1 / x, "broken"))
    following = dataset.make_one_shot_iterator().get_next()
    with tf.Session() as session:
        assert session.run(following) == 1.0
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"broken(.|\n)*test_threads.py"):
            session.run(following)
        assert session.run(following) == 0.5


def test_tuned_parallelism_gives_the_same_elements():
    dataset = R(500).map(lambda x: x + 1, num_parallel_calls=X.AUTOTUNE).prefetch(X.AUTOTUNE)
    following = dataset.make_one_shot_iterator().get_next()
    with tf.Session() as session:
        assert [session.run(following) for _ in range(500)] == list(range(1, 501))
