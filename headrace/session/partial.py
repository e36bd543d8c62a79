"""Partial runs: feeds arrive and fetches are taken bit by bit, in one step.

In this process the step is planned, compiled and run like any other, but beside its caller, who is one more
device to it (partition.client): every node runs once, as soon as what it needs has been fed.  The run
begins with the first `partial_run`, and has ended when all feeds were fed and all fetches taken.
"""

from __future__ import annotations

import itertools
from concurrent.futures import Future
from concurrent.futures import TimeoutError as TooLate
from typing import Any

from headrace.core.errors import DeadlineExceededError, InvalidArgumentError, OpError
from headrace.core.interrupts import noted
from headrace.graph.tensor import Tensor
from headrace.partition.client import feed_key, fetch_key
from headrace.plan.plan import Edge, Plan
from headrace.runtime.executor import pool
from headrace.runtime.frames import DEAD
from headrace.runtime.rendezvous import Rendezvous
from headrace.runtime.step import Step
from headrace.session import feeds as feeding
from headrace.session.fetches import Fetches, expand_feed_key
from headrace.session.results import to_user
from headrace.session.run_cache import prepare, pruned

_numbers = itertools.count()


def begin(session: Any, fetches: Any, feeds: Any) -> PartialRun:
    """A run in this process, or at the session's master."""
    kind = LocalRun if session._remote is None else RemoteRun
    return kind(session, fetches, feeds)


class PartialRun:
    """What is fed and fetched, in the user's words; who computes is a subclass's affair."""

    def __init__(self, session: Any, fetches: Any, feeds: Any) -> None:
        self.session, self.graph = session, session.graph
        self.handle = f"partial_run_{next(_numbers)}"
        self.announced = Fetches(self.graph, fetches)
        keys = [k for f in feeds or () for k in expand_feed_key(f)]
        self.feeds = [feeding.feed_tensor(self.graph, k) for k in keys]

    @property
    def is_complete(self) -> bool:
        """Whether nothing is left to feed and to fetch."""
        return False

    def run(self, fetches: Any, feed_dict: Any) -> Any:
        structure = Fetches(self.graph, fetches)
        if structure.targets:
            raise RuntimeError("partial_run() requires empty target_list.")
        given = {}
        for key, value in feeding.expanded(feed_dict or {}):
            tensor = feeding.feed_tensor(self.graph, key)
            given[tensor] = feeding.to_value(tensor, value)
        values = self._values(list(structure.tensors), given)
        for place, tensor in enumerate(structure.tensors):
            values[place] = to_user(values, place, tensor.dtype.base)
        return structure.rebuild(values)

    def _values(self, tensors: list[Tensor], given: dict[Tensor, Any]) -> list[Any]:
        """Of the tensors that are fetched now."""
        raise NotImplementedError


class RemoteRun(PartialRun):
    """The master knows what was fed and fetched before."""

    def __init__(self, session: Any, fetches: Any, feeds: Any) -> None:
        super().__init__(session, fetches, feeds)
        tensors, targets = list(self.announced.tensors), list(self.announced.targets)
        self.remote = session._remote.partial(self.feeds, tensors, targets)

    def _values(self, tensors: list[Tensor], given: dict[Tensor, Any]) -> list[Any]:
        values: list[Any] = self.remote.run(given, list(tensors))
        return values


class _Open(Rendezvous):
    """Never are all who meet here idle: the client may still come."""

    def joined(self, devices: Any) -> None:
        return


