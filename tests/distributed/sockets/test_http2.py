"""The caller's side of HTTP/2, without a socket: a peer that is played frame by frame, in any pieces."""

from __future__ import annotations

import random
import struct

import numpy as np
import pytest

from headrace.core import errors
from headrace.distributed.sockets import hpack, http2
from headrace.distributed.sockets.http2 import Connection, Violation, frame

FIRST = hpack.encode([(b":status", b"200"), (b"content-type", b"application/grpc")])


def settings(**values):
    numbers = {"streams": 3, "window": 4, "frame": 5}
    return frame(http2.SETTINGS, 0, 0, b"".join(struct.pack(">HI", numbers[n], v) for n, v in values.items()))


def last(code=0, text=b""):
    return hpack.encode([(b"grpc-status", b"%d" % code), (b"grpc-message", text)])


def message(data):
    return struct.pack(">BI", 0, len(data)) + data


def answer(stream, data, rng=None):
    """All frames of an answer; with `rng`, cut and padded at random."""
    out = [frame(http2.HEADERS, http2.END_HEADERS, stream, FIRST)]
    rest = message(data)
    while rest:
        size = len(rest) if rng is None else rng.randint(1, max(1, min(len(rest), 70_000)))
        part, rest = rest[:size], rest[size:]
        if rng is not None and size < 1000 and rng.random() < 0.3:
            pad = rng.randint(0, 20)
            out.append(frame(http2.DATA, http2.PADDED, stream, bytes([pad]) + part + b"\0" * pad))
        else:
            out.append(frame(http2.DATA, 0, stream, part))
    if rng is not None and rng.random() < 0.5:
        block = last()
        out.append(frame(http2.HEADERS, http2.END_STREAM, stream, block[:5]))
        out.append(frame(http2.CONTINUATION, http2.END_HEADERS, stream, block[5:]))
    else:
        out.append(frame(http2.HEADERS, http2.END_STREAM | http2.END_HEADERS, stream, last()))
    return out


def give(connection, data, rng=None):
    """What ends when the peer sends this."""
    ended, rest = [], memoryview(data)
    while rest:
        place = connection.place()
        count = (
            min(len(rest), len(place)) if rng is None else rng.randint(1, min(len(rest), len(place), 90_000))
        )
        memoryview(place)[:count] = rest[:count]
        rest = rest[count:]
        ended += connection.took(count)
    return ended


def opened(**values):
    connection = Connection("peer:1")
    assert connection.begin("/a/B", b"") is None  # nothing is known of the peer yet
    assert give(connection, settings(**values)) == []
    connection.out.clear()
    return connection


def test_a_call():
    connection = opened()
    stream = connection.begin("/a/B", b"question", ((b"who", b"me"),))
    (sent,) = connection.out
    high, low, kind, flags, number = http2.HEAD.unpack_from(sent)
    size = high << 8 | low
    assert (kind, flags, number) == (http2.HEADERS, http2.END_HEADERS, stream)
    assert hpack.decode(sent[9 : 9 + size]) == [
        (b":method", b"POST"),
        (b":scheme", b"http"),
        (b":path", b"/a/B"),
        (b":authority", b"peer:1"),
        (b"te", b"trailers"),
        (b"content-type", b"application/grpc"),
        (b"who", b"me"),
    ]
    assert sent[9 + size :] == frame(http2.DATA, http2.END_STREAM, stream, message(b"question"))
    (end,) = give(connection, b"".join(answer(stream, b"reply")))
    assert (end.stream, end.code, end.body.tobytes()) == (stream, 0, b"reply")
    assert not end.body.flags.writeable and len(connection) == 0


@pytest.mark.parametrize("seed", range(60))
def test_answers_in_any_pieces(seed):
    """Several at once, their frames mixed; some given up; into the caller's memory, or not."""
    rng = random.Random(seed)
    connection, wanted, frames, given_up = opened(), {}, [], set()
    for _ in range(rng.randint(1, 6)):
        data = rng.randbytes(rng.choice([0, 1, 59, 1000, 65_000, 200_000]))
        into = None
        if rng.random() < 0.4:
            into = np.zeros(rng.choice([len(data), len(data) + 1]), np.uint8)
        stream = connection.begin("/a/B", b"", (), into)
        wanted[stream] = data, into
        frames.append(answer(stream, data, rng))
    ended = []
    while any(frames):
        one = rng.choice([f for f in frames if f])
        # Headers that go on are not interrupted.
        head = one.pop(0)
        if one and one[0][3] == http2.CONTINUATION:
            head += one.pop(0)
        ended += give(connection, head, rng)
        if rng.random() < 0.1:
            stream = rng.choice(list(wanted))
            if stream not in {e.stream for e in ended}:
                connection.cancel(stream)
                given_up.add(stream)
        if rng.random() < 0.1:
            connection.out.clear()
            give(connection, frame(http2.PING, 0, 0, b"12345678") + frame(77, 0, 0, b"unknown"), rng)
            assert connection.out[-1] == frame(http2.PING, http2.ACK, 0, b"12345678")
    assert {e.stream for e in ended} == set(wanted) - given_up
    for end in ended:
        data, into = wanted[end.stream]
        assert end.code == 0 and bytes(end.body) == data
        assert into is None or (end.body is into) == (len(into) == len(data))


