"""`headrace cluster status`, as a user types it."""

from __future__ import annotations

import pytest

from headrace.tools import cluster as command
from tests.distributed.clusters import cluster


def test_status(capsys):
    with cluster(ps=2, worker=1) as servers:
        assert command.main(["status", servers["ps"][1].target]) == 0
        head, *rows = capsys.readouterr().out.splitlines()
        assert [row.split()[0] for row in rows] == ["ps:0", "ps:1", "worker:0"]
        servers["ps"][0].stop()
        assert command.main(["status", servers["ps"][1].address]) == 1
        assert "ps:0 does not answer: the task at" in capsys.readouterr().out


def test_watched_until_ctrl_c(capsys, monkeypatch):
    sleeps = iter([None, None])

    def sleep(seconds):
        if next(sleeps, seconds) is not None:
            raise KeyboardInterrupt

    monkeypatch.setattr(command.time, "sleep", sleep)
    with cluster(worker=1) as servers:
        assert command.main(["status", servers["worker"][0].address, "--watch"]) == 130
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 6 and lines[0].startswith("task")


@pytest.mark.parametrize("address", ["nowhere", "host:", ":12", "host:port", "host:99999", "grpc://"])
def test_what_is_no_address(address, capsys):
    with pytest.raises(SystemExit) as ended:
        command.main(["status", address])
    assert ended.value.code == 2 and "is no address" in capsys.readouterr().err
