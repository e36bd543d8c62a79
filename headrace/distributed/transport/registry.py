"""The ways from task to task, in the order in which they are tried; others can be registered.

When two tasks of ours meet (over gRPC, which both speak), the one that was called makes an offer for each way
that it has; the caller takes the first by which it reaches the other.  A pair without one stays with gRPC, as
does whoever is not ours.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from typing import Any, Protocol

from headrace.distributed.transport.channel import Channel

Accept = Callable[[Channel], None]
Offer = dict[str, Any]  # what JSON can say


class Transport(Protocol):
    """A way for messages from one task to another."""

    def offer(self, accept: Accept) -> Offer | None:
        """What a peer must know to reach this task, once; `accept` gets the channel when it does.  None: it
        can not be reached by this way."""

    def connect(self, offer: Offer) -> Channel | None:
        """A channel to whoever made the offer; None: it is out of reach."""


_transports: dict[str, Transport] = {}


def register(name: str, transport: Transport, first: bool = False) -> None:
    """Add a way; `first`: before all that are known."""
    if first:
        known = dict(_transports)
        _transports.clear()
        _transports[name] = transport
        _transports.update(known)
    else:
        _transports[name] = transport


def unregister(name: str) -> None:
    _transports.pop(name, None)


def allowed() -> dict[str, Transport]:
    """All ways, or those that HEADRACE_TRANSPORTS names; gRPC is always there."""
    words = os.environ.get("HEADRACE_TRANSPORTS", "").replace(",", " ").split()
    return {name: way for name, way in _transports.items() if not words or name in words}


def offers(accept: Callable[[str, Channel], None]) -> dict[str, Offer]:
    """By each way that there is; `accept` gets its name, too."""
    made = {name: way.offer(partial(accept, name)) for name, way in allowed().items()}
    return {name: offer for name, offer in made.items() if offer is not None}


def connect(made: dict[str, Any]) -> tuple[str, Channel] | None:
    """By the first way that leads to whoever made the offers."""
    for name, way in allowed().items():
        offer = made.get(name)
        if isinstance(offer, dict):
            channel = way.connect(offer)
            if channel is not None:
                return name, channel
    return None
