"""tf.Session and tf.InteractiveSession: the user's handles."""

from __future__ import annotations

import warnings
from dataclasses import replace
from types import TracebackType
from typing import Any

from headrace.core.errors import OpError
from headrace.graph import defaults
from headrace.graph.graph import Graph
from headrace.session import targets
from headrace.session.base import BaseSession, live


class Session(BaseSession):
    """A session: runs nodes of a graph, and keeps the state of its variables.

    Args:
      target: "" for this process; otherwise the address of a master.
      graph: the graph; the default one if not given.
      config: a ConfigProto.

    Example:
      >>> with tf.Session() as sess:
      ...     sess.run(tf.constant(1) + 2)
      3
    """

    def __init__(self, target: Any = "", graph: Graph | None = None, config: Any = None) -> None:
        super().__init__(target, graph, config)
        self._entered: list[tuple[Any, Any]] = []

    def __enter__(self) -> Session:
        if self._entered:
            raise RuntimeError(
                "Session context managers are not re-entrant: `with session.as_default():` may stand "
                "inside of another."
            )
        graph_context, session_context = self._graph.as_default(), self.as_default()
        graph_context.__enter__()
        session_context.__enter__()
        self._entered.append((graph_context, session_context))
        return self

    def __exit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, tb: TracebackType | None
    ) -> None:
        graph_context, session_context = self._entered.pop()
        if isinstance(exc, OpError):
            str(exc)  # the text needs the graph, which may be gone when it is shown
        session_context.__exit__(None, None, None)
        graph_context.__exit__(None, None, None)
        self.close()

    @staticmethod
    def reset(target: str, containers: Any = None, config: Any = None) -> None:
        """Clear containers (all, if none are named) of the sessions at `target`, and close these.

        The target "" is this process.
        """
        if target:
            targets.reset(target, list(containers or ()), config)
            return
        for session in list(live):
            session._containers.clear(list(containers) if containers else None)
            session.close()


class InteractiveSession(BaseSession):
    """A session that installs itself as the default one, for shells and notebooks."""

    _active = 0

    def __init__(self, target: str = "", graph: Graph | None = None, config: Any = None) -> None:
        super().__init__(target, graph, config)
        self._settings = replace(self._settings, place_whole_graph=False)
        if InteractiveSession._active:
            warnings.warn(
                "An interactive session is already active. This can cause out-of-memory errors in "
                "some cases. You must explicitly call `InteractiveSession.close()` to release "
                "resources held by the other session(s).",
                stacklevel=2,
            )
        InteractiveSession._active += 1
        defaults.push_session(self)
        self._graph_context = None
        if graph is not None:
            self._graph_context = graph.as_default()
            self._graph_context.__enter__()

    def close(self) -> None:
        if not self._closed:
            InteractiveSession._active -= 1
        super().close()
        defaults.pop_session(self)
        if self._graph_context is not None:
            self._graph_context.__exit__(None, None, None)
            self._graph_context = None
