"""Calls of gRPC over one connection of HTTP/2 (RFC 9113), the caller's side.  Pure: octets in, what has ended
out; no sockets, no threads, no clock; whoever calls locks.

Only what a step needs: one message there, which is small, and one message back, of any size.  `begin`
declines what it can not send at once (a large message, a peer that wants no more now): the caller has
another way.
A message that comes is read into its own memory (`place`), whose end is aligned: the numbers of a tensor are
the last thing in it.  Anything that the protocol does not allow is a Violation, which ends the connection.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from typing import Any, NamedTuple
from urllib.parse import unquote

import numpy as np

from headrace.core import errors
from headrace.distributed.sockets import hpack
from headrace.distributed.sockets.hpack import BadHeaders, Header

HEAD = struct.Struct(">HBBBI")  # 24 bits of length, kind, flags, stream
DATA, HEADERS, _PRIORITY, RST_STREAM, SETTINGS, PUSH, PING, GOAWAY, WINDOW_UPDATE, CONTINUATION = range(10)
END_STREAM, ACK, END_HEADERS, PADDED, PRIORITY = 1, 1, 4, 8, 32
_TABLE, _PUSH, _STREAMS, _WINDOW, _FRAME = 1, 2, 3, 4, 5  # settings
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
WINDOW = (1 << 31) - 1  # bytes that a peer may send unasked, at most
RENEW = 1 << 29  # bytes after which it may send so many more
LONGEST = (1 << 24) - 1  # bytes of a frame that we take
CHUNK = 1 << 16
LAST = 1 << 30  # the number of a stream after which a new connection is better
_REFUSED, _CANCEL, _CALM = 7, 8, 11
_RESETS = {_REFUSED: errors.UNAVAILABLE, _CANCEL: errors.CANCELLED, _CALM: errors.RESOURCE_EXHAUSTED}


class Violation(ValueError):
    """The peer does not speak the protocol."""


class Ended(NamedTuple):
    """The end of a call: a code of gRPC (0: it went well), a text, and the message as read-only octets."""

    stream: int
    code: int
    text: str
    body: Any


@dataclass(slots=True)
class _Stream:
    head: bytearray = field(default_factory=bytearray)  # of the message: compressed or not, 32 bits of length
    into: Any = None  # memory that the caller has for it
    body: Any = None  # its memory, once the length is known
    there: int = 0  # bytes of it
    taken: int = 0  # bytes since the peer was last allowed more
    headers: dict[bytes, bytes] = field(default_factory=dict)


def frame(kind: int, flags: int, stream: int, payload: bytes = b"") -> bytes:
    size = len(payload)
    return HEAD.pack(size >> 8, size & 0xFF, kind, flags, stream) + payload


class Connection:
    """`authority`: the address, as the peer is told."""

    def __init__(self, authority: str) -> None:
        self._first = [
            (b":method", b"POST"),
            (b":scheme", b"http"),
            (b":authority", authority.encode()),
            (b"te", b"trailers"),
            (b"content-type", b"application/grpc"),
        ]
        self._blocks: dict[tuple[str, tuple[Header, ...]], bytes] = {}
        self._streams: dict[int, _Stream] = {}
        self._next = 1
        self._is_open, self._is_spent = False, False
        self._window = 0xFFFF  # bytes that the peer takes now, in all
        self._first_window, self._longest, self._most = 0xFFFF, 1 << 14, 1 << 31
        self._taken = 0
        self._read, self._have = memoryview(bytearray(CHUNK)), 0
        self._into: _Stream | None = None  # what is being read goes into its memory
        self._rest = 0  # bytes of a DATA frame that are still to come,
        self._data = 0, 0  # and its stream and flags
        self._block: tuple[int, int, bytes] | None = None  # headers that go on: stream, flags, octets
        settings = {_TABLE: 0, _PUSH: 0, _WINDOW: WINDOW, _FRAME: LONGEST}
        self.out: list[bytes] = [
            PREFACE,
            frame(SETTINGS, 0, 0, b"".join(struct.pack(">HI", *pair) for pair in settings.items())),
            frame(WINDOW_UPDATE, 0, 0, struct.pack(">I", WINDOW - 0xFFFF)),
        ]

    def __len__(self) -> int:
        return len(self._streams)

    @property
    def is_spent(self) -> bool:
        """No call begins here any more."""
        return self._is_spent

    # -- out -------------------------------------------------------------------------------------
    def begin(
        self, path: str, message: bytes, headers: tuple[Header, ...] = (), into: Any = None
    ) -> int | None:
        """A call, whose octets are in `out` then.  `into`: memory for the message that comes back, if it has
        just that size.  None: not now, and not over this connection."""
        size = 5 + len(message)
        if (
            not self._is_open
            or self._is_spent
            or len(self._streams) >= self._most
            or size > min(self._window, self._first_window, self._longest)
        ):
            return None
        stream, self._next = self._next, self._next + 2
        self._is_spent = self._next > LAST
        self._window -= size
        self._streams[stream] = _Stream(into=into)
        block = self._blocks.get((path, headers))
        if block is None:
            block = hpack.encode([*self._first[:2], (b":path", path.encode()), *self._first[2:], *headers])
            self._blocks[path, headers] = block
        body = struct.pack(">BI", 0, len(message)) + message
        self.out.append(frame(HEADERS, END_HEADERS, stream, block) + frame(DATA, END_STREAM, stream, body))
        return stream

    def cancel(self, stream: int) -> None:
        if self._streams.pop(stream, None) is not None:
            self.out.append(frame(RST_STREAM, 0, stream, struct.pack(">I", _CANCEL)))

    # -- in --------------------------------------------------------------------------------------
    def place(self) -> Any:
        """Where the next octets belong."""
        stream = self._streams.get(self._data[0]) if self._rest else None
        if stream is None or stream.body is None or self._rest > len(stream.body) - stream.there:
            self._into = None
            return self._read[self._have :]
        self._into = stream
        return stream.body[stream.there : stream.there + self._rest]

    def took(self, count: int) -> list[Ended]:
        """So many octets were put there.

        Raises:
          Violation: they make no sense.
        """
        ended: list[Ended] = []
        if self._into is not None:
            self._into.there += count
            self._went(self._into, count, ended)
            return ended
        end = self._have + count
        place = 0
        try:
            while True:
                after = self._one(place, end, ended)
                if after is None:
                    break
                place = after
        except (struct.error, BadHeaders) as error:
            raise Violation(str(error)) from None
        self._have = end - place
        if place and self._have:
            self._read[: self._have] = bytes(self._read[place:end])
        return ended

    def _one(self, place: int, end: int, ended: list[Ended]) -> int | None:
        """A frame, or a part of one with data; where the next one begins.  None: more octets are needed."""
        if self._rest:
            size = min(self._rest, end - place)
            if not size:
                return None
            self._on_data(self._read[place : place + size], ended)
            return place + size
        if end - place < HEAD.size:
            return None
        high, low, kind, flags, stream = HEAD.unpack_from(self._read, place)
        size, stream = int(high << 8 | low), stream & 0x7FFFFFFF
        if self._block is not None and (kind != CONTINUATION or stream != self._block[0]):
            raise Violation("headers that are not continued")
        if not self._is_open and kind != SETTINGS:
            raise Violation("no settings at first")
        if kind == DATA and not flags & PADDED:
            self._rest, self._data = size, (stream, flags)
            if not size:
                self._on_data(b"", ended)
            return place + HEAD.size
        if size > CHUNK - HEAD.size:
            raise Violation(f"a frame of kind {kind} and {size} bytes")
        after = place + HEAD.size + size
        if after > end:
            return None
        self._on_frame(kind, flags, stream, bytes(self._read[place + HEAD.size : after]), ended)
        return after

    def _on_frame(self, kind: int, flags: int, stream: int, payload: bytes, ended: list[Ended]) -> None:
        """A whole frame.  Kinds that nobody knows are passed over, as the protocol wants."""
        match kind:
            case 0:  # DATA, with padding
                payload = _unpadded(payload, flags)
                self._rest, self._data = len(payload), (stream, flags)
                self._on_data(payload, ended)
            case 1:  # HEADERS
                payload = _unpadded(payload, flags)
                self._on_headers(stream, flags, payload[5 if flags & PRIORITY else 0 :], ended)
            case 9:  # CONTINUATION
                if self._block is None:
                    raise Violation("headers go on that have not begun")
                first, (_, known, before) = flags & END_HEADERS, self._block
                if len(before) + len(payload) > CHUNK:
                    raise Violation("headers without end")
                self._on_headers(stream, known | first, before + payload, ended)
            case 3:  # RST_STREAM
                (why,) = struct.unpack(">I", payload)
                code = _RESETS.get(why, errors.INTERNAL)
                self._end(stream, code, f"the call was reset by the other side ({why})", ended)
            case 4:  # SETTINGS
                self._on_settings(flags, payload)
            case 6:  # PING
                if len(payload) != 8:
                    raise Violation("a ping of another size")
                if not flags & ACK:
                    self.out.append(frame(PING, ACK, 0, payload))
            case 7:  # GOAWAY
                last, why = struct.unpack_from(">II", payload)
                self._is_spent = True
                text = f"the other side takes no more calls ({why}) {payload[8:].decode(errors='replace')}"
                for one in [s for s in self._streams if s > last & 0x7FFFFFFF]:
                    self._end(one, errors.UNAVAILABLE, text, ended)
            case 8:  # WINDOW_UPDATE
                (more,) = struct.unpack(">I", payload)
                if stream == 0:
                    self._window += more & 0x7FFFFFFF
                    if self._window > WINDOW:
                        raise Violation("a window that is too large")
            case 5:  # PUSH_PROMISE
                raise Violation("a push that nobody wants")

    def _on_settings(self, flags: int, payload: bytes) -> None:
        """What the peer takes; calls may begin after the first."""
        if flags & ACK:
            return
        if len(payload) % 6:
            raise Violation("settings of another size")
        for number, value in struct.iter_unpack(">HI", payload):
            if number == _STREAMS:
                self._most = value
            elif number == _WINDOW:
                if value > WINDOW:
                    raise Violation("a window that is too large")
                self._first_window = value
            elif number == _FRAME:
                self._longest = value
        self._is_open = True
        self.out.append(frame(SETTINGS, ACK, 0))

    # -- messages --------------------------------------------------------------------------------
    def _on_data(self, data: Any, ended: list[Ended]) -> None:
        """A part of a DATA frame; of calls that were given up, too."""
        stream, count = self._streams.get(self._data[0]), len(data)
        place = 0
        if stream is not None and stream.body is None:
            place = 5 - len(stream.head)
            stream.head += data[:place]
            if len(stream.head) == 5:
                self._make_room(stream, ended)
        if stream is not None and stream.body is not None and place < count:
            part = data[place:]
            if len(part) > len(stream.body) - stream.there:
                raise Violation("more than one message")
            stream.body[stream.there : stream.there + len(part)] = np.frombuffer(part, np.uint8)
            stream.there += len(part)
        self._went(stream, count, ended)

    def _make_room(self, stream: _Stream, ended: list[Ended]) -> None:
        """The length of a message is known: memory for it, or the caller's."""
        is_compressed, size = struct.unpack(">BI", stream.head)
        if is_compressed:
            raise Violation("a message that is compressed")
        if stream.into is not None and len(stream.into) == size:
            stream.body = stream.into
            return
        try:
            memory = np.empty(size + 64, np.uint8)
        except MemoryError:
            number = self._data[0]
            self.cancel(number)
            ended.append(Ended(number, errors.RESOURCE_EXHAUSTED, f"no memory for {size} bytes", None))
            return
        first = -(memory.ctypes.data + size) % 64
        stream.body = memory[first : first + size]

    def _went(self, stream: _Stream | None, count: int, ended: list[Ended]) -> None:
        """So many octets of the frame are done: the peer may send more, and the call may be over."""
        self._rest -= count
        self._taken += count
        number, flags = self._data
        if self._taken >= RENEW:
            self.out.append(frame(WINDOW_UPDATE, 0, 0, struct.pack(">I", self._taken)))
            self._taken = 0
        if stream is not None:
            stream.taken += count
            if stream.taken >= RENEW:
                self.out.append(frame(WINDOW_UPDATE, 0, number, struct.pack(">I", stream.taken)))
                stream.taken = 0
        if not self._rest and flags & END_STREAM:
            self._end(number, errors.INTERNAL, "an answer without a status", ended)

    def _on_headers(self, number: int, flags: int, block: bytes, ended: list[Ended]) -> None:
        """Those at the beginning of an answer, or at its end, with the status."""
        if not flags & END_HEADERS:
            self._block = number, flags, block
            return
        self._block = None
        headers = hpack.decode(block)
        stream = self._streams.get(number)
        if stream is None:
            return  # given up
        stream.headers.update(headers)
        if not flags & END_STREAM:
            return
        status = stream.headers.get(b"grpc-status", b"")
        text = unquote(stream.headers.get(b"grpc-message", b"").decode(errors="replace"))
        if not status.isdigit():
            known = stream.headers.get(b":status", b"none").decode(errors="replace")
            self._end(number, errors.UNAVAILABLE, f"an answer of status {known} that is not gRPC's", ended)
        elif int(status):
            self._end(number, int(status), text, ended)
        elif stream.body is None or stream.there < len(stream.body):
            self._end(number, errors.INTERNAL, "an answer that is cut short", ended)
        else:
            self._end(number, 0, "", ended)

    def _end(self, number: int, code: int, text: str, ended: list[Ended]) -> None:
        stream = self._streams.pop(number, None)
        if stream is not None:
            if stream.body is not None and stream.body is not stream.into:
                stream.body.flags.writeable = False
            ended.append(Ended(number, code, text, None if code else stream.body))


def _unpadded(payload: bytes, flags: int) -> bytes:
    if not flags & PADDED:
        return payload
    if not payload or payload[0] >= len(payload):
        raise Violation("padding that is longer than its frame")
    return payload[1 : len(payload) - payload[0]]
