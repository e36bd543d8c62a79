"""Frames over a socket to another process of this host, large arrays by shared memory.

What is sent is never waited for: what the socket does not take goes when it does.  The thread that handles
what comes in (`reactor.py`) holds back its own small frames until it has handled all: they go together.  A
peer that sends what is no frame loses the connection, and nobody else notices.
"""

from __future__ import annotations

import array
import os
import socket
import threading
from collections import deque
from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from headrace.core.errors import UnavailableError
from headrace.distributed.sockets.reactor import reactor
from headrace.distributed.transport import frames, segments
from headrace.distributed.transport.frames import HEAD, Kind, Malformed, Message
from headrace.runtime.executor import pool

CHUNK = 1 << 16  # bytes that are read at once
SLOW = 32 << 20  # bytes of memory that the one who reads does not give back himself
_PARTS = 64  # buffers that go at once
_ANCILLARY = socket.CMSG_SPACE(16 * array.array("i").itemsize)
_FLAGS = getattr(socket, "MSG_CMSG_CLOEXEC", 0)


class Channel(Protocol):
    """Messages to one peer, in order, each at most once; `on_message` and `on_closed` are the receiver's."""

    on_message: Callable[[Message], None]
    on_closed: Callable[[BaseException], None]

    def start(self) -> None:
        """Begin to tell what comes."""

    def send(self, message: Message) -> None:
        """Does not wait.

        Raises:
          UnavailableError: the channel is closed.
          UnimplementedError: a value can not leave the process.
        """

    def close(self, error: BaseException | None = None) -> None: ...


