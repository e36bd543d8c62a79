"""Which tasks a launch has, and what each is told about the cluster.

In: how many tasks of each job, and their addresses.  Out: per task its name, and TF_CONFIG; and for programs
that ask for them the flags of TensorFlow's examples (`--ps_hosts --worker_hosts --job_name --task_index`).
Evaluators are no members of the cluster, as TensorFlow has it: they only read checkpoints.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum, auto


class Role(Enum):
    """What the launcher waits for, and when it ends a task."""

    TRAINS = auto()  # the launch is done when all of these are
    SERVES = auto()  # runs until nobody trains any more
    EVALUATES = auto()  # has some time to look at the last checkpoint


ROLES = {"chief": Role.TRAINS, "worker": Role.TRAINS, "ps": Role.SERVES, "evaluator": Role.EVALUATES}
JOBS = tuple(ROLES)  # in this order they are shown


@dataclass(frozen=True, slots=True, order=True)
class Task:
    job: str
    index: int

    @property
    def role(self) -> Role:
        return ROLES[self.job]

    @property
    def in_cluster(self) -> bool:
        return self.role is not Role.EVALUATES

    def __str__(self) -> str:
        return f"{self.job}:{self.index}"


def make_tasks(counts: Mapping[str, int]) -> list[Task]:
    """So many of each job, in the order of JOBS."""
    return [Task(job, i) for job in JOBS for i in range(counts.get(job, 0))]


@dataclass(frozen=True, slots=True)
class Layout:
    """Where the tasks of the cluster are: "host:port" of each but evaluators."""

    addresses: Mapping[Task, str]

    def jobs(self) -> dict[str, list[str]]:
        """The cluster as tf.train.ClusterSpec takes it."""
        found: dict[str, list[str]] = {}
        for task in sorted(self.addresses):
            found.setdefault(task.job, []).append(self.addresses[task])
        return found

    def tf_config(self, task: Task) -> str:
        """What TensorFlow's tools read from the environment variable TF_CONFIG."""
        return json.dumps({"cluster": self.jobs(), "task": {"type": task.job, "index": task.index}})

    def flags(self, task: Task, asked: Collection[str]) -> list[str]:
        """The flags of this task, of those that the program asks for."""
        known = {f"{job}_hosts": ",".join(at) for job, at in self.jobs().items()}
        known |= {"job_name": task.job, "task_index": str(task.index), "task_id": str(task.index)}
        return [f"--{name}={value}" for name, value in known.items() if name in asked]


CLASSIC = (*(f"{job}_hosts" for job in JOBS), "job_name", "task_index", "task_id")


def words_of(program: Sequence[str], flags: Sequence[str]) -> list[str]:
    """The program's words with our flags before the user's: whatever he gives himself counts."""
    head = 2 if program[0] == "-m" else 1
    return [*program[:head], *flags, *program[head:]]
