"""Answers of workers, for steps that may give up waiting."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, InvalidStateError
from typing import Any

from headrace.ops.data.pipeline.workers import WORKERS
from headrace.ops.declaration.waiting import cancelled, until_cancelled


def answered(ctx: Any, compute: Callable[[], Any], kept: Callable[[Any], None] | None = None) -> Future[Any]:
    """What a worker computes; an error when the step is cancelled.  `kept` gets what comes after that."""
    future: Future[Any] = Future()

    def give_up() -> None:
        try:
            future.set_exception(cancelled(ctx, "Step was cancelled."))
        except InvalidStateError:
            pass  # the answer was faster

    def work() -> None:
        try:
            result = compute()
        except BaseException as error:
            try:
                future.set_exception(error)
            except InvalidStateError:
                pass  # nobody is there to hear it
            return
        try:
            future.set_result(result)
        except InvalidStateError:
            if kept is not None:
                kept(result)

    until_cancelled(ctx, future, give_up)
    WORKERS.submit(work)
    return future
