"""Name scopes for functions, and the values that a function takes together."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from headrace.graph.defaults import get_default_graph
from headrace.graph.graph import Graph
from headrace.graph.tensor import Tensor


def graph_of(values: Iterable[Any]) -> Graph:
    """The graph of the first tensor among `values`, or the default one."""
    graph = get_default_graph()
    if graph.building_function:
        return graph
    for value in values or ():
        if not isinstance(value, Tensor):
            convert = getattr(value, "_as_graph_element", None)
            value = convert() if convert is not None else None
            if value is None:
                continue
        result: Graph = value.graph
        return result
    return graph


@contextmanager
def name_scope(name: str | None, default_name: str | None = None, values: Any = None) -> Iterator[str]:
    """A name scope in the graph of `values`: `name`, or `default_name` where it is None."""
    chosen = default_name if name is None else name
    if chosen is None and values is not None:
        raise ValueError(f"At least one of name ({name}) and default_name ({default_name}) must be provided.")
    graph = graph_of(values) if values is not None else get_default_graph()
    if graph is get_default_graph():
        with graph.name_scope(chosen) as scope:
            yield scope
    else:
        with graph.as_default(), graph.name_scope(chosen) as scope:
            yield scope
