"""The message of a task's status: out and in again, and what others may send."""

from __future__ import annotations

import json

import pytest

from headrace.distributed.wire.task_status import TaskStatus, memory_of_process


def test_out_and_in_again():
    status = TaskStatus("/job:ps/task:0", {"a": "b:1"}, "1", 5, 1.5, 7, ["cpu"], 1, 2, 3, 4, 5, 6, "é\n", 2.5)
    assert TaskStatus.FromString(status.SerializeToString()) == status


def test_another_version():
    """Fields that are not known are skipped, missing ones have defaults; a whole number is a time, too."""
    assert TaskStatus.FromString(b'{"steps": 3, "seconds": 2, "colour": "red"}') == TaskStatus(
        steps=3, seconds=2
    )


@pytest.mark.parametrize(
    "message",
    [b"", b"\xff", b"[]", b"3", b'{"steps": "many"}', b'{"cluster": {"a": 1}}', b'{"devices": [1]}']
    + [b'{"devices": "cpu"}', json.dumps({"task": ["a"] * 1000}).encode(), b"[" * 100_000],
)
def test_what_is_no_status(message):
    with pytest.raises((ValueError, RecursionError)):
        TaskStatus.FromString(message)


def test_memory():
    assert memory_of_process() > 1 << 20
