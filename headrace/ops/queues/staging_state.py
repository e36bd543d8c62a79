"""Staging areas: values put aside by one step for another, in a line or under keys.

The areas decide (an attempt gives a result, or None: not yet); `Desk` lets those wait whom an area can not
serve yet, and tries again when something has changed.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from itertools import pairwise
from typing import Any

from headrace.core.errors import CancelledError, ResourceExhaustedError, require
from headrace.ops.declaration.waiting import cancelled, until_cancelled

Values = list[Any]
Attempt = Callable[[], "Values | None"]


def bytes_of(values: Sequence[Any]) -> int:
    return sum(
        sum(map(len, v.reshape(-1))) if v.dtype == object else v.nbytes for v in values if v is not None
    )


class _Room:
    """How much may be put aside: elements, and bytes; 0 means any."""

    def __init__(self, capacity: int, memory_limit: int) -> None:
        self.capacity, self.memory_limit, self.bytes = capacity, memory_limit, 0

    def check(self, wanted: int) -> None:
        if self.memory_limit and wanted > self.memory_limit:
            raise ResourceExhaustedError(
                None,
                None,
                f"Attempted to insert tensors with combined size of '{wanted}' bytes into Staging "
                f"Area with a memory limit of '{self.memory_limit}'.",
            )

    def has_bytes(self, wanted: int) -> bool:
        return not self.memory_limit or self.bytes + wanted <= self.memory_limit

    def has_place(self, count: int) -> bool:
        return not self.capacity or count < self.capacity


class StagedLine:
    """First in, first out."""

    def __init__(self, capacity: int, memory_limit: int) -> None:
        self.room = _Room(capacity, memory_limit)
        self.items: deque[Values] = deque()

    def put(self, values: Values) -> Values | None:
        wanted = bytes_of(values)
        self.room.check(wanted)
        if not (self.room.has_bytes(wanted) and self.room.has_place(len(self.items))):
            return None
        self.items.append(values)
        self.room.bytes += wanted
        return []

    def get(self) -> Values | None:
        if not self.items:
            return None
        values = self.items.popleft()
        self.room.bytes -= bytes_of(values)
        return values

    def peek(self, index: int) -> Values | None:
        require(index >= 0, f"index must not be negative, but is {index}")
        return self.items[index] if index < len(self.items) else None

    def clear(self) -> Values:
        self.items.clear()
        self.room.bytes = 0
        return []


class StagedMap:
    """Under keys; the components of an element may come one by one, and leave one by one."""

    def __init__(self, components: int, capacity: int, memory_limit: int, ordered: bool) -> None:
        self.components, self.ordered = components, ordered
        self.room = _Room(capacity, memory_limit)
        self.complete: dict[int, Values] = {}
        self.incomplete: dict[int, Values] = {}

    def put(self, key: int, indices: Sequence[int], values: Values) -> Values | None:
        _check_order(indices)
        for index in indices:
            self._check_index(key, index)
        wanted = bytes_of(values)
        self.room.check(wanted)
        whole = len(indices) == self.components
        if not self.room.has_bytes(wanted) or (whole and not self.room.has_place(len(self.complete))):
            return None
        if whole:
            self.complete.setdefault(key, list(values))
        else:
            self._add(key, indices, values)
        self.room.bytes += wanted
        return []

    def _add(self, key: int, indices: Sequence[int], values: Values) -> None:
        present = self.incomplete.setdefault(key, [None] * self.components)
        for index in indices:
            require(
                present[index] is None,
                f"The tensor for index '{index}' for key '{key}' was already initialized "
                f"'{self.components}'.",
            )
        for index, value in zip(indices, values):
            present[index] = value
        if all(v is not None for v in present):
            self.complete.setdefault(key, self.incomplete.pop(key))

    def peek(self, key: int, indices: Sequence[int]) -> Values | None:
        _check_order(indices)
        if key not in self.complete:
            return None
        return self._chosen(key, indices)

    def pop(self, key: int, indices: Sequence[int]) -> Values | None:
        values = self.peek(key, indices)
        if values is None:
            return None
        present = self.complete[key]
        for index in indices:
            present[index] = None
        if all(v is None for v in present):
            del self.complete[key]
        self.room.bytes -= bytes_of(values)
        return values

    def pop_any(self, indices: Sequence[int]) -> tuple[int, Values] | None:
        """The element with the smallest key, or the oldest where there is no order."""
        _check_order(indices)
        if not self.complete:
            return None
        key = min(self.complete) if self.ordered else next(iter(self.complete))
        values = self.pop(key, indices)
        assert values is not None
        return key, values

    def _chosen(self, key: int, indices: Sequence[int]) -> Values:
        present = self.complete[key]
        for index in indices:
            self._check_index(key, index)
            require(
                present[index] is not None,
                f"Tensor at index '{index}' for key '{key}' has already been removed.",
            )
        return [present[index] for index in indices]

    def _check_index(self, key: int, index: int) -> None:
        require(
            0 <= index < self.components,
            f"Index '{index}' for key '{key}' was out of bounds '{self.components}'.",
        )

    def clear(self) -> Values:
        self.complete.clear()
        self.incomplete.clear()
        self.room.bytes = 0
        return []


def _check_order(indices: Sequence[int]) -> None:
    require(len(indices), "Indices are empty")
    require(all(a < b for a, b in pairwise(indices)), "Indices are not strictly ordered")


class Desk:
    """An area, and those who wait for it; the resource behind the staging ops."""

    def __init__(self, area: StagedLine | StagedMap) -> None:
        self.area = area
        self._waiting: list[tuple[Future[Any], Attempt]] = []
        self._lock = threading.Lock()

    def ask(self, ctx: Any, attempt: Callable[[], Any]) -> Any:
        """What the attempt gives, now or later (a Future)."""
        with self._lock:
            found = attempt()
            if found is not None:
                answers = self._retry()
            else:
                future: Future[Any] = Future()
                self._waiting.append((future, attempt))
        if found is not None:
            _deliver(answers)
            return found
        return until_cancelled(ctx, future, lambda: self._give_up(ctx, future))

    def _retry(self) -> list[tuple[Future[Any], Any, BaseException | None]]:
        """Serve whoever can be served, until nobody can."""
        answers: list[tuple[Future[Any], Any, BaseException | None]] = []
        progress = True
        while progress:
            progress = False
            for entry in list(self._waiting):
                future, attempt = entry
                found, error = None, None
                try:
                    found = attempt()
                except Exception as failure:
                    error = failure
                if found is not None or error is not None:
                    self._waiting.remove(entry)
                    answers.append((future, found, error))
                    progress = True
        return answers

    def _give_up(self, ctx: Any, future: Future[Any]) -> None:
        with self._lock:
            before = len(self._waiting)
            self._waiting = [entry for entry in self._waiting if entry[0] is not future]
            waited = len(self._waiting) < before
        if waited:
            future.set_exception(cancelled(ctx, "Staging operation was cancelled"))

    def close_resource(self) -> None:
        """The container that held the area is cleared."""
        with self._lock:
            waiting, self._waiting = self._waiting, []
        for future, _ in waiting:
            message = "Staging operation was cancelled"
            future.set_exception(CancelledError(None, None, message))


def _deliver(answers: list[tuple[Future[Any], Any, BaseException | None]]) -> None:
    for future, found, error in answers:
        if error is not None:
            future.set_exception(error)
        else:
            future.set_result(found)
