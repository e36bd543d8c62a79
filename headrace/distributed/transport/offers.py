"""Offers that a task has made and nobody has taken up yet.

Whoever shows the token of one gets through, once.  The oldest go when there are too many: callers that never
come cost no memory.
"""

from __future__ import annotations

import secrets
import threading
from collections import OrderedDict

from headrace.distributed.transport.registry import Accept

OPEN = 256  # at most


class OpenOffers:
    def __init__(self) -> None:
        self._made: OrderedDict[str, Accept] = OrderedDict()
        self._lock = threading.Lock()

    def add(self, accept: Accept) -> str:
        """The token by which `accept` is reached."""
        token = secrets.token_hex(16)
        with self._lock:
            self._made[token] = accept
            if len(self._made) > OPEN:
                self._made.popitem(last=False)
        return token

    def take(self, token: str) -> Accept | None:
        with self._lock:
            return self._made.pop(token, None)
