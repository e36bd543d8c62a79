"""What a queue decides: who may put, who may take, and who has to wait.

A pure state machine.  In: what somebody asks for, under a ticket (any object).  Out: answers, pairs of a
ticket and its result: the elements taken, or an error; who gets none yet, waits.  An element is a tuple.
The order is TF's: those who put are served before those who take, each in the order of asking.
"""

from __future__ import annotations

import heapq
import itertools
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from headrace.core.errors import CancelledError, OpError, OutOfRangeError

Element = tuple[Any, ...]
Answer = tuple[Any, "list[Element] | OpError"]


# -- where elements are kept ---------------------------------------------------------------------
class Store(Protocol):
    """Elements, in the order in which they leave."""

    whole: bool  # a batch leaves at once, so that it is in order

    def __len__(self) -> int: ...

    def add(self, element: Element) -> None: ...

    def take(self) -> Element: ...

    def give_back(self, elements: list[Element]) -> None:
        """Undo takes, the last of them being the last element."""
        ...


class Line:
    """First in, first out."""

    whole = False

    def __init__(self) -> None:
        self._items: deque[Element] = deque()

    def __len__(self) -> int:
        return len(self._items)

    def add(self, element: Element) -> None:
        self._items.append(element)

    def take(self) -> Element:
        return self._items.popleft()

    def give_back(self, elements: list[Element]) -> None:
        self._items.extendleft(reversed(elements))


class Bag:
    """Any element may leave next; `draw` gives random numbers."""

    whole = False

    def __init__(self, draw: Callable[[], int]) -> None:
        self._items: list[Element] = []
        self._draw = draw

    def __len__(self) -> int:
        return len(self._items)

    def add(self, element: Element) -> None:
        self._items.append(element)

    def take(self) -> Element:
        items = self._items
        chosen = self._draw() % len(items)
        items[chosen], items[-1] = items[-1], items[chosen]
        return items.pop()

    def give_back(self, elements: list[Element]) -> None:
        self._items.extend(reversed(elements))


class Ranking:
    """The smallest first component first; equal ones in the order of arrival."""

    whole = True

    def __init__(self) -> None:
        self._items: list[tuple[int, int, Element]] = []
        self._numbers = itertools.count()

    def __len__(self) -> int:
        return len(self._items)

    def add(self, element: Element) -> None:
        heapq.heappush(self._items, (int(element[0]), next(self._numbers), element))

    def take(self) -> Element:
        return heapq.heappop(self._items)[2]

    def give_back(self, elements: list[Element]) -> None:
        for element in elements:
            self.add(element)


# -- who waits -----------------------------------------------------------------------------------
@dataclass(slots=True, eq=False)
class Put:
    ticket: Any
    elements: deque[Element]


@dataclass(slots=True, eq=False)
class Close:
    ticket: Any


@dataclass(slots=True, eq=False)
class Take:
    ticket: Any
    count: int
    up_to: bool  # fewer will do when the queue is closed
    got: list[Element] = field(default_factory=list)


