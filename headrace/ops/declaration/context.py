"""What a kernel with a first parameter `ctx` gets: the node, the session's state, the step."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol


class Resources(Protocol):
    """The resources of a session (or of a process), by container, kind and name."""

    def get_or_make(self, container: str, kind: str, name: str, make: Callable[[], Any]) -> Any: ...

    def find(self, container: str, kind: str, name: str) -> Any | None: ...

    def remove(self, container: str, kind: str, name: str) -> bool: ...


class Context(Protocol):
    """The surroundings of one kernel call."""

    node: Any  # name, attrs, device, origin, op
    resources: Resources  # shared by all steps of a session
    state: dict[Any, Any]  # of this node, kept from step to step; guard with `lock`
    lock: Any
    step_id: int
    local: dict[str, Any]  # resources that end with the step, by name

    def is_cancelled(self) -> bool: ...

    def on_cancel(self, callback: Callable[[], None]) -> Callable[[], None]:
        """Call `callback` when the step is cancelled; the result takes that back."""
        ...

    def cancel_reason(self) -> Any | None:
        """Why the step was cancelled, if it was."""
        ...

    step: Any  # the step itself: its token, its library of functions

    def background(self) -> Any:
        """A step for what goes on after this one: the same state and functions, cancelled on its own."""
        ...

    def take_part(self, part: Any, value: Any) -> Any:
        """Take part in an operation of a group of devices (ops.control.collective.Part): a Future."""
        ...

    def run_function(self, function: Any, inputs: list[Any], device: str = "") -> list[Any]:
        """Run a function of the graph's library on values; on a device, if one is named."""
        ...