def test_errors_of_the_peer():
    connection = opened()
    stream = connection.begin("/a/B", b"")
    trailers = frame(http2.HEADERS, http2.END_STREAM | http2.END_HEADERS, stream, last(5, b"no%20such%C3%A4"))
    (end,) = give(connection, trailers)
    assert (end.code, end.text, end.body) == (errors.NOT_FOUND, "no suchä", None)
    stream = connection.begin("/a/B", b"")
    (end,) = give(connection, frame(http2.RST_STREAM, 0, stream, struct.pack(">I", 8)))
    assert end.code == errors.CANCELLED
    stream = connection.begin("/a/B", b"")
    cut = [*answer(stream, b"12345")[:1], frame(http2.DATA, 0, stream, message(b"12345")[:-1])]
    cut.append(frame(http2.HEADERS, http2.END_STREAM | http2.END_HEADERS, stream, last()))
    (end,) = give(connection, b"".join(cut))
    assert end.code == errors.INTERNAL and "cut short" in end.text
    stream = connection.begin("/a/B", b"")
    page = hpack.encode([(b":status", b"404")])
    (end,) = give(connection, frame(http2.HEADERS, http2.END_STREAM | http2.END_HEADERS, stream, page))
    assert end.code == errors.UNAVAILABLE and "404" in end.text


def test_what_the_peer_can_not_take_is_declined():
    connection = opened(window=100, streams=2)
    assert connection.begin("/a/B", b"x" * 96) is None
    assert connection.begin("/a/B", b"x" * 95) is not None
    first = connection.begin("/a/B", b"")
    assert connection.begin("/a/B", b"") is None  # a third at once
    give(connection, b"".join(answer(first, b"")))
    assert connection.begin("/a/B", b"") is not None
    connection = opened(window=1 << 20, frame=1 << 20)
    for _ in range(65):
        assert connection.begin("/a/B", b"x" * 1003) is not None
    assert connection.begin("/a/B", b"x" * 1003) is None  # 65,535 octets are all that it takes at first
    give(connection, frame(http2.WINDOW_UPDATE, 0, 0, struct.pack(">I", 1008)))
    assert connection.begin("/a/B", b"x" * 1003) is not None


def test_a_peer_that_goes_away():
    connection = opened()
    first, second = connection.begin("/a/B", b""), connection.begin("/a/B", b"")
    (end,) = give(connection, frame(http2.GOAWAY, 0, 0, struct.pack(">II", first, 0) + b"bye"))
    assert end.stream == second and end.code == errors.UNAVAILABLE and "bye" in end.text
    assert connection.is_spent and connection.begin("/a/B", b"") is None
    (end,) = give(connection, b"".join(answer(first, b"all the same")))
    assert end.code == 0


def test_the_peer_may_go_on_sending(monkeypatch):
    monkeypatch.setattr(http2, "RENEW", 1000)
    connection = opened()
    stream = connection.begin("/a/B", b"")
    connection.out.clear()
    give(connection, b"".join(answer(stream, b"x" * 2500, None)))
    more = struct.pack(">I", 2505)
    assert connection.out == [
        frame(http2.WINDOW_UPDATE, 0, 0, more),
        frame(http2.WINDOW_UPDATE, 0, stream, more),
    ]


@pytest.mark.parametrize(
    "data",
    [
        b"HTTP/1.1 400 Bad Request\r\n\r\n",
        frame(http2.PING, 0, 0, b"12345678"),  # before any settings
        settings() + frame(http2.PING, 0, 0, b"123"),
        settings() + frame(http2.SETTINGS, 0, 0, b"12345"),
        settings(window=1 << 31),
        settings() + frame(http2.WINDOW_UPDATE, 0, 0, struct.pack(">I", (1 << 31) - 1)),
        settings() + frame(http2.PUSH, 0, 1, b"1234"),
        settings() + frame(http2.GOAWAY, 0, 0, b"1"),
        settings() + frame(http2.CONTINUATION, 0, 1, b""),
        settings() + frame(http2.HEADERS, 0, 1, b"") + frame(http2.PING, 0, 0, b"12345678"),
        settings() + frame(http2.HEADERS, http2.PADDED | http2.END_HEADERS, 1, b"\x09abc"),
        settings() + frame(http2.HEADERS, http2.END_HEADERS, 1, b"\xbe"),
        settings() + http2.HEAD.pack(1 << 10, 0, http2.HEADERS, 0, 1),
    ],
)
def test_violations(data):
    with pytest.raises(Violation):
        give(Connection("peer:1"), data)


@pytest.mark.parametrize("body", [b"\x01\0\0\0\x01x", b"\0\0\0\0\x01xy"])
def test_messages_that_are_none(body):
    connection = opened()
    stream = connection.begin("/a/B", b"")
    with pytest.raises(Violation):
        give(connection, frame(http2.DATA, 0, stream, body))


def test_whatever_comes():
    """Frames that were changed at random: calls end well, with an error, or the connection does."""
    for seed in range(1500):
        rng = random.Random(seed)
        connection = opened()
        streams = [connection.begin("/a/B", b"") for _ in range(3)]
        data = bytearray(b"".join(b"".join(answer(s, rng.randbytes(50), rng)) for s in streams))
        for _ in range(rng.randint(1, 4)):
            data[rng.randrange(len(data))] = rng.randrange(256)
        try:
            for end in give(connection, bytes(data), rng):
                streams.remove(end.stream)
        except Violation:
            pass
