"""One step as its master sees it.  Pure: events in, actions out; no threads, no clock, no I/O.

The parts run on their tasks beside one another.  The first that fails decides the error, unless it only
says that others ended it: then the cause is still under way.  Whatever ends a step early ends its parts
on every task.  A step has ended when all parts have answered, or a task that does not answer was given up.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from headrace.core.errors import AbortedError, CancelledError, OpError, UnavailableError
from headrace.core.records import record


# -- events --------------------------------------------------------------------------------------
@record
class Started:
    pass


@record
class PartEnded:
    task: str
    values: Any


@record
class PartFailed:
    task: str
    error: BaseException


@record
class Stopped:
    """From outside: a deadline, the client's cancellation, the end of the session."""

    error: OpError


@record
class GaveUp:
    """The tasks that were told to end have had their time."""


# -- actions -------------------------------------------------------------------------------------
@record
class Launch:
    task: str


@record
class Clean:
    """Tell a task that the step is over."""

    task: str


@record
class Deliver:
    values: dict[str, Any]


@record
class Fail:
    error: BaseException


Event = Started | PartEnded | PartFailed | Stopped | GaveUp
Action = Launch | Clean | Deliver | Fail
# Errors that may only be echoes: a task was told to end, or lost the task that failed first.
_ECHOES = (CancelledError, AbortedError, UnavailableError)


@dataclass(slots=True)
class MasterStep:
    tasks: Sequence[str]
    cleans: frozenset[str] = frozenset()  # tasks that must be told even of a step that went well
    waiting: set[str] = field(default_factory=set)
    values: dict[str, Any] = field(default_factory=dict)
    errors: list[tuple[str, BaseException]] = field(default_factory=list)
    has_ended: bool = False

    def on(self, event: Event) -> list[Action]:
        """What is to be done about an event.  A step ends when all parts have: with the values, or with the
        error that caused the others."""
        if self.has_ended:
            return []
        match event:
            case Started():
                self.waiting = set(self.tasks)
                return [Launch(t) for t in self.tasks] or self._end()
            case PartEnded(task, values) if task in self.waiting:
                self.waiting.discard(task)
                self.values[task] = values
                return self._end()
            case PartFailed(task, error) if task in self.waiting:
                self.waiting.discard(task)
                return self._failed(task, error)
            case Stopped(error):
                return self._failed("", error)
            case GaveUp() if self.errors:
                self.waiting.clear()
                return self._end()
        return []

    def _failed(self, task: str, error: BaseException) -> list[Action]:
        is_first = not self.errors
        self.errors.append((task, error))
        cleaning: list[Action] = [Clean(t) for t in self.tasks] if is_first else []
        return cleaning + self._end()

    def _end(self) -> list[Action]:
        if self.waiting:
            return []
        self.has_ended = True
        if self.errors:
            return [Fail(self._cause())]
        return [*(Clean(t) for t in self.tasks if t in self.cleans), Deliver(self.values)]

    def _cause(self) -> BaseException:
        """The first error that is no echo of another; what came from outside is none.  Where a task was lost,
        that: others may say that they were cancelled before it is noticed."""
        causes = [e for task, e in self.errors if not task or not isinstance(e, _ECHOES)]
        losses = [e for _, e in self.errors if not isinstance(e, CancelledError)]
        return [*causes, *losses, self.errors[0][1]][0]
