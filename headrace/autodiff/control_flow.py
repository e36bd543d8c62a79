"""Gradients through loops and conditionals: what the backward walk asks about them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from headrace.autodiff.accumulate import aggregate
from headrace.graph.node import Node
from headrace.graph.tensor import Tensor


def inputs_of(node: Node) -> Sequence[Tensor]:
    """The inputs through which gradients flow."""
    return node.inputs


class State:
    """The loops between xs and ys.  (Graphs without loops need nothing of it.)"""

    def __init__(
        self, between: Mapping[Node, None], ys: Sequence[Tensor], xs: Sequence[Tensor]
    ) -> None:
        self.between = between

    def adjust_pending(self, pending: dict[Node, int]) -> None:
        return None

    def start(self, walk: Any) -> None:
        return None

    def ready_exits(self, pending: dict[Node, int], seen: set[Node]) -> list[Node]:
        return []

    def released(self, node: Node, pending: dict[Node, int], walk: Any) -> list[Node]:
        """The nodes that may be differentiated now that one more user of `node` was."""
        return [node] if pending[node] == 0 else []

    def enters_loop(self, node: Node) -> bool:
        return False

    def enter(self, node: Node) -> None:
        return None

    def leaves_loop(self, node: Node) -> bool:
        return False

    def exit(self, node: Node) -> None:
        return None

    @contextmanager
    def context_of(self, node: Node) -> Iterator[None]:
        yield

    def aggregate(self, node: Node, index: int, parts: Sequence[Any], method: int | None) -> Any:
        return aggregate(parts, method)

    def zeros(self, node: Node, index: int) -> Any:
        from headrace.ops import array, state

        tensor = node.outputs[index]
        if tensor.dtype.base.kind == "r":
            return None
        del state
        return array.zeros_like(tensor)

    def finish(self) -> None:
        return None
