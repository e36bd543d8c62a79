"""The default graph and the default session of each thread."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from headrace.core.modules import late

graphs = late("headrace.graph.graph")

if TYPE_CHECKING:
    from headrace.graph.graph import Graph


class _Stack(threading.local):
    """Innermost last.  Leaving in another order than entering is an error, unless allowed."""

    def __init__(self) -> None:
        self.items: list[Any] = []
        self.enforce_nesting = True

    @contextmanager
    def entered(self, item: Any) -> Iterator[Any]:
        self.items.append(item)
        try:
            yield item
        finally:
            if self.enforce_nesting:
                if not self.items or self.items[-1] is not item:
                    raise AssertionError(f"Nesting violated for default stack of {type(item)} objects")
                self.items.pop()
            elif item in self.items:
                self.items.remove(item)


_graphs, _sessions = _Stack(), _Stack()
_global: list[Graph] = []
_eager: list[Graph] = []  # where eager execution is enabled: what stands in for the process-wide graph


def get_default_graph() -> Graph:
    """The innermost `with graph.as_default()`, or the process-wide graph."""
    if _graphs.items:
        return _graphs.items[-1]  # type: ignore[no-any-return]
    return _eager[0] if _eager else process_wide_graph()


def process_wide_graph() -> Graph:
    if not _global:
        _global.append(graphs.Graph())
    return _global[0]


def is_eager() -> bool:
    """Has eager execution been enabled?"""
    return bool(_eager)


def has_default_graph() -> bool:
    """Is there a graph around that was chosen with `as_default`?"""
    return bool(_graphs.items)


def reset_default_graph() -> None:
    """Forget the process-wide graph; a new one is made on demand."""
    if _graphs.items:
        raise AssertionError("Do not use tf.reset_default_graph() to clear nested graphs.")
    _global.clear()


def enable_eager(graph: Graph | None) -> None:
    """From now on ops run at once where no graph was chosen; None: they build the process-wide graph."""
    _eager[:] = [] if graph is None else [graph]


def uses_process_wide_graph() -> bool:
    """Has somebody built into it?"""
    return bool(_global) and bool(_global[0].version)


def default_graph(graph: Graph) -> Any:
    return _graphs.entered(graph)


def get_default_session() -> Any:
    """The session of the innermost `with` block of this thread, or None."""
    return _sessions.items[-1] if _sessions.items else None


def default_session(session: Any) -> Any:
    """A context in which `session` is the default one."""
    return _sessions.entered(session)


def push_session(session: Any) -> None:
    """For InteractiveSession, which has no `with`."""
    _sessions.enforce_nesting = False
    _sessions.items.append(session)


def pop_session(session: Any) -> None:
    if session in _sessions.items:
        _sessions.items.remove(session)
