"""How the members of a group exchange values, in TensorFlow's rings and trees.  Pure: no threads, no I/O.

A flow is a generator: it asks for values of other members (Want), leaves values for them (Post), and
returns what it has made.  One member has many flows at a time: each works on a chunk of its tensor.  Keys,
chunks and turns are those of TensorFlow, so that members may be TensorFlow's tasks.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

ALIGNMENT = 64  # bytes: where chunks of a reduction end
Array = NDArray[Any]
Merge = Callable[[Array, Array], Array]


class Post(NamedTuple):
    """A value for the member of a rank in the group."""

    key: str
    target: int
    value: Array


class Want(NamedTuple):
    """A value of another member: so many elements."""

    key: str
    source: int
    length: int


Flow = Generator["Post | Want", "Array | None", Any]


class Place(NamedTuple):
    """A member's own: its rank, the tasks of all members in their order, the name of the operation's run."""

    rank: int
    tasks: tuple[str, ...]
    name: str

    @property
    def size(self) -> int:
        return len(self.tasks)


def orders(tasks: Sequence[str], offset: int) -> list[int]:
    """The ring of a subdivision: each task's members in turn, from an offset on; backwards if negative."""
    found: list[int] = []
    for task in dict.fromkeys(tasks):
        members = [rank for rank, other in enumerate(tasks) if other == task]
        count = len(members)
        for i in range(count):
            place = (i + abs(offset)) % count
            found.append(members[count - 1 - place if offset < 0 else place])
    return found


class Turn(NamedTuple):
    """One chunk on its way around a ring."""

    place: Place
    order: list[int]  # ranks in the group, along the ring
    chunk: int  # which member's turn comes first
    number: int  # of all chunks

    @property
    def rank(self) -> int:
        return self.order.index(self.place.rank)

    def comes(self, lap: int) -> bool:
        """In the first lap a chunk goes from member `chunk` to the one before it, in the second from there
        to all others."""
        return self.rank != (self.chunk - lap) % self.place.size

    def goes(self, lap: int) -> bool:
        return self.rank != (self.chunk - lap - 1) % self.place.size

    def want(self, lap: int, count: int) -> Want:
        before = (self.rank - 1) % self.place.size
        return Want(self._key(lap, before), self.order[before], count)

    def post(self, lap: int, value: Array) -> Post:
        return Post(self._key(lap, self.rank), self.order[(self.rank + 1) % self.place.size], value)

    def _key(self, lap: int, rank: int) -> str:
        return f"{self.place.name}:{lap}:{self.number}:{rank}"


def chunk_length(total: int, itemsize: int, chunks: int) -> int:
    """Elements of each chunk but the last.  One that fits exactly gets another 64 bytes, as in TensorFlow."""
    base = -(-total // chunks)
    return base + (ALIGNMENT - base * itemsize % ALIGNMENT) // itemsize


def reduce_flows(
    place: Place, value: Array, merge: Merge, final: Callable[[Array], Array] | None, offsets: Sequence[int]
) -> list[Flow]:
    """The sum (or what `merge` makes) of all members' values, in chunks, one after another in their order."""
    chunks = place.size * len(offsets)
    length = chunk_length(value.size, value.dtype.itemsize, chunks)
    rings = [orders(place.tasks, offset) for offset in offsets]
    found = []
    for number in range(chunks):
        chunk, subdivision = divmod(number, len(offsets))
        turn = Turn(place, rings[subdivision], chunk, number)
        found.append(_reduced(turn, value[number * length : (number + 1) * length], merge, final))
    return found


def _reduced(turn: Turn, chunk: Array, merge: Merge, final: Callable[[Array], Array] | None) -> Flow:
    if not chunk.size or turn.place.size == 1:
        return chunk
    if turn.comes(0):
        other = yield turn.want(0, chunk.size)
        assert other is not None
        chunk = merge(chunk, other)
        if final is not None and not turn.goes(0):
            chunk = final(chunk)
    if turn.goes(0):
        yield turn.post(0, chunk)
    return (yield from _told(turn, 1, chunk))


def _told(turn: Turn, lap: int, chunk: Array) -> Flow:
    """The lap in which a chunk that is complete comes to all."""
    if turn.comes(lap):
        came = yield turn.want(lap, chunk.size)
        assert came is not None
        chunk = came
    if turn.goes(lap):
        yield turn.post(lap, chunk)
    return chunk


def gather_flows(place: Place, value: Array) -> list[Flow]:
    """All members' values, one after another in their order."""
    ring = orders(place.tasks, 0)
    return [
        _told(Turn(place, ring, chunk, chunk), 0, value) for chunk in range(place.size if value.size else 0)
    ]


def broadcast_flow(place: Place, source: int, value: Array | None, count: int) -> Flow:
    """The value of the member `source` for all: first to one member of each task, then inside of tasks."""
    tasks = list(dict.fromkeys(place.tasks))
    rounds = [[_first(place.tasks, task, source) for task in tasks]] if len(tasks) > 1 else []
    rounds += [[r for r, other in enumerate(place.tasks) if other == task] for task in tasks]
    for number, members in enumerate(rounds):
        if place.rank not in members:
            continue
        rank = members.index(place.rank)
        root = members.index(_first(place.tasks, place.tasks[source], source)) if source in members else 0
        if rank != root and count:
            sender = parent(rank, root)
            value = yield Want(f"{place.name}:{number}:{sender}:{rank}", members[sender], count)
        assert value is not None
        for target in children(rank, root, len(members)) if count else ():
            yield Post(f"{place.name}:{number}:{rank}:{target}", members[target], value)
    return value


def _first(tasks: Sequence[str], task: str, source: int) -> int:
    """The source, if it is on the task; else the task's first member."""
    return source if tasks[source] == task else tasks.index(task)


def parent(rank: int, root: int) -> int:
    """In a binary tree; a root that is not 0 stands before all others, besides in its place."""
    if root == 0:
        return (rank - 1) // 2
    above = rank // 2 - 1
    return root if above < 0 else above


def children(rank: int, root: int, size: int) -> list[int]:
    found = []
    if rank == root and root != 0:
        found = [r for r in (0, 1) if r < size and r != root]
    first = 2 * rank + 1 if root == 0 else 2 * (rank + 1)
    return found + [r for r in (first, first + 1) if r < size and r != root]


def joined(chunks: Sequence[Array], dtype: np.dtype[Any]) -> Array:
    """The flows' chunks, one after another."""
    return np.concatenate([np.empty(0, dtype), *chunks]) if len(chunks) != 1 else np.array(chunks[0])
