"""The measuring side of a worker: a process with a question and an answer, and a limit to every wait."""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import subprocess
import time
from typing import IO, Any

from bench import frameworks

SETUP, BURST, HELLO, QUIT = 300.0, 90.0, 120.0, 5.0  # seconds


class Lost(Exception):
    """The worker died, or gave no answer in time; it is gone now."""


class Worker:
    def __init__(self, name: str, size: str, log: IO[bytes]) -> None:
        self.name, self.rest = name, b""
        self.process = subprocess.Popen(
            frameworks.command(name, "serve", size),
            cwd=frameworks.ROOT,
            env=frameworks.environment(name),
            start_new_session=True,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
        )
        hello = self.answer(HELLO)
        self.version, self.has = hello["version"], frozenset(hello["has"])

    def ask(self, seconds: float, **question: Any) -> dict[str, Any]:
        assert self.process.stdin
        try:
            self.process.stdin.write(json.dumps(question).encode() + b"\n")
            self.process.stdin.flush()
        except OSError:
            self.end()
            raise Lost(f"{self.name} died") from None
        return self.answer(seconds)

    def answer(self, seconds: float) -> dict[str, Any]:
        assert self.process.stdout
        pipe, limit = self.process.stdout.fileno(), time.monotonic() + seconds
        while b"\n" not in self.rest:
            ready, _, _ = select.select([pipe], [], [], max(0.0, limit - time.monotonic()))
            if not ready:
                self.end()
                raise Lost(f"{self.name} gave no answer in {seconds:.0f} s")
            read = os.read(pipe, 65536)
            if not read:
                self.end()
                raise Lost(f"{self.name} died with code {self.process.returncode}")
            self.rest += read
        line, self.rest = self.rest.split(b"\n", 1)
        return json.loads(line)

    def quit(self) -> None:
        assert self.process.stdin
        with contextlib.suppress(OSError):
            self.process.stdin.write(b'{"do": "quit"}\n')
            self.process.stdin.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(QUIT)
        self.end()

    def end(self) -> None:
        end(self.process)


def end(process: subprocess.Popen[bytes]) -> None:
    """End a process that we started, with the session it leads."""
    if process.poll() is None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    for pipe in filter(None, (process.stdin, process.stdout)):
        with contextlib.suppress(OSError):
            pipe.close()


def once(name: str, words: list[str], log: IO[bytes], seconds: float, **variables: str) -> Any:
    """The one answer of a fresh process, with `total`: seconds from its start to its first step's end."""
    begin = time.perf_counter()
    process = subprocess.Popen(
        frameworks.command(name, *words),
        cwd=frameworks.ROOT,
        start_new_session=True,
        env=frameworks.environment(name, **variables),
        stdout=subprocess.PIPE,
        stderr=log,
    )
    try:
        assert process.stdout
        ready, _, _ = select.select([process.stdout], [], [], seconds)
        line = process.stdout.readline() if ready else b""
        total = time.perf_counter() - begin
    finally:
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(QUIT)
        end(process)
    if not line:
        why = f"died with code {process.returncode}" if ready else f"no answer in {seconds:.0f} s"
        raise Lost(f"{name} {' '.join(words)}: {why}")
    answer = json.loads(line)
    return {**answer, "total": total - answer.get("second", 0.0)}
