"""Functions of the graph, run on values: for kernels that call back (map functions, py_func's kin)."""

from __future__ import annotations

import threading
from typing import Any

from headrace.core.modules import late
from headrace.runtime.step import Step

run_cache = late("headrace.session.run_cache")


class Library:
    """Prepares a function's body once per session, and runs it as part of a step."""

    def __init__(self, session: Any) -> None:
        self._session = session
        self._prepared: dict[Any, Any] = {}
        self._lock = threading.Lock()

    def run(self, function: Any, inputs: list[Any], step: Step) -> list[Any]:
        prepared = self._prepared.get(function)
        if prepared is None:
            with self._lock:
                prepared = self._prepared.get(function)
                if prepared is None:
                    prepared = self._prepare(function)
                    self._prepared[function] = prepared
        result: list[Any] = prepared.run(step if prepared.only else step.nested(), inputs)
        return result

    def _prepare(self, function: Any) -> Any:
        graph = self._session.graph
        body = graph._functions[getattr(function, "name", function)].body_graph()
        return run_cache.prepare(
            body.graph, body.inputs, body.outputs, body.targets, self._session._settings.run
        )
