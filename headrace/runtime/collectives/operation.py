"""One member's part in one collective operation, from its tensor to the result.

Who takes part is asked of a Resolver; values go through an Exchange.  Within one process both are
`LocalGroup`; tasks of a cluster have their own (distributed.worker.collectives).
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from functools import partial
from typing import Any, NamedTuple, Protocol

import numpy as np

from headrace.core.errors import CancelledError, InternalError, OpError
from headrace.ops.control.collective import MERGES, Part
from headrace.runtime.collectives import flows
from headrace.runtime.collectives.buffers import Buffers
from headrace.runtime.collectives.groups import BROADCAST, GATHER, REDUCE, Group, Groups, Meaning, Told
from headrace.runtime.collectives.member import Exchange, Member

KINDS = {"reduce": REDUCE, "broadcast": BROADCAST, "gather": GATHER}


class Resolved(NamedTuple):
    group: Group
    source: int


class Resolver(Protocol):
    """Answers who takes part, and lends the way to them."""

    def resolve(self, part: Part, meaning: Meaning, device: str, node: str) -> Future[Resolved]: ...

    def exchange(self, group: Group, device: str, dtype: Any) -> Exchange: ...

    def begin(self, member: str) -> None: ...

    def end(self, member: str, error: BaseException | None) -> None: ...


def run(ctx: Any, resolver: Resolver, part: Part, value: Any) -> Future[Any]:
    """Take part; the future has what the op gives on this device."""
    return _Operation(ctx, resolver, part, value).result


class _Operation:
    """`ctx` is that of the member's kernel, whose step may end it."""

    def __init__(self, ctx: Any, resolver: Resolver, part: Part, value: Any) -> None:
        """Begin: ask who else takes part.  What goes on comes with the answers, on their threads."""
        self.part, self.value, self.resolver = part, value, resolver
        self.device, self.dtype = ctx.node.device, ctx.node.outputs[0].dtype
        self.name = f"{part.group_key}:{part.instance_key}:{ctx.step.tag}"
        self.shape = _shape(part, value)
        self.result: Future[Any] = Future()
        self._member: Member | None = None
        self._error: BaseException | None = None
        self._has_ended = False
        self._lock = threading.Lock()
        resolver.begin(f"{self.name} at {self.device}")
        forget = ctx.on_cancel(lambda: self.fail(_reason(ctx)))
        self.result.add_done_callback(lambda _: forget())
        meaning = Meaning(KINDS[part.kind], self.dtype, self.shape)
        resolver.resolve(part, meaning, self.device, ctx.node.name).add_done_callback(self._resolved)

    def _resolved(self, asked: Future[Resolved]) -> None:
        """All members are known: exchange values, unless the step has ended meanwhile."""
        try:
            member = self._make(asked.result())
        except BaseException as error:
            self.fail(error)
            return
        with self._lock:
            self._member = member
            lost = self._error
        member.result.add_done_callback(self._ended)
        if lost is not None:
            member.fail(lost)
        else:
            member.start()

    def _make(self, found: Resolved) -> Member:
        """The flows of this kind of operation, for this member's place in the group."""
        group = found.group
        if self.device not in group.devices:
            raise InternalError(None, None, f"{self.device} is no member of group {group.key}")
        place = flows.Place(group.devices.index(self.device), group.tasks, self.name)
        exchange = self.resolver.exchange(group, self.device, self.dtype)
        flat = None if self.value is None else np.ascontiguousarray(self.value).reshape(-1)
        if self.part.kind == "broadcast":
            count = int(np.prod(self.shape, dtype=np.int64))
            flow = flows.broadcast_flow(place, found.source, flat, count)
            return Member([flow], lambda made: self._whole(made), exchange)
        assert flat is not None
        if self.part.kind == "gather":
            return Member(flows.gather_flows(place, flat), self._whole, exchange)
        final = partial(_divided, by=self.part.group_size) if self.part.divides else None
        made = flows.reduce_flows(place, flat, MERGES[self.part.merge], final, self.part.offsets or (0,))
        return Member(made, self._whole, exchange)

    def _whole(self, chunks: list[Any]) -> Any:
        return flows.joined(chunks, self.dtype.numpy).reshape(self.shape)

    def fail(self, error: BaseException) -> None:
        with self._lock:
            if self._error is None:
                self._error = error
            member = self._member
        if member is not None:
            member.fail(error)
        else:
            self._end(None, error)

    def _ended(self, future: Future[Any]) -> None:
        error = future.exception()
        self._end(None if error is not None else future.result(), error)

    def _end(self, value: Any, error: BaseException | None) -> None:
        with self._lock:
            if self._has_ended:
                return
            self._has_ended = True
        self.resolver.end(f"{self.name} at {self.device}", error)
        if error is None:
            self.result.set_result(value)
        else:
            self.result.set_exception(error)


