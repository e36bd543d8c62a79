"""Which resources live, by container, kind and name."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any


class Containers:
    """The resources of one session, or of one process that serves several."""

    def __init__(self) -> None:
        self._items: dict[tuple[str, str, str], Any] = {}
        self._lock = threading.RLock()
        self.generation = 0  # grows when something is forgotten: who remembers finds out by it
        self.node_state: dict[str, tuple[dict[Any, Any], Any]] = {}

    def get_or_make(self, container: str, kind: str, name: str, make: Callable[[], Any]) -> Any:
        key = (container, kind, name)
        found = self._items.get(key)
        if found is None:
            with self._lock:
                found = self._items.get(key)
                if found is None:
                    found = self._items[key] = make()
        return found

    def find(self, container: str, kind: str, name: str) -> Any | None:
        return self._items.get((container, kind, name))

    def remove(self, container: str, kind: str, name: str) -> bool:
        with self._lock:
            self.generation += 1
            return self._items.pop((container, kind, name), None) is not None

    def clear(self, containers: list[str] | None = None) -> None:
        """Forget everything in these containers ("" is the default one); None means all."""
        with self._lock:
            self.generation += 1
            for key in list(self._items):
                if containers is None or key[0] in containers:
                    item = self._items.pop(key)
                    close = getattr(item, "close_resource", None)
                    if close is not None:
                        close()
            if containers is None:
                self.node_state.clear()

    def with_own_nodes(self) -> SessionContainers:
        """The same resources, with states of nodes of its own."""
        return SessionContainers(self)

    def state_of(self, node: str) -> tuple[dict[Any, Any], Any]:
        """The state of a stateful node, and its lock: kept from step to step."""
        found = self.node_state.get(node)
        if found is None:
            with self._lock:
                found = self.node_state.setdefault(node, ({}, threading.RLock()))
        return found


class SessionContainers(Containers):
    """One session's view of the resources of a task: variables, queues and tables are the task's; the state
    of nodes, such as the counters of random ops, is the session's own."""

    def __init__(self, shared: Containers) -> None:
        self._shared = shared
        self._items, self._lock = shared._items, shared._lock
        self.node_state = {}

    @property
    def generation(self) -> int:
        return self._shared.generation

    @generation.setter
    def generation(self, value: int) -> None:
        self._shared.generation = value
