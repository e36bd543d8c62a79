"""One run: what its kernels share."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from copy import copy
from typing import Any

from headrace.core import hooks
from headrace.runtime.cancel import Cancel
from headrace.runtime.containers import Containers
from headrace.runtime.rendezvous import Rendezvous

_numbers = itertools.count(1)


class Step:
    """Identity, state, cancellation and meeting place of one run."""

    __slots__ = ("id", "resources", "cancel", "rendezvous", "library", "trace", "session", "local")

    def __init__(self, resources: Containers, session: Any = None) -> None:
        self.id = next(_numbers)
        self.resources = resources
        self.cancel = Cancel()
        self.rendezvous = Rendezvous()
        self.library: Any = None  # runs functions of the graph (session.library)
        self.trace: Any = hooks.step_watcher.value  # runtime.profile.Trace where the user asked for one
        self.session = session
        self.local: dict[str, Any] = {}  # resources that end with the step, by name

    def nested(self) -> Step:
        """The same step, with a meeting place of its own: for the pieces of one call of a function."""
        inner = copy(self)
        inner.rendezvous = Rendezvous()
        return inner


class KernelContext:
    """What a kernel with a first parameter `ctx` gets (ops.declaration.context.Context)."""

    __slots__ = ("node", "step", "resources", "state", "lock")

    def __init__(self, node: Any, step: Step) -> None:
        self.node, self.step, self.resources = node, step, step.resources
        self.state, self.lock = step.resources.state_of(node.name)

    @property
    def step_id(self) -> int:
        return self.step.id

    @property
    def local(self) -> dict[str, Any]:
        return self.step.local

    def is_cancelled(self) -> bool:
        return self.step.cancel.is_set

    def on_cancel(self, callback: Callable[[], None]) -> Callable[[], None]:
        return self.step.cancel.on_cancel(callback)

    def cancel_reason(self) -> Any | None:
        return self.step.cancel.reason

    def run_function(self, function: Any, inputs: list[Any]) -> list[Any]:
        result: list[Any] = self.step.library.run(function, inputs, self.step)
        return result
