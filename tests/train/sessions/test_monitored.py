"""Monitored sessions: initialised or restored, hooks around every step, recovered when they are lost."""

from __future__ import annotations

import threading

import numpy as np
import pytest

import headrace as tf
from headrace.train.sessions.training_session import USE_DEFAULT, _every
from tests.timing import soon


class Recorder(tf.train.SessionRunHook):
    """Notes what is called, and asks for something."""

    def __init__(self, fetches=None, feed_dict=None, options=None):
        self.calls, self.results = [], []
        self.request = tf.train.SessionRunArgs(fetches, feed_dict, options)

    def begin(self):
        self.calls.append("begin")

    def after_create_session(self, session, coord):
        self.calls.append("after_create_session")

    def before_run(self, run_context):
        self.calls.append("before_run")
        return self.request

    def after_run(self, run_context, run_values):
        self.calls.append("after_run")
        self.results.append(run_values)

    def end(self, session):
        self.calls.append("end")


class Fails(tf.train.SessionRunHook):
    """Raises errors, one in a step."""

    def __init__(self, *errors):
        self.errors = list(errors)

    def before_run(self, run_context):
        if self.errors:
            error = self.errors.pop(0)
            if error is not None:
                raise error
        return None


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as graph:
        yield graph


def counting():
    step = tf.train.get_or_create_global_step()
    return step, tf.assign_add(step, 1)


def test_hooks_are_called_in_order_and_their_fetches_run_with_the_step():
    a, b = tf.constant(3.0), tf.constant(4.0)
    one, two = Recorder({"b": b}), Recorder()
    with tf.train.MonitoredSession(hooks=[one, two]) as sess:
        assert sess.run([a, b]) == [3.0, 4.0]
    order = ["begin", "after_create_session", "before_run", "after_run", "end"]
    assert one.calls == two.calls == order
    assert one.results[0].results == {"b": 4.0}
    assert two.results[0].results is None
    assert one.results[0].run_metadata is not None
    assert one.results[0].options is not None


def test_a_hook_that_asks_for_a_trace_gets_one():
    options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
    hook = Recorder(options=options)
    doubled = tf.get_variable("v", [3]) * 2
    with tf.train.MonitoredSession(hooks=[hook]) as sess:
        sess.run(doubled)
    assert hook.results[0].run_metadata.step_stats.dev_stats
    assert hook.results[0].options.trace_level == tf.RunOptions.FULL_TRACE


def test_feeds_of_hooks_and_user_come_together_and_may_not_meet():
    x, y = tf.placeholder(tf.float32), tf.placeholder(tf.float32)
    product = x * y
    with tf.train.MonitoredSession(hooks=[tf.train.FeedFnHook(lambda: {x: 2.0})]) as sess:
        assert sess.run(product, {y: 5.0}) == 10.0
        assert sess.run(x) == 2.0
        with pytest.raises(RuntimeError, match="fed by a SessionRunHook and user"):
            sess.run(x, {x: 1.0})
    both = [tf.train.FeedFnHook(lambda: {x: 2.0}), tf.train.FeedFnHook(lambda: {x: 3.0})]
    with tf.train.MonitoredSession(hooks=both) as sess, pytest.raises(RuntimeError, match="by two hooks"):
        sess.run(x)


@pytest.mark.parametrize("error", [tf.errors.AbortedError, tf.errors.UnavailableError])
def test_a_lost_session_is_replaced_and_the_step_run_again(tmp_path, error):
    step, add = counting()
    recorder = Recorder()
    fails = Fails(None, None, None, error(None, None, "gone"))
    with tf.train.MonitoredTrainingSession(
        checkpoint_dir=str(tmp_path), save_checkpoint_steps=2, hooks=[fails, recorder]
    ) as sess:
        assert [sess.run(add) for _ in range(3)] == [1, 2, 3]
        assert sess.run(add) == 3  # from the checkpoint of step 2
    assert recorder.calls.count("after_create_session") == 2
    assert recorder.calls.count("begin") == recorder.calls.count("end") == 1


def test_other_errors_end_the_loop_without_the_end_of_hooks():
    recorder = Recorder()
    c, hooks = tf.constant(1), [recorder, Fails(ValueError("mine"))]
    with pytest.raises(ValueError, match="mine"), tf.train.MonitoredSession(hooks=hooks) as sess:
        sess.run(c)
    assert "end" not in recorder.calls


@pytest.mark.parametrize("error", [tf.errors.OutOfRangeError(None, None, "all"), StopIteration()])
def test_the_end_of_the_input_is_no_error(error):
    recorder = Recorder()
    c = tf.constant(1)
    with tf.train.MonitoredSession(hooks=[recorder, Fails(error)]) as sess:
        sess.run(c)
    assert recorder.calls[-1] == "end"


