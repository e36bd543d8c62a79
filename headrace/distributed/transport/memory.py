"""Between tasks of one process: messages are handed over as they are."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable

from headrace.core.errors import UnavailableError
from headrace.distributed.transport.channel import Channel
from headrace.distributed.transport.frames import Message
from headrace.distributed.transport.offers import OpenOffers
from headrace.distributed.transport.registry import Accept, Offer


class MemoryChannel:
    """One end; what is sent is handled at the other, on the sender's thread."""

    def __init__(self) -> None:
        self.on_message: Callable[[Message], None] = lambda message: None
        self.on_closed: Callable[[BaseException], None] = lambda error: None
        self.other: MemoryChannel = self
        self._is_closed = False

    def start(self) -> None:
        """Nothing comes unless somebody sends."""

    def send(self, message: Message) -> None:
        if self._is_closed:
            raise UnavailableError(None, None, "the connection was closed")
        self.other.on_message(message)

    def close(self, error: BaseException | None = None) -> None:
        if not self._is_closed:
            self._is_closed = self.other._is_closed = True
            error = error or ConnectionAbortedError("the connection was closed")
            self.on_closed(error)
            self.other.on_closed(error)


class Memory:
    def __init__(self) -> None:
        self._process = secrets.token_hex(16)
        self._offers = OpenOffers()

    def offer(self, accept: Accept) -> Offer:
        return {"process": f"{self._process}:{os.getpid()}", "token": self._offers.add(accept)}

    def connect(self, offer: Offer) -> Channel | None:
        if offer.get("process") != f"{self._process}:{os.getpid()}":
            return None
        accept = self._offers.take(str(offer.get("token")))
        if accept is None:
            return None
        here, there = MemoryChannel(), MemoryChannel()
        here.other, there.other = there, here
        accept(there)
        return here
