"""Tasks of a launch and what they are told."""

from __future__ import annotations

import json

import headrace as tf
from headrace.distributed.launch.tasks import CLASSIC, Layout, Task, make_tasks, words_of

LAYOUT = Layout(
    {Task("worker", 1): "b:2", Task("worker", 0): "a:1", Task("ps", 0): "c:3", Task("chief", 0): "d:4"}
)


def test_tasks_in_order():
    tasks = make_tasks({"ps": 1, "worker": 2, "evaluator": 1})
    assert list(map(str, tasks)) == ["worker:0", "worker:1", "ps:0", "evaluator:0"]


def test_tf_config():
    config = json.loads(LAYOUT.tf_config(Task("worker", 1)))
    assert config == {
        "cluster": {"chief": ["d:4"], "ps": ["c:3"], "worker": ["a:1", "b:2"]},
        "task": {"type": "worker", "index": 1},
    }
    assert tf.train.ClusterSpec(config["cluster"]).task_address("worker", 1) == "b:2"
    evaluator = json.loads(LAYOUT.tf_config(Task("evaluator", 0)))
    assert evaluator["task"]["type"] == "evaluator" and "evaluator" not in evaluator["cluster"]


def test_flags_that_are_asked_for():
    assert LAYOUT.flags(Task("worker", 1), ["worker_hosts", "job_name", "task_index", "other"]) == [
        "--worker_hosts=a:1,b:2",
        "--job_name=worker",
        "--task_index=1",
    ]
    assert LAYOUT.flags(Task("ps", 0), []) == []
    assert len(LAYOUT.flags(Task("ps", 0), CLASSIC)) == 6


def test_what_the_user_gives_comes_last():
    assert words_of(["p.py", "--a"], ["--b"]) == ["p.py", "--b", "--a"]
    assert words_of(["-m", "p", "--a"], ["--b"]) == ["-m", "p", "--b", "--a"]
