"""The client's side of a session at a master: the graph goes there as it grows, values in every step."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from copy import copy
from typing import Any

from headrace.core.errors import CancelledError, OpError
from headrace.core.interrupts import noted
from headrace.core.text import as_bytes
from headrace.distributed import server
from headrace.distributed.master.remote import RemoteMaster
from headrace.distributed.wire.status import located
from headrace.formats import proto
from headrace.graph.graph import Graph
from headrace.graph.node import Node
from headrace.graph.tensor import Tensor
from headrace.ops.control.transfer import labelled, unlabelled
from headrace.runtime.cancel import Cancel
from headrace.runtime.step import Step


class ClientSession:
    """The session is made at its first step, with the graph of that moment."""

    def __init__(self, target: str, graph: Graph, config: Any) -> None:
        self.graph, self.target = graph, target
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

    def partial(
        self, feeds: Sequence[Tensor], fetches: Sequence[Tensor], targets: Sequence[Node]
    ) -> RemotePartial:
        return RemotePartial(self, feeds, fetches, targets)

    def handle(self, watch: Any = None) -> str:
        """The session's handle, once the master has all of the graph.  `watch`: see RemoteMaster."""
        nodes = len(self.graph._ordered)
        if self._handle and nodes == self._sent:
            return self._handle
        with self._lock:
            nodes = len(self.graph._ordered)
            if not self._handle:
                graph_def = self.graph.as_graph_def()
                self._handle, self._version = self.master.create_session(
                    graph_def, self.config, watch, self.target
                )
            elif nodes > self._sent:
                added = self.graph.as_graph_def(from_version=self._sent)
                self._version = self.master.extend(self._handle, added, self._version)
            self._sent = nodes
            return self._handle

    def release(self, number: int) -> None:
        """A callable is not needed any more."""
        if number and self._handle:
            with suppress(OpError):  # the session, or its master, has gone
                self.master.release_callable(self._handle, number)

    def list_devices(self) -> list[Any]:
        return list(self.master.list_devices(self.handle()))

    def close(self) -> None:
        handle, self._handle = self._handle, ""
        try:
            with suppress(OpError):  # the master has gone, and the session with it
                if handle:
                    self.master.close_session(handle)
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
        self.quantized = Quantized(feeds, fetches)
        self.options: Any = None
        self.run_metadata: Any = None

    def watched(self, options: Any, run_metadata: Any) -> RemoteSignature:
        made = copy(self)
        made.options, made.run_metadata = options, run_metadata
        return made

    def pinned(self, run_options: Any) -> RemoteCallable:
        """The same as a callable of the master: it is run by its number."""
        return RemoteCallable(self, run_options)

    def run(self, step: Step, arguments: Sequence[Any]) -> list[Any]:
        with _stoppable(step.cancel, self.session.graph) as watch:
            arguments = self.quantized.sent(arguments)
            values, metadata = self._call(self.session.handle(watch), arguments, watch)
        if self.run_metadata is not None:
            self.run_metadata.Clear()
            if metadata is not None:
                self.run_metadata.MergeFromString(metadata.SerializeToString())
        return self.quantized.received(values)

    def _call(self, session: str, arguments: Sequence[Any], watch: Any) -> tuple[list[Any], Any]:
        given, options = dict(zip(self.feeds, arguments)), _message(self.options)
        found: tuple[list[Any], Any] = self.session.master.run(
            session, given, self.fetches, self.targets, options, watch
        )
        return found


class RemoteCallable(RemoteSignature):
    """A signature with its RunOptions that the master knows by a number, from the first call on."""

    def __init__(self, signature: RemoteSignature, run_options: Any) -> None:
        self.session, self.options, self.run_metadata = signature.session, None, None
        self.feeds, self.fetches, self.targets = signature.feeds, signature.fetches, signature.targets
        self.quantized = signature.quantized
        self._number = _Number(signature.session)
        self._wish = proto.CallableOptions(
            feed=self.feeds, fetch=self.fetches, target=self.targets, run_options=_message(run_options)
        )

    def _call(self, session: str, arguments: Sequence[Any], watch: Any) -> tuple[list[Any], Any]:
        if self.options is not None:  # of this call alone
            return super()._call(session, arguments, watch)
        found: tuple[list[Any], Any] = self.session.master.run_callable(
            session, self._number.get(session, self._wish), arguments, watch
        )
        return found


