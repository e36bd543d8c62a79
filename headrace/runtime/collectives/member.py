"""A member of a group at work: the acting part of `flows`.  It holds no thread while it waits."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import Any, Protocol

from headrace.runtime.collectives.flows import Flow, Post
from headrace.runtime.executor import pool


class Exchange(Protocol):
    """Where a member leaves values for others, by their rank, and gets theirs."""

    def post(self, key: str, target: int, value: Any) -> Future[None]: ...

    def take(self, key: str, source: int, count: int) -> Future[Any]: ...


class Member:
    """`finish` makes the result of what the flows return.  The future ends when all flows have, and others
    have taken what is for them."""

    def __init__(self, flows: Sequence[Flow], finish: Callable[[list[Any]], Any], exchange: Exchange) -> None:
        self._flows, self._finish, self._exchange = list(flows), finish, exchange
        self._results: list[Any] = [None] * len(self._flows)
        self._pending = len(self._flows) + 1  # flows, values that nobody has taken, and the start
        self._lock = threading.Lock()
        self.result: Future[Any] = Future()

    def start(self) -> None:
        for number in range(len(self._flows)):
            self._advance(number, None)
        self._ended()

    def fail(self, error: BaseException) -> None:
        with self._lock:
            if self._pending <= 0:
                return
            self._pending = 0
        self.result.set_exception(error)

    def _advance(self, number: int, value: Any) -> None:
        """Go on with one flow as far as it gets."""
        flow = self._flows[number]
        try:
            while True:
                action = flow.send(value)
                if isinstance(action, Post):
                    with self._lock:
                        if self._pending <= 0:
                            return
                        self._pending += 1
                    taken = self._exchange.post(action.key, action.target, action.value)
                    taken.add_done_callback(self._taken)
                    value = None
                    continue
                coming = self._exchange.take(action.key, action.source, action.length)
                if not coming.done() or coming.exception() is not None:
                    coming.add_done_callback(lambda future: self._came(number, future))
                    return
                value = coming.result()
        except StopIteration as end:
            self._results[number] = end.value
            self._ended()
        except BaseException as error:
            self.fail(error)

    def _came(self, number: int, future: Future[Any]) -> None:
        error = future.exception()
        if error is not None:
            self.fail(error)
        else:  # not on the thread that has brought it: that one has others to serve
            pool().submit(self._advance, number, future.result())

    def _taken(self, future: Future[None]) -> None:
        error = future.exception()
        if error is not None:
            self.fail(error)
        else:
            self._ended()

    def _ended(self) -> None:
        with self._lock:
            if self._pending <= 0:
                return
            self._pending -= 1
            if self._pending:
                return
        try:
            self.result.set_result(self._finish(self._results))
        except BaseException as error:
            self.result.set_exception(error)
