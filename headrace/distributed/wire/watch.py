"""Calls that are under way at one peer, which must show meanwhile that it lives (`pulse.py` decides)."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

from headrace.core.errors import UnavailableError
from headrace.core.later import call_later
from headrace.distributed.wire.pulse import EVERY, Pulse, Todo


class Watch:
    """`ask` sends a question whose answer is told by `heard`; `lost` ends a call that is given up."""

    def __init__(self, peer: str, address: str, ask: Callable[[], None], lost: Callable[[Any, Any], None]):
        self.peer, self.address = peer, address
        self._ask, self._lost = ask, lost
        self._open: dict[Any, float] = {}  # since when
        self._pulse, self._is_ticking = Pulse(), False
        self._lock = threading.Lock()
        self.last_error = "none"

    def begin(self, call: Any) -> None:
        now = time.monotonic()
        with self._lock:
            self._open[call] = now
            if self._is_ticking:
                return
            self._is_ticking = True
            self._pulse.begin(now)
        call_later(EVERY, self._tick)

    def end(self, call: Any) -> None:
        self._open.pop(call, None)

    def heard(self) -> None:
        """Whatever the peer has said."""
        self._pulse.on_answer(time.monotonic())

    def in_vain(self) -> None:
        """What was asked came to nothing."""
        self._pulse.on_silence()

    def close(self) -> None:
        """Nobody is asked after any more."""
        with self._lock:
            self._open.clear()

    def _tick(self) -> None:
        """While calls are open, from time to time: is the peer asked whether it is there, or given up?"""
        now, lost = time.monotonic(), []
        with self._lock:
            if not self._open:
                self._is_ticking = False
                return
            todo = self._pulse.on_tick(now, min(list(self._open.values()), default=now))
            silent = now - self._pulse.heard
            if todo is Todo.GIVE_UP:
                lost = list(self._open)
                self._open.clear()
                self._is_ticking = False
        if todo is Todo.ASK:
            self._ask()
        for call in lost:
            self._lost(call, self._silent(silent))
        if not lost:
            call_later(EVERY, self._tick)

    def _silent(self, seconds: float) -> UnavailableError:
        since = time.strftime("%H:%M:%S", time.localtime(time.time() - seconds))
        text = f"{self.peer} at {self.address} gives no sign of life since {since}, for {seconds:.1f} s"
        return UnavailableError(None, None, f"{text}; its last error: {self.last_error}")
