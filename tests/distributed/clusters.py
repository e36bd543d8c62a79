"""Clusters for tests: servers of this process on free ports of loopback."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import headrace as tf
from headrace.distributed.launch.ports import choose
from headrace.distributed.server import here


def free_port() -> int:
    """One that no connection gets while a task is down."""
    return choose(1)[0]


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


@contextlib.contextmanager
def elsewhere(server: tf.train.Server) -> Iterator[None]:
    """As if the server were in another process: sessions reach it by its address alone."""
    hidden = here.pop(server.target)
    try:
        yield
    finally:
        here[server.target] = hidden