class _Number:
    """A callable at the master; it is released with the last who could call it."""

    def __init__(self, session: ClientSession) -> None:
        self._session, self._value = session, 0
        self._lock = threading.Lock()

    def get(self, session: str, wish: Any) -> int:
        with self._lock:
            if not self._value:
                self._value = self._session.master.make_callable(session, wish)
            return self._value

    def __del__(self) -> None:
        self._session.release(self._value)


class RemotePartial:
    """A partial run at the master."""

    def __init__(
        self,
        session: ClientSession,
        feeds: Sequence[Tensor],
        fetches: Sequence[Tensor],
        targets: Sequence[Node],
    ) -> None:
        self.session = session
        names = [t.name for t in feeds], [t.name for t in fetches], [n.name for n in targets]
        with _stoppable(Cancel(), session.graph) as watch:
            self.run_handle = session.master.partial_setup(session.handle(watch), *names)

    def run(self, given: Mapping[Tensor, Any], fetches: Sequence[Tensor]) -> list[Any]:
        """One call of it; Ctrl-C ends the run."""
        cancel = Cancel()
        quantized = Quantized(list(given), fetches)
        feeds = dict(zip((t.name for t in given), quantized.sent(list(given.values()))))
        names = [tensor.name for tensor in fetches]
        with noted(cancel) as ctrl_c:
            try:
                with _stoppable(cancel, self.session.graph) as watch:
                    values: list[Any] = self.session.master.partial_run(
                        self.session.handle(), self.run_handle, feeds, names, watch
                    )
            except CancelledError as error:
                if ctrl_c.is_pressed:
                    raise KeyboardInterrupt from error
                raise
        return quantized.received(values)


class Quantized:
    """Which feeds and fetches have quantized types: these are named on the way to the master and back."""

    def __init__(self, feeds: Sequence[Tensor], fetches: Sequence[Tensor]) -> None:
        self._feeds = [(i, t.dtype.base) for i, t in enumerate(feeds) if t.dtype.is_quantized]
        self._fetches = [(i, t.dtype.base) for i, t in enumerate(fetches) if t.dtype.is_quantized]

    def sent(self, values: Sequence[Any]) -> Sequence[Any]:
        if not self._feeds:
            return values
        made = list(values)
        for place, dtype in self._feeds:
            made[place] = labelled(made[place], dtype)
        return made

    def received(self, values: list[Any]) -> list[Any]:
        for place, dtype in self._fetches:
            values[place] = unlabelled(values[place], dtype)
        return values


@contextmanager
def _stoppable(cancel: Cancel, graph: Graph) -> Iterator[Callable[[Any], None]]:
    """What is under way at the master (it is told to the function that this gives) ends with `cancel`; errors
    are those of the client's graph."""
    running: list[Any] = []

    def stop() -> None:
        for one in running:
            one.stop(cancel.reason)

    def watch(one: Any) -> None:
        running.append(one)
        if cancel.is_set:
            one.stop(cancel.reason)

    undo = cancel.on_cancel(stop)
    try:
        yield watch
    except OpError as error:
        if cancel.reason is not None:
            raise cancel.reason from error  # what else went wrong is an echo of it
        raise located(error, graph) from error.__cause__
    finally:
        undo()


def _message(options: Any) -> Any:
    """RunOptions as ours, whoever's class it is of."""
    if options is None or isinstance(options, proto.RunOptions):
        return options
    return proto.RunOptions.FromString(options.SerializeToString())


def find_master(target: str) -> Any:
    """The master of a server in this process, or one elsewhere."""
    target = as_bytes(target).decode()
    found = server.here.get(target)
    return found.master if found is not None else RemoteMaster(target.partition("://")[2])


def connect(target: str, graph: Graph, config: Any) -> ClientSession:
    return ClientSession(target, graph, config)


def reset(target: str, containers: Sequence[str], config: Any) -> None:
    filters = list(config.device_filters) if config is not None else []
    timeout = config.operation_timeout_in_ms if config is not None else 0
    master = find_master(target)
    try:
        master.reset(containers, filters, timeout)
    finally:
        if isinstance(master, RemoteMaster):
            master.close()
