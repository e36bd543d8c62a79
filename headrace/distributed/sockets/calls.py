"""Calls of gRPC to one address, over a connection of our own: the acting part of `http2.Connection`.

A call through Python's gRPC wakes three threads; here the thread that waits reads the socket (`reactor.py`).
It is for the calls of a step, without TLS or a secret; whatever it can not do at once it declines, and gRPC's
own library does it.  A connection that breaks ends its calls as Unavailable: nothing is sent again.
"""

from __future__ import annotations

import socket
import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Any

from headrace.core.errors import UNAVAILABLE
from headrace.distributed.sockets import reactor
from headrace.distributed.sockets.hpack import Header
from headrace.distributed.sockets.http2 import Connection, Ended, Violation

CONNECTING = 2.0  # seconds
AGAIN = 5.0  # seconds until a peer that was out of reach is tried again
Told = Callable[[int, str, Any], None]  # a code (0: well), a text, the message


class Open:
    """A call under way, which its caller may give up."""

    __slots__ = ("_channel", "_stream")

    def __init__(self, channel: _Channel, stream: int) -> None:
        self._channel, self._stream = channel, stream

    def cancel(self) -> None:
        self._channel.cancel(self._stream)


class Calls:
    """`address` of the peer.  The connection is made when a call asks for it, which goes without."""

    def __init__(
        self,
        address: str,
        submit: Callable[[Callable[[], None]], object],
        heard: Callable[[], None] = lambda: None,
    ) -> None:
        """`submit`: runs a function that may take a while on another thread; `heard`: something has come."""
        self.address, self._submit, self._heard = address, submit, heard
        self._channel: _Channel | None = None
        self._lock = threading.Lock()
        self._not_before = 0.0
        self._is_connecting, self._is_closed = False, False

    def begin(
        self, path: str, message: bytes, told: Told, headers: tuple[Header, ...] = (), into: Any = None
    ) -> Open | None:
        """A call whose end will be told.  `into`: an array of octets for the message, if it has that size.
        None: not by this way."""
        channel = self._channel
        if channel is not None:
            made = channel.begin(path, message, headers, told, into)
            if made is not None or not channel.is_over:
                return made
        self._connect(channel)
        return None

    def _connect(self, old: _Channel | None) -> None:
        """A new connection, in a moment; the old one lives until its calls have ended."""
        with self._lock:
            if self._channel is not old or self._is_connecting or self._is_closed:
                return
            self._channel = None
            if time.monotonic() < self._not_before:
                return
            self._is_connecting = True
        self._submit(self._make)

    def _make(self) -> None:
        """Connect; whatever stands against it, gRPC says what it is."""
        host, _, port = self.address.rpartition(":")
        made = None
        try:
            connected = socket.create_connection((host.strip("[]"), int(port)), CONNECTING)
            made = _Channel(connected, self.address, self._heard)
        except (OSError, ValueError, OverflowError):
            pass
        with self._lock:
            self._is_connecting = False
            self._not_before = time.monotonic() + AGAIN
            is_late = self._is_closed
            if not is_late:
                self._channel = made
        if made is not None:
            if is_late:
                made.close("closed here")
            else:
                made.start()

    def reset(self, why: str) -> None:
        """Nothing comes over this connection any more; the next call asks for another."""
        with self._lock:
            channel, self._channel = self._channel, None
        if channel is not None:
            channel.close(why)

    def close(self) -> None:
        self._is_closed = True
        self.reset("closed here")


class _Channel:
    """One connection; a `reactor.Readable`."""

    def __init__(self, connected: socket.socket, address: str, heard: Callable[[], None]) -> None:
        self._heard = heard
        connected.setblocking(False)
        connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._socket, self._reactor = connected, reactor.reactor()
        self._descriptor = connected.fileno()
        self._state = Connection(address)
        self._lock, self._reading = threading.Lock(), threading.Lock()
        self._told: dict[int, Told] = {}
        self._arrived: deque[tuple[Told, Ended]] = deque()  # not told yet
        self._unsent: deque[Any] = deque()
        self._is_full = False  # the socket takes nothing now

    def start(self) -> None:
        self._reactor.add(self)
        with self._lock:
            self._flush()

    @property
    def is_over(self) -> bool:
        """No call begins here any more."""
        return self._descriptor < 0 or self._state.is_spent

    def fileno(self) -> int:
        return self._descriptor

    # -- out -------------------------------------------------------------------------------------
    def begin(
        self, path: str, message: bytes, headers: tuple[Header, ...], told: Told, into: Any
    ) -> Open | None:
        with self._lock:
            if self._descriptor < 0:
                return None
            stream = self._state.begin(path, message, headers, into)
            if stream is None:
                return None
            self._told[stream] = told
            self._flush()
        return Open(self, stream)

    def cancel(self, stream: int) -> None:
        with self._lock:
            if self._told.pop(stream, None) is not None and self._descriptor >= 0:
                self._state.cancel(stream)
                self._flush()

    def _flush(self) -> None:
        """Write what there is; hold the lock.  Who reads the socket notices that it is broken."""
        if self._state.out:
            self._unsent.extend(self._state.out)
            self._state.out.clear()
        while self._unsent and not self._is_full:
            data = self._unsent.popleft()
            try:
                sent = self._socket.send(data)
            except (BlockingIOError, InterruptedError):
                sent = 0
            except OSError:
                self._unsent.clear()
                return
            if sent < len(data):
                self._unsent.appendleft(memoryview(data)[sent:])
                self._is_full = True
                self._reactor.want_to_write(self._descriptor, True)

    def on_writable(self) -> None:
        with self._lock:
            self._is_full = False
            self._reactor.want_to_write(self._descriptor, False)
            self._flush()

    # -- in --------------------------------------------------------------------------------------
    def on_readable(self) -> None:
        try:
            with self._reading:
                self._read()
        except (BlockingIOError, InterruptedError):
            return
        except (OSError, Violation) as error:
            self.close(f"{type(error).__name__}: {error}")
        self.on_rest()

    def _read(self) -> None:
        with self._lock:
            place = self._state.place()
        count = self._socket.recv_into(place)
        if not count:
            raise ConnectionResetError("the connection was closed by the other side")
        self._heard()
        with self._lock:
            for end in self._state.took(count):
                told = self._told.pop(end.stream, None)
                if told is not None:
                    self._arrived.append((told, end))
            if self._state.out:
                self._flush()

    def on_rest(self) -> None:
        """Tell what has come; another thread may have begun to, and be busy with a part of it."""
        while self._arrived:
            try:
                told, end = self._arrived.popleft()
            except IndexError:
                break  # another thread has it
            told(end.code, end.text, end.body)

    # -- end -------------------------------------------------------------------------------------
    def close(self, why: str) -> None:
        with self._lock:
            if self._descriptor < 0:
                return
            self._reactor.remove(self._descriptor)
            self._descriptor = -1
            told = list(self._told.values())
            self._told.clear()
            self._unsent.clear()
        self._socket.close()
        for one in told:
            one(UNAVAILABLE, why, None)

    def abandon(self) -> None:
        self._descriptor = -1
        self._socket.close()
