"""Eager mode: a graph that runs a node as soon as it is added, and keeps none.

Everything that builds graphs (ops, functions over them, gradients, variables, layers) does so through the
default graph, so all of it works in eager mode, where the default graph is this one: an op's block does not
know in which mode it runs.  Who runs a node is `headrace.eager`, by the hook `run_at_once`.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from typing import Any

from headrace.core import hooks, origin
from headrace.core.dtypes import DType
from headrace.graph.eager_tensor import EagerNode
from headrace.graph.graph import Graph
from headrace.graph.node import Node
from headrace.graph.tensor import Tensor


class EagerGraph(Graph):
    """The default graph of eager mode."""

    runs_at_once = True
    default_device = "/job:localhost/replica:0/task:0/device:CPU:0"

    def __init__(self, source: Any) -> None:
        super().__init__()
        self.source = source  # the op that stands for whatever made a value
        self.count = itertools.count(1).__next__

    def add_node(
        self,
        op: Any,
        name: str | None,
        inputs: Sequence[Tensor],
        input_types: Sequence[DType],
        attrs: dict[str, Any],
        outputs: Sequence[Any],
        made: origin.Origin | None = None,
        waits_for: Sequence[Node] = (),
    ) -> Node:
        for tensor in inputs:
            if tensor.graph is not self:
                self.capture(tensor)
        run = hooks.run_at_once.value
        assert run is not None, "nobody runs ops at once"
        node: EagerNode = run(self, op, name, inputs, input_types, attrs)
        override = self._gradient_overrides.get(op.name) if self._gradient_overrides else None
        if override is not None:
            node.attrs = node.attrs | {"_gradient_op_type": override}
        return node

    def capture(self, tensor: Tensor) -> Tensor:
        raise TypeError(
            'An op outside of the function building code is being passed a "Graph" tensor. It is possible '
            "to have Graph tensors leak out of the function building context by including a tf.init_scope "
            f"in your function building code. The graph tensor has name: {tensor.name}"
        )

    # -- names: nothing is kept under one, so none has to be unique -------------------------------
    def unique_name(self, name: str, mark_as_used: bool = True) -> str:
        scope = self._own.scope
        return f"{scope}/{name}" if scope else name

    @contextmanager
    def name_scope(self, name: str | None) -> Iterator[str]:
        own = self._own
        old = own.scope
        if not name:
            new = ""
        elif name.endswith("/"):
            new = name[:-1]
        else:
            new = f"{old}/{name}" if old else name
        own.scope = new
        try:
            yield new + "/" if new else ""
        finally:
            own.scope = old

    # -- what has run waits for nothing and lives where it is -------------------------------------
    def control_dependencies(self, control_inputs: Any) -> Any:
        return nullcontext()

    def colocate_with(self, op: Any, ignore_existing: bool = False) -> Any:
        return nullcontext()

    def _attr_scope(self, attrs: dict[str, Any]) -> Any:
        return nullcontext()

    def touch(self) -> None:
        """Nobody remembers anything of this graph."""

    def prevent_feeding(self, tensor: Tensor) -> None:
        """Nothing is fed."""

    def finalize(self) -> None:
        """There is nothing to finish."""
