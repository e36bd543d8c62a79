"""Clusters for tests: servers of this process on free ports of loopback."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Iterator

import headrace as tf


def free_port() -> int:
    with contextlib.closing(socket.socket()) as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


def addresses(**jobs: int) -> dict[str, list[str]]:
    """As many tasks of each job as asked for."""
    return {job: [f"127.0.0.1:{free_port()}" for _ in range(count)] for job, count in jobs.items()}


@contextlib.contextmanager
def cluster(**jobs: int) -> Iterator[dict[str, list[tf.train.Server]]]:
    """Running servers by job."""
    at = addresses(**jobs)
    servers = {
        job: [tf.train.Server(at, job_name=job, task_index=i) for i in range(count)]
        for job, count in jobs.items()
    }
    try:
        yield servers
    finally:
        for made in servers.values():
            for server in made:
                server.stop()
