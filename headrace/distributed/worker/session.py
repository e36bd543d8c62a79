"""What a task keeps for one session of a master: its graphs, its state, and by which names it goes there.

A client may bring a cluster of its own (ConfigProto.cluster_def): in such a session the task has another
name, its devices are called after it, and it finds other tasks by the client's addresses.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any

from headrace.core.errors import InvalidArgumentError
from headrace.distributed.cluster.spec import ClusterSpec, task_name, task_of
from headrace.distributed.worker.registered import RegisteredGraph
from headrace.runtime.containers import Containers
from headrace.session.run_cache import Settings

Cluster = tuple[str, Mapping[str, str]]  # this task's name in it, and the addresses of all
Fetch = Callable[[str, int, str], "Future[Any]"]  # task, step, key -> the value


@dataclass(slots=True)
class WorkerSession:
    """`task` is this task's name in the session; `addresses` of all tasks in it; `fetch` brings values of
    others."""

    task: str
    settings: Settings
    containers: Containers
    addresses: Mapping[str, str]
    fetch: Fetch
    graphs: dict[str, RegisteredGraph] = field(default_factory=dict)

    def register(self, graph_def: Any, folders: tuple[str, ...] = ()) -> RegisteredGraph:
        """Prepare a graph; may be slow."""
        for node in graph_def.node:
            if task_of(node.device) not in (self.task, ""):
                raise InvalidArgumentError(
                    None,
                    None,
                    f"This task is {self.task}, but its master has a node on {node.device} for it "
                    f"({node.name}): the ClusterSpecs of the two differ.",
                )
        return RegisteredGraph(graph_def, self.settings, folders)


def cluster_of(server_def: Any) -> Cluster | None:
    """The cluster that a client brings; None if it brings none."""
    if server_def is None or not server_def.cluster.job:
        return None
    addresses = ClusterSpec(server_def.cluster).addresses()
    return task_name(server_def.job_name, server_def.task_index), addresses


def renamed(device: str, task: str) -> str:
    """A device as one of a task by another name."""
    return f"{task}/device:{device.partition('/device:')[2]}"
