"""Output of tasks in files."""

from __future__ import annotations

from headrace.distributed.launch.logs import Logs
from headrace.distributed.launch.tasks import Task

TASK = Task("worker", 3)


def test_a_new_launch_begins_anew_and_a_new_start_goes_on(tmp_path):
    for text in (b"first\n", b"second\n"):
        logs = Logs(tmp_path / "made")
        with logs.open(TASK) as file:
            file.write(text)
        with logs.open(TASK) as file:
            file.write(b"again\n")
    assert (tmp_path / "made" / "worker-3.log").read_bytes() == b"second\nagain\n"


def test_last_lines(tmp_path):
    logs = Logs(tmp_path)
    assert logs.last_lines(TASK, 3) == []
    logs.path(TASK).write_bytes(
        b"x" * 200_000 + b"\n" + b"".join(b"%d\n\n" % i for i in range(100)) + b"\xff"
    )
    assert logs.last_lines(TASK, 3) == ["98", "99", "�"]


def test_what_is_new_comes_in_whole_lines(tmp_path):
    logs = Logs(tmp_path)
    assert logs.fresh(TASK) == b""
    with logs.open(TASK) as file:
        file.write(b"one\ntw")
        assert logs.fresh(TASK) == b"one\n"
        assert logs.fresh(TASK) == b""
        file.write(b"o\nthree")
        assert logs.fresh(TASK) == b"two\n"
        assert logs.fresh(TASK, all_of_it=True) == b"three"
        file.write(b"x" * 200_000)  # one line without an end
        assert len(logs.fresh(TASK)) > 60_000
