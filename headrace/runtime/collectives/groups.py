"""Who takes part in a collective operation: the part of a group's leader.  Pure: no threads, no I/O.

Every member asks the leader; all are answered when as many have asked as the group has members.  A group,
once complete, never changes, but that a member may come back after a restart: who asks again gets the same
answer.  An instance is one operation of a group: all members mean the same kind, type and shape.  One of a
broadcast is complete when every member has asked for it and exactly one of them was its source.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from headrace.core.errors import InternalError, InvalidArgumentError, OpError

REDUCE, BROADCAST, GATHER = 0, 1, 2  # TF's numbers of the kinds
NO_SOURCE = -1


class Group(NamedTuple):
    """A complete one; a member's rank is its place.  An incarnation is 0 where it is not known."""

    key: int
    device_type: str
    devices: tuple[str, ...]
    incarnations: tuple[int, ...] = ()

    @property
    def tasks(self) -> tuple[str, ...]:
        """The task of each device."""
        return tuple(device.partition("/device:")[0] for device in self.devices)


class Meaning(NamedTuple):
    """What a member takes an operation for."""

    kind: int
    dtype: Any = None
    shape: tuple[int, ...] = ()


class Told(NamedTuple):
    """Who asked, and what is to be answered: a Group, the rank of a source, or an error."""

    ticket: Any
    answer: Any


@dataclass(slots=True)
class _Forming:
    size: int
    device_type: str
    devices: dict[str, int] = field(default_factory=dict)  # with their incarnations
    waiting: list[Any] = field(default_factory=list)


@dataclass(slots=True)
class _Instance:
    meaning: Meaning
    asked: set[str] = field(default_factory=set)
    sources: list[str] = field(default_factory=list)
    waiting: list[Any] = field(default_factory=list)


class Groups:
    """`ticket` is whatever the caller wants back with the answer."""

    def __init__(self) -> None:
        self._groups: dict[int, _Forming] = {}
        self._instances: dict[tuple[int, int], _Instance] = {}

    def join(
        self, ticket: Any, key: int, size: int, device_type: str, device: str, incarnation: int = 0
    ) -> list[Told]:
        """A device takes part in a group of `size` members."""
        group = self._groups.get(key)
        if group is None:
            group = self._groups[key] = _Forming(size, device_type)
        error = _mismatch(group, key, size, device_type, device)
        if error is not None:
            return [Told(ticket, error)]
        group.devices[device] = incarnation or group.devices.get(device, 0)
        group.waiting.append(ticket)
        return self._ready(key)

    def leave(self, ticket: Any) -> None:
        """Who asked has gone; as a member it may still be counted on, when it asks again."""
        for group in self._groups.values():
            _remove(group.waiting, ticket)
        for one in self._instances.values():
            _remove(one.waiting, ticket)

    def _ready(self, key: int) -> list[Told]:
        group = self._groups[key]
        if len(group.devices) < group.size:
            return []
        made = self.group(key)
        waiting, group.waiting = group.waiting, []
        return [Told(ticket, made) for ticket in waiting]

    def group(self, key: int) -> Group:
        found = self._groups[key]
        devices = tuple(sorted(found.devices))
        return Group(key, found.device_type, devices, tuple(found.devices[d] for d in devices))

    def instance(
        self, ticket: Any, key: int, group: int, meaning: Meaning, device: str, is_source: bool
    ) -> list[Told]:
        """A member of a complete group begins one operation."""
        members = self._groups.get(group)
        if members is None or len(members.devices) < members.size or device not in members.devices:
            return [Told(ticket, _wrong(f"{device} is no member of a complete group {group}"))]
        one = self._instances.setdefault((group, key), _Instance(meaning))
        error = _misunderstood(one.meaning, meaning, key, device)
        if error is not None:
            return [Told(ticket, error)]
        if meaning.kind != BROADCAST:
            return [Told(ticket, NO_SOURCE)]
        one.asked.add(device)
        if is_source and device not in one.sources:
            one.sources.append(device)
        one.waiting.append(ticket)
        if len(one.asked) < members.size:
            return []
        waiting, one.waiting = one.waiting, []
        answer: Any = _wrong(f"Instance {key} of group {group} found {len(one.sources)} sources, expected 1")
        if len(one.sources) == 1:
            answer = sorted(members.devices).index(one.sources[0])
        return [Told(t, answer) for t in waiting]


class Sequences:
    """Numbers of steps of graphs with collectives: all masters take the same number for the same step, each
    going on from the one that it had from the group's leader.  After a step that failed they ask again; the
    leader goes on then, too, so that nothing of that step is met in the next."""

    def __init__(self, first: Callable[[], int] = lambda: random.getrandbits(55) | 1 << 56) -> None:
        self._next: dict[int, int] = {}
        self._first = first

    def led(self, graph_key: int) -> int:
        """The next number, at the leader."""
        return self._next.setdefault(graph_key, self._first())

    def known(self, graph_key: int) -> int | None:
        return self._next.get(graph_key)

    def learn(self, graph_key: int, step_id: int) -> None:
        self._next[graph_key] = step_id

    def retire(self, graph_key: int, step_id: int, well: bool, leads: bool) -> None:
        """A step has ended."""
        if not well and not leads:
            self._next.pop(graph_key, None)
        elif self._next.get(graph_key) == step_id:
            self._next[graph_key] = (step_id + 1) & ((1 << 57) - 1)


def _mismatch(group: _Forming, key: int, size: int, device_type: str, device: str) -> OpError | None:
    if group.size != size:
        return _wrong(f"Group {key} has {group.size} members, but {device} takes it for one of {size}")
    if group.device_type != device_type:
        return _wrong(f"Group {key} is of {group.device_type} devices, but {device} asks for {device_type}")
    if device not in group.devices and len(group.devices) >= group.size:
        return _wrong(f"Group {key} is complete: {device} is one too many for {group.size} members")
    return None


def _misunderstood(first: Meaning, other: Meaning, key: int, device: str) -> OpError | None:
    """What is wrong where a member takes an operation for another one than the first that asked."""
    if first.kind != other.kind or (first.dtype is not other.dtype and first.dtype != other.dtype):
        return _wrong(
            f"Instance {key} is of kind {first.kind} and type {first.dtype}, but {device} takes it for kind "
            f"{other.kind} and type {other.dtype}"
        )
    if first.shape != other.shape:
        return InvalidArgumentError(
            None,
            None,
            f"Shape mismatch in the collective instance {key}. Op at device {device} expected shape "
            f"{list(other.shape)} but another member in the group expected shape {list(first.shape)}. This "
            "is likely due to different input shapes at different members of the collective op.",
        )
    return None


def _remove(waiting: list[Any], ticket: Any) -> None:
    if ticket in waiting:
        waiting.remove(ticket)


def _wrong(text: str) -> OpError:
    return InternalError(None, None, f"Collective: {text}")