class LocalRun(PartialRun):
    """A step of this process."""

    def __init__(self, session: Any, fetches: Any, feeds: Any) -> None:
        super().__init__(session, fetches, feeds)
        self.tensors = list(dict.fromkeys(self.announced.tensors))
        settings = session._settings.run
        signature = self.graph, self.feeds, self.tensors, list(self.announced.targets)
        self.plan = pruned(*signature, settings)
        self.names = dict(zip(self.feeds, self.plan.feeds))
        self.prepared = prepare(*signature, settings, is_served=True)
        self.fed: set[Tensor] = set()
        self.fetched: set[Tensor] = set()
        self.step = Step(session._containers, session)
        self.step.library, self.step.rendezvous = session._library, _Open()
        self.ended: Future[Any] = Future()
        self.has_begun = False

    @property
    def is_complete(self) -> bool:
        return len(self.fed) == len(self.feeds) and len(self.fetched) == len(self.tensors)

    def _values(self, tensors: list[Tensor], given: dict[Tensor, Any]) -> list[Any]:
        """One call: everything is checked before anything is fed, since what was fed cannot be taken back."""
        for tensor in given:
            self._check_feed(tensor)
        for tensor in tensors:
            self._check_fetch(tensor, {*self.fed, *given})
        self._begin()
        for tensor, value in given.items():
            name = self.names[tensor]
            self.step.rendezvous.send(feed_key(name, self.plan.nodes[name].device), value)
        self.fed |= given.keys()
        values = self._taken(tensors)
        self.fetched.update(tensors)
        if self.is_complete:
            self._result(self.ended)
        return values

    def _begin(self) -> None:
        if not self.has_begun:
            self.has_begun = True
            self.session._steps.add(self.step)
            self.prepared.start(self.step, [], self._end, pool().submit)

    def _end(self, values: Any, error: BaseException | None) -> None:
        self.session._steps.discard(self.step)
        if error is None:
            self.ended.set_result(None)
        else:
            self.step.rendezvous.abort(error)
            self.ended.set_exception(error)

    def _check_feed(self, tensor: Tensor) -> None:
        if tensor not in self.names:
            raise _refused(f"The feed {tensor.name} was not specified in partial_run_setup.")
        if tensor in self.fed:
            raise _refused(f"The feed {tensor.name} has already been fed.")

    def _check_fetch(self, tensor: Tensor, fed: set[Tensor]) -> None:
        if tensor not in self.tensors:
            raise _refused(f"The fetch {tensor.name} was not specified in partial_run_setup.")
        if tensor in self.fetched:
            raise _refused(f"The fetch {tensor.name} has already been fetched.")
        unfed = {name for feed, name in self.names.items() if feed not in fed}
        if unfed & _needs(self.plan, self._edge(tensor).node):
            raise _refused(f"Fetch {tensor.name} can't be computed from the feeds that have been fed so far.")

    def _edge(self, tensor: Tensor) -> Edge:
        return self.plan.fetches[self.tensors.index(tensor)]

    def _taken(self, tensors: list[Tensor]) -> list[Any]:
        """What the step sends, as soon as it does."""
        waiting = {}
        for tensor in dict.fromkeys(tensors):
            edge = self._edge(tensor)
            key = fetch_key(edge, self.plan.nodes[edge.node].device)
            waiting[tensor] = self.step.rendezvous.receive(key)
        values = {tensor: self._result(future) for tensor, future in waiting.items()}
        for tensor, value in values.items():
            if value is DEAD:
                raise _refused(
                    f"{tensor.name} was not computed, because it lies on a branch that was not taken."
                )
        return [values[tensor] for tensor in tensors]

    def _result(self, future: Future[Any]) -> Any:
        """While the caller waits, a deadline ends the step, and so does Ctrl-C."""
        seconds = self.session._settings.timeout_in_ms / 1000 or None
        with noted(self.step.cancel) as ctrl_c:
            try:
                return future.result(seconds)
            except TooLate:
                late = DeadlineExceededError(None, None, "Timed out waiting for notification")
                self.step.cancel.set(late)
                raise late from None
            except OpError as error:
                if ctrl_c.is_pressed:
                    raise KeyboardInterrupt from error
                raise self.session._named(error) from error.__cause__


def _needs(plan: Plan, name: str) -> set[str]:
    """The nodes that a node's value depends on, itself too."""
    stack, seen = [name], {name}
    while stack:
        node = plan.nodes[stack.pop()]
        news = {*(e.node for e in node.inputs), *node.control} - seen
        seen |= news
        stack += news
    return seen


def _refused(message: str) -> InvalidArgumentError:
    return InvalidArgumentError(None, None, message)
