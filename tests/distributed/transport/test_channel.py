"""Frames over a socket: order, sizes, ends, nonsense; memory and descriptors."""

from __future__ import annotations

import gc
import os
import random
import socket
import threading

import numpy as np
import pytest

from headrace.core.errors import UnavailableError
from headrace.distributed.transport import channel, frames, local, segments
from headrace.distributed.transport.channel import SocketChannel
from headrace.distributed.transport.frames import Kind, Message
from tests.timing import PATIENCE, wait_until

pytestmark = pytest.mark.skipif(not local.is_supported(), reason="no such sockets here")


class End:
    def __init__(self, connected):
        self.channel = SocketChannel(connected)
        self.got, self.ended = [], []
        self.channel.on_message, self.channel.on_closed = self.got.append, self.ended.append

    def start(self):
        self.channel.start()
        return self


@pytest.fixture
def ends():
    made = [End(s).start() for s in socket.socketpair()]
    yield made
    for end in made:
        end.channel.close()


def test_messages_of_all_sizes_in_order(ends):
    one, other = ends
    rng = np.random.RandomState(0)
    sent = [rng.randint(0, 255, size, np.uint8) for size in [0, 1, 5000, 60_000, 70_000, 3_000_000, 10] * 5]
    for number, value in enumerate(sent):
        one.channel.send(Message(Kind.VALUE, number, values=(value, value[:3])))
    wait_until(lambda: len(other.got) == len(sent))
    for number, (value, message) in enumerate(zip(sent, other.got)):
        assert message.number == number
        np.testing.assert_array_equal(message.values[0], value)
        np.testing.assert_array_equal(message.values[1], value[:3])


def test_large_arrays_without_shared_memory(ends, monkeypatch):
    monkeypatch.setattr(segments, "LARGE", 1 << 60)
    one, other = ends
    value = np.random.RandomState(0).randn(1_000_000)
    for _ in range(3):
        one.channel.send(Message(Kind.VALUE, 1, texts=("key",), values=(value,)))
        one.channel.send(Message(Kind.PING))
    wait_until(lambda: len(other.got) == 6)
    assert [m.kind for m in other.got] == [Kind.VALUE, Kind.PING] * 3
    np.testing.assert_array_equal(other.got[4].values[0], value)
    assert not other.got[4].values[0].flags.writeable


def test_a_peer_that_does_not_read_blocks_nobody():
    ours, theirs = socket.socketpair()
    one = End(ours).start()
    value = np.zeros(10_000)
    for number in range(100):  # more than a socket takes
        one.channel.send(Message(Kind.VALUE, number, values=(value[: number % 2 * 8000],)))
    other = End(theirs).start()
    wait_until(lambda: len(other.got) == 100)
    assert [m.number for m in other.got] == list(range(100))
    one.channel.close()
    other.channel.close()


