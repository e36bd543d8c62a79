"""What an iterator and the iterators inside of it share: steps to run functions in, tokens that end their
waiting, the generators of seeds, and the caches in memory.

There are two steps.  What happens in the thread that asks for an element belongs to the step that asks, and
ends with it; what goes on in the background belongs to the iterator, and ends when that is closed.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, TypeVar

from headrace.core.errors import CancelledError
from headrace.ops.data.pipeline.workers import here

GLANCE = 0.05  # seconds between two looks at the tokens while somebody waits
Made = TypeVar("Made")


class Running:
    """The surroundings of one iterator resource."""

    def __init__(self, background: Any) -> None:
        """`background` is a step of its own (Context.background)."""
        self.background = self.calling = background
        self._made: dict[Any, Any] = {}
        self._states: dict[Any, Any] = {}  # of functions: containers with states of nodes of their own
        self._lock = threading.RLock()
        self.is_closed = False
        self.intra_op: int | None = None
        self.threads: int | None = None  # of a private pool: how much runs at once
        self.stats: Any = None

    @property
    def step(self) -> Any:
        return self.background if here.in_background else self.calling

    def check(self) -> None:
        """Raise if nobody waits for an element any more."""
        reason = self.step.cancel.reason
        if reason is not None:
            raise reason

    def wait(self, condition: threading.Condition) -> None:
        """Wait a little; `condition` is held.  Ends with an error if it has become pointless."""
        self.check()
        condition.wait(GLANCE)

    def once(self, key: Any, make: Callable[[], Made]) -> Made:
        """What is made once per iterator resource: a generator of seeds, a cache."""
        with self._lock:
            if key not in self._made:
                self._made[key] = make()
            found: Made = self._made[key]
            return found

    def step_of(self, function: Any) -> Any:
        """The step for a call: each function has its own state of nodes (random generators, say), which
        goes on from call to call."""
        resources = self._states.get(function)
        if resources is None:
            make = self.background.resources.with_own_nodes
            resources = self._states[function] = self.once(("state", function), make)
        return self.step.with_resources(resources)

    def call(self, function: Any, inputs: list[Any]) -> list[Any]:
        step = self.step_of(function)
        library = self.background.library  # that of the session which made the iterator
        run = library.run_waiting if here.is_worker else library.run
        result: list[Any] = run(function, inputs, step)
        return result

    def call_rows(self, function: Any, columns: list[Any], captured: list[Any]) -> Any:
        """A call for many elements at once; None where the function is not one for that."""
        step = self.step_of(function)
        return self.background.library.run_rows(function, columns, captured, step)

    def after_close(self) -> Running:
        """Surroundings for what remains to be done when these are closed."""
        return Running(self.background.renewed())

    def close(self) -> None:
        self.is_closed = True
        self.background.cancel.set(CancelledError(None, None, "Iterator was closed."))
