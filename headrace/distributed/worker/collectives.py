"""A task as a member, and perhaps as the leader, of groups of devices: who takes part is asked of the leader,
values go by the buffers of the task that has left them.

`TaskCollectives` is the task's own, for all sessions; `StepCollectives` what the ops of one step see
(runtime.collectives.operation.Resolver).  `CollectivePeer` is a task as others see it.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from typing import Any, Protocol

import numpy as np

from headrace.core.errors import InternalError, InvalidArgumentError, OpError
from headrace.distributed.cluster.spec import task_of
from headrace.distributed.security.limits import Limits
from headrace.ops.control.collective import Part
from headrace.runtime.collectives.buffers import Buffers
from headrace.runtime.collectives.groups import Group, Groups, Meaning, Sequences, Told
from headrace.runtime.collectives.member import Exchange
from headrace.runtime.collectives.operation import Resolved, answer

BUFFER = "buffer"  # in place of frame and iteration, in the key of a value that is left in a buffer
REMEMBERED = 10_000  # nodes that have asked
Asker = tuple[int, int, str, str]  # group, instance, device, node
STEP_KEY = "collective_step"  # among what is given to a part: the number that its collectives go by


def buffer_key(source: str, incarnation: int, target: str, key: str) -> str:
    """As RecvTensor asks for it."""
    return f"{source};{incarnation:016x};{target};{key};{BUFFER}"


class CollectivePeer(Protocol):
    """What members ask of another task, as the leader or as the owner of a value."""

    def join(self, key: int, size: int, device: str, incarnation: int, meaning: Meaning) -> Future[Group]: ...

    def instance(
        self, key: int, group: Group, meaning: Meaning, device: str, is_source: bool
    ) -> Future[int]: ...

    def step_of(self, graph_key: int) -> Future[int]: ...

    def take(
        self, step: int, key: str, source: str, incarnation: int, target: str, size: int
    ) -> Future[Any]: ...


def _precedence(task: str) -> tuple[bool, bool, str]:
    """The chief before workers, these before all others."""
    return not task.startswith("/job:chief/"), not task.startswith("/job:worker/"), task


class TaskCollectives:
    """`leader`: the task that leads, as the server's configuration names it; else the cluster's first.
    `incarnation_of` knows this task's devices by their names."""

    def __init__(self, limits: Limits, incarnation_of: Callable[[str], int], leader: str = "") -> None:
        self.leader, self.incarnation_of = leader, incarnation_of
        self.buffers = Buffers(lambda count: limits.check("steps", count, "the collectives of this task"))
        self._groups, self._sequences, self._lock = Groups(), Sequences(), threading.Lock()
        self._known: dict[int, Group] = {}  # that the leader has told
        self.sources: OrderedDict[Asker, int] = OrderedDict()

    # -- as the leader ---------------------------------------------------------------------------
    def join(self, key: int, size: int, device: str, incarnation: int, meaning: Meaning) -> Future[Group]:
        kind = device.rpartition("/device:")[2].partition(":")[0]
        made: Future[Group] = Future()
        self._tell(lambda: self._groups.join(made, key, size, kind, device, incarnation))
        made.stop = lambda: self._leave(made)  # type: ignore[attr-defined]
        return made

    def instance(self, key: int, group: Group, meaning: Meaning, device: str, is_source: bool) -> Future[int]:
        made: Future[int] = Future()
        self._tell(lambda: self._groups.instance(made, key, group.key, meaning, device, is_source))
        made.stop = lambda: self._leave(made)  # type: ignore[attr-defined]
        return made

    def step_of(self, graph_key: int) -> Future[int]:
        made: Future[int] = Future()
        with self._lock:
            made.set_result(self._sequences.led(graph_key))
        return made

    def _tell(self, asked: Callable[[], list[Told]]) -> None:
        with self._lock:
            answers = asked()
        answer(answers)

    def _leave(self, ticket: Future[Any]) -> None:
        with self._lock:
            self._groups.leave(ticket)

    # -- as the owner of values ------------------------------------------------------------------
    def take(self, step: int, key: str, source: str, incarnation: int, target: str, size: int) -> Future[Any]:
        return self.buffers.take(step, key)

    # -- as a member, and a master ---------------------------------------------------------------
    def leader_of(self, addresses: Mapping[str, str], task: str) -> str:
        return self.leader if self.leader in addresses else min(addresses, key=_precedence, default=task)

    def known(self, key: int) -> Group | None:
        return self._known.get(key)

    def learn(self, group: Group) -> None:
        self._known[group.key] = group

    def forget(self, key: int) -> None:
        """Its members may have been started again."""
        self._known.pop(key, None)
        for asker in [a for a in self.sources if a[0] == key]:
            self.sources.pop(asker, None)

    def next_step(self, graph_key: int, leader: CollectivePeer) -> int:
        """The number of the next step of a graph, for a master here; waits for the leader."""
        with self._lock:
            known = self._sequences.known(graph_key)
        if known is None:
            known = leader.step_of(graph_key).result()
            with self._lock:
                self._sequences.learn(graph_key, known)
        return known

    def retire(self, graph_key: int, step: int, well: bool, leads: bool) -> None:
        with self._lock:
            self._sequences.retire(graph_key, step, well, leads)


