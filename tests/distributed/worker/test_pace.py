"""Who runs a graph: times in, answer out."""

from __future__ import annotations

from headrace.distributed.worker.pace import LONG, TRUSTED, Pace


def test_what_is_new_is_not_trusted():
    pace = Pace()
    for _ in range(TRUSTED):
        assert not pace.is_quick
        pace.on_run(LONG / 10)
    assert pace.is_quick


def test_one_long_run_is_enough():
    pace = Pace(short=100)
    pace.on_run(2 * LONG)
    assert not pace.is_quick
