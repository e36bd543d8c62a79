"""The output of tasks: one file for each, in one folder."""

from __future__ import annotations

import os
from collections import deque
from pathlib import Path
from typing import IO

from headrace.distributed.launch.tasks import Task

_LOOK_BACK = 1 << 16  # bytes in which the last lines are looked for


class Logs:
    """`folder` is made where it is not there; files of a launch before this one are replaced."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._read: dict[Task, int] = {}
        self._begun: set[Task] = set()
        folder.mkdir(parents=True, exist_ok=True)

    def path(self, task: Task) -> Path:
        return self.folder / f"{task.job}-{task.index}.log"

    def open(self, task: Task) -> IO[bytes]:
        """The file to write to; a task that is started again goes on in it."""
        mode = "ab" if task in self._begun else "wb"
        self._begun.add(task)
        return self.path(task).open(mode, buffering=0)

    def last_lines(self, task: Task, count: int) -> list[str]:
        """The end of a task's output."""
        try:
            with open(self.path(task), "rb") as file:
                size = file.seek(0, os.SEEK_END)
                file.seek(max(0, size - _LOOK_BACK))
                text = file.read().decode(errors="replace")
        except FileNotFoundError:
            return []
        return list(deque((line for line in text.splitlines() if line.strip()), count))

    def fresh(self, task: Task, all_of_it: bool = False) -> bytes:
        """What a task has written since the last question: whole lines, in the end all of it."""
        try:
            with open(self.path(task), "rb") as file:
                file.seek(self._read.get(task, 0))
                found = file.read(_LOOK_BACK)
        except FileNotFoundError:
            return b""
        if not all_of_it and len(found) < _LOOK_BACK:
            found = found[: found.rfind(b"\n") + 1]
        self._read[task] = self._read.get(task, 0) + len(found)
        return found
