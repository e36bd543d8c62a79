"""The client's side of a session at a master: the graph goes there as it grows, values in every step."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

from headrace.core.errors import OpError
from headrace.core.text import as_bytes
from headrace.distributed import server
from headrace.distributed.remote_master import RemoteMaster
from headrace.distributed.status import located
from headrace.formats import proto
from headrace.graph.graph import Graph
from headrace.graph.node import Node
from headrace.graph.tensor import Tensor
from headrace.runtime.step import Step


class ClientSession:
    """The session is made at its first step, with the graph of that moment."""

    def __init__(self, target: str, graph: Graph, config: Any) -> None:
        self.graph = graph
        self.config = proto.ConfigProto()
        if config is not None:
            self.config.MergeFromString(config.SerializeToString())
        self.master: Any = find_master(target)
        self._handle = ""
        self._version = 0
        self._sent = 0  # nodes of the graph that the master knows
        self._lock = threading.Lock()

    def prepare(
        self, feeds: Sequence[Tensor], fetches: Sequence[Tensor], targets: Sequence[Node]
    ) -> RemoteSignature:
        return RemoteSignature(self, feeds, fetches, targets)

    def handle(self, watch: Any = None) -> str:
        """The session's handle, once the master has all of the graph.  `watch`: see RemoteMaster."""
        nodes = len(self.graph._ordered)
        if self._handle and nodes == self._sent:
            return self._handle
        with self._lock:
            nodes = len(self.graph._ordered)
            if not self._handle:
                graph_def = self.graph.as_graph_def()
                self._handle, self._version = self.master.create_session(graph_def, self.config, watch)
            elif nodes > self._sent:
                added = self.graph.as_graph_def(from_version=self._sent)
                self._version = self.master.extend(self._handle, added, self._version)
            self._sent = nodes
            return self._handle

    def list_devices(self) -> list[Any]:
        return list(self.master.list_devices(self.handle()))

    def close(self) -> None:
        handle, self._handle = self._handle, ""
        try:
            if handle:
                self.master.close_session(handle)
        except OpError:
            pass  # the master has gone, and the session with it
        finally:
            if isinstance(self.master, RemoteMaster):
                self.master.close()


class RemoteSignature:
    """What session.run_cache.Prepared is for a session in this process."""

    only = None
    pieces = ()

    def __init__(
        self,
        session: ClientSession,
        feeds: Sequence[Tensor],
        fetches: Sequence[Tensor],
        targets: Sequence[Node],
    ) -> None:
        self.session = session
        self.feeds, self.fetches = [t.name for t in feeds], [t.name for t in fetches]
        self.targets = [n.name for n in targets]

    def run(self, step: Step, arguments: Sequence[Any]) -> list[Any]:
        stopping: list[Any] = []  # how to end the step at the master
        undo = step.cancel.on_cancel(lambda: _stop(stopping, step))

        def watch(running: Any) -> None:
            stopping.append(running)
            if step.cancel.is_set:
                _stop(stopping, step)

        try:
            handle = self.session.handle(watch)
            given = dict(zip(self.feeds, arguments))
            values: list[Any]
            values, _ = self.session.master.run(handle, given, self.fetches, self.targets, None, watch)
            return values
        except OpError as error:
            raise located(error, self.session.graph) from error.__cause__
        finally:
            undo()


def _stop(running: list[Any], step: Step) -> None:
    for one in running:
        one.stop(step.cancel.reason)


def find_master(target: str) -> Any:
    """The master of a server in this process, or one elsewhere."""
    target = as_bytes(target).decode()
    found = server.here.get(target)
    return found.master if found is not None else RemoteMaster(target.partition("://")[2])


def connect(target: str, graph: Graph, config: Any) -> ClientSession:
    return ClientSession(target, graph, config)


def reset(target: str, containers: Sequence[str], config: Any) -> None:
    filters = list(config.device_filters) if config is not None else []
    find_master(target).reset(containers, filters)
