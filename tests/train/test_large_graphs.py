"""Graphs beyond the 2 GB that a message can hold: they run, their variables are saved and restored."""

from __future__ import annotations

import os

import numpy as np
import pytest

import headrace as tf
from headrace.ops.graphdef import import_export


@pytest.fixture(params=[pytest.param(2_200, marks=pytest.mark.slow), 3])
def megabytes(request, monkeypatch):
    """A few megabytes against a limit of two are quicker than gigabytes."""
    if request.param < 100:
        monkeypatch.setattr(import_export, "MAX_BYTES", 2 << 20)
    return request.param


def test_it_runs_and_is_saved(tmp_path, megabytes):
    with tf.Graph().as_default() as graph, tf.Session() as sess:
        large = tf.constant(np.ones(megabytes * 250_000, np.float32), name="large")
        v = tf.get_variable("v", initializer=np.float32([1, 2]))
        y = tf.reduce_sum(large) + tf.reduce_sum(v)
        sess.run(v.initializer)
        assert sess.run(y) == megabytes * 250_000 + 3
        saver = tf.train.Saver([v])
        path = saver.save(sess, str(tmp_path / "model"))  # without the graph, with a warning
        assert tf.train.latest_checkpoint(str(tmp_path)) == path
        assert not os.path.exists(path + ".meta")
        sess.run(v.assign([0, 0]))
        saver.restore(sess, path)
        assert sess.run(v).tolist() == [1, 2]
        for refused in (
            graph.as_graph_def,
            lambda: tf.train.write_graph(graph, str(tmp_path), "g.pb", as_text=False),
            lambda: tf.train.export_meta_graph(str(tmp_path / "m.meta")),
            lambda: tf.saved_model.simple_save(sess, str(tmp_path / "s"), {"y": y}, {"y": y}),
        ):
            with pytest.raises(ValueError, match=r"cannot be larger than 2GB.*large \("):
                refused()
    assert not {"g.pb", "m.meta"} & set(os.listdir(tmp_path))