class QueueState:
    """The elements of a queue and those who wait for it."""

    def __init__(self, kind: str, name: str, capacity: int | None, store: Store, reserve: int = 0) -> None:
        """`capacity` None means any number; `reserve` elements stay while the queue is open."""
        self.kind, self.name, self.capacity = kind, name, capacity
        self.store, self.reserve = store, reserve
        self.closed = False
        self._puts: deque[Put | Close] = deque()
        self._takes: deque[Take] = deque()

    def __len__(self) -> int:
        return len(self.store)

    # -- what may be asked ---------------------------------------------------------------------
    def put(self, ticket: Any, elements: Iterable[Element]) -> list[Answer]:
        """Add elements, one after the other, as soon as there is room.  Answered when all are in."""
        self._puts.append(Put(ticket, deque(elements)))
        return self._serve()

    def put_now(self, elements: Sequence[Element]) -> bool:
        """Add them where that is all there is to do: nobody waits, and there is room."""
        if self.closed or self._puts or self._takes:
            return False
        if self.capacity is not None and len(self.store) + len(elements) > self.capacity:
            return False
        for element in elements:
            self.store.add(element)
        return True

    def take_now(self, count: int) -> list[Element] | None:
        """So many elements where that is all there is to do; else None."""
        if self._puts or self._takes:
            return None
        if len(self.store) - (0 if self.closed else self.reserve) < count:
            return None
        return [self.store.take() for _ in range(count)]

    def take(self, ticket: Any, count: int, up_to: bool = False) -> list[Answer]:
        self._takes.append(Take(ticket, count, up_to))
        return self._serve()

    def close(self, ticket: Any, cancel_puts: bool = False) -> list[Answer]:
        """No more elements after those that wait to be put, or, with `cancel_puts`, from now on."""
        if not cancel_puts:
            self._puts.append(Close(ticket))
            return self._serve()
        self.closed = True
        cancelled = [(attempt.ticket, _cancelled("Enqueue")) for attempt in self._puts]
        self._puts.clear()
        return [*cancelled, (ticket, []), *self._serve()]

    def cancel(self, ticket: Any) -> list[Answer]:
        """Somebody does not want to wait any longer; what was taken for him goes back."""
        for put in self._puts:
            if put.ticket is ticket:
                self._puts.remove(put)
                return [(ticket, _cancelled("Enqueue")), *self._serve()]
        for take in self._takes:
            if take.ticket is ticket:
                self._takes.remove(take)
                self.store.give_back(take.got)
                return [(ticket, _cancelled("Dequeue")), *self._serve()]
        return []

    def abandon(self) -> list[Answer]:
        """The queue is gone: everybody who waits hears so."""
        self.closed = True
        waiting = [(p.ticket, _cancelled("Enqueue")) for p in self._puts]
        waiting += [(t.ticket, _cancelled("Dequeue")) for t in self._takes]
        self._puts.clear()
        self._takes.clear()
        return waiting  # type: ignore[return-value]

    # -- service -------------------------------------------------------------------------------
    def _serve(self) -> list[Answer]:
        answers: list[Answer] = []
        changed = True
        while changed:
            changed = self._serve_puts(answers)
            changed = self._serve_takes(answers) or changed
        return answers

    def _serve_puts(self, answers: list[Answer]) -> bool:
        progress = False
        while self._puts:
            first = self._puts[0]
            if self.closed:
                answers.append((first.ticket, self._refusal(first)))
            elif isinstance(first, Close):
                self.closed = True
                answers.append((first.ticket, []))
            else:
                while first.elements and self._has_room():
                    self.store.add(first.elements.popleft())
                    progress = True
                if first.elements:
                    return progress
                answers.append((first.ticket, []))
            self._puts.popleft()
            progress = True
        return progress

    def _has_room(self) -> bool:
        return self.capacity is None or len(self.store) < self.capacity

    def _refusal(self, asked: Put | Close) -> OpError:
        if isinstance(asked, Close):
            return CancelledError(None, None, f"Queue '{self.name}' is already closed.")
        return CancelledError(None, None, f"{self.kind} '{self.name}' is closed.")

    def _serve_takes(self, answers: list[Answer]) -> bool:
        progress = False
        while self._takes:
            first = self._takes[0]
            size, missing = len(self.store), first.count - len(first.got)
            if self.closed and size < missing:
                self.store.give_back(first.got)
                first.got = []
                if not (first.up_to and len(self.store)):
                    if first.up_to and self._puts:
                        return True  # they are answered first
                    answers.append((first.ticket, self._too_few(missing, size)))
                    self._takes.popleft()
                    progress = True
                    continue
                first.count = missing = size = len(self.store)
            available = size if self.closed else size - self.reserve
            if self.store.whole and available < missing:
                return progress
            for _ in range(min(available, missing)):
                first.got.append(self.store.take())
                progress = True
            if len(first.got) < first.count:
                return progress
            answers.append((first.ticket, first.got))
            self._takes.popleft()
            progress = True
        return progress

    def _too_few(self, requested: int, size: int) -> OpError:
        return OutOfRangeError(
            None,
            None,
            f"{self.kind} '{self.name}' is closed and has insufficient elements (requested "
            f"{requested}, current size {size})",
        )


def _cancelled(what: str) -> OpError:
    return CancelledError(None, None, f"{what} operation was cancelled")
