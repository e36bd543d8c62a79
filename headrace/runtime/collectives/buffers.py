"""Values that members of a group have left for others, by step and key, until they are taken."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

from headrace.core.errors import CancelledError, DeadlineExceededError, InternalError

REMEMBERED = 256  # steps that were given up
MEMORY = 2.0  # seconds: who comes later means another try of the same step
_ENDED = (CancelledError, DeadlineExceededError)  # by the step's master: all its members hear it from there


class Buffers:
    """`admit` refuses what would be too much: it gets the number of steps that are known."""

    def __init__(
        self, admit: Callable[[int], None] = lambda count: None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._admit, self._clock = admit, clock
        self._lock = threading.Lock()
        self._left: dict[int, dict[str, tuple[Any, Future[None]]]] = {}
        self._awaited: dict[int, dict[str, Future[Any]]] = {}
        self._active: dict[int, set[str]] = {}  # members of this task, by step
        self._lost: OrderedDict[int, tuple[BaseException, float]] = OrderedDict()  # given up: why, and when

    def begin(self, step: int, member: str) -> None:
        """A member of this task takes part; a number that was given up may be used again."""
        with self._lock:
            active = self._active.setdefault(step, set())
            if member in active:
                raise InternalError(None, None, f"Collective {member} is already running in step {step}")
            if not active:
                self._lost.pop(step, None)
            active.add(member)

    def end(self, step: int, member: str) -> None:
        with self._lock:
            active = self._active.get(step, set())
            active.discard(member)
            if not active:
                self._active.pop(step, None)

    def post(self, step: int, key: str, value: Any) -> Future[None]:
        """Leave a value.  The future ends when it is taken."""
        taken: Future[None] = Future()
        with self._lock:
            error = self._failure(step)
            asking = self._awaited.get(step, {}).pop(key, None)
            if error is None and asking is None:
                left = self._left.setdefault(step, {})
                if key in left:
                    error = InternalError(None, None, f"A value was already left for {key}")
                else:
                    left[key] = value, taken
                    return taken
            self._tidy(step)
        if asking is not None:
            asking.set_result(value)
        if error is not None:
            taken.set_exception(error)
        else:
            taken.set_result(None)
        return taken

    def take(self, step: int, key: str) -> Future[Any]:
        """The value, now or later."""
        future: Future[Any] = Future()
        with self._lock:
            found = self._left.get(step, {}).pop(key, None)
            error = self._failure(step)
            if found is None and error is None:
                if step not in self._awaited:
                    self._admit(len(self._awaited) + 1)
                asking = self._awaited.setdefault(step, {})
                if key not in asking:
                    asking[key] = future
                    return future
                error = InternalError(None, None, f"Second consumer arrived for key {key}")
            self._tidy(step)
        if found is None:
            assert error is not None
            future.set_exception(error)
        else:
            future.set_result(found[0])
            found[1].set_result(None)
        return future

    def forget(self, step: int, key: str, future: Future[Any]) -> None:
        """Who waits with this future has gone."""
        with self._lock:
            asking = self._awaited.get(step, {})
            if asking.get(key) is future:
                del asking[key]
                self._tidy(step)

    def abort(self, step: int, error: BaseException) -> None:
        """A member has failed: all who wait for values of the step here get the error."""
        with self._lock:
            if not isinstance(error, _ENDED):
                self._lost[step] = error, self._clock()
            if len(self._lost) > REMEMBERED:
                self._lost.popitem(last=False)
            waiting: list[Future[Any]] = list(self._awaited.pop(step, {}).values())
            waiting += [taken for _, taken in self._left.pop(step, {}).values()]
        for future in waiting:
            future.set_exception(error)

    def _failure(self, step: int) -> BaseException | None:
        """Why the step was given up a moment ago.  Hold the lock."""
        error, when = self._lost.get(step, (None, 0.0))
        return None if self._clock() - when > MEMORY else error

    def _tidy(self, step: int) -> None:
        """Hold the lock."""
        for table in (self._left, self._awaited):
            if step in table and not table[step]:
                del table[step]

    def __len__(self) -> int:
        """Values that nobody has taken, and askers without one."""
        with self._lock:
            left = sum(len(table) for table in self._left.values())
            return left + sum(len(table) for table in self._awaited.values())