class SocketChannel:
    """A channel over a connected Unix socket, which the reactor reads; large arrays go by shared memory."""

    def __init__(self, connected: socket.socket) -> None:
        connected.setblocking(False)
        self.on_message: Callable[[Message], None] = _nobody
        self.on_closed: Callable[[BaseException], None] = _nobody
        self._socket, self._reactor = connected, reactor()
        self._descriptor = connected.fileno()
        self._lender, self._borrower = segments.Lender(), segments.Borrower()
        self._lock = threading.Lock()
        self._out: deque[tuple[Any, segments.Segment | None]] = deque()
        self._is_full = False  # the socket takes nothing now
        self._held_by = 0  # the thread that holds its frames back
        self._reading = threading.Lock()
        self._rest = b""  # read, but not yet a whole frame
        self._arrived: deque[Message] = deque()  # not handled yet
        self._descriptors: deque[int] = deque()
        self._large: tuple[bytes, Any, int] | None = None  # a head, the body, bytes of it that are there
        self._error: BaseException | None = None
        self._is_started = False

    def start(self) -> None:
        if not self._is_started:
            self._is_started = True
            self._reactor.add(self)

    def fileno(self) -> int:
        return self._descriptor

    # -- out -------------------------------------------------------------------------------------
    def send(self, message: Message) -> None:
        new: list[segments.Segment] = []
        parts = frames.encode(message, lambda value: self._lend(value, new))
        with self._lock:
            if self._error is not None:
                raise UnavailableError(None, None, str(self._error))
            if self._borrower.returned:
                self._give_back()
            for segment in new:
                head = frames.encode(Message(Kind.SEGMENT, segment.number, segment.size))
                self._out.append((head[0], segment))
            self._out.extend((part, None) for part in parts)
            if self._held_by != threading.get_ident():
                self._flush()

    def _lend(self, value: Any, new: list[segments.Segment]) -> int | None:
        if value.nbytes < segments.LARGE:
            return None
        segment, is_new = self._lender.lend(value)
        if is_new:
            new.append(segment)
        return segment.number

    def _give_back(self) -> None:
        returned = self._borrower.returned
        while returned:
            number = returned.popleft()
            self._out.append((frames.encode(Message(Kind.RELEASE, number))[0], None))

    def _flush(self) -> None:
        """Write what there is; hold the lock."""
        while self._out and not self._is_full:
            buffers, segment = self._next()
            try:
                if segment is not None:
                    descriptors = array.array("i", [segment.descriptor])
                    ancillary = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, descriptors)]
                    sent = self._socket.sendmsg(buffers, ancillary)
                else:
                    sent = (
                        self._socket.sendmsg(buffers) if len(buffers) > 1 else self._socket.send(buffers[0])
                    )
            except (BlockingIOError, InterruptedError):
                self._is_full = True
                self._reactor.want_to_write(self._descriptor, True)
                return
            except OSError as error:
                self._out.clear()
                self._error = error  # who reads the socket notices, too, and tells all
                return
            if segment is not None:
                segments.forget_descriptor(segment)
            self._written(sent)

    def _next(self) -> tuple[list[Any], segments.Segment | None]:
        """Buffers that go together: a descriptor goes with the first byte of its own."""
        first, segment = self._out[0]
        if segment is not None or len(self._out) == 1:
            return [first], segment
        found: list[Any] = []
        for buffer, other in self._out:
            if other is not None or len(found) == _PARTS:
                break
            found.append(buffer)
        return found, None

    def _written(self, count: int) -> None:
        out = self._out
        while count > 0:
            buffer, _ = out.popleft()
            if count < len(buffer):
                out.appendleft((memoryview(buffer)[count:], None))
                return
            count -= len(buffer)
        while out and not len(out[0][0]):
            out.popleft()

    def on_writable(self) -> None:
        with self._lock:
            self._is_full = False
            self._reactor.want_to_write(self._descriptor, False)
            self._flush()

    # -- in --------------------------------------------------------------------------------------
    def on_readable(self) -> None:
        """Read once, and handle the frames that are whole then."""
        try:
            with self._reading:
                self._read()
        except (Malformed, MemoryError) as error:
            self.close(error)
        except (BlockingIOError, InterruptedError):
            return
        except OSError as error:
            self.close(error)
        self.on_rest()

    def on_rest(self) -> None:
        """Handle what was read; another thread may have begun to, and be busy with a part of it."""
        self._held_by = threading.get_ident()
        try:
            while self._arrived:
                try:
                    message = self._arrived.popleft()
                except IndexError:
                    break  # another thread has it
                self.on_message(message)
        finally:
            self._held_by = 0
            with self._lock:
                if self._borrower.returned and self._error is None:
                    self._give_back()
                if self._out:
                    self._flush()

    def _read(self) -> None:
        if self._large is not None:
            self._read_large()
            return
        data, ancillary, _, _ = self._socket.recvmsg(CHUNK, _ANCILLARY, _FLAGS)
        for level, kind, content in ancillary:
            if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
                found = array.array("i")
                found.frombytes(content[: len(content) - len(content) % found.itemsize])
                self._descriptors.extend(found)
        if not data:
            raise ConnectionResetError("the connection was closed by the other side")
        self._parse(self._rest + data if self._rest else data)

    def _parse(self, data: bytes) -> None:
        """Sort the frames out of what was read; the start of another is kept for the next time."""
        place, end = 0, len(data)
        while end - place >= HEAD.size:
            head = data[place : place + HEAD.size]
            size = frames.length(head)
            after = place + HEAD.size + size
            if after > end:
                if size > CHUNK:
                    self._begin_large(head, size, data[place + HEAD.size :])
                    place = end
                break
            body = memoryview(data)[place + HEAD.size : after] if size else b""
            self._sort(frames.decode(head, body, self._borrower.borrow))
            place = after
        self._rest = data[place:]

    def _begin_large(self, head: bytes, size: int, there: bytes) -> None:
        """A frame of which only a part was read: the rest is read into its place."""
        body = np.empty(size, np.uint8)
        body[: len(there)] = np.frombuffer(there, np.uint8)
        self._large = head, body, len(there)

    def _read_large(self) -> None:
        assert self._large is not None
        head, body, there = self._large
        count = self._socket.recv_into(body[there:])
        if not count:
            raise ConnectionResetError("the connection was closed by the other side")
        self._large = head, body, there + count
        if there + count == len(body):
            self._large = None
            body.flags.writeable = False
            self._sort(frames.decode(head, body.data, self._borrower.borrow))

    def _sort(self, message: Message) -> None:
        """What concerns shared memory counts at once: the next frame may need it."""
        match message.kind:
            case Kind.SEGMENT:
                if not self._descriptors:
                    raise Malformed("a segment without a descriptor")
                self._borrower.add(message.number, message.step, self._descriptors.popleft())
            case Kind.RELEASE:
                dropped = self._lender.take_back(message.number)
                if dropped is not None:
                    self.send(Message(Kind.DROP, message.number))
                    memory, dropped.memory = [dropped.memory], None
                    _let_go(memory, dropped.size)
            case Kind.DROP:
                memory = [self._borrower.drop(message.number)]
                _let_go(memory, len(memory[0] or b""))
            case _:
                self._arrived.append(message)

    # -- end -------------------------------------------------------------------------------------
    def close(self, error: BaseException | None = None) -> None:
        with self._lock:
            if self._descriptor < 0:
                return
            self._reactor.remove(self._descriptor)
            self._descriptor = -1
            self._error = error or self._error or ConnectionAbortedError("the connection was closed here")
            self._out.clear()
        self.abandon()
        self._lender.close()
        self._borrower.close()
        self.on_closed(self._error)

    def abandon(self) -> None:
        self._socket.close()
        while self._descriptors:
            os.close(self._descriptors.popleft())


def _let_go(memory: list[Any], size: int) -> None:
    """Forget what is in the list: on another thread where that takes long (the kernel gives back gigabytes
    in seconds), since a thread that reads must answer."""
    if size >= SLOW:
        pool().submit(memory.clear)
    else:
        memory.clear()


def _nobody(_: Any) -> None:
    """Until somebody listens."""
