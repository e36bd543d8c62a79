"""Which tensors and nodes depend on given ones: a walk along the edges, forwards."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from headrace.graph.node import Node
from headrace.graph.tensor import Tensor


def reached(starts: Iterable[Any], targets: Iterable[Any]) -> list[Any]:
    """Those of `targets` (tensors or nodes) that depend on one of `starts`."""
    targets = list(targets)
    missing = {id(target) for target in targets}
    seen: set[int] = set()
    pending = list(starts)
    while pending and missing - seen:
        x = pending.pop()
        if id(x) in seen:
            continue
        seen.add(id(x))
        pending.extend(_next(x))
    return [target for target in targets if id(target) in seen]


def _next(x: Any) -> list[Any]:
    if isinstance(x, Node):
        return [*x.outputs, *x._control_outputs]
    if isinstance(x, Tensor):
        return list(x.consumers())
    node = getattr(x, "op", None)
    return [] if node is None else [node]