class StepCollectives:
    """`task` and `addresses` are those of the session; `peer` gives a task by its name."""

    def __init__(
        self,
        own: TaskCollectives,
        step: int,
        task: str,
        addresses: Mapping[str, str],
        peer: Callable[[str], CollectivePeer],
    ) -> None:
        self._own, self._step, self._task, self._peer = own, step, task, peer
        self._leader = own.leader_of(addresses, task)

    def begin(self, member: str) -> None:
        self._own.buffers.begin(self._step, member)

    def end(self, member: str, error: BaseException | None) -> None:
        if error is not None:
            self._own.buffers.abort(self._step, error)
            self._own.forget(int(member.partition(":")[0]))
        self._own.buffers.end(self._step, member)

    def resolve(self, part: Part, meaning: Meaning, device: str, node: str) -> Future[Resolved]:
        """The group; then the source of a broadcast, and whether all mean the same.  A node asks once."""
        made: Future[Resolved] = Future()
        asker = part.group_key, part.instance_key, device, node
        known = self._own.known(part.group_key)

        def joined(future: Future[Group]) -> None:
            error = future.exception()
            if error is not None:
                made.set_exception(error)
                return
            group = future.result()
            self._own.learn(group)
            source = self._own.sources.get(asker)
            if source is not None:
                made.set_result(Resolved(group, source))
                return
            found = self._peer(self._leader).instance(
                part.instance_key, group, meaning, device, part.is_source
            )
            found.add_done_callback(lambda told: self._told(made, asker, group, told))

        try:
            if known is None or device not in known.devices or len(known.devices) != part.group_size:
                incarnation = self._own.incarnation_of(device)
                leader = self._peer(self._leader)
                leader.join(part.group_key, part.group_size, device, incarnation, meaning).add_done_callback(
                    joined
                )
            else:
                done: Future[Group] = Future()
                done.set_result(known)
                joined(done)
        except OpError as error:
            made.set_exception(error)
        return made

    def _told(self, made: Future[Resolved], asker: Asker, group: Group, told: Future[int]) -> None:
        error = told.exception()
        if error is not None:
            made.set_exception(error)
            return
        self._own.sources[asker] = told.result()
        if len(self._own.sources) > REMEMBERED:
            self._own.sources.popitem(last=False)
        made.set_result(Resolved(group, told.result()))

    def exchange(self, group: Group, device: str, dtype: Any) -> Exchange:
        return _Exchange(self, group, device, dtype.numpy)

    def post(self, key: str, value: Any) -> Future[None]:
        return self._own.buffers.post(self._step, key, value)

    def take(self, key: str, source: str, incarnation: int, target: str, size: int) -> Future[Any]:
        task = task_of(source)
        owner = self._own if task == self._task else self._peer(task)
        return owner.take(self._step, key, source, incarnation, target, size)


class _Exchange:
    """The values of one member."""

    def __init__(self, step: StepCollectives, group: Group, device: str, dtype: np.dtype[Any]) -> None:
        self._step, self._group, self._device, self._dtype = step, group, device, dtype

    def post(self, key: str, target: int, value: Any) -> Future[None]:
        return self._step.post(key, value)

    def take(self, key: str, source: int, count: int) -> Future[Any]:
        made: Future[Any] = Future()
        size = count * self._dtype.itemsize

        def come(future: Future[Any]) -> None:
            try:
                made.set_result(self._checked(future.result(), count, size, self._group.devices[source]))
            except BaseException as error:
                made.set_exception(error)

        device, incarnation = self._group.devices[source], self._group.incarnations[source]
        self._step.take(key, device, incarnation, self._device, size).add_done_callback(come)
        return made

    def _checked(self, value: Any, count: int, size: int, source: str) -> Any:
        """Bytes, or an array, as an array of the type of this member's tensor."""
        if isinstance(value, (bytes, memoryview)):
            found = np.frombuffer(value, np.uint8)
        elif isinstance(value, np.ndarray) and value.dtype == self._dtype:
            found = value.reshape(-1).view(np.uint8) if value.size else np.empty(0, np.uint8)
        else:
            raise InvalidArgumentError(None, None, f"{source} has left a value of another type")
        if found.size != size:
            raise InternalError(
                None, None, f"{source} has left {found.size} bytes where {size} were expected: shapes differ"
            )
        return found.view(self._dtype) if count else np.empty(0, self._dtype)
