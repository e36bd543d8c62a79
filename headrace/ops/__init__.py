"""Every op, declared once: signature, meaning in NumPy, shape, gradient, compiled rule, samples."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

from headrace.core import hooks
from headrace.graph.graph import Graph


def _deferred(name: str) -> Callable[..., Any]:
    """A method of Graph that needs the declarations: the first use brings in the real ones."""

    def method(graph: Graph, *args: Any, **kwargs: Any) -> Any:
        importlib.import_module("headrace.ops.graphdef.import_export")
        return getattr(graph, name)(*args, **kwargs)

    return method


hooks.graph_messages.give(Graph, {name: _deferred(name) for name in hooks.graph_messages.names})
