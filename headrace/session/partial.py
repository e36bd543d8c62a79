"""Partial runs: feeds arrive and fetches are taken bit by bit; every node runs at most once."""

from __future__ import annotations

import itertools
from typing import Any

from headrace.core.errors import InvalidArgumentError, at
from headrace.graph.node import Node
from headrace.graph.tensor import Tensor
from headrace.ops.declaration.resources import Slot
from headrace.plan.late_reads import late_reads
from headrace.plan.plan import Edge, PlanNode
from headrace.plan.prune import prune
from headrace.runtime.kernel import kernel_of
from headrace.runtime.step import Step
from headrace.session import feeds as feeding
from headrace.session.fetches import Fetches, expand_feed_key
from headrace.session.results import to_user

_numbers = itertools.count()


class PartialRun:
    def __init__(self, session: Any, fetches: Any, feeds: Any) -> None:
        graph = session.graph
        self.session, self.graph = session, graph
        self.handle = f"partial_run_{next(_numbers)}"
        structure = Fetches(graph, fetches)
        keys = [k for f in feeds or () for k in expand_feed_key(f)]
        self.feeds = [feeding.feed_tensor(graph, k) for k in keys]
        self.tensors, self.targets = set(structure.tensors), set(structure.targets)
        plan = prune(graph, self.feeds, list(self.tensors), list(self.targets))
        self.plan = late_reads(plan)
        self.names = dict(zip(self.feeds, self.plan.feeds))
        self.values: dict[Edge, Any] = {}
        self.ran: set[str] = set()
        self.fetched: set[Any] = set()
        self.step = Step(session._containers, session)
        self.step.library = session._library

    def run(self, fetches: Any, feed_dict: Any) -> Any:
        structure = Fetches(self.graph, fetches)
        self._feed(feed_dict)
        elements: list[Tensor | Node] = [*structure.tensors, *structure.targets]
        for element in elements:
            self._check_fetch(element)
        for tensor in structure.tensors:
            self._compute(self._edge(tensor).node)
        for node in structure.targets:
            self._compute(node.name)
        values = [self._result(t) for t in structure.tensors]
        self.fetched.update(structure.tensors, structure.targets)
        for place, tensor in enumerate(structure.tensors):
            values[place] = to_user(values, place, tensor.dtype.base)
        return structure.rebuild(values)

    def _feed(self, feed_dict: Any) -> None:
        for key, value in feeding.expanded(feed_dict or {}):
            tensor = feeding.feed_tensor(self.graph, key)
            if tensor not in self.names:
                raise InvalidArgumentError(
                    None, None, f"The feed {tensor.name} was not specified in partial_run_setup."
                )
            edge = Edge(self.names[tensor], 0)
            if edge in self.values:
                raise InvalidArgumentError(None, None, f"The feed {tensor.name} has already been fed.")
            self.values[edge] = feeding.to_value(tensor, value)
            self.ran.add(edge.node)

    def _check_fetch(self, element: Tensor | Node) -> None:
        known = self.tensors if isinstance(element, Tensor) else self.targets
        if element not in known:
            raise InvalidArgumentError(
                None, None, f"The fetch {element.name} was not specified in partial_run_setup."
            )
        if element in self.fetched:
            raise InvalidArgumentError(None, None, f"The fetch {element.name} has already been fetched.")

    def _edge(self, tensor: Tensor) -> Edge:
        name = self.names.get(tensor)
        return Edge(tensor.op.name, tensor.value_index) if name is None else Edge(name, 0)

    def _compute(self, name: str) -> None:
        """Run what `name` needs, in the plan's order, as far as it has not run."""
        wanted: set[str] = set()
        stack = [name]
        while stack:
            current = stack.pop()
            if current in wanted or current in self.ran:
                continue
            wanted.add(current)
            node = self.plan.nodes[current]
            if current in self.plan.feeds:
                raise InvalidArgumentError(
                    None, node, f"{name} can't be computed from the feeds that have been fed so far."
                )
            stack += [e.node for e in node.inputs] + list(node.control)
        for current, node in self.plan.nodes.items():
            if current in wanted:
                self._run_node(node)

    def _run_node(self, node: PlanNode) -> None:
        call = kernel_of(node, [self.plan.dtype(e) for e in node.inputs])
        try:
            outputs = call([self.values[e] for e in node.inputs], self.step)
        except BaseException as error:
            raise self.session._named(at(error, node)) from error.__cause__
        for index, value in enumerate(outputs):
            self.values[Edge(node.name, index)] = value
        self.ran.add(node.name)

    def _result(self, tensor: Tensor) -> Any:
        value = self.values[self._edge(tensor)]
        return value.read() if isinstance(value, Slot) else value
