"""Between processes of one host: a Unix socket without a name in the file system, and shared memory.

A process listens at one such socket for all of its tasks.  A caller shows the token of the offer that it was
made over gRPC; without one, or as another user, it is sent away.  Whatever the peers do, the kernel removes
all of it with them.
"""

from __future__ import annotations

import os
import secrets
import socket
import struct
import sys
import threading
from collections import OrderedDict
from functools import cache
from pathlib import Path

from headrace.distributed.sockets import reactor
from headrace.distributed.transport import segments
from headrace.distributed.transport.channel import Channel, SocketChannel
from headrace.distributed.transport.frames import Kind, Malformed, Message
from headrace.distributed.transport.offers import OpenOffers
from headrace.distributed.transport.registry import Accept, Offer

_PEER = struct.Struct("3i")  # process, user, group
OPEN = 256  # callers that have not shown a token, at most


@cache
def host() -> str:
    """Which machine this is, since when; an abstract socket is seen in one network namespace only."""
    boot = Path("/proc/sys/kernel/random/boot_id")
    try:
        return f"{boot.read_text().strip()} {os.readlink('/proc/self/ns/net')}"
    except OSError:
        return ""


def is_of_ours(connected: socket.socket) -> bool:
    """The process at the other end is of the same user, or of root: names of such sockets are no secret."""
    found = connected.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _PEER.size)
    _, user, _ = _PEER.unpack(found)
    return user in (os.geteuid(), 0)


class Listener:
    """Where other processes call; a `reactor.Readable`."""

    def __init__(self) -> None:
        self.name = f"headrace-{secrets.token_hex(16)}"
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._socket.bind(f"\0{self.name}")
        self._socket.listen(128)
        self._socket.setblocking(False)
        self._offers = OpenOffers()
        self._strangers: OrderedDict[int, SocketChannel] = OrderedDict()
        self._lock = threading.Lock()
        reactor.reactor().add(self)

    def fileno(self) -> int:
        return self._socket.fileno()

    def offer(self, accept: Accept) -> Offer:
        return {"host": host(), "name": self.name, "token": self._offers.add(accept)}

    def on_readable(self) -> None:
        """Somebody connects: a task of the same user, who has to say in a moment what brings him.  Those who
        say nothing are closed, the oldest first, when there are too many."""
        try:
            connected, _ = self._socket.accept()
        except OSError:
            return  # it has gone again; or there are too many open files, and it must wait
        if not is_of_ours(connected):
            connected.close()
            return
        channel = SocketChannel(connected)
        channel.on_message = lambda message: self._greeted(channel, message)
        channel.on_closed = lambda error: self._forget(channel)
        with self._lock:
            self._strangers[id(channel)] = channel
            too_many = [self._strangers.popitem(last=False)[1]] if len(self._strangers) > OPEN else []
        for one in too_many:
            one.close()
        channel.start()

    def on_rest(self) -> None:
        """Nothing is read that is not handled at once."""

    def on_writable(self) -> None:
        """Never asked for."""

    def abandon(self) -> None:
        self._socket.close()

    def _greeted(self, channel: SocketChannel, message: Message) -> None:
        """The first message of a caller."""
        self._forget(channel)
        token = message.texts[0] if message.kind == Kind.HELLO and message.texts else ""
        accept = self._offers.take(token)
        if accept is None:
            channel.close(Malformed("a caller without a valid token"))
        else:
            accept(channel)

    def _forget(self, channel: SocketChannel) -> None:
        with self._lock:
            self._strangers.pop(id(channel), None)


class Local:
    def __init__(self) -> None:
        self._listener: tuple[int, Listener] | None = None  # of a process: a child has none
        self._lock = threading.Lock()

    def offer(self, accept: Accept) -> Offer | None:
        if not is_supported():
            return None
        with self._lock:
            if self._listener is None or self._listener[0] != os.getpid():
                self._listener = os.getpid(), Listener()
            return self._listener[1].offer(accept)

    def connect(self, offer: Offer) -> Channel | None:
        """A channel to the task that made this offer; None: it is elsewhere, has gone or is not ours."""
        if not is_supported() or offer.get("host") != host():
            return None
        connected = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            connected.settimeout(2.0)
            connected.connect(f"\0{offer.get('name')}")
        except OSError:
            connected.close()
            return None
        if not is_of_ours(connected):
            connected.close()
            return None
        channel = SocketChannel(connected)
        channel.send(Message(Kind.HELLO, texts=(str(offer.get("token")),)))
        return channel


def is_supported() -> bool:
    return (
        sys.platform.startswith("linux")
        and reactor.is_supported()
        and segments.is_supported()
        and bool(host())
    )
