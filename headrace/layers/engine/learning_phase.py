"""Keras' learning phase: is a graph run to train (1) or to predict (0)?  One tensor per graph; in eager mode
a number."""

from __future__ import annotations

from typing import Any

from headrace.functions.array.array import placeholder_with_default
from headrace.graph.defaults import get_default_graph

_KEY, _CHOSEN = "keras_learning_phase", "keras_learning_phase_chosen"


def learning_phase() -> Any:
    """The phase of the default graph: what was set, else a boolean to feed, False by default."""
    graph = get_default_graph()
    if _CHOSEN in graph._scoped:
        return graph._scoped[_CHOSEN]
    if graph.runs_at_once:
        return 0
    if _KEY not in graph._scoped:
        with graph.name_scope(None):
            graph._scoped[_KEY] = placeholder_with_default(False, shape=(), name=_KEY)
    return graph._scoped[_KEY]


def phase_that_was_set() -> Any:
    """The phase that somebody has chosen for the default graph, or None."""
    return get_default_graph()._scoped.get(_CHOSEN)


def is_phase_tensor(x: Any) -> bool:
    """Is it the tensor that stands for the phase of its graph?"""
    graph = getattr(x, "graph", None)
    return graph is not None and x is graph._scoped.get(_KEY)


def set_learning_phase(value: Any) -> None:
    """Fix the phase of the default graph: 0 or 1."""
    if value not in (0, 1):
        raise ValueError("Expected learning phase to be 0 or 1.")
    get_default_graph()._scoped[_CHOSEN] = value


def forget_learning_phase() -> None:
    """Nobody has chosen a phase."""
    for key in (_KEY, _CHOSEN):
        get_default_graph()._scoped.pop(key, None)


def choose_phase(value: Any) -> Any:
    """Set the phase, None for nobody's choice; returns what it was."""
    scoped = get_default_graph()._scoped
    before = scoped.pop(_CHOSEN, None)
    if value is not None:
        scoped[_CHOSEN] = value
    return before
