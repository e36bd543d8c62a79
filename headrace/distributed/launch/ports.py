"""Ports of this machine that nobody uses.

They are none that the system gives to connections by itself: one of those could take the port of a task
that is down until it is started again (even a peer that tries to reach it: a socket may meet itself).  A port
that was free when it was chosen may still be taken before its task listens there: then the task says so and
fails, and a launch with restarts tries again.
"""

from __future__ import annotations

import random
import socket
from contextlib import ExitStack, closing
from pathlib import Path

HOST = "127.0.0.1"
LAST = 65535
TRIES = 100
_BY_ITSELF = Path("/proc/sys/net/ipv4/ip_local_port_range")
_random = random.SystemRandom()


class PortInUse(Exception):
    """The text names the port."""


def choose(count: int, first: int | None = None, host: str = HOST) -> list[int]:
    """So many ports: any that are free, or those from `first` on."""
    if first is not None and not 0 < first <= LAST - count + 1:
        raise PortInUse(f"there are no {count} ports from {first} on (the last is {LAST})")
    with ExitStack() as held:  # all at once, so that they differ
        if first is None:
            return [_any(held, host) for _ in range(count)]
        return [_bound(held, host, first + i) for i in range(count)]


def _any(held: ExitStack, host: str) -> int:
    """One below those that the system gives by itself; if there is none, of those."""
    end = int(_BY_ITSELF.read_text().split()[0]) if _BY_ITSELF.exists() else 0
    for _ in range(TRIES if end > 12_000 else 0):
        try:
            return _bound(held, host, _random.randrange(10_000, end))
        except PortInUse:
            continue
    return _bound(held, host, 0)


def _bound(held: ExitStack, host: str, port: int) -> int:
    found = held.enter_context(closing(socket.socket()))
    found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # one that only lingers is free
    try:
        found.bind((host, port))
        if port:
            found.listen(1)  # Linux lets two sockets bind with SO_REUSEADDR, until one of them listens
    except OSError as error:
        raise PortInUse(f"port {port} of {host}: {error.strerror}") from None
    return int(found.getsockname()[1])
