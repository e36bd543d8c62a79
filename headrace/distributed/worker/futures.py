"""Futures whose value, or error, is known, and those that hang on another's."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from typing import Any


def done(value: Any) -> Future[Any]:
    future: Future[Any] = Future()
    future.set_result(value)
    return future


def failed(error: BaseException) -> Future[Any]:
    future: Future[Any] = Future()
    future.set_exception(error)
    return future


def then(first: Future[Any], answer: Callable[[Any], Any]) -> Future[Any]:
    """What `answer` makes of a future's value; its error is the future's."""
    future: Future[Any] = Future()

    def go_on(done: Future[Any]) -> None:
        if not future.set_running_or_notify_cancel():
            return  # whoever asked has gone
        try:
            made = answer(done.result())
        except BaseException as error:
            future.set_exception(error)
        else:
            future.set_result(made)

    first.add_done_callback(go_on)
    return future


def pass_on(done: Future[Any], future: Future[Any]) -> None:
    """What one future has, another gets."""
    error = done.exception()
    if not future.set_running_or_notify_cancel():
        return
    if error is None:
        future.set_result(done.result())
    else:
        future.set_exception(error)
