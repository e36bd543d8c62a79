"""A task as an actor of Ray: runs the program in a process of its own on the actor's node.

The process ends with the actor (`lifeline.py`).  When Ray starts a lost actor again it calls `run` again,
with the same words: a task comes back under its name and address.  What the program writes goes to the
actor's own output, which is Ray's log of it, and is kept until the launcher has fetched it.
"""

from __future__ import annotations

import importlib
import os
import signal
import subprocess
import sys
import threading
import uuid
from collections.abc import Mapping, Sequence

from headrace.distributed.launch import lifeline, ports

MOST = 1 << 20  # bytes of output that are kept for a launcher that does not come for them


class RayTask:
    """`ray.remote(RayTask)` is the actor; several of its methods run at once."""

    def __init__(self) -> None:
        self._life = uuid.uuid4().hex  # an actor that Ray starts again has another
        self._process: subprocess.Popen[bytes] | None = None
        self._output, self._dropped = bytearray(), 0
        self._lock = threading.Lock()

    def place(self) -> tuple[str, int]:
        """The node's address, and a port of it that is free."""
        host = _node_address()
        return host, ports.choose(1, host=host)[0]

    def run(self, words: Sequence[str], environment: Mapping[str, str], folder: str, host: str) -> int:
        """Run the program until it ends; its exit code."""
        if host and host != _node_address():
            self._keep(f"this task was at {host} and is at {_node_address()} now: launch again\n".encode())
            return 1
        read, write = os.pipe()
        try:
            made = subprocess.Popen(
                [sys.executable, *words],
                cwd=folder if os.path.isdir(folder) else None,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                env={**os.environ, **environment, "PYTHONUNBUFFERED": "1", lifeline.NAME: str(read)},
                start_new_session=True,
                pass_fds=(read,),
            )
            self._process = made
            with made:  # closes its output
                assert made.stdout is not None  # it is a pipe
                while chunk := os.read(made.stdout.fileno(), 1 << 16):
                    self._keep(chunk)
            return made.returncode
        finally:
            os.close(read)
            os.close(write)

    def _keep(self, chunk: bytes) -> None:
        sys.stdout.write(chunk.decode(errors="replace"))
        sys.stdout.flush()
        with self._lock:
            self._output += chunk
            self._drop(len(self._output) - MOST)

    def _drop(self, count: int) -> None:
        if count > 0:
            del self._output[:count]
            self._dropped += count

    def output(self, life: str, taken: int) -> tuple[str, int, bytes]:
        """(the actor's life, how much of its output is known with this, what is new).

        `taken`: how much of the output of that life the launcher has.
        """
        with self._lock:
            if life == self._life:
                self._drop(taken - self._dropped)
            fresh = bytes(self._output)
            return self._life, self._dropped + len(fresh), fresh

    def signal(self, number: int) -> None:
        """To the program and all that it has started."""
        if self._process is not None and self._process.poll() is None:
            os.killpg(self._process.pid, number)

    def pid(self) -> int:
        return os.getpid()


def _node_address() -> str:
    return str(importlib.import_module("ray").util.get_node_ip_address())


TERMINATE, KILL = int(signal.SIGTERM), int(signal.SIGKILL)
