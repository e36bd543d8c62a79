"""The place of an input pipeline in checkpoints of its own."""

from __future__ import annotations

import os
from types import SimpleNamespace

import headrace as tf


class Initializes(tf.train.SessionRunHook):
    def __init__(self, iterator):
        self.iterator = iterator

    def after_create_session(self, session, coord):
        session.run(self.iterator.initializer)


def elements(folder, count, replicas=1):
    """The next elements of a training whose estimator keeps its files in the folder."""
    config = SimpleNamespace(
        num_worker_replicas=replicas,
        task_type="worker",
        task_id=0,
        save_checkpoints_secs=None,
        save_checkpoints_steps=2,
    )
    with tf.Graph().as_default():
        step = tf.train.create_global_step()
        iterator = tf.data.Dataset.range(50).shuffle(10, seed=3).make_initializable_iterator()
        following, more = iterator.get_next(), tf.assign_add(step, 1)
        estimator = SimpleNamespace(_config=config, model_dir=str(folder))
        hooks = [tf.data.experimental.CheckpointInputPipelineHook(estimator), Initializes(iterator)]
        with tf.train.MonitoredTrainingSession(hooks=hooks) as session:
            return [int(session.run([following, more])[0]) for _ in range(count)]


def test_training_goes_on_with_the_next_element(tmp_path):
    whole = elements(tmp_path / "whole", 12)
    assert elements(tmp_path / "parts", 5) + elements(tmp_path / "parts", 7) == whole
    assert os.path.exists(tmp_path / "parts" / "checkpoint_input")


def test_every_worker_has_its_own(tmp_path):
    elements(tmp_path, 1, replicas=2)
    assert os.path.exists(tmp_path / "checkpoint_input_worker_0")
