"""Which tasks there are, and where: `tf.train.ClusterSpec`.

A cluster is jobs by name, a job is addresses ("host:port") by task number; numbers may be missing where
a process need not know all the others.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from headrace.core.text import as_bytes
from headrace.formats import proto

Tasks = dict[int, str]


def task_name(job: str, index: int) -> str:
    """A task as device names begin with it."""
    return f"/job:{job}/replica:0/task:{index}"


def task_of(device: str) -> str:
    """The task part of a full device name."""
    return device.partition("/device:")[0]


class ClusterSpec:
    """The tasks of a cluster, by job.

    Args:
      cluster: a dict from job names to lists of addresses, or to dicts from task numbers to addresses;
        a ClusterDef; or another ClusterSpec.

    Raises:
      TypeError: it is none of these, or an address is no text.

    Example:
      >>> spec = tf.train.ClusterSpec({"ps": ["localhost:2222"], "worker": {1: "localhost:2223"}})
      >>> spec.task_address("worker", 1)
      'localhost:2223'
    """

    def __init__(self, cluster: Any) -> None:
        if isinstance(cluster, Mapping):
            self._jobs = {job: _tasks(job, tasks) for job, tasks in cluster.items()}
            self._cluster_def = _cluster_def(self._jobs)
        elif isinstance(cluster, ClusterSpec) or hasattr(cluster, "job"):
            given = cluster.as_cluster_def() if isinstance(cluster, ClusterSpec) else cluster
            self._cluster_def = proto.ClusterDef.FromString(given.SerializeToString())
            self._jobs = {job.name: dict(job.tasks) for job in self._cluster_def.job}
        else:
            raise TypeError(
                "`cluster` must be a dictionary mapping one or more job names to lists of network "
                "addresses, or a `ClusterDef` protocol buffer"
            )

    def __bool__(self) -> bool:
        return bool(self._jobs)

    def __eq__(self, other: object) -> bool:
        return self._jobs == (other._jobs if isinstance(other, ClusterSpec) else other)

    def __hash__(self) -> int:
        return hash(self._cluster_def.SerializeToString(deterministic=True))

    def __str__(self) -> str:
        items = ", ".join(f"{job!r}: {tasks!r}" for job, tasks in sorted(self.as_dict().items()))
        return f"ClusterSpec({{{items}}})"

    __repr__ = __str__

    def as_dict(self) -> dict[str, list[str] | Tasks]:
        """Job names to lists of addresses; to dicts by number where numbers are missing."""
        return {job: _listed(tasks) for job, tasks in self._jobs.items()}

    def as_cluster_def(self) -> Any:
        """The cluster as a ClusterDef."""
        return self._cluster_def

    @property
    def jobs(self) -> list[str]:
        """The names of the jobs."""
        return list(self._jobs)

    def num_tasks(self, job_name: str) -> int:
        """How many tasks of the job are known."""
        return len(self._job(job_name))

    def task_indices(self, job_name: str) -> list[int]:
        """The numbers of the job's tasks, sorted."""
        return sorted(self._job(job_name))

    def task_address(self, job_name: str, task_index: int) -> str:
        """Where a task is."""
        tasks = self._job(job_name)
        if task_index not in tasks:
            raise ValueError(f"No task with index {task_index!r} in job {job_name!r}")
        return tasks[task_index]

    def job_tasks(self, job_name: str) -> list[str | None]:
        """The job's addresses by task number; None where a number is missing."""
        tasks = self._job(job_name)
        return [tasks.get(i) for i in range(max(tasks) + 1)] if tasks else []

    def addresses(self) -> dict[str, str]:
        """Every task by its name, /job:worker/replica:0/task:1."""
        return {task_name(job, i): at for job, tasks in self._jobs.items() for i, at in sorted(tasks.items())}

    def _job(self, name: str) -> Tasks:
        if name not in self._jobs:
            raise ValueError(f"No such job in cluster: {name!r}")
        return self._jobs[name]


def _listed(tasks: Tasks) -> list[str] | Tasks:
    if not tasks or sorted(tasks) != list(range(len(tasks))):
        return dict(tasks)
    return [tasks[i] for i in range(len(tasks))]


def _tasks(job: Any, tasks: Any) -> Tasks:
    if isinstance(tasks, (list, tuple)):
        return dict(enumerate(tasks))
    if isinstance(tasks, Mapping):
        return dict(tasks)
    raise TypeError(f"The tasks for job {job!r} must be a list or a dictionary from integers to strings.")


def _cluster_def(jobs: dict[str, Tasks]) -> Any:
    message = proto.ClusterDef()
    for name, tasks in sorted(jobs.items()):
        if not isinstance(name, (str, bytes)):
            raise TypeError(f"Job name {name!r} must be bytes or unicode")
        job = message.job.add(name=name)
        for index, address in tasks.items():
            if not isinstance(index, int):
                raise TypeError(f"Task index {index!r} must be an integer")
            if not isinstance(address, (str, bytes)):
                raise TypeError(f"Task address {address!r} must be bytes or unicode")
            job.tasks[index] = as_bytes(address).decode()
    return message
