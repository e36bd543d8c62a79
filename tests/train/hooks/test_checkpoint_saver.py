"""CheckpointSaverHook: when it saves, and who listens."""

from __future__ import annotations

import pytest

import headrace as tf


class Listener(tf.train.CheckpointSaverListener):
    def __init__(self, stops_at=None):
        self.calls, self.stops_at = [], stops_at

    def begin(self):
        self.calls.append("begin")

    def before_save(self, session, global_step_value):
        self.calls.append(("before", int(global_step_value)))

    def after_save(self, session, global_step_value):
        self.calls.append(("after", int(global_step_value)))
        return global_step_value == self.stops_at

    def end(self, session, global_step_value):
        self.calls.append(("end", int(global_step_value)))


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as graph:
        yield graph


def counting():
    step = tf.train.get_or_create_global_step()
    return step, tf.assign_add(step, 1)


def saved(folder):
    """The steps of all checkpoints."""
    return sorted(int(p.name[len("model.ckpt-") : -len(".index")]) for p in folder.glob("model.ckpt-*.index"))


def test_it_saves_at_the_start_every_some_steps_and_at_the_end(tmp_path):
    _, add = counting()
    listener = Listener()
    hook = tf.train.CheckpointSaverHook(
        str(tmp_path), save_steps=2, scaffold=(scaffold := tf.train.Scaffold()), listeners=[listener]
    )
    creator = tf.train.ChiefSessionCreator(scaffold)
    with tf.train.MonitoredSession(creator, hooks=[hook]) as sess:
        for _ in range(5):
            sess.run(add)
    assert saved(tmp_path) == [0, 2, 4, 5]
    pairs = [(when, step) for step in (0, 2, 4, 5) for when in ("before", "after")]
    assert listener.calls == ["begin", *pairs, ("end", 5)]
    tf.summary.FileWriterCache.clear()
    events = list(tf.contrib.testing.latest_events(tmp_path))
    logged = [e.step for e in events if e.session_log.status == tf.SessionLog.CHECKPOINT]
    assert logged == [0, 2, 4, 5]
    assert (tmp_path / "graph.pbtxt").exists()


def test_no_second_checkpoint_of_the_last_step(tmp_path):
    _, add = counting()
    tf.add_to_collection(tf.GraphKeys.SAVERS, tf.train.Saver())
    hook = tf.train.CheckpointSaverHook(str(tmp_path), save_steps=1)
    with tf.train.SingularMonitoredSession(hooks=[hook]) as sess:
        sess.run(add)
        before = {p.name: p.stat().st_mtime_ns for p in tmp_path.glob("*.index")}
    assert {p.name: p.stat().st_mtime_ns for p in tmp_path.glob("*.index")} == before


def test_a_listener_ends_the_training(tmp_path):
    _, add = counting()
    hook = tf.train.CheckpointSaverHook(
        str(tmp_path), save_steps=1, saver=tf.train.Saver(), listeners=[Listener(stops_at=3)]
    )
    with tf.train.SingularMonitoredSession(hooks=[hook]) as sess:
        while not sess.should_stop():
            last = sess.run(add)
    assert last == 3


def test_which_saver(tmp_path):
    with pytest.raises(ValueError, match="both saver and scaffold"):
        tf.train.CheckpointSaverHook(str(tmp_path), 1, saver=object(), scaffold=tf.train.Scaffold())
    counting()
    hook = tf.train.CheckpointSaverHook(str(tmp_path), save_steps=1)
    with pytest.raises(RuntimeError, match="No items in collection"):
        hook._get_saver()
    tf.add_to_collection(tf.GraphKeys.SAVERS, tf.train.Saver())
    tf.add_to_collection(tf.GraphKeys.SAVERS, tf.train.Saver())
    with pytest.raises(RuntimeError, match="More than one item"):
        hook._get_saver()


def test_a_checkpoint_of_objects_is_a_saver_too(tmp_path):
    step, add = counting()
    v = tf.get_variable("v", [], initializer=tf.ones_initializer(), use_resource=True)
    double = v.assign(v * 2)
    scaffold = tf.train.Scaffold(saver=tf.train.Checkpoint(v=v, step=step))
    with tf.train.MonitoredTrainingSession(checkpoint_dir=str(tmp_path), scaffold=scaffold) as sess:
        sess.run([double, add])
    with tf.Graph().as_default(), tf.Session() as sess:
        w = tf.get_variable("other", [], use_resource=True)
        status = tf.train.Checkpoint(v=w).restore(tf.train.latest_checkpoint(str(tmp_path)))
        status.run_restore_ops(sess)
        assert sess.run(w) == 2.0
