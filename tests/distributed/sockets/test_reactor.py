"""Who reads the sockets: whoever waits, one at a time, and somebody always."""

from __future__ import annotations

import contextlib
import os
import socket
import threading
import time
from concurrent.futures import Future

import pytest

from headrace.distributed.sockets import reactor
from headrace.distributed.sockets.reactor import Inbox, Reactor
from tests.timing import PATIENCE, soon, wait_until

pytestmark = pytest.mark.skipif(not reactor.is_supported(), reason="no epoll here")


class Line:
    """A socket whose bytes are handled by a function, with the thread noted."""

    def __init__(self, made: Reactor, handle) -> None:
        self.ours, self.theirs = socket.socketpair()
        self.ours.setblocking(False)
        self.handle, self.threads = handle, []
        self._reactor = made
        made.add(self)

    def fileno(self):
        return self.ours.fileno()

    def on_readable(self):
        data = self.ours.recv(100)
        self.threads.append(threading.get_ident())
        self.handle(data)

    def on_rest(self):
        pass

    def on_writable(self):
        pass

    def abandon(self):
        self.ours.close()

    def close(self):
        self._reactor.remove(self.ours.fileno())
        self.ours.close()
        self.theirs.close()


@pytest.fixture
def made():
    return Reactor()


def test_who_waits_reads(made):
    inbox = Inbox(made)
    line = Line(made, inbox.put)
    for number in range(20):  # in a row, so that nobody else takes over meanwhile
        line.theirs.send(bytes([number]))
        with soon(PATIENCE):
            assert inbox.get() == bytes([number])
    assert threading.get_ident() in line.threads
    line.close()


def test_what_another_thread_puts_wakes_the_reader(made):
    inbox = Inbox(made)
    line = Line(made, inbox.put)
    for _ in range(10):
        threading.Timer(0.01, inbox.put, ["from outside"]).start()
        with soon(PATIENCE):
            assert inbox.get() == "from outside"
    line.close()


def test_many_wait(made):
    """Each gets what is his, whoever reads."""
    inboxes = [Inbox(made) for _ in range(8)]
    line = Line(made, lambda data: [inboxes[b].put(b) for b in data])
    found: list[list[int]] = [[] for _ in inboxes]

    def wait(number):
        for _ in range(50):
            found[number].append(inboxes[number].get())

    threads = [threading.Thread(target=wait, args=(n,), daemon=True) for n in range(8)]
    for thread in threads:
        thread.start()
    for _ in range(50):
        for number in range(8):
            line.theirs.send(bytes([number]))
    for thread in threads:
        thread.join(PATIENCE)
    assert found == [[n] * 50 for n in range(8)]
    line.close()


def test_somebody_reads_where_nobody_waits(made):
    got = threading.Event()
    line = Line(made, lambda data: got.set())
    line.theirs.send(b"x")
    assert got.wait(PATIENCE)
    line.close()


def test_a_reader_that_is_busy_is_replaced(made):
    """What one message asks for takes long: the next one is read all the same, and the waiting goes on."""
    going, seen = threading.Event(), threading.Event()

    def handle(data):
        if data[:1] == b"l":
            assert seen.wait(PATIENCE)
            going.set()
        else:
            seen.set()

    first, second = Line(made, handle), Line(made, handle)
    first.theirs.send(b"long")
    time.sleep(0.02)
    second.theirs.send(b"short")
    assert seen.wait(PATIENCE) and going.wait(PATIENCE)
    first.close()
    second.close()


def test_a_waiting_thread_that_is_interrupted_gives_up_the_lead(made):
    inbox, got = Inbox(made), threading.Event()

    def handle(data):
        if data != b"stop":
            got.set()
        elif threading.current_thread() is threading.main_thread():
            raise KeyboardInterrupt
        else:
            inbox.put("another thread was faster")

    line = Line(made, handle)
    threading.Timer(0.05, line.theirs.send, [b"stop"]).start()
    with soon(PATIENCE), contextlib.suppress(KeyboardInterrupt):
        inbox.get()
    line.theirs.send(b"x")
    assert got.wait(PATIENCE)
    line.close()


def test_the_result_of_a_future():
    future: Future[int] = Future()
    threading.Timer(0.01, future.set_result, [5]).start()
    assert reactor.result(future) == 5


def test_a_child_of_a_fork_closes_its_copies():
    """The peer notices the end of the parent, though the child lives on."""
    made = reactor.reactor()
    line = Line(made, lambda data: None)
    child = os.fork()
    if child == 0:
        time.sleep(20)
        os._exit(0)
    try:
        made.remove(line.ours.fileno())
        line.ours.close()
        line.theirs.settimeout(PATIENCE)
        assert line.theirs.recv(1) == b""  # nobody else holds the other end
        line.theirs.close()
    finally:
        os.kill(child, 9)
        os.waitpid(child, 0)


def test_when_all_is_quiet_nobody_ticks(made):
    line = Line(made, lambda data: None)
    line.theirs.send(b"x")
    wait_until(lambda: line.threads and made._polling and not made._watching.is_set())
    line.theirs.send(b"y")
    wait_until(lambda: len(line.threads) == 2)
    line.close()
