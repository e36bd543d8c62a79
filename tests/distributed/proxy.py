"""A network that misbehaves, between tasks: bytes pass through here late, not at all, or until a moment."""

from __future__ import annotations

import contextlib
import random
import selectors
import socket
import threading
import time
from collections.abc import Iterator

PIECE = 1 << 14


class Proxy:
    """Listens at `address` for whoever is behind `behind`.  What it does now: `delay` seconds per piece, and
    whether it `stalls` (takes nothing, closes nothing)."""

    def __init__(self, behind: str) -> None:
        self.behind = behind
        self.delay = 0.0
        self.stalls = False
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self._listener.getsockname()[1]}"
        self._pairs: list[tuple[socket.socket, socket.socket]] = []
        self._lock = threading.Lock()
        self._is_closed = False
        self.connections = 0
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while not self._is_closed:
            try:
                caller, _ = self._listener.accept()
            except OSError:
                return
            host, _, port = self.behind.rpartition(":")
            try:
                callee = socket.create_connection((host, int(port)), 5)
            except OSError:
                caller.close()
                continue
            self.connections += 1
            with self._lock:
                self._pairs.append((caller, callee))
            for one, other in ((caller, callee), (callee, caller)):
                threading.Thread(target=self._pass, args=(one, other), daemon=True).start()

    def _pass(self, source: socket.socket, sink: socket.socket) -> None:
        try:
            with selectors.DefaultSelector() as ready:
                ready.register(source, selectors.EVENT_READ)
                while not self._is_closed:
                    if self.stalls or not ready.select(0.05):
                        time.sleep(0.01 if self.stalls else 0)
                        continue
                    data = source.recv(PIECE)
                    if not data:
                        break
                    if self.delay:
                        time.sleep(self.delay)
                    while self.stalls and not self._is_closed:
                        time.sleep(0.01)
                    sink.sendall(data)
        except (OSError, ValueError):
            pass
        for one in (source, sink):
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)

    def cut(self) -> None:
        """End all connections at once, with a reset."""
        with self._lock:
            pairs, self._pairs = self._pairs, []
        for pair in pairs:
            for one in pair:
                with contextlib.suppress(OSError):
                    one.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
                    one.shutdown(socket.SHUT_RDWR)
                one.close()

    def half_close(self) -> None:
        """The callers' side of all connections is closed for writing; answers still pass."""
        with self._lock:
            for _, callee in self._pairs:
                with contextlib.suppress(OSError):
                    callee.shutdown(socket.SHUT_WR)

    def misbehave(self, rng: random.Random) -> str:
        """Something, for a moment."""
        what = rng.choice(["delay", "cut", "stall", "half_close"])
        match what:
            case "delay":
                self.delay = rng.uniform(0.001, 0.05)
            case "cut":
                self.cut()
            case "half_close":
                self.half_close()
            case "stall":
                self.stalls = True
        time.sleep(rng.uniform(0.05, 0.3))
        self.delay, self.stalls = 0.0, False
        return what

    def close(self) -> None:
        self._is_closed = True
        self.stalls = False
        self._listener.close()
        self.cut()


@contextlib.contextmanager
def between(behind: str) -> Iterator[Proxy]:
    made = Proxy(behind)
    try:
        yield made
    finally:
        made.close()
