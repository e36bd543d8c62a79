"""Is a peer still there?  Pure: times and events in, what to do out; no threads, no clock, no I/O.

A dead peer breaks its connections, which is an error at once; a frozen one, or a host that has gone, is only
silent.  While a call is open for long, the peer is asked for a sign of life; whoever gives none for LIMIT
seconds is lost.  By how much the caller's own ticks come late does not count: a caller that was itself asleep
has no reason to blame the peer, and where so many want the processor that ticks are late, the peer waits for
it too.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto

EVERY = 0.25  # seconds between two looks
LIMIT = 1.75  # seconds of silence: together a frozen peer is noticed within two


class Todo(Enum):
    NOTHING = auto()
    ASK = auto()  # for a sign of life
    GIVE_UP = auto()


@dataclass(slots=True)
class Pulse:
    heard: float = 0.0  # when the peer last gave a sign of life
    looked: float = 0.0
    is_asked: bool = False
    late: float = 0.0  # by how much ticks have come late since then, in all

    def begin(self, now: float) -> None:
        """The first call after a pause: nothing was to be heard meanwhile."""
        self.heard = self.looked = now
        self.is_asked, self.late = False, 0.0

    def on_answer(self, now: float) -> None:
        """Of whatever call."""
        self.heard = max(self.heard, now)
        self.is_asked, self.late = False, 0.0

    def on_silence(self) -> None:
        """What was asked came to nothing: ask again."""
        self.is_asked = False

    def on_tick(self, now: float, oldest: float) -> Todo:
        """`oldest`: when the call that is open for longest began."""
        self.late += max(0.0, now - self.looked - EVERY)
        self.looked = now
        silent = now - max(self.heard, oldest)
        if silent - self.late >= LIMIT:
            return Todo.GIVE_UP
        if self.is_asked or now - oldest < EVERY:
            return Todo.NOTHING
        self.is_asked = True
        return Todo.ASK
