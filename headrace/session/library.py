"""Functions of the graph, run on values: for kernels that call back (map functions, py_func's kin)."""

from __future__ import annotations

import threading
from typing import Any

from headrace.graph.graph import Graph
from headrace.runtime.step import Step
from headrace.session.run_cache import Settings, prepare


class Library:
    """Prepares a function's body once per session or registered graph, and runs it as part of a step."""

    def __init__(self, graph: Graph, settings: Settings) -> None:
        self._graph, self._settings = graph, settings
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
        body = self._graph._functions[getattr(function, "name", function)].body_graph()
        return prepare(body.graph, body.inputs, body.outputs, body.targets, self._settings)
