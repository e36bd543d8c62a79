"""Which layer is being called in this thread, on what, and for training or not."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from headrace.core.records import record


@record
class Call:
    """One call of a layer that has not returned yet."""

    layer: Any
    inputs: Any
    training: Any
    frozen: bool  # this layer, or one around it, is not trainable


class _Calls(threading.local):
    def __init__(self) -> None:
        self.stack: list[Call] = []


_calls = _Calls()


def current_call() -> Call | None:
    """The innermost call."""
    return _calls.stack[-1] if _calls.stack else None


@contextmanager
def calling(layer: Any, inputs: Any, training: Any) -> Iterator[None]:
    """Inside, `layer` is the one being called."""
    outer = current_call()
    frozen = not layer.trainable or (outer is not None and outer.frozen)
    _calls.stack.append(Call(layer, inputs, training, frozen))
    try:
        yield
    finally:
        _calls.stack.pop()
