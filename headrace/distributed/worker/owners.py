"""Whose graphs a task keeps.  Pure; the caller locks.

A master that dies deregisters nothing.  When its task comes back it is another life of the same task: what
the one before has registered is nobody's.
"""

from __future__ import annotations

Graph = tuple[str, str]  # session, handle


class Owners:
    """A sender is "task life"."""

    def __init__(self) -> None:
        self._lives: dict[str, str] = {}
        self._graphs: dict[str, set[Graph]] = {}  # by task
        self._tasks: dict[Graph, str] = {}

    def succeeded(self, sender: str) -> set[Graph]:
        """What earlier lives of the sender have left."""
        task, _, life = sender.partition(" ")
        if not task or self._lives.get(task, life) == life:
            return set()
        left = self._graphs.pop(task, set())
        for graph in left:
            del self._tasks[graph]
        del self._lives[task]
        return left

    def add(self, sender: str, graph: Graph) -> None:
        task, _, life = sender.partition(" ")
        self._lives[task] = life
        self._graphs.setdefault(task, set()).add(graph)
        self._tasks[graph] = task

    def discard(self, graph: Graph) -> None:
        task = self._tasks.pop(graph, None)
        if task is not None:
            self._graphs[task].discard(graph)
            if not self._graphs[task]:
                del self._graphs[task], self._lives[task]

    def __len__(self) -> int:
        return len(self._tasks)
