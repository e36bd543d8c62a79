"""Which tensors and nodes depend on given ones: a walk along the edges, forwards."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from headrace.functions.values.nest import flatten
from headrace.graph.node import Node
from headrace.graph.tensor import Tensor
from headrace.variables.variable import Variable


def reached(starts: Iterable[Any], targets: Iterable[Any]) -> list[Any]:
    """Those of `targets` (tensors or nodes) that depend on one of `starts`."""
    targets = list(targets)
    missing = {id(target) for target in targets}
    seen: set[int] = set()
    for x in _walk(starts) if targets else ():
        seen.add(id(x))
        if missing <= seen:
            break
    return [target for target in targets if id(target) in seen]


def get_reachable_from_inputs(inputs: Any, targets: Any = None) -> set[Any]:
    """`inputs`, and the tensors and nodes that depend on them; with `targets`, until all are found."""
    missing = {id(target) for target in flatten(targets)} if targets else None
    found = set()
    for x in _walk(flatten(inputs)):
        if not isinstance(x, Node | Tensor | Variable):
            raise TypeError(f"Expected Operation, Variable, or Tensor, got {x}")
        found.add(x)
        if missing is not None:
            missing.discard(id(x))
            if not missing:
                break
    return found


def _walk(starts: Iterable[Any]) -> Iterator[Any]:
    """`starts` and all that depends on them, each once."""
    pending, seen = list(starts), set()
    while pending:
        x = pending.pop()
        if id(x) not in seen:
            seen.add(id(x))
            yield x
            pending.extend(_next(x))


def _next(x: Any) -> list[Any]:
    if isinstance(x, Node):
        return [*x.outputs, *x._control_outputs]
    if isinstance(x, Tensor):
        return list(x.consumers())
    node = getattr(x, "op", None)
    return [] if node is None else [node]
