"""Hooks that write events: summaries, and traces of steps."""

from __future__ import annotations

import json

import pytest

import headrace as tf


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as graph:
        yield graph


def counting():
    step = tf.train.get_or_create_global_step()
    return step, tf.assign_add(step, 1)


def test_summaries_every_some_steps_with_their_step(tmp_path):
    step, add = counting()
    one, two = tf.summary.scalar("step", step), tf.summary.scalar("two", 2.0)
    hook = tf.train.SummarySaverHook(save_steps=3, output_dir=str(tmp_path), summary_op=[one, two])
    with tf.train.MonitoredSession(hooks=[hook]) as sess:
        for _ in range(7):
            sess.run(add)
    tf.summary.FileWriterCache.clear()
    events = list(tf.contrib.testing.latest_events(tmp_path))
    assert [e.step for e in events if e.session_log.status == tf.SessionLog.START] == [1]
    assert [e.step for e in events if e.HasField("summary")] == [1, 1, 4, 4, 7, 7]


def test_the_summaries_of_a_scaffold_may_be_none(tmp_path):
    _, add = counting()
    with tf.train.MonitoredTrainingSession(checkpoint_dir=str(tmp_path), save_summaries_steps=1) as sess:
        sess.run(add)
    tf.summary.FileWriterCache.clear()
    assert not tf.contrib.testing.latest_summaries(tmp_path)


def test_a_hook_has_one_source_of_summaries():
    for arguments in ({}, {"scaffold": tf.train.Scaffold(), "summary_op": tf.constant("")}):
        with pytest.raises(ValueError, match="Exactly one of scaffold or summary_op"):
            tf.train.SummarySaverHook(save_steps=1, **arguments)


def test_a_step_is_traced_every_some_steps(tmp_path):
    step, add = counting()
    product = tf.matmul(tf.ones([8, 8]), tf.ones([8, 8]) * tf.cast(step, tf.float32))
    with tf.train.MonitoredSession(
        hooks=[tf.train.ProfilerHook(save_steps=2, output_dir=str(tmp_path))]
    ) as sess:
        for _ in range(5):
            sess.run([product, add])
    tf.summary.FileWriterCache.clear()
    paths = sorted(p.name for p in tmp_path.glob("timeline-*.json"))
    assert paths == ["timeline-2.json", "timeline-4.json"]
    events = json.loads((tmp_path / paths[0]).read_text())["traceEvents"]
    assert {"M", "X"} <= {e["ph"] for e in events}
    bars = [e for e in events if e["ph"] == "X"]
    assert all(e["dur"] > 0 and e["args"]["name"] for e in bars)
    written = [e for e in tf.contrib.testing.latest_events(tmp_path) if e.HasField("tagged_run_metadata")]
    assert [e.tagged_run_metadata.tag for e in written] == ["step_2", "step_4"]