def test_a_thread_that_loses_the_session_ends_the_step_that_waits_for_it():
    """A dequeue whose filler has lost its session would wait for good."""
    queue = tf.FIFOQueue(10, tf.int32, shapes=())
    value, put = queue.dequeue(), queue.enqueue(7)

    class Filler(tf.train.SessionRunHook):
        sessions = 0

        def after_create_session(self, session, coord):
            self.sessions += 1
            threading.Thread(target=self.work, args=(session, coord, self.sessions)).start()

        def work(self, session, coord, number):
            while number == 1 and not session._steps:  # until the step waits
                threading.Event().wait(0.01)
            with coord.stop_on_exception():
                if number == 1:
                    raise tf.errors.UnavailableError(None, None, "a task has gone")
                session.run(put)

    filler = Filler()
    with soon(10), tf.train.MonitoredSession(hooks=[filler]) as sess:
        assert sess.run(value) == 7
    assert filler.sessions == 2


def test_an_error_of_a_thread_is_raised_at_the_end():
    class Thread(tf.train.SessionRunHook):
        def after_create_session(self, session, coord):
            coord.request_stop(ValueError("of a thread"))

    with pytest.raises(ValueError, match="of a thread"):
        with tf.train.MonitoredSession(hooks=[Thread()]) as sess:
            assert sess.should_stop()


def test_run_after_the_wish_to_stop_is_refused():
    _, add = counting()
    with tf.train.MonitoredSession(hooks=[tf.train.StopAtStepHook(num_steps=2)]) as sess:
        sess.run(add)
        assert not sess.should_stop()
        sess.run(add)
        assert sess.should_stop()
        with pytest.raises(RuntimeError, match="after should_stop"):
            sess.run(add)


def test_step_functions_use_the_session_with_and_without_hooks():
    c, d = tf.constant(1), tf.constant(2)
    recorder = Recorder()

    def step_fn(step_context):
        return step_context.session.run(c), step_context.run_with_hooks(d)

    with tf.train.MonitoredSession(hooks=[recorder]) as sess:
        assert sess.run_step_fn(step_fn) == (1, 2)
        with pytest.raises(ValueError, match="step_context"):
            sess.run_step_fn(lambda other: None)
        sess.run_step_fn(lambda step_context: step_context.request_stop())
    assert recorder.calls.count("before_run") == 1


def test_a_step_function_gets_the_new_session():
    _, add = counting()
    seen = []

    def step_fn(step_context):
        seen.append(step_context.session)
        return step_context.run_with_hooks(add)

    with tf.train.MonitoredSession(hooks=[Fails(tf.errors.AbortedError(None, None, "gone"))]) as sess:
        assert sess.run_step_fn(step_fn) == 1
    assert len(seen) == 2 and seen[0] is not seen[1]


def test_a_graph_is_final_inside_and_open_again_behind():
    c = tf.constant(1)
    with tf.train.SingularMonitoredSession() as sess:
        assert sess.run(c) == sess.raw_session().run(c) == 1
        with pytest.raises(RuntimeError):
            tf.constant(2)
    tf.constant(3)
    assert sess.should_stop() and sess.graph is None
    with pytest.raises(RuntimeError, match="already closed"):
        sess.close()


def test_a_second_run_goes_on_where_the_first_ended(tmp_path):
    def run(steps):
        with tf.Graph().as_default():
            _, add = counting()
            hooks = [tf.train.StopAtStepHook(num_steps=steps)]
            with tf.train.MonitoredTrainingSession(checkpoint_dir=str(tmp_path), hooks=hooks) as sess:
                while not sess.should_stop():
                    last = sess.run(add)
            return last

    assert run(3) == 3
    assert run(4) == 7
    names = {p.name for p in tmp_path.iterdir()}
    assert {"checkpoint", "graph.pbtxt", "model.ckpt-7.index", "model.ckpt-7.meta"} <= names


def test_queue_runners_run_and_the_end_waits_for_no_blocked_one():
    """The runner waits for an accumulator that nobody fills; closing ends its step."""
    accumulator = tf.ConditionalAccumulator(tf.float32, shape=())
    queue = tf.FIFOQueue(1, tf.float32, shapes=())
    runner = tf.train.QueueRunner(queue, [queue.enqueue(accumulator.take_grad(1))])
    tf.train.add_queue_runner(runner)
    c = tf.constant(1)
    with soon(10), tf.train.MonitoredSession() as sess:
        sess.run(c)
    assert not runner.exceptions_raised


def test_which_interval_counts():
    assert _every(USE_DEFAULT, USE_DEFAULT, (100, None)) == (100, None)
    assert _every(5, USE_DEFAULT, (100, None)) == (5, None)
    assert _every(USE_DEFAULT, 5, (100, None)) == (None, 5)
    assert _every(None, USE_DEFAULT, (100, None)) == (None, None)


def test_values_equal_those_of_a_session():
    x = tf.placeholder(tf.float32, [2])
    structure = {"a": x, "b": [x + 1, (x * 2, tf.no_op())]}
    hooks = [Recorder(x)]
    with tf.train.MonitoredSession(hooks=hooks) as sess, tf.Session() as plain:
        for _ in range(3):
            mine, theirs = sess.run(structure, {x: [1, 2]}), plain.run(structure, {x: [1, 2]})
            np.testing.assert_array_equal(mine["a"], theirs["a"])
            np.testing.assert_array_equal(mine["b"][0], theirs["b"][0])
            np.testing.assert_array_equal(mine["b"][1][0], theirs["b"][1][0])
            assert mine["b"][1][1] is None
