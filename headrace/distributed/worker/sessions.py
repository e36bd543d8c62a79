"""The sessions of masters on a task, and the graphs that they have registered there.

The session "" is there from the start, for masters that make none.  Handles of graphs are drawn at random:
one of a task that has gone names nothing in the task that takes its place.
"""

from __future__ import annotations

import random
import threading
from collections.abc import Sequence

from headrace.core.errors import AbortedError
from headrace.distributed.security.limits import Limits
from headrace.distributed.worker.interface import DeviceInfo
from headrace.distributed.worker.owners import Owners
from headrace.distributed.worker.registered import RegisteredGraph
from headrace.distributed.worker.session import WorkerSession, renamed


class Sessions:
    """`devices` of the task; in a session with a cluster of its own they have other names."""

    def __init__(self, unnamed: WorkerSession, devices: Sequence[DeviceInfo], limits: Limits) -> None:
        self.task, self._devices, self.limits = unnamed.task, devices, limits
        self._held = {"": unnamed}
        self._owners = Owners()
        self._lock = threading.Lock()
        self._name_devices()

    def add(self, handle: str, made: WorkerSession) -> None:
        with self._lock:
            self.limits.check("sessions", len(self._held), self.task)
            self._held.setdefault(handle, made)  # the request may come twice
            self._name_devices()

    def remove(self, handle: str) -> None:
        with self._lock:
            if handle:
                self._held.pop(handle, None)
                self._name_devices()

    def find(self, handle: str) -> WorkerSession:
        found = self._held.get(handle)
        if found is None:
            raise AbortedError(
                None, None, f"Session handle is not found: {handle}. Possibly this worker just restarted."
            )
        return found

    def handles(self) -> list[str]:
        with self._lock:
            return list(self._held)

    def _name_devices(self) -> None:
        """Hold the lock."""
        tasks = {held.task for held in self._held.values()}
        self._named = {renamed(info.name, task): info for task in tasks for info in self._devices}

    def device(self, name: str) -> DeviceInfo | None:
        """The device that has this name in one of the sessions."""
        return self._named.get(name)

    # -- graphs ----------------------------------------------------------------------------------
    def add_graph(self, session: str, graph: RegisteredGraph, sender: str = "") -> str:
        """Its handle."""
        with self._lock:
            graphs = self.find(session).graphs
            self.limits.check("graphs", len(graphs) + 1, self.task)
            handle = f"{random.getrandbits(64):016x}"
            graphs[handle] = graph
            if sender:
                self._owners.add(sender, (session, handle))
        return handle

    def remove_graph(self, session: str, handle: str) -> None:
        with self._lock:
            self.find(session).graphs.pop(handle, None)
            self._owners.discard((session, handle))

    def find_graph(self, session: str, handle: str) -> tuple[WorkerSession, RegisteredGraph]:
        held = self.find(session)
        graph = held.graphs.get(handle)
        if graph is None:
            raise AbortedError(None, None, f"Graph handle is not found: {handle}")
        return held, graph

    def meet(self, sender: str) -> None:
        """A master is heard of: what an earlier life of its task has registered is forgotten."""
        with self._lock:
            for session, handle in self._owners.succeeded(sender):
                if session in self._held:
                    self._held[session].graphs.pop(handle, None)

    def count_graphs(self) -> int:
        with self._lock:
            return sum(len(held.graphs) for held in self._held.values())
