"""Eager mode: the graph in which models are described.  Its nodes are never run: they give shapes, types and
the history of tensors."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any

from headrace.functions.values.nest import flatten
from headrace.graph.defaults import get_default_graph
from headrace.graph.tensor import Tensor
from headrace.ops.graphdef.function_graph import FunctionGraph

_graphs: list[FunctionGraph] = []


class ModelGraph(FunctionGraph):
    """A graph for models: ops on its tensors belong to it, wherever they are called."""

    describes_models = True


def get_graph() -> Any:
    """The graph that a symbolic tensor is made in: the default one, in eager mode the one for models."""
    default = get_default_graph()
    if not default.runs_at_once:
        return default
    if not _graphs:
        _graphs.append(ModelGraph("keras_graph", default))
    return _graphs[0]


def forget_graph() -> None:
    """Models to come are described in a graph of their own."""
    _graphs.clear()


def home_of(*values: Any) -> AbstractContextManager[Any]:
    """Eager mode: inside, ops go into the graph of a value that is described only; else nothing changes."""
    if get_default_graph().runs_at_once:
        for x in flatten(values):
            graph = getattr(x, "graph", None)
            if isinstance(x, Tensor) and not graph.runs_at_once:  # type: ignore[union-attr]
                entered: AbstractContextManager[Any] = graph.as_default()  # type: ignore[union-attr]
                return entered
    return nullcontext()
