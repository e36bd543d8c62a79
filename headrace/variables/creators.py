"""Creators: who makes what `tf.Variable(...)` asks for, in scopes that programs enter."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from headrace.graph.defaults import get_default_graph
from headrace.graph.graph import Graph

Creator = Callable[..., Any]


class _Creators(threading.local):
    """Creators of a graph that a thread has entered, innermost last."""

    def __init__(self) -> None:
        self.stack: list[Creator] = []


def creators(graph: Graph) -> list[Creator]:
    stacks: _Creators = graph._scoped.setdefault("variable_creators", _Creators())
    return stacks.stack


@contextmanager
def variable_creator_scope(variable_creator: Creator) -> Iterator[None]:
    """Variables made inside are made by `variable_creator(next_creator, **arguments)`.

    Args:
      variable_creator: takes the next creator (an outer one, or the default) and the arguments of
        `tf.Variable` as keywords; returns a variable.
    """
    stack = creators(get_default_graph())
    stack.append(variable_creator)
    depth = len(stack)
    try:
        yield
    finally:
        if len(stack) != depth:
            raise RuntimeError(
                "Exiting variable_creator_scope without proper nesting with variable_creator_scope"
            )
        stack.pop()


def _chain(creator: Creator, previous: Creator) -> Creator:
    return lambda **arguments: creator(previous, **arguments)


def chained(creator: Creator) -> Creator:
    """`creator` behind those of all scopes around it: the innermost scope is asked first."""
    for outer in creators(get_default_graph()):
        creator = _chain(outer, creator)
    return creator
