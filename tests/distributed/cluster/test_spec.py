"""ClusterSpec: jobs and their tasks, from lists and from numbered addresses."""

from __future__ import annotations

import pytest

import headrace as tf


def test_lists_and_sparse_jobs():
    spec = tf.train.ClusterSpec({"ps": ["a:1", "b:2"], "worker": {1: "c:3"}})
    assert spec.as_dict() == {"ps": ["a:1", "b:2"], "worker": {1: "c:3"}}
    assert spec.jobs == ["ps", "worker"]
    assert spec.num_tasks("worker") == 1 and spec.task_indices("ps") == [0, 1]
    assert spec.job_tasks("worker") == [None, "c:3"]
    assert spec.task_address("ps", 1) == "b:2"
    assert str(spec) == "ClusterSpec({'ps': ['a:1', 'b:2'], 'worker': {1: 'c:3'}})"


def test_through_messages_and_back():
    spec = tf.train.ClusterSpec({"ps": ["a:1"], "worker": {3: "c:3"}})
    assert tf.train.ClusterSpec(spec.as_cluster_def()) == spec == tf.train.ClusterSpec(spec)
    assert spec != tf.train.ClusterSpec({})
    assert not tf.train.ClusterSpec({})


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda: tf.train.ClusterSpec({"ps": "a:1"}), TypeError, "must be a list or a dictionary"),
        (lambda: tf.train.ClusterSpec(["a:1"]), TypeError, "`cluster` must be a dictionary"),
        (lambda: tf.train.ClusterSpec({"ps": [1]}), TypeError, "Task address 1 must be"),
        (lambda: tf.train.ClusterSpec({"ps": {"x": "a:1"}}), TypeError, "Task index 'x'"),
        (lambda: tf.train.ClusterSpec({1: ["a:1"]}), TypeError, "Job name 1 must be"),
        (lambda: tf.train.ClusterSpec({}).num_tasks("ps"), ValueError, "No such job"),
        (
            lambda: tf.train.ClusterSpec({"ps": ["a"]}).task_address("ps", 2),
            ValueError,
            "No task with index 2",
        ),
    ],
)
def test_what_is_no_cluster_is_refused(call, error, text):
    with pytest.raises(error, match=text):
        call()
