"""Reports as a table."""

from __future__ import annotations

import pytest

from headrace.distributed.launch.inquiry import Report
from headrace.distributed.launch.rates import Rates
from headrace.distributed.launch.table import duration, short, size, table
from headrace.distributed.wire.task_status import TaskStatus

WORKER = TaskStatus(
    "/job:worker/replica:0/task:0", seconds=3700.5, memory=123_456_789, devices=["cpu"], sessions=1,
    steps=10, parts=20, failures=2, last_error="it broke\nhere", last_error_at=1.0,
)  # fmt: skip
REPORTS = [
    Report(WORKER.task, "a:1", "ok", WORKER, ("cpu",)),
    Report("/job:ps/replica:0/task:3", "b:2", "tensorflow", None, ("x", "y")),
    Report("/job:ps/replica:0/task:4", "b:3", "gone away"),
    Report("/job:ps/replica:0/task:5", "", "listed", None, ("/job:ps/replica:0/task:5/device:CPU:0",)),
]


def test_table():
    rates = Rates()
    rates.note(WORKER.task, 0.0, 0)
    rates.note(WORKER.task, 2.0, 20)
    head, worker, theirs, gone, listed, *below = table(REPORTS, rates)
    assert head.split()[:3] == ["task", "address", "up"]
    assert worker.split() == "worker:0 a:1 1:01:40 123 MB 1 1 10 20 10.0 2".split()
    assert theirs.split() == ["ps:3", "b:2", "yes", "2"] and gone.split() == ["ps:4", "b:3", "no"]
    assert listed.split() == ["ps:5", "listed", "1"]
    assert below[0].startswith("worker:0: ") and below[0].endswith(" it broke")
    assert below[1:3] == [
        "ps:3 is TensorFlow's: it tells its devices alone",
        "ps:4 does not answer: gone away",
    ]


@pytest.mark.parametrize("width", [1, 20, 80])
def test_no_line_is_wider(width):
    assert max(map(len, table(REPORTS, Rates(), width))) <= width


def test_words():
    assert [duration(s) for s in (0, 59.9, 61, 3661)] == ["0:00", "0:59", "1:01", "1:01:01"]
    assert [size(n) for n in (0, 999, 1500, 15_000, 2.5e9, 1e18)] == [
        "0 B", "999 B", "1.5 kB", "15 kB", "2.5 GB", "1000000 TB",
    ]  # fmt: skip
    assert [short(t) for t in ("/job:a/replica:0/task:7", "", "odd", "/job:a")] == ["a:7", "", "odd", "a:0"]
