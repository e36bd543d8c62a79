"""Keras' learning phase: is a graph run to train (1) or to predict (0)?  One tensor per graph."""

from __future__ import annotations

from typing import Any

from headrace.functions.array.array import placeholder_with_default
from headrace.graph.defaults import get_default_graph

_KEY = "keras_learning_phase"


def learning_phase() -> Any:
    """The phase of the default graph: what was set, else a boolean to feed, False by default."""
    graph = get_default_graph()
    if _KEY not in graph._scoped:
        with graph.name_scope(None):
            graph._scoped[_KEY] = placeholder_with_default(False, shape=(), name=_KEY)
    return graph._scoped[_KEY]


def set_learning_phase(value: Any) -> None:
    """Fix the phase of the default graph: 0 or 1."""
    if value not in (0, 1):
        raise ValueError("Expected learning phase to be 0 or 1.")
    get_default_graph()._scoped[_KEY] = value
