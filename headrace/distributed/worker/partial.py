"""One partial run on a task: its step waits at the meeting place for feeds, calls bring and take values."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

from headrace.runtime.rendezvous import Rendezvous


class PartialStep:
    """`ended`: the run of the graph.  A call answers when its values are there, the last one when all ran."""

    def __init__(self, meeting: Rendezvous) -> None:
        self.meeting = meeting
        self.ended: Future[Any] = Future()

    def call(self, given: dict[str, Any], wanted: list[str], is_last: bool) -> Future[list[Any]]:
        for key, value in given.items():
            self.meeting.send(key, value)
        values = [self.meeting.receive(key) for key in wanted]
        return gathered([*values, self.ended] if is_last else values, len(wanted))


def gathered(futures: list[Future[Any]], count: int) -> Future[list[Any]]:
    """The values of the first `count` futures once all are there, or the first error."""
    made: Future[list[Any]] = Future()

    def next_from(at: int) -> None:
        while at < len(futures):
            if not futures[at].done():
                futures[at].add_done_callback(_after(next_from, at))
                return
            error = futures[at].exception()
            if error is not None:
                made.set_exception(error)
                return
            at += 1
        made.set_result([f.result() for f in futures[:count]])

    next_from(0)
    return made


def _after(go_on: Callable[[int], None], at: int) -> Callable[[Future[Any]], None]:
    return lambda _: go_on(at)
