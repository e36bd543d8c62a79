"""A barrier: tuples under keys, whose components come one by one; complete ones leave in the order in which
they were begun.  What is complete waits in a queue by priority, so that who takes holds no thread."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

import numpy as np

from headrace.core.dtypes import DType, NDArray, int64, string
from headrace.core.errors import CancelledError, OutOfRangeError, require
from headrace.core.shapes import SCALAR, Shape, make_shape, show
from headrace.ops.declaration.resources import keep
from headrace.ops.declaration.text import shown, strings
from headrace.ops.queues.queue_resource import Queue
from headrace.ops.queues.queue_state import QueueState, Ranking

_FIRST = -(2**63)  # the index of the first insertion of new keys


class _Incomplete:
    """A tuple of which components are missing (None)."""

    __slots__ = ("index", "parts")

    def __init__(self, index: int, count: int) -> None:
        self.index, self.parts = index, [None] * count


_Complete = tuple[int, bytes, list[Any]]  # index, key, components


class Barrier:
    """The resource behind a barrier's reference."""

    def __init__(self, name: str, types: Sequence[DType], shapes: Sequence[Shape]) -> None:
        self.name, self.types, self.shapes = name, tuple(types), tuple(shapes)
        self._incomplete: dict[bytes, _Incomplete] = {}
        self._index = _FIRST
        self._closed = self._cancelled = False
        self._lock = threading.Lock()
        state = QueueState("PriorityQueue", f"{name}_queue", None, Ranking())
        self._ready = Queue(state, (int64, string, *types), (SCALAR, SCALAR, *shapes))

    @property
    def ready_size(self) -> int:
        return len(self._ready)

    @property
    def incomplete_size(self) -> int:
        return len(self._incomplete)

    def insert(self, ctx: Any, component: int, keys: NDArray, values: NDArray) -> Any:
        """Give each key its value of one component."""
        require(
            not keys.size or values.size,
            f"Tensors with no elements are not supported {self.name}: received shape {show(values.shape)}",
        )
        with self._lock:
            if self._closed and (self._cancelled or (keys.size and not self._incomplete)):
                raise self._refused(f"is closed.  {self._state()}  Number of new insertions: {keys.size}.")
            complete: list[_Complete] = []
            try:
                self._fill(component, keys, values, complete)
            finally:
                self._pass_on(ctx, complete)
        return ()

    def _fill(self, component: int, keys: NDArray, values: NDArray, complete: list[_Complete]) -> None:
        """Values of one component; tuples that are complete now go into the list."""
        index = self._index
        for number, (key, value) in enumerate(zip(keys.tolist(), values)):
            held = self._incomplete.get(key)
            if held is None:
                held = self._begin(number, key, index)
            require(
                held.parts[component] is None,
                f"Key {shown(key)} already has a value for component {component} in barrier {self.name}",
            )
            array = np.array(value, self.types[component].numpy)
            wanted = self.shapes[component]
            require(
                wanted.is_compatible_with(make_shape(array.shape)),
                f"Shape mismatch in tuple component {component + 2}. Expected {show(wanted)}, got "
                f"{show(array.shape)}",
            )
            held.parts[component] = keep(array)
            if all(part is not None for part in held.parts):
                del self._incomplete[key]
                complete.append((held.index, key, held.parts))

    def _begin(self, number: int, key: bytes, index: int) -> _Incomplete:
        if self._closed:
            raise self._refused(
                f"is closed, but attempted to insert a brand new key: {shown(key)}.  {self._state()}  "
                f"Insertion index: {number}."
            )
        self._index = index + 1
        held = self._incomplete[key] = _Incomplete(index, len(self.types))
        return held

    def _pass_on(self, ctx: Any, complete: list[_Complete]) -> None:
        """To those who take."""
        if not complete:
            return
        indices, keys, parts = zip(*complete)
        columns = [np.array(indices, np.int64), strings(keys), *map(np.stack, zip(*parts))]
        self._ready.put_many(ctx, columns)  # there is always room
        if self._closed and not self._incomplete:
            self._ready.close(ctx, False)

    def _state(self) -> str:
        return (
            f"Pending enqueues cancelled: {int(self._cancelled)}.  Number of incomplete keys: "
            f"{len(self._incomplete)}."
        )

    def _refused(self, what: str) -> CancelledError:
        return CancelledError(None, None, f"Barrier {self.name} {what}")

    def take(self, ctx: Any, count: int, small: bool) -> Any:
        """Indices, keys and components of `count` complete tuples; `small`: of fewer, if it is closed."""
        with self._lock:
            if self._closed:
                available = self.ready_size
                if small:
                    count = min(count, available)
                else:
                    available += len(self._incomplete)
                if available < max(count, 1):
                    raise OutOfRangeError(
                        None,
                        None,
                        f"Barrier '{self.name}' is closed and has insufficient elements (requested {count}, "
                        f"total size {available})",
                    )
        return self._ready.take_many(ctx, count, small)

    def close(self, ctx: Any, cancel_pending: bool) -> Any:
        """No more new keys; with `cancel_pending`, no more values of known ones either."""
        with self._lock:
            if self._closed and (self._cancelled or not cancel_pending):
                raise CancelledError(None, None, f"Barrier '{self.name}' is already closed.")
            self._closed, self._cancelled = True, cancel_pending
            if cancel_pending:
                self._incomplete.clear()
            if not self._incomplete:
                return self._ready.close(ctx, cancel_pending)
        return ()

    def close_resource(self) -> None:
        """The container that held the barrier is cleared."""
        self._ready.close_resource()
