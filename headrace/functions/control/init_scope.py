"""`init_scope`: build outside of the loops, conditionals and functions around."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from headrace.graph.defaults import get_default_graph


@contextmanager
def init_scope() -> Iterator[None]:
    """Nodes made inside belong to the outermost graph and wait for nothing around them.

    The name scope stays.  Variables and their initial values are made in such a scope, so that they
    can be initialised although they are asked for within a loop, a conditional or a function.
    """
    inner = get_default_graph()
    scope = inner.get_name_scope()
    outer = inner
    while outer.building_function and getattr(outer, "outer_graph", None) is not None:
        outer = outer.outer_graph  # type: ignore[attr-defined]
    with outer.as_default(), outer.name_scope(scope + "/" if scope else None):
        with outer.control_dependencies(None):
            yield
