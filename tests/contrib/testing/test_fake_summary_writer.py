"""tf.contrib.testing: a writer that notes what it is given, and readers of event files."""

from __future__ import annotations

import unittest

import pytest

import headrace as tf

testing = tf.contrib.testing


@pytest.fixture
def installed():
    tf.summary.FileWriterCache.clear()
    testing.FakeSummaryWriter.install()
    yield
    testing.FakeSummaryWriter.uninstall()
    tf.summary.FileWriterCache.clear()


def test_hooks_write_to_it(installed, tmp_path):
    with tf.Graph().as_default() as graph:
        step = tf.train.get_or_create_global_step()
        train = tf.assign_add(step, 1)
        merged = tf.summary.scalar("seven", 7.0)
        hook = tf.train.SummarySaverHook(save_steps=2, output_dir="logs", summary_op=merged)
        with tf.train.MonitoredSession(hooks=[hook]) as sess:
            for _ in range(4):
                sess.run(train)
        writer = tf.summary.FileWriterCache.get("logs")
        writer.assert_summaries(
            unittest.TestCase(),
            expected_logdir="logs",
            expected_graph=graph,
            expected_summaries={1: {"seven": 7.0}, 3: {"seven": 7.0}},
        )
        assert sorted(writer.summaries) == [1, 3]
        with pytest.raises(AssertionError):
            writer.assert_summaries(unittest.TestCase(), expected_summaries={2: {}})
    with pytest.raises(ValueError, match="already installed"):
        testing.FakeSummaryWriter.install()


def test_events_are_read_back(tmp_path):
    assert testing.latest_event_file(tmp_path) is None and testing.latest_summaries(tmp_path) == []
    with tf.summary.FileWriter(str(tmp_path)) as writer:
        for step, value in ((1, 1.5), (2, 2.5)):
            summary = tf.Summary(value=[tf.Summary.Value(tag="loss", simple_value=value)])
            writer.add_summary(summary, step)
    assert len(testing.latest_summaries(tmp_path)) == 2
    assert testing.simple_values_from_events(testing.latest_events(tmp_path), ["loss"]) == {"loss": 2.5}
    summary = testing.to_summary_proto(testing.latest_summaries(tmp_path)[0].summary.SerializeToString())
    testing.assert_summary(["loss"], {"loss": 1.5}, summary)
    with pytest.raises(ValueError, match="Expected tags"):
        testing.assert_summary(["other"], {}, summary)
    with pytest.raises(AssertionError):
        testing.assert_summary(["loss"], {"loss": 3.0}, summary)
