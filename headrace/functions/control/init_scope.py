"""`init_scope`: build outside of the loops, conditionals and functions around."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from headrace.graph.defaults import get_default_graph
from headrace.graph.graph import Graph


def outermost(graph: Graph) -> Graph:
    """The graph outside of all functions whose bodies are being built."""
    while graph.building_function and getattr(graph, "outer_graph", None) is not None:
        graph = graph.outer_graph  # type: ignore[attr-defined]
    return graph


@contextmanager
def init_scope() -> Iterator[None]:
    """Nodes made inside belong to the outermost graph and wait for nothing around them.

    The name scope stays.  Variables and their initial values are made in such a scope, so that they
    can be initialised although they are asked for within a loop, a conditional or a function.
    """
    inner = get_default_graph()
    scope = inner.get_name_scope()
    outer = outermost(inner)
    with outer.as_default(), outer.name_scope(scope + "/" if scope else None):
        with outer.control_dependencies(None):
            yield