def _shape(part: Part, value: Any) -> tuple[int, ...]:
    """Of the result; members of a gather have the same one."""
    shape = tuple(part.shape or ()) if value is None else value.shape
    return (shape[0] * part.group_size, *shape[1:]) if part.kind == "gather" else shape


def _reason(ctx: Any) -> OpError:
    return ctx.cancel_reason() or CancelledError(None, None, "The step was cancelled.")


def _divided(value: Any, by: int) -> Any:
    """As TensorFlow divides: integers towards zero."""
    if value.dtype.kind in "iu":
        return (np.sign(value) * (np.abs(value) // by)).astype(value.dtype)
    return (value / value.dtype.type(by)).astype(value.dtype, copy=False)


class LocalGroup:
    """All members are devices of one step in this process."""

    def __init__(self, step_id: int) -> None:
        self._step_id = step_id
        self._groups, self._buffers, self._lock = Groups(), Buffers(), threading.Lock()

    def resolve(self, part: Part, meaning: Meaning, device: str, node: str) -> Future[Resolved]:
        """Join the group, then the operation."""
        made: Future[Resolved] = Future()
        joined: Future[Group] = Future()

        def begin(future: Future[Group]) -> None:
            error = future.exception()
            if error is not None:
                made.set_exception(error)
                return
            source: Future[int] = Future()
            source.add_done_callback(lambda told: _give(made, future.result(), told))
            self._tell(
                lambda: self._groups.instance(
                    source, part.instance_key, part.group_key, meaning, device, part.is_source
                )
            )

        joined.add_done_callback(begin)
        kind = device.rpartition("/device:")[2].partition(":")[0]
        self._tell(lambda: self._groups.join(joined, part.group_key, part.group_size, kind, device))
        return made

    def _tell(self, asked: Callable[[], list[Told]]) -> None:
        with self._lock:
            answers = asked()
        answer(answers)

    def exchange(self, group: Group, device: str, dtype: Any) -> Exchange:
        return self

    def post(self, key: str, target: int, value: Any) -> Future[None]:
        return self._buffers.post(self._step_id, key, value)

    def take(self, key: str, source: int, count: int) -> Future[Any]:
        return self._buffers.take(self._step_id, key)

    def begin(self, member: str) -> None:
        self._buffers.begin(self._step_id, member)

    def end(self, member: str, error: BaseException | None) -> None:
        if error is not None:
            self._buffers.abort(self._step_id, error)
        self._buffers.end(self._step_id, member)


def _give(made: Future[Resolved], group: Group, source: Future[int]) -> None:
    error = source.exception()
    if error is not None:
        made.set_exception(error)
    else:
        made.set_result(Resolved(group, source.result()))


def answer(answers: list[Told]) -> None:
    """Tell whoever can be answered now."""
    for future, found in answers:
        if isinstance(found, BaseException):
            future.set_exception(found)
        else:
            future.set_result(found)
