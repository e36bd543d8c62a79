"""Hooks that follow the global step, and the timer that they share."""

from __future__ import annotations

import threading
import time

import pytest

import headrace as tf
from headrace.train.hooks.step_hooks import MultiStepStopAtStepHook, get_or_create_steps_per_run_variable
from headrace.train.hooks.timer import NeverTriggerTimer
from tests.timing import soon


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as graph:
        yield graph


def counting():
    step = tf.train.get_or_create_global_step()
    return step, tf.assign_add(step, 1)


def test_a_timer_of_steps():
    timer = tf.train.SecondOrStepTimer(every_steps=3)
    assert timer.should_trigger_for_step(1)
    assert timer.update_last_triggered_step(1) == (None, None)
    assert [timer.should_trigger_for_step(s) for s in (1, 2, 3, 4, 9)] == [False, False, False, True, True]
    seconds, steps = timer.update_last_triggered_step(4)
    assert steps == 3 and seconds >= 0
    assert timer.last_triggered_step() == 4
    timer.reset()
    assert timer.should_trigger_for_step(4) and timer.last_triggered_step() is None


def test_a_timer_of_seconds(monkeypatch):
    now = [100.0]
    monkeypatch.setattr(time, "time", lambda: now[0])
    timer = tf.train.SecondOrStepTimer(every_secs=2.0)
    assert timer.should_trigger_for_step(1)
    timer.update_last_triggered_step(1)
    assert not timer.should_trigger_for_step(2)
    now[0] += 2.0
    assert timer.should_trigger_for_step(2) and not timer.should_trigger_for_step(1)
    assert timer.update_last_triggered_step(2) == (2.0, 1)


def test_timers_refuse_nonsense():
    with pytest.raises(ValueError, match="Can not provide both"):
        tf.train.SecondOrStepTimer(every_secs=2.0, every_steps=10)
    with pytest.raises(ValueError, match="Either every_secs or every_steps"):
        tf.train.SecondOrStepTimer()
    never = NeverTriggerTimer()
    assert not never.should_trigger_for_step(1) and never.update_last_triggered_step(1) == (None, None)


@pytest.mark.parametrize("arguments", [{}, {"num_steps": 1, "last_step": 2}])
def test_a_stop_has_one_number(arguments):
    with pytest.raises(ValueError, match="of num_steps or last_step"):
        tf.train.StopAtStepHook(**arguments)


def test_a_stop_counts_the_steps_of_others():
    step, add = counting()
    elsewhere = tf.assign(step, 9)
    with tf.train.MonitoredSession(hooks=[tf.train.StopAtStepHook(last_step=10)]) as sess:
        sess.run(add)
        assert not sess.should_stop()
        sess._tf_sess().run(elsewhere)
        sess.run(add)
        assert sess.should_stop()


def test_hooks_need_a_global_step(tmp_path):
    for hook in (
        tf.train.StopAtStepHook(num_steps=1),
        tf.train.StepCounterHook(),
        tf.train.GlobalStepWaiterHook(1),
        tf.train.CheckpointSaverHook(str(tmp_path), save_steps=1),
        tf.train.SummarySaverHook(save_steps=1, summary_op=tf.constant("")),
        tf.train.ProfilerHook(save_steps=1, output_dir=str(tmp_path)),
        MultiStepStopAtStepHook(num_steps=1),
    ):
        with pytest.raises(RuntimeError, match="Global step should be created"):
            hook.begin()


def test_the_last_run_makes_fewer_steps():
    step = tf.train.get_or_create_global_step()
    per_run = get_or_create_steps_per_run_variable()
    assert get_or_create_steps_per_run_variable() is per_run
    add = tf.assign_add(step, tf.cast(per_run, tf.int64))
    seen = []
    with tf.train.MonitoredSession(hooks=[MultiStepStopAtStepHook(num_steps=10, steps_per_run=4)]) as sess:
        while not sess.should_stop():
            seen.append(sess.run(add))
    assert seen == [4, 8, 10]


def test_the_rate_is_written(tmp_path):
    _, add = counting()
    hook = tf.train.StepCounterHook(every_n_steps=5, output_dir=str(tmp_path))
    with tf.train.MonitoredSession(hooks=[hook]) as sess:
        for _ in range(12):
            sess.run(add)
            time.sleep(0.002)
    tf.summary.FileWriterCache.clear()
    events = tf.contrib.testing.latest_summaries(tmp_path)
    assert [e.step for e in events] == [6, 11]
    assert all(0 < e.summary.value[0].simple_value < 500 for e in events)
    assert events[0].summary.value[0].tag == "global_step/sec"


def test_a_worker_waits_for_its_step():
    step, add = counting()
    to_two = tf.assign(step, 2)
    with soon(10), tf.train.MonitoredSession(hooks=[tf.train.GlobalStepWaiterHook(2)]) as sess:
        threading.Timer(0.3, lambda: sess._tf_sess().run(to_two)).start()
        assert sess.run(add) == 3
        assert sess.run(add) == 4
