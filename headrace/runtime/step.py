"""One run: what its kernels share."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from copy import copy
from threading import get_ident
from typing import Any

from headrace.core import hooks
from headrace.core.fields import reads
from headrace.core.modules import late
from headrace.runtime.cancel import Cancel
from headrace.runtime.containers import Containers
from headrace.runtime.rendezvous import Rendezvous

operation = late("headrace.runtime.collectives.operation")
_numbers = itertools.count(1)
ONCE = "0:0"  # outside of loops


class Step:
    """Identity, state, cancellation and meeting place of one run."""

    __slots__ = (
        *("id", "resources", "cancel", "rendezvous", "library", "trace"),
        *("session", "local", "thread", "folders", "collectives", "tag"),
    )

    def __init__(self, resources: Containers, session: Any = None) -> None:
        self.id = next(_numbers)
        self.resources = resources
        self.cancel = Cancel()
        self.rendezvous = Rendezvous()
        self.library: Any = None  # runs functions of the graph (session.library)
        self.trace: Any = hooks.step_watcher.value  # runtime.profile.Trace where the user asked for one
        self.session = session
        self.thread = get_ident()  # who waits for the step
        self.folders: tuple[str, ...] = ()  # the only ones whose files its ops may touch, if any is named
        self.local: dict[str, Any] = {}  # resources that end with the step, by name
        self.collectives: Any = None  # who brings members of groups together, if not all are in this step
        self.tag = ONCE  # frame and iteration, for nodes that need to know

    def inside(self, tag: str) -> Step:
        """The same step, as a node in an iteration of a loop sees it."""
        inner = copy(self)
        inner.tag = tag
        return inner

    def nested(self) -> Step:
        """The same step, with a meeting place of its own: for the pieces of one call of a function."""
        inner = copy(self)
        inner.rendezvous = Rendezvous()
        return inner

    def with_resources(self, resources: Containers) -> Step:
        """The same step over other resources.  (Written out: `copy` takes five times as long.)"""
        made = object.__new__(Step)
        made.id, made.resources, made.cancel, made.rendezvous = (
            self.id,
            resources,
            self.cancel,
            self.rendezvous,
        )
        made.library, made.trace, made.session = self.library, self.trace, self.session
        made.local, made.thread, made.folders = self.local, self.thread, self.folders
        made.collectives, made.tag = self.collectives, self.tag
        return made

    def renewed(self) -> Step:
        """Another step of the same session, cancelled on its own."""
        made = Step(self.resources, self.session)
        made.library, made.folders = self.library, self.folders
        return made


class KernelContext:
    """What a kernel with a first parameter `ctx` gets (ops.declaration.context.Context)."""

    __slots__ = ("node", "step", "resources", "state", "lock")

    def __init__(self, node: Any, step: Step) -> None:
        self.node, self.step, self.resources = node, step, step.resources
        self.state, self.lock = step.resources.state_of(node.name)

    step_id: int = reads("step.id")
    local: dict[str, Any] = reads("step.local")

    def is_cancelled(self) -> bool:
        return self.step.cancel.is_set

    def on_cancel(self, callback: Callable[[], None]) -> Callable[[], None]:
        return self.step.cancel.on_cancel(callback)

    def cancel_reason(self) -> Any | None:
        return self.step.cancel.reason

    def background(self) -> Step:
        """A step for what goes on after this one: the same state and functions, cancelled on its own."""
        return self.step.renewed()

    def take_part(self, part: Any, value: Any) -> Any:
        """Take part in an operation of a group of devices: a Future of what it gives here."""
        resolver = self.step.collectives
        if resolver is None:
            resolver = self.local.setdefault("collectives", operation.LocalGroup(self.step.id))
        return operation.run(self, resolver, part, value)

    def run_function(self, function: Any, inputs: list[Any], device: str = "") -> list[Any]:
        result: list[Any] = self.step.library.run(function, inputs, self.step, device)
        return result
