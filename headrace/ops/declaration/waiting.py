"""Answers that come later: a Future that also ends when its step is cancelled."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

from headrace.core.errors import CancelledError, DeadlineExceededError, OpError


def until_cancelled(ctx: Any, future: Future[Any], give_up: Callable[[], None]) -> Future[Any]:
    """The future; `give_up` is called if the step is cancelled before it is done."""
    forget = ctx.on_cancel(give_up)
    future.add_done_callback(lambda done: forget())
    return future


def cancelled(ctx: Any, message: str) -> OpError:
    """What somebody hears who waited when the step was cancelled: that the time is up, if it is."""
    reason = ctx.cancel_reason()
    if isinstance(reason, DeadlineExceededError):
        return reason
    return CancelledError(None, None, message)