def test_threads_send_at_once(ends):
    one, other = ends

    def send(name):
        for number in range(200):
            one.channel.send(Message(Kind.VALUE, number, name, values=(np.full(number * 10, name),)))

    threads = [threading.Thread(target=send, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
    wait_until(lambda: len(other.got) == 800)
    for name in range(4):
        assert [m.number for m in other.got if m.step == name] == list(range(200))
    assert all((m.values[0] == m.step).all() for m in other.got)


def test_the_end_is_noticed(ends):
    one, other = ends
    one.channel.close()
    wait_until(lambda: other.ended)
    with pytest.raises(UnavailableError):
        one.channel.send(Message(Kind.PING))
    with pytest.raises(UnavailableError):
        other.channel.send(Message(Kind.PING))
    assert len(one.ended) == len(other.ended) == 1


def nonsense(rng):
    good = [
        b"".join(map(bytes, frames.encode(Message(kind, 1, 2, ("a", "b", "key"), (np.arange(5.0),)))))
        for kind in Kind
        if kind is not Kind.HELLO
    ]
    data = bytearray(b"".join(rng.sample(good, 3)))
    for _ in range(rng.randint(1, 30)):
        data[rng.randrange(len(data))] = rng.randrange(256)
    return bytes(data[: rng.randint(1, len(data))])


def test_nonsense_ends_its_connection_alone(ends):
    """Changed and cut frames, and plain noise: either understood, or the end; another channel goes on."""
    one, other = ends
    for seed in range(150):
        rng = random.Random(seed)
        ours, theirs = socket.socketpair()
        end = End(ours).start()
        theirs.sendall(nonsense(rng) if seed % 3 else rng.randbytes(rng.randint(1, 300)))
        theirs.close()
        wait_until(lambda end=end: end.ended)
    one.channel.send(Message(Kind.PING, 7))
    wait_until(lambda: other.got and other.got[-1].number == 7)


def test_a_frame_that_claims_to_be_huge():
    ours, theirs = socket.socketpair()
    end = End(ours).start()
    theirs.sendall(frames.HEAD.pack(1 << 47, Kind.VALUE, 0, 0, 0, 0) + bytes(100))
    theirs.close()
    wait_until(lambda: end.ended)


def test_descriptors_that_nobody_asked_for_are_closed():
    before = len(os.listdir("/proc/self/fd"))
    ours, theirs = socket.socketpair()
    end = End(ours).start()
    for _ in range(5):
        socket.send_fds(theirs, [frames.encode(Message(Kind.PING))[0]], [theirs.fileno()])
    wait_until(lambda: len(end.got) == 5)
    theirs.close()
    end.channel.close()
    wait_until(lambda: len(os.listdir("/proc/self/fd")) <= before)


def test_a_thousand_large_arrays_leave_nothing(ends):
    one, other = ends
    before = len(os.listdir("/proc/self/fd"))
    value = np.arange(50_000.0)
    for number in range(1000):
        one.channel.send(Message(Kind.VALUE, number, values=(value,)))
        wait_until(lambda: other.got)
        assert other.got.pop().values[0][-1] == 49_999.0
    other.channel.send(Message(Kind.PING))  # takes the last returns along
    wait_until(lambda: one.got and not one.channel._lender._lent)
    assert len(one.channel._lender._free) == 1 and len(os.listdir("/proc/self/fd")) <= before
    assert not [n for n in os.listdir("/dev/shm") if "headrace" in n]
    gc.collect()


def test_who_reads_does_not_wait_for_the_kernel(ends, monkeypatch):
    """Giving back gigabytes takes seconds: the reader answers meanwhile."""
    monkeypatch.setattr(channel, "SLOW", 1 << 16)
    monkeypatch.setattr(segments, "KEPT", 0)
    map_, unmap = segments._functions()
    gate, unmapped = threading.Event(), []

    def slowly(*words):
        unmapped.append(threading.current_thread().name)
        gate.wait(PATIENCE)
        unmap(*words)

    monkeypatch.setattr(segments, "_functions", lambda: (map_, slowly))
    one, other = ends
    one.channel.send(Message(Kind.VALUE, 1, values=(np.zeros(100_000),)))
    wait_until(lambda: other.got)
    other.got.clear()  # looked at no more
    other.channel.send(Message(Kind.PING))
    wait_until(lambda: len(unmapped) == 2)  # the sender's memory, and the receiver's
    one.got.clear()
    one.channel.send(Message(Kind.PING))
    other.channel.send(Message(Kind.PING))
    wait_until(lambda: one.got and other.got)
    gate.set()
    assert not [name for name in unmapped if name.startswith("headrace-")], unmapped


def test_small_frames_of_the_reader_go_together(monkeypatch):
    """What a message makes its reader send leaves when all messages are handled."""
    ours, theirs = socket.socketpair()
    end = End(ours)
    end.channel.on_message = lambda message: end.channel.send(Message(Kind.PONG, message.number))
    data = b"".join(frames.encode(Message(Kind.PING, n))[0] for n in range(20))
    theirs.sendall(data)
    end.start()
    theirs.settimeout(PATIENCE)
    assert len(theirs.recv(1 << 16)) == len(data)  # in one piece
    end.channel.close()
    theirs.close()
    assert channel.CHUNK > len(data)
