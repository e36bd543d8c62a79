"""How a task is: a method of our own beside TensorFlow's services, /headrace.TaskService/TaskStatus.

The messages are JSON objects with the fields of TaskStatus: a reader skips fields that it does not know, and
fields that are missing have their defaults, so that tasks of different versions understand each other.
"""

from __future__ import annotations

import json
import os
import resource
from dataclasses import asdict, dataclass, field, fields
from typing import Any

MOST_ERROR = 1000  # characters of an error's text


class TaskStatusRequest:
    """Without fields."""

    def SerializeToString(self) -> bytes:
        return b"{}"

    @classmethod
    def FromString(cls, data: bytes) -> TaskStatusRequest:
        return cls()


@dataclass(slots=True)
class TaskStatus:
    task: str = ""  # /job:worker/replica:0/task:1
    cluster: dict[str, str] = field(default_factory=dict)  # addresses of all tasks, by such names
    version: str = ""
    pid: int = 0
    seconds: float = 0.0  # since the server was made
    memory: int = 0  # bytes of the process
    devices: list[str] = field(default_factory=list)
    sessions: int = 0  # of clients, at this task's master
    graphs: int = 0  # that masters have registered here
    running: int = 0  # steps that this task takes part in at this moment
    steps: int = 0  # that this task's master has done for clients
    parts: int = 0  # of steps, of whatever master, that have run here
    failures: int = 0  # of both
    last_error: str = ""
    last_error_at: float = 0.0  # seconds since 1970

    def SerializeToString(self) -> bytes:
        return json.dumps(asdict(self)).encode()

    @classmethod
    def FromString(cls, data: bytes) -> TaskStatus:
        """Raises ValueError for anything that is not such a message."""
        return cls(**_fields(cls(), data))


def _fields(defaults: Any, data: bytes) -> dict[str, Any]:
    """Those fields of a message that are there."""
    try:
        given = json.loads(data.decode())
    except RecursionError:
        raise ValueError("a message of a task's status is too deep") from None
    if not isinstance(given, dict):
        raise ValueError("a message of a task's status is no JSON object")
    names = [f.name for f in fields(defaults) if f.name in given]
    return {name: _like(getattr(defaults, name), given[name], name) for name in names}


def _like(default: Any, value: Any, name: str) -> Any:
    """The value, if it has the type that the field has."""
    kinds = (int, float) if isinstance(default, float) else type(default)
    members = (
        [*value, *value.values()] if isinstance(value, dict) else value if isinstance(value, list) else []
    )
    if not isinstance(value, kinds) or not all(isinstance(member, str) for member in members):
        raise ValueError(f"a task's status has {name} = {value!r:.100}")
    return value


def memory_of_process() -> int:
    """Bytes that are resident; where the system does not say, the most that ever were."""
    try:
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGESIZE")
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
