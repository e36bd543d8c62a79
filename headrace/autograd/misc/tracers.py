"""Records of functions: one that runs again what depends on its argument, and one that is there to be
looked at."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from headrace.autograd.tracer import Node, Primitive, trace
from headrace.autograd.util import subvals, toposort
from headrace.autograd.wrap_util import wraps


class ConstGraphNode(Node):
    """A primitive with those of its arguments that do not change."""

    __slots__ = ("again", "parents")

    def __init__(
        self,
        value: Any,
        fun: Primitive,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        parent_argnums: Sequence[int],
        parents: Sequence[Any],
    ) -> None:
        self.parents = parents
        self.again: Callable[..., Any] = lambda *given: fun(
            *subvals(args, zip(parent_argnums, given)), **kwargs
        )

    def initialize_root(self) -> None:
        self.parents = []


def const_graph_unary(fun: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """The function traced when it is first called; later calls run the same primitives, in the same order."""
    record: list[tuple[Any, list[Any]]] = []

    def replayed(x: Any) -> Any:
        if not record:
            start = ConstGraphNode.new_root()
            value, end = trace(start, fun, x)
            if end is None:
                raise ValueError("const_graph: the result does not depend on the argument")
            record.append((start, list(toposort(end))[::-1]))
            return value
        start, nodes = record[0]
        found = {start: x}
        for node in nodes:
            if node is not start:
                found[node] = node.again(*[found[p] for p in node.parents])
        return found[nodes[-1]]

    return replayed


def const_graph(fun: Callable[..., Any], *args: Any, **kwargs: Any) -> Callable[..., Any]:
    """`fun` with the first arguments given, as a graph that does not change: no Python of its own runs
    again."""
    given = partial(fun, *args, **kwargs)
    unary = const_graph_unary(lambda xs: given(*xs))

    @wraps(fun, namestr="const_graph_of_{fun}")
    def replayed(*xs: Any) -> Any:
        return unary(xs)

    return replayed


class FullGraphNode(Node):
    """Everything about a call."""

    __slots__ = ("args", "fun", "kwargs", "parent_argnums", "parents", "value")
    fun: Primitive | None

    def __init__(
        self,
        value: Any,
        fun: Primitive,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        parent_argnums: Sequence[int],
        parents: Sequence[Any],
    ) -> None:
        self.value, self.fun, self.args, self.kwargs = value, fun, args, kwargs
        self.parent_argnums, self.parents = parent_argnums, parents

    def initialize_root(self, value: Any = None) -> None:
        self.value, self.fun, self.args, self.kwargs = value, None, (), {}
        self.parent_argnums, self.parents = [], []


def full_graph(fun: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """The node at the end of the record of `fun(*args)`, with all before it; None if it does not depend
    on them."""
    _, end = trace(FullGraphNode.new_root(args), lambda xs: fun(*xs, **kwargs), args)
    return end
