"""Ctrl-C that can not get lost while a step runs.

Python raises KeyboardInterrupt in whatever the main thread runs next.  Where that is code of an object that
the collector frees, the exception is printed and gone, and the step would go on.  So for the time of a step
the signal is also counted, and the step's token is set.
"""

from __future__ import annotations

import signal
import sys
import threading
from types import FrameType
from typing import Any

from headrace.core.later import call_later

# What `signal` is made of: without its look-up of names a tenth of the time, on the path of a step.
_signal: Any = sys.modules.get("_signal", signal)
_set, _get, _SIGINT = _signal.signal, _signal.getsignal, int(signal.SIGINT)
_usual = signal.default_int_handler
_count = 0
_listener: noted | None = None


class noted:
    """Ends what runs inside, by `cancel` if it is given; `is_pressed` tells it.  Where the program has a
    handler of its own, or this is not the main thread, nothing is done."""

    __slots__ = ("before", "cancel", "is_mine", "outer")

    def __init__(self, cancel: Any = None) -> None:
        self.cancel = cancel

    def __enter__(self) -> noted:
        global _listener
        main = threading.current_thread() is threading.main_thread()
        self.is_mine = main and _get(_SIGINT) in (_usual, _note)
        self.before = _count
        if self.is_mine:
            self.outer, _listener = _listener, self
            _set(_SIGINT, _note)
        return self

    def __exit__(self, *error: object) -> None:
        global _listener
        if self.is_mine:
            _listener = self.outer
            if self.outer is None and _get(_SIGINT) is _note:
                _set(_SIGINT, _usual)

    @property
    def is_pressed(self) -> bool:
        return self.is_mine and _count != self.before


def _note(number: int, frame: FrameType | None) -> None:
    global _count
    _count += 1
    listener = _listener
    while listener is not None:
        if listener.cancel is not None:
            # On another thread: who holds a lock of the token may be interrupted here.
            call_later(0.0, listener.cancel.set)
        listener = listener.outer
    _usual(number, frame)
