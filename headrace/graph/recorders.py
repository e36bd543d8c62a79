"""Who records the ops of eager mode: the gradient tapes of each thread, innermost last."""

from __future__ import annotations

import threading
from typing import Any, Protocol


class Recorder(Protocol):
    def saw(self, node: Any) -> None:
        """A node has run."""

    def watches(self, node: Any) -> bool:
        """Would it record the node?"""


class _Stack(threading.local):
    def __init__(self) -> None:
        self.items: list[Recorder] = []

    def __bool__(self) -> bool:
        return bool(self.items)


active = _Stack()


def record(node: Any) -> None:
    for recorder in active.items:
        recorder.saw(node)


def is_watched(node: Any) -> bool:
    return any(recorder.watches(node) for recorder in active.items)


def push(recorder: Recorder) -> None:
    active.items.append(recorder)


def pop(recorder: Recorder) -> None:
    if recorder in active.items:
        active.items.remove(recorder)
