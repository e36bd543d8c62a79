"""Who reads the sockets of our own channels: whoever waits.

A thread that waits for a value reads meanwhile, and handles what comes, so that no other thread must be
woken to hand it over.  One thread at a time leads: it polls all sockets.  Others that wait follow: they get
their values from the leader, and one of them leads when it goes.  When nobody has led for some milliseconds,
or the leader is busy with what it read, a thread of the reactor's own takes the lead: a peer never waits for
a long computation.

    Inbox     where answers for one waiting thread arrive
    Reactor   the sockets of this process, and who leads
"""

from __future__ import annotations

import os
import queue
import select
import threading
import time
from collections import deque
from concurrent.futures import Future
from typing import Any, Protocol

TICK = 0.002  # seconds after which somebody else reads
QUIET = 50  # ticks with a leader that polls, after which nobody watches any more
_NUDGE = object()  # in an inbox: the lead is free


class Readable(Protocol):
    """A socket with somebody who handles what comes; neither raises."""

    def fileno(self) -> int: ...

    def on_readable(self) -> None: ...

    def on_rest(self) -> None:
        """Handle what was read, but not handled by a thread that is busy now."""

    def on_writable(self) -> None: ...

    def abandon(self) -> None:
        """In a child that has inherited it: close the descriptor, and tell nobody."""


class Inbox:
    """Like a queue.SimpleQueue, but the thread that waits reads the sockets."""

    __slots__ = ("_reactor", "_items")

    def __init__(self, reactor: Reactor) -> None:
        self._reactor = reactor
        self._items: queue.SimpleQueue[Any] = queue.SimpleQueue()

    def put(self, item: Any) -> None:
        self._items.put(item)
        if self._reactor.led_for is self:
            self._reactor.wake()

    def empty(self) -> bool:
        return self._items.empty()

    def get(self) -> Any:
        while True:
            try:
                item = self._items.get_nowait()
            except queue.Empty:
                if self._reactor.lead(self):
                    continue
                item = self._items.get()
                self._reactor.unfollow(self)
            if item is not _NUDGE:
                return item

    def nudge(self) -> None:
        self._items.put(_NUDGE)


class Reactor:
    """All sockets of this process."""

    def __init__(self) -> None:
        self._poller = select.epoll()
        self._waker = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
        self._poller.register(self._waker, select.EPOLLIN)
        self._sockets: dict[int, Readable] = {}
        self._lock = threading.Lock()
        self._turn = 0  # counts leaders; 0: there was none yet
        self._leader: int | None = None  # the turn of the one that leads
        self._polling = False
        self._beats = 0  # changes whenever the leader has done something
        self.led_for: Inbox | None = None
        self._thread = 0  # of the leader
        self._followers: deque[Inbox] = deque()
        self._is_asked = False  # somebody follows a leader that waits for nothing itself
        self._watching = threading.Event()
        self._spares: queue.SimpleQueue[int] = queue.SimpleQueue()
        self._spare = 0  # threads that wait to lead
        self._has_watcher = False

    # -- sockets -----------------------------------------------------------------------------------
    def __len__(self) -> int:
        return len(self._sockets)

    def add(self, readable: Readable) -> None:
        with self._lock:
            self._sockets[readable.fileno()] = readable
            self._poller.register(readable.fileno(), select.EPOLLIN)
            if not self._has_watcher:
                self._has_watcher = True
                threading.Thread(target=self._watch, name="headrace-watch", daemon=True).start()
        self._watching.set()

    def want_to_write(self, descriptor: int, wanted: bool) -> None:
        events = select.EPOLLIN | (select.EPOLLOUT if wanted else 0)
        with self._lock:
            if descriptor in self._sockets:
                self._poller.modify(descriptor, events)

    def remove(self, descriptor: int) -> None:
        """Before the socket is closed."""
        with self._lock:
            if self._sockets.pop(descriptor, None) is not None:
                self._poller.unregister(descriptor)

    # -- leading -----------------------------------------------------------------------------------
    def lead(self, inbox: Inbox) -> bool:
        """Read until something is in the inbox.  False: somebody else reads; just wait."""
        with self._lock:
            if self._leader is not None:
                self._followers.append(inbox)
                self._is_asked = True
                return False
            turn = self._take(inbox)
        try:
            while inbox.empty() and self._leader == turn:
                self._read(turn)
        finally:
            self._leave(turn)
        return True

    def unfollow(self, inbox: Inbox) -> None:
        with self._lock:
            if inbox in self._followers:
                self._followers.remove(inbox)

    def _take(self, inbox: Inbox | None) -> int:
        """Hold the lock."""
        self._turn += 1
        self._leader, self.led_for = self._turn, inbox
        self._thread = threading.get_ident() if inbox is not None else 0
        self._beats += 1
        return self._turn

    def _leave(self, turn: int) -> None:
        with self._lock:
            if self._leader != turn:
                return  # another one has taken the lead meanwhile
            self._leader, self.led_for, self._polling, self._thread = None, None, False, 0
            self._beats += 1
            waiting = [inbox for inbox in self._followers if inbox.empty()]
        if waiting:
            waiting[0].nudge()
        self._watched()

    def _watched(self) -> None:
        if not self._watching.is_set():
            self._watching.set()

    def _read(self, turn: int) -> None:
        """Wait for something to read, and have it handled."""
        self._polling = True
        events = self._poller.poll()
        self._polling = False
        self._beats += 1
        self._watched()
        for descriptor, event in events:
            if descriptor == self._waker:
                _drain(self._waker)
                continue
            found = self._sockets.get(descriptor)
            if found is None:
                continue
            if event & select.EPOLLOUT:
                found.on_writable()
            if event & ~select.EPOLLOUT:
                found.on_readable()
            self._beats += 1
            if self._leader != turn:
                return  # it took long; the poller tells the new leader of whatever else there is

    def wake(self) -> None:
        """The leader looks at its inbox."""
        if self._thread != threading.get_ident():
            os.eventfd_write(self._waker, 1)

    # -- when nobody waits -------------------------------------------------------------------------
    def _watch(self) -> None:
        """See to it that somebody reads."""
        seen, quiet = -1, 0
        while True:
            time.sleep(TICK)
            if self._polling:
                quiet += 1
                if quiet > QUIET:
                    self._watching.clear()
                    if self._polling:  # still; who stops polling sets it
                        self._watching.wait()
                    quiet = 0
                continue
            quiet = 0
            if not self._sockets:
                self._watching.clear()
                if not self._sockets:
                    self._watching.wait()
            elif self._beats == seen:
                self._appoint(seen)
            seen = self._beats

    def _appoint(self, seen: int) -> None:
        """A thread of our own leads from now on."""
        with self._lock:
            if self._beats != seen or self._polling:
                return
            turn = self._take(None)
            starts = self._spare == 0
            self._spare -= not starts
        if starts:
            threading.Thread(target=self._serve, args=(turn,), name="headrace-links", daemon=True).start()
        else:
            self._spares.put(turn)

    def _serve(self, turn: int) -> None:
        while True:
            for one in list(self._sockets.values()):
                one.on_rest()
            while self._leader == turn:
                self._read(turn)
                if self._is_asked:  # somebody waits: he had better read himself
                    self._is_asked = False
                    self._leave(turn)
            with self._lock:
                self._spare += 1
            turn = self._spares.get()


def _drain(descriptor: int) -> None:
    try:
        os.eventfd_read(descriptor)
    except BlockingIOError:
        pass  # another leader has read it


# -- of this process -----------------------------------------------------------------------------
_here: list[Reactor] = []
_making = threading.Lock()


def is_supported() -> bool:
    return hasattr(select, "epoll") and hasattr(os, "eventfd")


def reactor() -> Reactor:
    if not _here:
        with _making:
            if not _here:
                _here.append(Reactor())
    return _here[0]


def inbox() -> Any:
    """Where answers arrive for a thread that will wait: a queue."""
    if _here and len(_here[0]):
        return Inbox(_here[0])
    return queue.SimpleQueue()


def result(future: Future[Any]) -> Any:
    """The future's; the thread reads while it waits."""
    if not future.done() and _here and len(_here[0]):
        waiting = Inbox(_here[0])
        future.add_done_callback(waiting.put)
        waiting.get()
    return future.result()


def _in_child() -> None:
    """Sockets and threads are the parent's: a peer must notice when that is gone."""
    global _making
    _making = threading.Lock()
    for old in _here:
        for one in old._sockets.values():
            one.abandon()
        old._sockets.clear()
        old._poller.close()
        os.close(old._waker)
    _here.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_in_child)
